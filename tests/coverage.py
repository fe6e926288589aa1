#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Run the test programs that were built with --coverage; what of the core they reach.

usage: coverage.py [--fuzz] [--html]

Prints lines and branches for each file of qemu-device/core, what was not reached,
and the totals. Exits 1 when a program fails or a total is below its threshold.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
TREE = BUILD / "cov"
OBJECTS = BUILD / "native/qemu-device/core/libt3core-counted.a.p"
LINES, BRANCHES = 95.0, 90.0
PROGRAM_SECONDS = 600


def built_programs(fuzz):
    """The programs of tests/coverage/meson.build."""
    patterns = ("fuzz/fuzz_*.c",) if fuzz else ("unit/test_core_*.c", "unit/test_sim_*.c", "spec/test_*.c")
    names = sorted(path.stem for pattern in patterns for path in (ROOT / "tests").glob(pattern)
                   if not path.stem.startswith("test_core_threads"))
    return [BUILD / "coverage" / name for name in (names if fuzz else [*names, "conformance-native"])]


def inputs(program):
    """The folders of a target's inputs that exist."""
    target = program.name
    places = (ROOT / "tests/fuzz/corpus" / target, BUILD / "fuzz/out" / target / "found")
    return [place for place in places if place.exists()]


def run_programs(programs, fuzz):
    """Names of the programs that failed. Counts of earlier runs are deleted first."""
    for old in OBJECTS.glob("*.gcda"):
        old.unlink()
    failed = []
    for program in programs:
        log = pathlib.Path(f"{program}.log")
        with open(log, "wb") as output:
            status = subprocess.run([program, *(inputs(program) if fuzz else [])],
                                    stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=subprocess.STDOUT, timeout=PROGRAM_SECONDS,
                                    cwd=ROOT, check=False).returncode
        if status:
            failed.append(f"{program} ended with status {status}, see {log}")
    return failed


def gcovr(html):
    """(per-file figures, uncovered lines and branches by file)."""
    summary, full = TREE / "summary.json", TREE / "full.json"
    subprocess.run(["gcovr", "--root", ROOT, "--object-directory", OBJECTS,
                    "--filter", "qemu-device/core/", "--json-summary", summary, "--json", full,
                    *(["--html-details", TREE / "report.html"] if html else []), OBJECTS],
                   cwd=ROOT, check=True, timeout=300)
    missed = {}
    for entry in json.loads(full.read_text())["files"]:
        code = [line for line in entry["lines"] if not line.get("gcovr/noncode")]
        lines = {line["line_number"] for line in code if not line["count"]}
        branches = {line["line_number"] for line in code
                    if any(not branch["count"] for branch in line.get("branches", []))}
        missed[entry["file"]] = (sorted(lines), sorted(branches - lines))
    return json.loads(summary.read_text()), missed


def ranges(numbers):
    """1-3,7 for [1, 2, 3, 7]."""
    runs = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{a}-{b}" if a != b else str(a) for a, b in runs)


def row(name, entry):
    def part(what):
        total = entry[f"{what}_total"]
        share = 100.0 * entry[f"{what}_covered"] / total if total else 100.0
        return f"{entry[f'{what}_covered']:5d}/{total:<5d} {share:5.1f} %"
    print(f"{name:14s} {part('line')}   {part('branch')}")


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n", maxsplit=1)[0],
                                     allow_abbrev=False)
    parser.add_argument("--fuzz", action="store_true", help="the programs are targets, which get their "
                        "corpus and what was found; no thresholds")
    parser.add_argument("--html", action="store_true", help="leave the whole report in "
                        ".build/cov/report.html")
    return parser.parse_args()


def main():
    given = arguments()
    fuzz = given.fuzz
    TREE.mkdir(exist_ok=True)
    failed = run_programs(built_programs(fuzz), fuzz)
    summary, missed = gcovr(given.html)
    print(f"{'':14s} {'lines':>19s}   {'branches':>19s}")
    for entry in sorted(summary["files"], key=lambda entry: entry["filename"]):
        row(pathlib.Path(entry["filename"]).name, entry)
        lines, branches = missed[entry["filename"]]
        if lines:
            print(f"    lines not run: {ranges(lines)}")
        if branches:
            print(f"    branches not all taken: {ranges(branches)}")
    row("total", summary)
    for what, least in (("line", LINES), ("branch", BRANCHES)):
        share = 100.0 * summary[f"{what}_covered"] / max(1, summary[f"{what}_total"])
        if share < least and not fuzz:
            failed.append(f"{what} coverage {share:.1f} % is below {least:.0f} %")
    for text in failed:
        print(f"coverage: {text}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
