#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`make fuzz`'s script: what it counts and prints, and its status; TAP on stdout.

usage: fuzz_run.py [NAME...]     (default: all tests)

Shell scripts stand for the targets: they print what libFuzzer prints at its end.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile

import loop
from loop import BUILD, ROOT, check, run

GOOD = "echo Done 1 runs in 0 'second(s)'; echo stat::number_of_executed_units: {}"
BAD = "echo stat::number_of_executed_units: {}; echo bytes >$3crash-1; exit 77"
KILLED = "kill -9 $$"


class Place:
    """A build folder whose targets are scripts."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=BUILD, prefix="test-"))
        (self.folder / "fuzzers").mkdir()
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def fuzz(self, target, script, *arguments):
        """(status, output) of a run of this target alone."""
        program = self.folder / "fuzzers" / target
        program.write_text('#!/bin/bash\nfor word; do\n[[ $word != -artifact_prefix=* ]] || '
                           f'set -- "$1" "$2" "${{word#*=}}"\ndone\n{script}\n')
        program.chmod(0o755)
        status, out, error = run(ROOT / "tests/fuzz/run.py", *arguments, env={
            "T3_BUILD": str(self.folder), "FUZZ": target, "FUZZ_SECONDS": "1", "FUZZ_SEED": "1",
            "FUZZ_INPUT": ""})
        check(not error, "an error", error)
        return status, out


def rows(out):
    """The table at the end: [this run, all runs] by the first word."""
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("executions"))
    return {line.split()[0]: line.split()[1:] for line in lines[start + 1:]}


def executions_add_up():
    with Place() as place:
        _, out = place.fuzz("fuzz_text", GOOD.format(1200))
        check(rows(out) == {"fuzz_text": ["1,200", "1,200"], "sum": ["1,200", "1,200"]}, "one", out)
        status, out = place.fuzz("fuzz_regs", GOOD.format(30))
        check(status == 0, f"status {status}", out)
        check(rows(out) == {"fuzz_regs": ["30", "30"], "fuzz_text": ["0", "1,200"],
                            "sum": ["30", "1,230"]}, "two targets", out)
        _, out = place.fuzz("fuzz_text", GOOD.format(1))
        check(rows(out)["fuzz_text"] == ["1", "1,201"], "again", out)
        _, out = place.fuzz("fuzz_text", "exit 1", "--total")
        check(rows(out)["sum"] == ["0", "1,231"], "--total", out)


def failing_run_counts():
    with Place() as place:
        status, out = place.fuzz("fuzz_text", BAD.format(40))
        check(status == 1, f"status {status}", out)
        check(rows(out)["fuzz_text"] == ["40", "40"], "its executions", out)
        again = os.path.relpath(place.folder / "fuzz/out/fuzz_text/crash-1", ROOT)
        check(f"make fuzz FUZZ=fuzz_text FUZZ_INPUT={again}\n" in out, "how to run it again", out)


def killed_run_is_unknown():
    with Place() as place:
        place.fuzz("fuzz_text", GOOD.format(5))
        status, out = place.fuzz("fuzz_text", KILLED)
        check(status == 1, f"status {status}", out)
        check(rows(out)["fuzz_text"] == ["unknown", "5"], "not counted", out)
        kept = json.loads((place.folder / "fuzz/out/executions.json").read_text())
        check(kept == {"fuzz_text": 5}, "what is kept", str(kept))


TESTS = [executions_add_up, failing_run_counts, killed_run_is_unknown]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
