#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Make C of the tables in SPEC.md, and see that all places name what the header names.

usage: tables.py SPEC.md t3_hw.h OUT.h

OUT.h asserts each number of the manual against the header at compile time, and holds
the register and doorbell tables for test_spec_*.c. What the header has and the manual,
or one of places.py, has not (or the other way round) ends the run: all of it is listed.
"""

import collections
import fnmatch
import re
import sys

import appendix
import places
from header import Header

Table = collections.namedtuple("Table", "section columns rows")
Row = collections.namedtuple("Row", "line cells")

DOORBELLS = ("T3_DB_ARM", "T3_DB_RELEASE", "T3_DB_TILE", "T3_DB_STATE")
# Tables of the manual's text whose first column names enumerators, with * for several
# and with the value behind it in parentheses where it is a number.
NAMED = [("2.1", "state", "T3_SPACE_", "t3_space_state"), ("6.2", "type", "T3_PKT_", "t3_packet_type"),
         ("7.", "opcode", "T3_CMD_", "t3_admin_opcode"), ("9.", "kind", "T3_FAULT_", "t3_fault_kind"),
         ("11.1", "state", "T3_QUEUE_", "t3_queue_state"), ("11.1", "opcode", "T3_CMD_", "t3_admin_opcode"),
         ("11.3", "opcode", "T3_DESC_", "t3_descriptor_opcode"),
         ("11.3", "status", "T3_DESC_", "t3_descriptor_status"), ("12.1", "kind", "T3_INJECT_", "t3_inject_kind")]

# In the text beside those tables.
BESIDE = {"T3_SPACE_DEAD", "T3_DESC_BAD_DESCRIPTOR", "T3_DESC_BAD_RANGE"}

problems = []


def problem(text):
    problems.append(text)


# --- the manual ------------------------------------------------------------------

def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def parse_manual(text):
    tables, section, current = [], "", None
    for number_, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            section = line.lstrip("#").strip()
        if not line.startswith("|"):
            current = None
        elif current is None:
            current = Table(section, cells_of(line), [])
            tables.append(current)
        elif not re.fullmatch(r"[|\s:-]+", line):
            cells = cells_of(line)
            if len(cells) != len(current.columns):
                problem(f"SPEC.md:{number_}: {len(cells)} cells under {len(current.columns)} columns")
                continue
            current.rows.append(Row(number_, dict(zip(current.columns, cells))))
    return tables


def table_of(tables, start, first):
    """All rows below headings that start so, in tables whose first column is this."""
    return [row for table in tables if table.section.startswith(start) and
            table.columns[0] == first for row in table.rows]


def value_of(row, column):
    try:
        return int(row.cells[column], 0)
    except (KeyError, ValueError):
        problem(f"SPEC.md:{row.line}: no number in column '{column}'")
        return 0


# --- comparisons -----------------------------------------------------------------

def compare(where, rows, names, wanted, make_row):
    """Both sides name the same things once. `names` of rows; `wanted`: name -> item."""
    seen = collections.Counter(names)
    for row, name in zip(rows, names):
        if name not in wanted:
            problem(f"SPEC.md:{row.line}: {name} is not in t3_hw.h")
        elif seen[name] > 1:
            problem(f"SPEC.md:{row.line}: {name} is there {seen[name]} times")
    for name, item in wanted.items():
        if name not in seen:
            problem(f"SPEC.md, {where}: missing {make_row(item)}")


def check_appendix(manual, header):
    """The manual is as the generator makes it; a problem for each line that is not there."""
    had = manual.splitlines()
    lines = [line for line in appendix.made(manual, header).splitlines() if line not in set(had)]
    for line in lines:
        problem(f"SPEC.md: missing {line}")
    if lines or appendix.made(manual, header) != manual:
        problem("SPEC.md, appendix A and 1.1 are not those of t3_hw.h: run `make spec-appendix`")


def header_asserts(header):
    """header.py has read what the compiler reads."""
    for item in header.constants + [item for _, items in header.enums for item in items]:
        yield f"{item.name} == {item.value}ull", item.name
    for tag, (size, fields) in header.structs.items():
        yield f"sizeof(struct {tag}) == {size}", tag
        for field in fields:
            yield f"offsetof(struct {tag}, {field.name}) == {field.offset}", f"{tag}.{field.name}"
            yield f"sizeof(((struct {tag} *)0)->{field.name}) == {field.size}", f"{tag}.{field.name}"


def check_name(row, name, value, known):
    """The names that a pattern of the manual stands for."""
    matches = {item: known[item] for item in known if fnmatch.fnmatchcase(item, name)}
    if not matches:
        problem(f"SPEC.md:{row.line}: {name} is not in t3_hw.h")
    elif value is not None and [int(value)] != list(matches.values()):
        problem(f"SPEC.md:{row.line}: {name} is {list(matches.values())} in t3_hw.h")
    return set(matches)


def check_named(tables, enums):
    """The text's tables name what there is: nothing else, and all of it."""
    known = {item.name: item.value for _, items in enums for item in items}
    seen = collections.defaultdict(set)
    for start, column, prefix, tag in NAMED:
        rows = table_of(tables, start, column)
        if not rows:
            problem(f"SPEC.md, {start}: no table with column '{column}'")
        for row in rows:
            for text in re.sub(r"\((?!\d+\))[^)]*\)", "", row.cells[column]).split(","):
                name, value = re.fullmatch(r"\s*(\S*?)\s*(?:\((\d+)\))?\s*", text).groups()
                seen[tag] |= check_name(row, prefix + name, value, known)
    for tag, items in enums:
        for item in items if tag in seen else ():
            if item.name not in seen[tag] | BESIDE and item.value and not item.name.endswith("_COUNT"):
                where = " or ".join(start for start, _, _, named in NAMED if named == tag)
                problem(f"SPEC.md, {where}: no row for {item.name[3:]}")


# --- registers and doorbells -------------------------------------------------------

def check_registers(tables, items):
    """Asserts; the array's lines go to `out`."""
    rows = table_of(tables, "1.1", "offset")
    wanted = {item.name: item for item in items
              if item.name.startswith("T3_REG_") and item.name != "T3_REG_END"}
    names = ["T3_REG_" + row.cells["name"].split("[")[0] for row in rows]
    compare("1.1", rows, names, wanted, lambda item:
            f"| {item.value:#05x} | {item.name[7:]} | | {item.comment} |")
    for row, name in zip(rows, names):
        access, width = row.cells["access"], value_of(row, "width")
        if name in wanted and wanted[name].comment.split()[0] != access + ("64" if width == 8 else ""):
            problem(f"SPEC.md:{row.line}: t3_hw.h says {name} is {wanted[name].comment}")
        if access not in ("RO", "RW", "RW1C") or width not in (4, 8):
            problem(f"SPEC.md:{row.line}: access {access}, width {width}")
        yield f"{name} == {value_of(row, 'offset')}", f"SPEC.md:{row.line}"


def register_lines(tables):
    for row in table_of(tables, "1.1", "offset"):
        name, _, count = row.cells["name"].rstrip("]").partition("[")
        reset = row.cells["reset"]
        fixed = reset not in ("property", "varies")
        cap = row.cells["with"]
        yield (f'\t{{ "{name}", {value_of(row, "offset")}, {int(count or 1)}, {value_of(row, "width")}, '
               f'SPEC_{row.cells["access"]}, {"SPEC_" + ("NUMBER" if fixed else reset.upper())}, '
               f'{value_of(row, "reset") if fixed else 0}ull, {row.cells["writable"] or 0}ull, '
               f'{"T3_CAP_" + cap if cap else 0} }},')


def check_doorbells(tables, items):
    rows = table_of(tables, "2.2", "offset")
    values = {item.name: item for item in items if item.name in DOORBELLS}
    names = ["T3_DB_" + row.cells["offset"].split()[1] for row in rows]
    compare("2.2", rows, names, values, lambda item:
            f"| {item.value:#04x} {item.name[6:]} | {item.comment} |")
    for row, name in zip(rows, names):
        yield f"{name} == {int(row.cells['offset'].split()[0], 0)}", f"SPEC.md:{row.line}"


def doorbell_lines(tables):
    for row in table_of(tables, "2.2", "offset"):
        offset, name = row.cells["offset"].split()
        access = re.fullmatch(r"([RW])(32|64)", row.cells["access"])
        if not access:
            problem(f"SPEC.md:{row.line}: access {row.cells['access']}")
            continue
        yield (f'\t{{ "{name}", {int(offset, 0)}, {int(access[2]) // 8}, '
               f'{"true" if access[1] == "W" else "false"} }},')


def timed_lines(tables):
    for row in table_of(tables, "8.1", "parameter"):
        value, _, unit = row.cells["value"].partition(" ")
        varied = row.cells["varied"] or f"{value} to {value}"
        span = re.fullmatch(r"(\d+) to (\d+)", varied)
        if not value.isdigit() or not span:
            problem(f"SPEC.md:{row.line}: value {value}, varied {varied}")
            continue
        source = row.cells["source"].replace('"', '\\"')
        yield (f'\t{{ "{row.cells["parameter"]}", {value}ull, {span[1]}ull, {span[2]}ull, '
               f'"{unit}", "{source}" }},')


def record_lines(manual, tables):
    """The version of a record of calls, and its types."""
    version = re.search(r"`T3RECORD`, n version \((\d+)\)", manual)
    rows = table_of(tables, "14.1", "type")
    if not version or not rows:
        problem("SPEC.md, 14.1: no version of the stream, or no table with column 'type'")
        return
    types = " ".join(f"X({row.cells['record']}, {value_of(row, 'type')})" for row in rows
                     if row.cells["record"].isupper())
    yield f"#define SPEC_RECORD_VERSION {version[1]}u\n#define SPEC_RECORDS(X) {types}"


DECLARATIONS = """\
/* Made from SPEC.md by tests/spec/tables.py: do not edit. */
#ifndef SPEC_TABLES_H
#define SPEC_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "t3_hw.h"

enum spec_access { SPEC_RO, SPEC_RW, SPEC_RW1C };
/* SPEC_PROPERTY: the same for the device's life. */
enum spec_reset { SPEC_NUMBER, SPEC_PROPERTY, SPEC_VARIES };

struct spec_register {
	const char *name;
	uint32_t offset, count, width;
	enum spec_access access;
	enum spec_reset after_reset;
	uint64_t reset, writable;
	uint32_t caps; /* bit of CAPS that must be set for it to be there */
};

struct spec_doorbell {
	const char *name;
	uint32_t offset, width;
	bool write;
};

/* A parameter of the timed model. */
struct spec_timed {
	const char *name;
	uint64_t value, low, high;
	const char *unit, *source;
};
"""


def generate(manual, header):
    tables = parse_manual(manual)
    asserts = [pair for check in (check_registers(tables, header.constants), check_doorbells(tables, header.constants),
                                  header_asserts(header)) for pair in check]
    check_named(tables, header.enums)
    yield DECLARATIONS
    for expression, where in dict(asserts).items():
        yield f'_Static_assert({expression}, "{where}");'
    yield "\nstatic const struct spec_register spec_registers[] = {"
    yield from register_lines(tables)
    yield "};\n\nstatic const struct spec_doorbell spec_doorbells[] = {"
    yield from doorbell_lines(tables)
    yield "};\n\nstatic const struct spec_timed spec_timed[] = {"
    yield from timed_lines(tables)
    yield "};\n"
    yield from record_lines(manual, tables)
    yield "\n#endif"


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: tables.py SPEC.md t3_hw.h OUT.h")
    manual, text = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
    header = Header(text)
    problems.extend(header.problems)
    check_appendix(manual, header)
    problems.extend(places.missing(header))
    lines = list(generate(manual, header))
    if problems:
        sys.exit("\n".join(problems))
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
