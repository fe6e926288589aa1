#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The check that each room of a house uses only what its list allows; TAP on stdout.

usage: rooms.py [NAME...]     (default: all tests)

Each test makes a small house, breaks one rule in it, and must hear of that rule and no other.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import loop
from loop import BUILD, ROOT, check, run

LIST = """
at most 1 up
low:
high: low    # and nobody else
up low -> high: struct low_ops
"""
LOW_H = "struct low_ops {\n\tvoid (*tell)(void);\n};\nvoid low(const struct low_ops *ops);\n"
LOW_C = '#include "low/low.h"\nvoid low(const struct low_ops *ops) { ops->tell(); }\n'
HIGH_H = "void high(void);\n"
HIGH_C = ('#include "low/low.h"\n#include "high.h"\nstatic void tell(void) { }\n'
          "void high(void) { static const struct low_ops ops = { tell }; low(&ops); }\n")
HOUSE = {"rooms.txt": LIST, "low/low.h": LOW_H, "low/low.c": LOW_C,
         "high/high.h": HIGH_H, "high/high.c": HIGH_C}


def built(folder, files):
    files = {name: text for name, text in files.items() if text is not None}
    for name, text in files.items():
        path = folder / "house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in files:
        if name.endswith(".c"):
            made = folder / "objects/house.p" / (name.replace("/", "_") + ".o")
            made.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cc", "-c", "-I", folder / "house", "-o", made,
                            folder / "house" / name], check=True)


def findings(changes, remove=None):
    """What is found in the house with these files changed: a line each."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=BUILD, prefix="test-"))
    try:
        built(folder, {**HOUSE, **changes})
        if remove:
            (folder / remove).unlink()
        status, out, error = run(sys.executable, ROOT / "tests/lint/rooms.py", folder / "house",
                                 folder / "objects")
        check(not error and status == (1 if out else 0), f"status {status}", error + out)
        return out.replace(f"{folder}/", "").splitlines()
    finally:
        shutil.rmtree(folder)


def finds(expected, changes, remove=None):
    found = findings(changes, remove)
    check(found == expected, f"found {found}, expected {expected}")


def sound_house():
    finds([], {})


def forbidden_include():
    for name in ("high/high.h", "../high/high.h"):
        finds([f'house/low/low.c: room low must not use high (#include "{name}")'],
              {"low/low.c": f'#include "{name}"\n' + LOW_C})


def forbidden_call():
    """A declaration of one's own instead of the header does not hide it, nor does data."""
    for declaration, use in (("void high(void);", "high();"), ("extern int data;", "data++;")):
        finds([f"house/low/low.c: room low must not use high "
               f"({'high' if 'high' in use else 'data'})"],
              {"low/low.c": f"{LOW_C}{declaration}\nvoid more(void);\nvoid more(void) {{ {use} }}\n",
               "high/high.c": HIGH_C + "int data;\n"})


def private_header():
    """For its own room, and for those that the list names."""
    high = {"low/low_private.h": "", "high/high.c": '#include "low/low_private.h"\n' + HIGH_C}
    finds(['house/high/high.c: #include "low/low_private.h": it is private to room low'], high)
    finds([], {**high, "rooms.txt": LIST + "private high -> low\n"})


def circle():
    """Each of two rooms uses the other: no list allows that."""
    low = {"low/low.c": '#include "high/high.h"\n' + LOW_C}
    finds(["house/rooms.txt:3: low uses high, which no line before lists"],
          {**low, "rooms.txt": LIST.replace("low:\n", "low: high\n")})
    finds(['house/low/low.c: room low must not use high (#include "high/high.h")'], low)


def unlisted_room():
    finds(["house/rooms.txt: room attic is not listed"],
          {"attic/attic.c": "void attic(void);\nvoid attic(void) { }\n"})


def empty_room():
    finds(["house/rooms.txt: room cellar has no sources"],
          {"rooms.txt": LIST.replace("low:\n", "cellar:\nlow:\n")})


def room_listed_twice():
    finds(["house/rooms.txt:5: low is listed twice"],
          {"rooms.txt": LIST.replace("up low", "low:\nup low")})


def too_many_ups():
    finds(["house/rooms.txt: 2 tables of callbacks lead up, at most 1 may"],
          {"rooms.txt": LIST + "up low -> high: struct low_ops\n"})


def wrong_ups():
    """One that is declared nowhere, and one that leads down."""
    finds(["house/rooms.txt:5: room low declares no struct other_ops"],
          {"rooms.txt": LIST.replace("low_ops", "other_ops")})
    finds(["house/rooms.txt:5: low is not above high"],
          {"rooms.txt": LIST.replace("low -> high", "high -> low").replace("low_ops", "high_ops"),
           "high/high.h": HIGH_H + "struct high_ops {\n\tint x;\n};\n"})


def unknown_line():
    finds(["house/rooms.txt:6: neither 'ROOM: ROOMS', 'up ROOM -> ROOM: struct NAME', "
           "'private ROOM -> ROOM', 'in ROOM: NAMES', 'without FOLDER' nor 'at most N up': "
           "down high"], {"rooms.txt": LIST + "down high\n"})


FLAT = {"rooms.txt": "low:\nhigh: low\nin low: low types.h\nin high: types high\n",
        "types.h": "struct type;\n", "types.c": '#include "types.h"\n',
        "low.h": "void low(void);\n",
        "low.c": '#include "types.h"\n#include "low.h"\nvoid low(void) { }\n',
        "high.c": '#include "low.h"\nvoid high(void);\nvoid high(void) { low(); }\n'}


def flat(expected, changes):
    """As finds(), in a house without folders."""
    empty = {name: None for name in HOUSE if name != "rooms.txt"}
    finds(expected, {**empty, **FLAT, **changes})


def files_of_a_flat_house_have_rooms():
    flat([], {})
    flat(['house/low.c: room low must not use high (high)'],
         {"low.c": "void high(void);\nvoid low(void);\nvoid low(void) { high(); }\n"})
    flat(["house/rooms.txt: room attic.c is not listed"], {"attic.c": "int attic;\n"})
    flat(["house/rooms.txt:5: there is no cellar"],
         {"rooms.txt": FLAT["rooms.txt"] + "in low: cellar\n"})
    flat(["house/rooms.txt:5: low is placed twice"],
         {"rooms.txt": FLAT["rooms.txt"] + "in low: low\n"})


def a_folder_is_left_out():
    flat([], {"rooms.txt": FLAT["rooms.txt"] + "without tests\n", "tests/test.c": "int test;\n"})
    finds(["house/rooms.txt: room tests is not listed"], {"tests/test.c": "int test;\n"})


def inner_house():
    """A house inside this one is one room, with the headers at its top alone."""
    inner = {"inner/rooms.txt": "deep:\n", "inner/inner.h": "void deep(void);\n",
             "inner/deep/deep.h": "", "inner/deep/deep.c": "void deep(void);\nvoid deep(void) { }\n",
             "rooms.txt": LIST.replace("high: low", "inner:\nhigh: low inner")}
    use = HIGH_C + "void more(void);\nvoid more(void) { deep(); }\n"
    finds([], {**inner, "high/high.c": '#include "inner/inner.h"\n' + use})
    finds(['house/high/high.c: #include "inner/deep/deep.h": it is not at the top of its house'],
          {**inner, "high/high.c": '#include "inner/deep/deep.h"\n' + HIGH_C})
    finds(['house/low/low.c: room low must not use inner (#include "inner/inner.h")'],
          {**inner, "low/low.c": '#include "inner/inner.h"\n' + LOW_C})


def missing_object():
    finds(["objects: high.c has no object file: build first"], {}, "objects/house.p/high_high.c.o")


TESTS = [sound_house, forbidden_include, forbidden_call, private_header, circle, unlisted_room,
         empty_room, room_listed_twice, too_many_ups, wrong_ups, unknown_line,
         files_of_a_flat_house_have_rooms, a_folder_is_left_out, inner_house, missing_object]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
