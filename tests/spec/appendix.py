#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Appendix A of SPEC.md, from t3_hw.h: what stands between two marks in the manual. And in the
register table (1.1): the version, the number of counters, the bits of CAPS and ERROR_STATUS.

usage: appendix.py SPEC.md t3_hw.h    rewrites it
"""

import re
import sys

from header import Header

BEGIN = "<!-- made from t3_hw.h by `make spec-appendix`: do not edit -->"
END = "<!-- end of what is made from t3_hw.h -->"
# Registers and doorbells have tables of their own in the text.
ELSEWHERE = ("T3_REG_", "T3_DB_ARM", "T3_DB_RELEASE", "T3_DB_TILE", "T3_DB_STATE")
INTRODUCED = {
    "t3_timed_param_id": "Indices of `params`: the machine. Ranges and usual values: section 8.1.",
}


def elsewhere(name):
    return name.startswith("T3_REG_") or name in ELSEWHERE


def plain(text):
    return re.sub(r"\bT3_", "", text).replace("|", "\\|")


def value_text(item):
    return f"{item.value:#x}" if item.mask and item.value > 9 else str(item.value)


def row(*cells):
    return ("| " + " | ".join(cells) + " |").replace("|  |", "| |")


def table(columns, rows):
    return [row(*columns), "|" + "---|" * len(columns), *(row(*cells) for cells in rows), ""]


def constants(header):
    yield from ("### A.1 Constants", "")
    yield from table(("constant", "value", "meaning"),
                     [(item.name[3:], value_text(item), plain(item.comment))
                      for item in header.constants if not elsewhere(item.name)])


def enumerations(header):
    yield from ("### A.2 Enumerations", "")
    for tag, items in header.enums:
        yield from (f"#### enum {tag}", "")
        if tag in INTRODUCED:
            yield from (INTRODUCED[tag], "")
        yield from table(("value", "name", "meaning"),
                         [(str(item.value), item.name[3:], plain(item.comment))
                          for item in items if not item.name.endswith("_COUNT")])


def structures(header):
    yield from ("### A.3 Structures", "",
                'Offsets and sizes in bytes. "out": written by the device, ignored in arguments.', "")
    for tag, (size, fields) in header.structs.items():
        yield from (f"#### struct {tag}, {size} bytes", "")
        yield from table(("offset", "size", "field", "meaning"),
                         [(f"{field.offset:#05x}", str(field.size), field.name,
                           plain(field.comment) or ("0" if re.match("mbz|reserved", field.name) else ""))
                          for field in fields])


def appendix(header):
    """With the marks."""
    return "\n".join([BEGIN, "", *constants(header), *enumerations(header), *structures(header), END])


def parts(manual):
    """What is before the marks, between and with them, and behind."""
    match = re.fullmatch(f"(.*)({re.escape(BEGIN)}.*{re.escape(END)})(.*)", manual, re.S)
    if not match:
        sys.exit(f"SPEC.md has no marks '{BEGIN}' and '{END}'")
    return match.groups()


def bits(items):
    return ", ".join(f"{item.name} {item.value}" for item in items)


def registers(manual, header):
    """The manual with what the register table says of lists."""
    for pattern, text in (
            (r"(\| VERSION \| 4 \| RO \| \| )0x\w+", f"{header.known['T3_VERSION_VALUE']:#010x}"),
            (r"(\| COUNTERS\[)\d+", str(header.known["T3_COUNTER_COUNT"])),
            (r"(\| CAPS .*\| bits of what the device can do: )[^|]*(?= \|)", bits(header.lists["CAP"])),
            (r"(\| ERROR_STATUS .*\| bits: )[^|]*(?= \|)", bits(header.lists["ERROR"]))):
        manual, count = re.subn(pattern, lambda match, text=text: match[1] + text, manual)
        if count != 1:
            sys.exit(f"SPEC.md, 1.1: {count} times {pattern}")
    return manual


def made(manual, header):
    """The manual as it should be."""
    before, _, behind = parts(manual)
    return registers(before, header) + appendix(header) + behind


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: appendix.py SPEC.md t3_hw.h")
    manual, text = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
    header = Header(text)
    if header.problems:
        sys.exit("\n".join(header.problems))
    wanted = made(manual, header)
    if wanted != manual:
        with open(sys.argv[1], "w", encoding="utf-8") as out:
            out.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
