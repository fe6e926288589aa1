#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Refuses a variable that make was given and that nothing here reads, such as RANK=8.

usage: variables.py NAME...

Prints one sentence for the first such name, for the Makefile's $(error). A right name is one that
`make help` shows, that the Makefile gives a default with ?=, that make and compilers know by
custom, or a T3_ name that a file of the tree reads.
"""

import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of make's own rules, GNU's conventions and Kbuild: a user or a package's build may give them to any tree.
USUAL = set("""AR ARFLAGS AS ASFLAGS CC CCFLAGS CFLAGS CPP CPPFLAGS CXX CXXFLAGS GDB INSTALL LD LDFLAGS
    LDLIBS LLVM MAKE MAKEFLAGS NM OBJCOPY PKG_CONFIG SHELL STRIP V VERBOSE W""".split())
READERS = ("*.py", "*.sh", "*.mk", "Makefile", "t3-vm")


def of_makefile(text):
    """Those with a default, those that `make help` shows with a value, and those of `make try`."""
    found = set(re.findall(r"^(?:override )?([A-Z][A-Z0-9_]*) \?=", text, re.M))
    for line in re.findall(r"^#:.*", text, re.M):
        found.update(re.findall(r"\b([A-Z][A-Z0-9_]*)=", line))
    return found | set(re.search(r"^TRY_OPTIONS := (.*)", text, re.M)[1].split())


def of_tree():
    """Names that scripts take from the environment."""
    for folder in ("tools", "tests"):
        for pattern in READERS:
            for path in (ROOT / folder).rglob(pattern):
                yield from re.findall(r"\bT3_[A-Z0-9_]+\b", path.read_text(errors="replace"))


def main():
    makefile = (ROOT / "Makefile").read_text()
    known = USUAL | of_makefile(makefile)
    for name in sys.argv[1:]:
        if name in known or name.startswith("T3_") and \
                name in {*re.findall(r"\bT3_[A-Z0-9_]+\b", makefile), *of_tree()}:
            continue
        near = difflib.get_close_matches(name.upper(), sorted(known - USUAL | {"CC", "CFLAGS"}), 1, 0.6)
        print(f"t3: nothing here reads the variable '{name}'" + (f"; did you mean {near[0]}" if near else "") +
              "? `make help` lists what may be set")
        break


if __name__ == "__main__":
    main()
