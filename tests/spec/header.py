# SPDX-License-Identifier: MIT
"""t3_hw.h as Python reads it: constants, lists, enumerations and structs, with their comments.

What is written in a way that this file does not know is a problem, never passed over.
"""

import collections
import re

Item = collections.namedtuple("Item", "name value comment mask", defaults=[False])  # mask: bits, written as such
Field = collections.namedtuple("Field", "name offset size comment")
Enum = collections.namedtuple("Enum", "tag items")  # tag: "" of bit masks

SCALARS = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8}
COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"


def number(text, known):
    """A C constant expression of numbers, shifts, ors and names that came before."""
    text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)(?:ull|u)\b", r"\1", text)
    if not re.fullmatch(r"[\w\s()<|+*-]+", text):
        raise ValueError(f"not a number: {text}")
    return int(eval(text, {"__builtins__": {}}, known))  # of our own header, checked above


def words(comment):
    """The text of one comment, or of several."""
    return " ".join(re.sub(r"/\*|\*/|^\s*\*(?!/)", " ", comment or "", flags=re.M).split())


class Header:
    """constants: [Item]; enums: [Enum]; structs: {tag: (size, [Field])}; problems: [text]."""

    def __init__(self, text):
        self.problems, self.known = [], {}
        self.lists = dict(self.parse_lists(text))
        self.parse(text)

    def parse_lists(self, text):
        """{list: [Item]}: X(p, NAME, value...), what it means behind it or above it."""
        for match in re.finditer(r"^#define T3_(\w+)_LIST\(X, p\) \\\n((?:.*\\\n)*.*)", text, re.M):
            body, items = match[2].replace("\\\n", "\n"), []
            for entry in re.finditer(rf"((?:^\s*{COMMENT}\s*\n)*)^\s*X\(p, (\w+), (\d+)[^)]*\)[ \t]*({COMMENT})?",
                                     body, re.M):
                items.append(Item(entry[2], int(entry[3]), words(entry[4] or entry[1])))
            self.expect(f"T3_{match[1]}_LIST", re.findall(r"X\(p, (\w+)", body), [i.name for i in items])
            yield match[1], items

    def expect(self, where, there, read):
        if there != read:
            self.problems.append(f"t3_hw.h: {where} has {there}, but {read} was read")

    def parse(self, text):
        """In the order of the file: what follows may use what came before."""
        self.constants, self.enums, self.structs, sizes = [], [], {}, dict(SCALARS)
        for match in re.finditer(rf"(?P<above>(?:^{COMMENT}\n)?)^#define (?P<constant>T3_\w+)[ \t]+(?P<value>[^/\n\\]+?)"
                                 rf"[ \t]*(?P<behind>{COMMENT})?$"
                                 r"|^enum (?P<enum>\w* ?)\{(?P<entries>.*?)\};"
                                 r"|^struct (?P<struct>t3_\w+) \{(?P<fields>.*?)^\};", text, re.M | re.S):
            if match["constant"]:
                self.add_constant(match)
            elif match["struct"]:
                self.add_struct(match["struct"], match["fields"], sizes)
            else:
                self.add_enum(match["enum"].strip(), match["entries"])

    def add_constant(self, match):
        joined = re.fullmatch(r"\(0u T3_(\w+)_LIST\(T3_OR, (\w+)\)\)", match["value"])
        value = sum(1 << item.value for item in self.lists[joined[1]]) if joined else number(match["value"], self.known)
        self.known[match["constant"]] = value
        self.constants.append(Item(match["constant"], value, words(match["behind"] or match["above"]),
                                   bool(re.search("0x|<<|T3_OR", match["value"]))))

    def add_enum(self, tag, body):
        """A list and what is counted by it, or one enumerator a line, its comment behind or above."""
        items, following = [], 0
        for entry in re.finditer(rf"T3_(?P<list>\w+)_LIST\((?P<kind>\w+), (?P<prefix>\w+)\)"
                                 rf"|(?P<above>(?:^\s*{COMMENT}\s*\n)*)^\s*(?P<name>T3_\w+)(?:\s*=\s*(?P<value>[\w() <]+))?"
                                 rf"(?:,|(?=\s*$))[ \t]*(?P<behind>{COMMENT})?", body, re.M):
            if entry["list"]:
                mask = entry["kind"] == "T3_MASK"
                made = [Item(entry["prefix"] + item.name, 1 << item.value if mask else item.value, item.comment, mask)
                        for item in self.lists[entry["list"]]]
            else:
                value = number(entry["value"], self.known) if entry["value"] else following
                made = [Item(entry["name"], value, words(entry["behind"] or entry["above"]))]
            items += made
            following = items[-1].value + 1
        self.known.update((item.name, item.value) for item in items)
        there = re.findall(r"\bT3_\w+(?=\s*[=,\n]|\s*$)", re.sub(rf"{COMMENT}|=[^,]*|T3_\w+_LIST\([^)]*\)", "", body))
        self.expect(f"enum {tag}", there, [item.name for item in items][-len(there):] if there else [])
        if tag:
            self.enums.append(Enum(tag, items))
        else:
            self.constants += items

    def add_struct(self, tag, body, sizes):
        """There is no implicit padding, which the header asserts."""
        offset, fields = 0, []
        for entry in re.finditer(rf"((?:^\s*{COMMENT}\s*\n)*)^\s+(?:struct )?(\w+) (\w+)((?:\[\w+\])*);[ \t]*({COMMENT})?",
                                 body, re.M):
            size = sizes[entry[2]]
            for count in re.findall(r"\[(\w+)\]", entry[4]):
                size *= number(count, self.known)
            fields.append(Field(entry[3], offset, size, words(entry[5] or entry[1])))
            offset += size
        self.expect(f"struct {tag}", re.findall(r"\b\w+(?=(?:\[\w+\])*;)", re.sub(COMMENT, "", body)),
                    [field.name for field in fields])
        sizes[tag] = offset
        self.structs[tag] = (offset, fields)
