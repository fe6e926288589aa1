#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Fuzz for a while: each target, or the one that FUZZ names.

usage: run.py           with the options of `make fuzz` in the environment:
                        FUZZ, FUZZ_SECONDS, FUZZ_SEED, FUZZ_INPUT
       run.py --total   how many inputs all runs have executed (fuzz-report)

What libFuzzer finds on its way is kept in .build/fuzz/out/TARGET/found and is where the
next run goes on; an input that fails is left in .build/fuzz/out/TARGET. Exits 1 if any was.
The numbers of executions are summed up in .build/fuzz/out/executions.json.
"""

import json
import os
import pathlib
import re
import secrets
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
INPUT_MAX = 4096
TOTALS = BUILD / "fuzz/out/executions.json"


def targets():
    known = sorted(path.stem for path in (ROOT / "tests/fuzz").glob("fuzz_*.c"))
    wanted = os.environ.get("FUZZ")
    if wanted and wanted not in known:
        sys.exit(f"fuzz: no target '{wanted}'; there are: {' '.join(known)}")
    return [wanted] if wanted else known


def whole(name, otherwise):
    text = os.environ.get(name) or str(otherwise)
    if not text.isdecimal() or not 0 < int(text) < 2**32:
        sys.exit(f"fuzz: {name} is '{text}', not a number from 1 to 2^32 - 1")
    return int(text)


def executed(log):
    """What libFuzzer counted, also at a failure. None: it was killed before it could say so."""
    found = re.findall(r"^stat::number_of_executed_units: +(\d+)$", log, re.M)
    return int(found[-1]) if found else None


def totals():
    """Inputs that all runs so far have executed, by target."""
    return json.loads(TOTALS.read_text()) if TOTALS.exists() else {}


def count(target, inputs):
    """A run that is stopped leaves the old file or the new one."""
    new = TOTALS.with_suffix(".new")
    new.write_text(json.dumps({**totals(), target: totals().get(target, 0) + inputs}, indent=1))
    new.replace(TOTALS)


def print_executions(here):
    """Of this run, `here`: inputs by target, None where it is not known; and of all runs."""
    everywhere = totals()
    print(f"{'executions':18}{'this run':>15}{'all runs':>18}")
    for target in sorted({*here, *everywhere}):
        now = here.get(target, 0)
        print(f"{target:18}{'unknown' if now is None else f'{now:,}':>15}"
              f"{everywhere.get(target, 0):>18,}")
    print(f"{'sum':18}{sum(now or 0 for now in here.values()):>15,}"
          f"{sum(everywhere.values()):>18,}")


def fuzz(target, seconds, seed):
    """(the run's status, inputs). On a failure it prints the seed and what to do."""
    place = BUILD / "fuzz/out" / target
    found = place / "found"
    found.mkdir(parents=True, exist_ok=True)
    before = set(place.glob("*-*"))
    log = place / "log"
    print(f"[{target}] {seconds} s with FUZZ_SEED={seed}, log {os.path.relpath(log)}", flush=True)
    # The process is searched for leaks at its end. After each input that would take its time.
    with open(log, "wb") as output:
        status = subprocess.run(
            [BUILD / "fuzzers" / target, f"-max_total_time={seconds}", f"-seed={seed}",
             f"-max_len={INPUT_MAX}", f"-artifact_prefix={place}/", "-print_final_stats=1",
             "-timeout=120", "-detect_leaks=0", found, ROOT / "tests/fuzz/corpus" / target],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            cwd=ROOT, check=False).returncode
    text = log.read_text(errors="replace")
    inputs = executed(text)
    if inputs is not None:
        count(target, inputs)
    print("\n".join(f"    {line}" for line in text.splitlines()
                    if line.startswith(("Done ", "SUMMARY", "stat:"))))
    for path in sorted(set(place.glob("*-*")) - before):
        print(f"    again: make fuzz FUZZ={target} FUZZ_INPUT={os.path.relpath(path)}")
    print(f"[{target}] {'ok' if status == 0 else f'FAILED with status {status}'}", flush=True)
    return status, inputs


def main():
    if sys.argv[1:] == ["--total"]:
        print_executions({})
        return 0
    wanted = targets()
    one = os.environ.get("FUZZ_INPUT")
    if one:
        if len(wanted) != 1:
            sys.exit("fuzz: FUZZ_INPUT needs FUZZ=target")
        if not pathlib.Path(one).is_file():
            sys.exit(f"fuzz: no file {one}")
        return subprocess.run([BUILD / "fuzzers" / wanted[0], one], check=False).returncode and 1
    seconds = whole("FUZZ_SECONDS", 900)
    seed = whole("FUZZ_SEED", 1 + secrets.randbelow(2**32 - 2))
    ends = {target: fuzz(target, seconds, seed) for target in wanted}
    print_executions({target: inputs for target, (_, inputs) in ends.items()})
    return int(any(status for status, _ in ends.values()))


if __name__ == "__main__":
    sys.exit(main())
