#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Run the guest tests on one kernel after the other, and compare.

usage: matrix.py [KERNEL...]     (default: debian, which is the usual one, and the newest of each
                                  version that the mirror offers)

Prints what `make guest KERNEL=...` prints, then a line for each kernel, and last the sum. In a
line, `reports` counts the VMs whose kernel has reported a warning or worse. Exits 1 when a test
failed or a kernel has run none.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
OFFERED = re.compile(r"^KERNEL=(\d+\.\d+)", re.M)
SUM = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
REPORTS = re.compile(r"^FAIL \S+ \(kernel log is clean\)", re.M)

Line = collections.namedtuple("Line", "kernel release passed failed skipped reports")


def versions():
    """`debian`, and each version of which the mirror has a kernel, from the oldest on."""
    listed = subprocess.run([ROOT / "tools/build/kernel.sh", "list"], capture_output=True,
                            text=True, check=True)
    return ["debian", *dict.fromkeys(OFFERED.findall(listed.stdout))]


def release(kernel):
    folder = BUILD if kernel == "debian" else BUILD / f"linux-{kernel}"
    path = folder / "kernel/release"
    return path.read_text().strip() if path.exists() else "none"


def line_of(kernel, output):
    """What a run of the guest suite has counted. One that ended before it could counts as failed."""
    found = SUM.findall(output)
    passed, failed, skipped = map(int, (number or 0 for number in found[-1])) if found else (0, 1, 0)
    return Line(kernel, release(kernel), passed, failed or int(not passed), skipped,
                len(REPORTS.findall(output)))


def run(kernel):
    """The guest suite on it, with its output as it comes."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("MAKE", "MFLAGS", "T3_KERNEL", "T3_GUEST"))}
    lines = []
    with subprocess.Popen(["make", "--no-print-directory", "guest", f"KERNEL={kernel}"], cwd=ROOT,
                          text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, env=environment) as make:
        for line in make.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return line_of(kernel, "".join(lines))


def table(lines):
    rows = [Line._fields, *lines]
    return "\n".join(f"{row[0]:<10}{row[1]:<24}{row[2]:>8}{row[3]:>8}{row[4]:>8}{row[5]:>8}"
                     for row in rows)


def main():
    lines = [run(kernel) for kernel in sys.argv[1:] or versions()]
    print(table(lines))
    failed = sum(line.failed for line in lines)
    print(f"{sum(line.passed for line in lines)} passed, {failed} failed, "
          f"{sum(line.skipped for line in lines)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
