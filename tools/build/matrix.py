#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Run the same suites in one cell after the other: a kernel and a QEMU. Compare and keep the
results.

usage: matrix.py [--suites NAME,...] [--json FILE] [KERNEL[/QEMU]...]
       matrix.py --list      (the cells that it runs without arguments; runs nothing)

Without cells: each kernel with the usual QEMU, and the newest kernel with each other QEMU. KERNEL
is what `make KERNEL=...` takes, `debian` the usual one; QEMU is what `make QEMU=...` takes. ARCH
and ACCEL are those of make; ARCH=arm64 has one kernel of its own.

Prints what `make SUITE KERNEL=... QEMU=...` prints, then a line for each cell, and last the sum.
In a line, `reports` counts the VMs whose kernel has reported a warning or worse. Results of whole
cells go to tests/machines.json and to the table in tests/machines.md, or to --json FILE. With
other suites than the usual ones, a cell is no whole one, and goes to FILE or nowhere. Exits 1 when
a test failed or a suite has run none, 2 for bad use.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

import machines
from machines import BUILD, ROOT, SUITES

USUAL_QEMU = "10.0"
OTHER_QEMUS = ("10.2",)

OFFERED = re.compile(r"^KERNEL=((\d+\.\d+)\S*)", re.M)
SUM = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
REPORTS = re.compile(r"^FAIL \S+ \(kernel log is clean\)", re.M)
CELL = re.compile(r"[\w.+]+(/\d+(\.\d+)+)?")

Line = collections.namedtuple("Line", "kernel qemu release passed failed skipped reports")


# --- which cells -------------------------------------------------------------

def newest():
    """Of each version that the mirror has, from the oldest on, the newest kernel. `make` alone would
    be content with an older one that is in the cache."""
    listed = subprocess.run([ROOT / "tools/build/kernel.sh", "list"], capture_output=True,
                            text=True, check=True)
    return {version: name for name, version in OFFERED.findall(listed.stdout)}


def cells(kernels):
    """Each kernel with the usual QEMU, and the newest with each other one."""
    return ([(kernel, USUAL_QEMU) for kernel in kernels]
            + [(kernels[-1], qemu) for qemu in OTHER_QEMUS])


def usual_cells(names):
    return [("debian", USUAL_QEMU)] if machines.CROSSED else cells(["debian", *names])


def cell(text):
    kernel, _, qemu = text.partition("/")
    return kernel, qemu or USUAL_QEMU


# --- one cell ----------------------------------------------------------------

def folder(kernel):
    """Of what depends on the kernel."""
    return BUILD if kernel == "debian" else BUILD / f"linux-{kernel}"


def line_of(kernel, qemu, outputs, name=None):
    """What the suites of a cell have counted. One that ended before it could counts as failed."""
    counts = collections.Counter()
    for output in outputs:
        found = SUM.findall(output)
        passed, failed, skipped = map(int, (text or 0 for text in found[-1])) if found else (0, 1, 0)
        counts += collections.Counter(passed=passed, failed=failed or int(not passed),
                                      skipped=skipped, reports=len(REPORTS.findall(output)))
    return Line(kernel, qemu, machines.kernel_release(folder(name or kernel)) or "none",
                *(counts[name] for name in Line._fields[3:]))


def run_suite(suite, kernel, qemu):
    """Its output, which is shown as it comes."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("MAKE", "MFLAGS", "T3_KERNEL", "T3_GUEST", "T3_QEMU"))}
    lines = []
    with subprocess.Popen(["make", "--no-print-directory", suite, f"KERNEL={kernel}",
                           f"QEMU={qemu}"], cwd=ROOT, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          env=environment) as make:
        for line in make.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines)


def keep(line, suites, path, made):
    """A cell that did not come as far as a test has no result to keep."""
    if not line.passed:
        return
    result = {**machines.facts(made), "suites": list(suites),
              **{name: getattr(line, name) for name in machines.COUNTS}}
    known = machines.load(path) if path.exists() else []
    machines.store(path, machines.merged(known, machines.key_here(line.kernel, line.qemu), result))
    if path == machines.MACHINES:
        machines.write_table()


def table(lines):
    rows = [Line._fields, *lines]
    return "\n".join(f"{row[0]:<10}{row[1]:<7}{row[2]:<24}{row[3]:>8}{row[4]:>8}{row[5]:>8}{row[6]:>8}"
                     for row in rows)


# --- the command line --------------------------------------------------------

def arguments():
    parser = argparse.ArgumentParser(prog="matrix.py", usage=__doc__.split("usage: ")[1],
                                     add_help=False)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("cells", nargs="*")
    given = parser.parse_args()
    given.suites = tuple(given.suites.split(","))
    for text in given.cells:
        if not CELL.fullmatch(text):
            parser.error(f"a cell is KERNEL or KERNEL/QEMU, as in 7.3 or 7.3/10.2; got '{text}'")
    if given.suites != SUITES and given.json and given.json.resolve() == machines.MACHINES:
        parser.error(f"{given.json} has whole cells alone, of the suites {','.join(SUITES)}: "
                     "give another FILE")
    return given


def main():
    given = arguments()
    if given.list:
        print("\n".join(f"{kernel}/{qemu}" for kernel, qemu in usual_cells(newest())))
        return 0
    path = given.json or (machines.MACHINES if given.suites == SUITES else None)
    lines = []
    names = {} if given.cells else newest()
    for kernel, qemu in [cell(text) for text in given.cells] or usual_cells(names):
        name = names.get(kernel, kernel)
        line = line_of(kernel, qemu, [run_suite(suite, name, qemu) for suite in given.suites], name)
        lines.append(line)
        if path:
            keep(line, given.suites, path.resolve(), folder(name))
    print(table(lines))
    failed = sum(line.failed for line in lines)
    print(f"{sum(line.passed for line in lines)} passed, {failed} failed, "
          f"{sum(line.skipped for line in lines)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
