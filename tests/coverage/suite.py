#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the core's unit tests found, and how much of it these, spec and conformance reached (coverage.py);
TAP on stdout.

usage: suite.py PROGRAM...     those of tests/unit
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tap import (BUILD, FAIL, PASS, PROGRAM_SECONDS, ROOT, Result, execute, report,  # noqa: E402
                 run_suite, tap_results)


def coverage_suite(programs):
    status, log = execute("coverage", [ROOT / "tests/coverage.py"], 6 * PROGRAM_SECONDS)
    report([Result("coverage (of the core)", PASS if status == 0 else FAIL, log)])
    for program in programs:
        output = BUILD / f"coverage/{program}.log"
        text = output.read_text(errors="replace") if output.exists() else ""
        report(tap_results(f"coverage/{program}", text, 0, output))


if __name__ == "__main__":
    run_suite("coverage", lambda: coverage_suite(sys.argv[1:]))
