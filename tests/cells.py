#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make check-matrix: which cells it runs, what it counts, how results are kept, and their table;
TAP on stdout.

usage: cells.py [NAME...]     (default: all tests)
"""

import copy
import json
import os
import shutil
import sys
from unittest import mock

import loop
from build import folder
from loop import ROOT, check, expect, run

sys.path.insert(0, str(ROOT / "tools/build"))
import machines  # pylint: disable=wrong-import-position
import matrix  # pylint: disable=wrong-import-position

RESULT = {"kernel": "7.3.4+deb13-amd64", "qemu": "10.2.2", "compiler": "gcc 12.2.0",
          "suites": list(machines.SUITES), "passed": 5, "failed": 1, "skipped": 2,
          "date": "2026-11-23", "version": "9.8.7", "commit": "0123456789"}


def key(kernel="7.3", qemu="10.0", host="Debian 12", accel="tcg", arch="x86_64"):
    return {"kernel": kernel, "qemu": qemu, "host": host, "accel": accel, "arch": arch}


# --- which cells, and what they count ----------------------------------------

def each_kernel_and_each_qemu():
    """Each kernel with the usual QEMU, the newest kernel with each other one, and no more."""
    wanted = [("debian", "10.0"), ("6.12", "10.0"), ("7.3", "10.0"), ("7.3", "10.2")]
    check(matrix.cells(["debian", "6.12", "7.3"]) == wanted, "cells",
          matrix.cells(["debian", "6.12", "7.3"]))
    check([matrix.cell(text) for text in ("7.3", "debian/10.2.2")]
          == [("7.3", "10.0"), ("debian", "10.2.2")], "a cell by name")
    listed = "KERNEL=6.12.95+deb12   in the cache\nKERNEL=6.12.117+deb12  \nKERNEL=7.3.4+deb13\n"
    with mock.patch.object(matrix.subprocess, "run", return_value=mock.Mock(stdout=listed)):
        check(matrix.newest() == {"6.12": "6.12.117+deb12", "7.3": "7.3.4+deb13"}, "the newest",
              matrix.newest())
    script = (ROOT / "tools/build/qemu.sh").read_text()
    check(f"\nUSUAL_QEMU={matrix.USUAL_QEMU}\n" in script, "the usual QEMU is qemu.sh's")


MADE = """[guest/test_abi] 3 passed (0.0 s)
SKIP guest/test_a/test_b: see log
FAIL guest-1 (kernel log is clean): see log
FAIL guest/test_c/test_d: see log
270 passed, 2 failed, 1 skipped
"""


def all_suites_are_counted():
    """A line is the sum of its suites. A suite that counted nothing has failed."""
    line = lambda *outputs: matrix.line_of("0.0", "10.0", outputs)
    check(line(MADE) == ("0.0", "10.0", "none", 270, 2, 1, 1), "a line", line(MADE))
    for outputs, wanted in ((["5 passed, 0 failed\n"], (5, 0, 0, 0)),
                            ([MADE, "5 passed, 0 failed\n"], (275, 2, 1, 1)),
                            (["make: *** [module]\n"], (0, 1, 0, 0)),
                            (["5 passed, 0 failed\n", "make: *** [module]\n"], (5, 1, 0, 0)),
                            (["0 passed, 0 failed\n"], (0, 1, 0, 0))):
        check(line(*outputs)[3:] == wanted, outputs, line(*outputs))


# --- the whole way, with a make that is a script -----------------------------

MAKE = r"""#!/bin/sh
echo "$*" >>calls
mkdir -p .build/qemu .build/kernel .build/linux-7.3/kernel
echo qemu-1_10.2.2+ds-1-key >.build/qemu/.of
echo 6.12.95+deb12-amd64 >.build/kernel/release
echo 7.3.4+deb13-amd64 >.build/linux-7.3/kernel/release
case $2 in guest) echo "$GUEST" ;; *) echo "7 passed, 0 failed, 1 skipped" ;; esac
"""

PAGE_TEXT = f"before\n{machines.BEGIN}\n{machines.END}\nafter\n"


def small_tree(place):
    """The scripts and an empty list of cells, in a repository with one commit."""
    for name in ("tools/build", "tests", "bin", "tools/packaging"):
        (place / name).mkdir(parents=True)
    for name in ("matrix.py", "machines.py"):
        shutil.copy(ROOT / "tools/build" / name, place / "tools/build")
    (place / "tools/packaging/VERSION").write_text("9.8.7\n")
    (place / "tests/machines.md").write_text(PAGE_TEXT)
    (place / "tests/machines.json").write_text('{"cells": []}\n')
    (place / "bin/make").write_text(MAKE)
    (place / "bin/make").chmod(0o755)
    git = ["git", "-C", place, "-c", "user.name=t3", "-c", "user.email=t3@example.org"]
    expect(run(*git, "init", "-q"), 0)
    expect(run(*git, "add", "tools"), 0)
    expect(run(*git, "commit", "-q", "-m", "tools: begin"), 0)
    return place


def run_matrix(place, *words, guest="20 passed, 0 failed"):
    return run("env", "-C", place, sys.executable, "tools/build/matrix.py", *words,
               env={"PATH": f"{place}/bin:{os.environ['PATH']}", "GUEST": guest, "T3_BUILD": str(place / ".build"), "T3_ACCEL": ""})


def cells_are_kept_and_shown():
    """One cell by one: its suites run with its kernel and QEMU, its counts come into file and
    table, and replace those of before."""
    with folder() as place:
        small_tree(place)
        expect(run_matrix(place, "7.3/10.2"), 0, r"^7\.3 +10\.2 +7\.3\.4\+deb13-amd64 +27 +0 +1 +0$",
               "^27 passed, 0 failed, 1 skipped$")
        check((place / "calls").read_text().splitlines()
              == [f"--no-print-directory {suite} KERNEL=7.3 QEMU=10.2" for suite in machines.SUITES],
              "what it made", (place / "calls").read_text())
        expect(run_matrix(place, "debian", "7.3/10.2", guest="19 passed, 1 failed"), 1,
               "^52 passed, 2 failed, 2 skipped$")
        found = json.loads((place / "tests/machines.json").read_text())["cells"]
        check([(cell["kernel"], cell["qemu"], cell["result"]["passed"], cell["result"]["failed"])
               for cell in found] == [("debian", "10.0", 26, 1), ("7.3", "10.2", 26, 1)], "cells", found)
        check(found[0]["accel"] == "tcg" and found[0]["result"]["version"] == "9.8.7"
              and found[0]["host"].startswith("Debian "), "facts", found[0])
        page = (place / "tests/machines.md").read_text()
        check("| 7.3.4+deb13 | 10.2.2 | " in page and "| 26 | 1 | 1 |" in page
              and page.startswith("before\n") and page.endswith("after\n"), "table", page)
        expect(run(place / "tools/build/machines.py", "check", env={"T3_BUILD": str(place)}), 0)


LIST = """#!/bin/sh
[ "$1" = list ] && printf 'KERNEL=%s\\n' 6.12.95+deb12 6.12.117+deb12 7.2.13+deb14 7.3.4+deb13
"""


def cells_are_listed():
    """Those of the mirror's kernels, and nothing is run."""
    with folder() as place:
        small_tree(place)
        (place / "tools/build/kernel.sh").write_text(LIST)
        (place / "tools/build/kernel.sh").chmod(0o755)
        result = run_matrix(place, "--list")
        expect(result, 0)
        check(result[1].split() == ["debian/10.0", "6.12/10.0", "7.2/10.0", "7.3/10.0", "7.3/10.2"],
              "list", result[1])
        check(not (place / "calls").exists(), "it has made something")


def what_broke_is_not_kept():
    """A cell without a result keeps the one that it had, and the run fails."""
    with folder() as place:
        small_tree(place)
        (place / "bin/make").write_text("#!/bin/sh\necho 'make: *** [module]'\nexit 2\n")
        expect(run_matrix(place, "7.3"), 1, "^0 passed, 2 failed, 0 skipped$")
        check(json.loads((place / "tests/machines.json").read_text()) == {"cells": []}, "kept")


def parts_of_cells_are_not_kept():
    """Other suites than those of a whole cell go to a file of their own, or nowhere."""
    with folder() as place:
        small_tree(place)
        expect(run_matrix(place, "--suites", "guest", "7.3"), 0, "^20 passed, 0 failed, 0 skipped$")
        expect(run_matrix(place, "--suites", "guest", "--json", "part.json", "7.3"), 0)
        expect(run_matrix(place, "--suites", "guest", "--json", "tests/machines.json", "7.3"), 2,
               "has whole cells alone, of the suites conformance,guest: give another FILE")
        check(json.loads((place / "part.json").read_text())["cells"][0]["result"]["suites"]
              == ["guest"], "its own file")
        check(json.loads((place / "tests/machines.json").read_text()) == {"cells": []}, "kept")
        check((place / "tests/machines.md").read_text() == PAGE_TEXT, "page")
        for wrong in ("7.3/", "7.3/ten", "$(id)", "7.3/10"):
            expect(run_matrix(place, wrong), 2, "a cell is KERNEL or KERNEL/QEMU, as in 7.3 or 7.3/10.2")


# --- file and table ----------------------------------------------------------

def results_replace_their_own():
    """A new result stands for its cell alone; a cell that was not run stays in the list."""
    cells = [{**key(kernel), "result": None} for kernel in ("debian", "6.12", "7.3")]
    new = machines.merged(cells, key("6.12"), RESULT)
    check([cell["result"] for cell in new] == [None, RESULT, None], "merged", new)
    new = machines.merged(new, key("6.12"), {**RESULT, "passed": 9})
    check(len(new) == 3 and new[1]["result"]["passed"] == 9, "again", new)
    for part, value in (("accel", "kvm"), ("arch", "aarch64"), ("host", "Debian 13"), ("qemu", "10.2")):
        more = machines.merged(new, {**key("6.12"), part: value}, RESULT)
        check(len(more) == 4 and more[0:3] == new[0:3] or part == "qemu", part, more)
    check(new == json.loads(json.dumps(new)), "it is JSON")


def table_says_not_run():
    """A cell without a result has no number."""
    text = machines.table([{**key(), "result": RESULT}, {**key("debian", accel="kvm"), "result": None}])
    lines = text.splitlines()
    check(lines[2] == "| 7.3.4+deb13 | 10.2.2 | Debian 12, gcc 12.2 | tcg, x86_64 | 5 | 1 | 2 | "
          "2026-11-23, 9.8.7 |", "a row", lines)
    check(lines[3].startswith("| usual | 10.0 | Debian 12 | kvm, x86_64 | not run |")
          and not any(character.isdigit() for character in lines[3].split("not run")[1]), "not run",
          lines)


WRONG = [({"passed": -1}, "passed must be a whole number"), ({"failed": "0"}, "failed must be"),
         ({"passed": 0, "failed": 0}, "no test has run"), ({"suites": ["guest"]}, "only whole cells"),
         ({"date": ""}, "date must be a text"), ({"commit": None}, "commit must be a text")]


def refusal(cells):
    try:
        machines.check_cells(cells, "a.json")
    except machines.Wrong as error:
        return str(error)
    return ""


def wrong_cells_are_refused():
    """What is no result of a run, a cell that is there twice, and one with another form."""
    check(not refusal([{**key(), "result": RESULT}, {**key("6.12"), "result": None}]), "right cells")
    for change, wanted in WRONG:
        check(wanted in refusal([{**key(), "result": {**RESULT, **change}}]), wanted, change)
    check("is there twice" in refusal([{**key(), "result": None}] * 2), "twice")
    check("got" in refusal([{"kernel": "7.3", "result": None}]), "form")


def difference_is_found():
    """Lint fails where someone has changed the table, the file, or removed the markers."""
    cells = [{**key(), "result": RESULT}, {**key("debian"), "result": None}]
    with folder() as place:
        path, page = place / "machines.json", place / "machines.md"
        machines.store(path, cells)
        page.write_text(PAGE_TEXT)
        machines.write_table(path, page)
        machines.check_table(path, page)
        good = page.read_text()
        changed = copy.deepcopy(cells)
        changed[0]["result"]["failed"] = 0
        for text, listed, wanted in ((good.replace("| 1 |", "| 0 |"), cells, "run `make machines`"),
                                     (good, changed, "run `make machines`"),
                                     (good, cells[:1], "run `make machines`"),
                                     (good.replace(machines.END, ""), cells, "has no lines")):
            page.write_text(text)
            machines.store(path, listed)
            with mock.patch.object(machines, "PAGE", page), \
                    mock.patch.object(machines, "MACHINES", path):
                try:
                    machines.check_table(path, page)
                    said = ""
                except machines.Wrong as error:
                    said = str(error)
            check(wanted in said, wanted, said)


TESTS = [each_kernel_and_each_qemu, all_suites_are_counted, cells_are_kept_and_shown,
         cells_are_listed,
         what_broke_is_not_kept, parts_of_cells_are_not_kept, results_replace_their_own,
         table_says_not_run, wrong_cells_are_refused, difference_is_found]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
