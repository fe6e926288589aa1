# SPDX-License-Identifier: MIT
"""Mutants of C files by rules over the syntax tree, all of a file in one rewritten source.

Each place that a rule changes becomes a choice at run time, `t3_mutant(N) ? changed : original`, so
that one build has all mutants. The environment variable T3_MUTANT chooses one (0, or none: the program
as it is). A program marks the places that it reaches in the file T3_REACHED, a byte each: the file is
mapped, so those of its children count too, and those before an end by a signal.
"""

import dataclasses
import os

from clang import cindex
from clang.cindex import CursorKind as Kind

SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
         "+": "-", "-": "+", "&": "|", "|": "&", "<<": ">>", ">>": "<<", "*": "+", "/": "*"}
CONDITIONS = (Kind.IF_STMT, Kind.WHILE_STMT)
LOOPS = (Kind.FOR_STMT, Kind.WHILE_STMT)
JUMPS = (Kind.BREAK_STMT, Kind.CONTINUE_STMT)
TRUTHS = {"true": "false", "false": "true"}
# Where C wants a constant, or where the value is no value of the program.
CONSTANT = (Kind.CXX_UNARY_EXPR, Kind.STATIC_ASSERT, Kind.INIT_LIST_EXPR)

HEADER = """
extern unsigned int t3_mutant_chosen;
extern unsigned char *t3_mutant_reached;
static inline int t3_mutant(unsigned int number)
{
	t3_mutant_reached[number] = 1;
	return t3_mutant_chosen == number;
}
"""
# Once in all programs and shared objects of a room.
SOURCE = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define T3_MUTANTS %d
static unsigned char t3_mutant_unseen[T3_MUTANTS];
unsigned int t3_mutant_chosen;
unsigned char *t3_mutant_reached = t3_mutant_unseen;
static void t3_mutant_map(const char *path)
{
	int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *map;
	if (file < 0 || ftruncate(file, T3_MUTANTS))
		abort();
	map = mmap(NULL, T3_MUTANTS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		abort();
	close(file);
	t3_mutant_reached = map;
}
__attribute__((constructor)) static void t3_mutant_begin(void)
{
	const char *chosen = getenv("T3_MUTANT"), *path = getenv("T3_REACHED");
	t3_mutant_chosen = chosen ? (unsigned int)atoi(chosen) : 0;
	if (path)
		t3_mutant_map(path);
}
"""


@dataclasses.dataclass(frozen=True)
class Mutant:
    number: int
    file: str
    line: int
    rule: str
    text: str  # what it was, on one line

    def __str__(self):
        return f"{self.file}:{self.line}: {self.rule}: {self.text}"


class Rewriter:
    """Rewrites files, and keeps a list of the mutants in them."""

    def __init__(self, root, options):
        self.root, self.options = root, options
        self.mutants = []
        self.index = cindex.Index.create()
        self.name = self.text = None

    def rewrite(self, name):
        """The new text of a file of the tree."""
        path = os.path.join(self.root, name)
        with open(path, "rb") as file:
            data = file.read()
        assert data.isascii(), f"{name} is not ASCII"  # offsets are of bytes
        self.name, self.text = name, data.decode()
        unit = self.index.parse(path, args=self.options)
        wrong = [str(found) for found in unit.diagnostics if found.severity >= cindex.Diagnostic.Error]
        assert not wrong, wrong
        edits = [(cursor.extent.start.offset, cursor.extent.end.offset, cursor)
                 for cursor in unit.cursor.get_children()
                 if cursor.kind == Kind.FUNCTION_DECL and cursor.is_definition()
                 and cursor.location.file and cursor.location.file.name == path]
        out, at = [HEADER], 0
        for start, end, cursor in edits:
            out += [self.text[at:start], self.new_text(cursor)]
            at = end
        return "".join(out) + self.text[at:]

    # --- text of a cursor with its mutants

    def old(self, cursor):
        return self.text[cursor.extent.start.offset:cursor.extent.end.offset]

    def new_text(self, cursor):
        if cursor.kind in CONSTANT or self.is_static(cursor) or self.is_builtin(cursor):
            return self.old(cursor)
        return self.changed(cursor, self.with_children(cursor))

    @staticmethod
    def is_static(cursor):
        return cursor.kind == Kind.VAR_DECL and cursor.storage_class == cindex.StorageClass.STATIC

    @staticmethod
    def is_builtin(cursor):
        """Some take constants alone, as __builtin_return_address()."""
        return cursor.kind == Kind.CALL_EXPR and cursor.spelling.startswith("__builtin_")

    def with_children(self, cursor):
        """The text, each child's text anew. Macros' children have no place of their own."""
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        out, at = [], start
        for number, child in enumerate(cursor.get_children()):
            first, last = child.extent.start.offset, child.extent.end.offset
            if first < at or last > end or first >= last or not self.may_change(cursor, number, child):
                continue
            out += [self.text[at:first], self.child_text(cursor, number, child)]
            at = last
        return "".join(out) + self.text[at:end]

    @staticmethod
    def may_change(parent, number, child):
        if parent.kind == Kind.CASE_STMT and number == 0:
            return False
        return not (parent.kind == Kind.VAR_DECL and child.kind == Kind.INTEGER_LITERAL
                    and parent.type.kind == cindex.TypeKind.CONSTANTARRAY)

    def child_text(self, parent, number, child):
        new = self.new_text(child)
        if parent.kind in CONDITIONS and number == 0 and self.is_whole(child, "(", ")"):
            return f"(t3_mutant({self.add(child, 'negated')}) ? !({self.old(child)}) : ({new}) != 0)"
        if (parent.kind in (Kind.COMPOUND_STMT, *CONDITIONS)
                and child.kind in (Kind.CALL_EXPR, Kind.BINARY_OPERATOR, Kind.UNARY_OPERATOR,
                                   Kind.COMPOUND_ASSIGNMENT_OPERATOR)
                and self.text[child.extent.end.offset:].lstrip().startswith(";")):
            new = f"t3_mutant({self.add(child, 'dropped')}) ? (void)0 : (void)({new})"
        is_loop = parent.kind in LOOPS and self.is_body(parent, child)
        return self.ended(child, new) if is_loop and not self.leaves(child) else new

    def is_body(self, loop, child):
        last = list(loop.get_children())[-1]
        return child == last and not self.text[child.extent.end.offset:].lstrip().startswith(")")

    def leaves(self, body):
        """Whether its last statement leaves it in any case, so that nothing after it would run."""
        last = [body] if body.kind != Kind.COMPOUND_STMT else list(body.get_children())[-1:]
        return bool(last) and (last[0].kind in (*JUMPS, Kind.RETURN_STMT))

    def ended(self, body, new):
        """A loop that ends after its first turn finds no more than the first of many."""
        end = f"if (t3_mutant({self.add(body, 'one turn')})) break; }}"
        return f"{new.removesuffix('}')} {end}" if body.kind == Kind.COMPOUND_STMT else f"{{ {new}; {end}"

    def is_whole(self, cursor, before, after):
        return (self.text[:cursor.extent.start.offset].rstrip().endswith(before)
                and self.text[cursor.extent.end.offset:].lstrip().startswith(after))

    def changed(self, cursor, new):
        if cursor.kind == Kind.BINARY_OPERATOR:
            return self.swapped(cursor, new)
        if cursor.kind in JUMPS or self.old(cursor) == "return":
            return f"if (!t3_mutant({self.add(cursor, 'dropped')})) {new}"
        if new in TRUTHS:
            return f"(t3_mutant({self.add(cursor, 'exchanged')}) ? {TRUTHS[new]} : {new})"
        if cursor.kind == Kind.INTEGER_LITERAL and self.old(cursor).rstrip("uUlL").isdigit():
            number = self.add(cursor, "plus one")
            return f"(t3_mutant({number}) ? {self.old(cursor)} + 1 : {self.old(cursor)})"
        return new

    def swapped(self, cursor, new):
        children = list(cursor.get_children())
        if len(children) != 2:
            return new
        left, right = (child.extent for child in children)
        operator = self.text[left.end.offset:right.start.offset].strip()
        if operator not in SWAPS or left.start.offset != cursor.extent.start.offset:
            return new
        if cursor.type.kind == cindex.TypeKind.POINTER or any(
                child.type.kind in (cindex.TypeKind.POINTER, cindex.TypeKind.CONSTANTARRAY,
                                    cindex.TypeKind.DOUBLE, cindex.TypeKind.FLOAT)
                and SWAPS[operator] not in ("==", "!=", "&&", "||", "<=", "<", ">", ">=")
                for child in children):
            return new
        number = self.add(cursor, f"{operator} is {SWAPS[operator]}")
        first, second = (f"({self.old(child)})" for child in children)
        other = f"{first} {SWAPS[operator]} {second}"
        if operator in ("&&", "||"):  # each operand has to matter
            new = (f"t3_mutant({self.add(cursor, 'left operand only')}) ? {first} != 0 : "
                   f"t3_mutant({self.add(cursor, 'right operand only')}) ? {second} != 0 : ({new})")
        return f"(t3_mutant({number}) ? ({other}) : ({new}))"

    def add(self, cursor, rule):
        text = " ".join(self.old(cursor).split())
        mutant = Mutant(len(self.mutants) + 1, self.name, cursor.location.line, rule, text[:80])
        self.mutants.append(mutant)
        return mutant.number
