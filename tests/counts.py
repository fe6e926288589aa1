#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tests/lint/counts.py on small trees of driver sources; TAP on stdout.

usage: counts.py [NAME...]     (default: all tests)
"""

import json
import pathlib
import shutil
import sys
import tempfile

import loop
from loop import BUILD, ROOT, check, run


def counts(files, more=None):
    """What is counted in a tree with these files of its driver, and more beside it."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=BUILD, prefix="test-"))
    try:
        (folder / "driver").mkdir()
        for name, text in files.items():
            (folder / "driver" / name).write_text(text)
        for name, text in (more or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        status, out, error = run(sys.executable, ROOT / "tests/lint/counts.py", "--json",
                                 "--root", folder, "driver")
        check(status == 0 and not error, f"status {status}", error)
        found = json.loads(out)
        return found["build"] if more else found["rooms"]["driver"]
    finally:
        shutil.rmtree(folder)


def expect(files, **expected):
    found = counts(files)
    for name, value in expected.items():
        check(found[name] == value, f"{name}: {found[name]}, expected {value}", found)


def function(name, body="", prefix="static void"):
    return f"{prefix} {name}(void)\n{{\n{body}}}\n\n"


def lengths_start_at_the_name():
    long = "static int\nmany(int one,\n     int two)\n{\n\treturn one;\n}\n\n"
    expect({"a.c": long + function("one") + function("two", "\tif (0) {\n\t}\n")},
           functions=3, median=5, longest=5)


def one_call_counts_and_a_second_mention_does_not():
    top = "\tonce();\n\ttwice();\n\ttwice();\n\ttaken();\n\tuse(taken);\n\tnamed();\n"
    statics = "".join(map(function, ("once", "twice", "taken", "named", "listed")))
    text = ("static void once(void);\n\n#define ALL named\n\n" + statics
            + "static const struct ops ops = {\n\t.call = listed,\n};\n\n"
            + function("top", top + '\tlog("once() /* once() */");\n', "void"))
    expect({"a.c": text}, statics=5, one_caller=1)


def recursion_is_no_caller():
    expect({"a.c": function("self", "\tself();\n")}, one_caller=0)


def chains_are_paths_of_three():
    text = (function("f4") + function("f3", "\tf4();\n") + function("f2", "\tf3();\n")
            + function("f1", "\tf2();\n") + function("top", "\tf1();\n", "void"))
    expect({"a.c": text}, one_caller=4,
           chains=["driver/a.c: f1 > f2 > f3", "driver/a.c: f2 > f3 > f4"])


def circles_go_through_several_files():
    files = {"a.c": function("a", "\tb();\n", "void"), "b.c": function("b", "\tc();\n", "void"),
             "c.c": function("c", "\ta();\n\tleaf();\n", "void"),
             "d.c": function("leaf", "\ta_static();\n", "void") + function("a_static")}
    expect(files, circle=["driver/a.c", "driver/b.c", "driver/c.c"])
    expect({**files, "c.c": function("c", "\tleaf();\n", "void")}, circle=[])


def pronouns_begin_comments():
    text = ('/* SPDX-License-Identifier: MIT */\n/*\n * It waits.\n */\n// What is left.\n'
            'int its; /* its number */\nchar *s = "/* They */";\n')
    found = counts({"a.c": text})
    check((found["comments"], len(found["pronouns"])) == (3, 2), "comments", found)


def the_build_has_a_size():
    found = counts({}, {"Makefile": "a := $(if x,y)\n$(eval $(call z))\nb: ; $(or c)\n", "meson.build": "x\n" * 3,
                        "libt3/meson.build": "y" * 90 + "\n", "tools/build/a.sh": "1\n2\n", "tools/build/of/b.sh": "3\n"})
    check(found == {"makefile": 3, "described": 7, "longest": 90, "make_functions": 3, "tools_build": 2}, "the build", found)


def rooms_have_names():
    status, _, error = run(sys.executable, ROOT / "tests/lint/counts.py", "attic")
    check(status == 2 and "no such room: attic" in error, f"status {status}", error)


TESTS = [lengths_start_at_the_name, one_call_counts_and_a_second_mention_does_not,
         recursion_is_no_caller, chains_are_paths_of_three, circles_go_through_several_files,
         pronouns_begin_comments, the_build_has_a_size, rooms_have_names]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
