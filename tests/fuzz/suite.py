#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A fuzz target on its corpus, with new and with rewound devices, and shortly from there; TAP on stdout.

usage: suite.py TARGET
"""

import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tap import BUILD, FAIL, PASS, ROOT, Result, execute, report, run_suite  # noqa: E402

RUNS = 1500  # some 3 s of the slowest target; a busy host needs longer for as many


def fuzz_run(name, target, arguments, least, env=None):
    """One libFuzzer run that must end well after at least so many inputs."""
    status, log = execute(name, [BUILD / "fuzzers" / target, "-timeout=120", "-seed=1", *arguments], env=env)
    done = re.search(r"^Done (\d+) runs", log.read_text(errors="replace"), re.M)
    good = status == 0 and done and int(done[1]) >= least
    report([Result(name, PASS if good else FAIL, log)])


def fuzz_suite(target):
    corpus = ROOT / "tests/fuzz/corpus" / target
    place = BUILD / "fuzz/out" / target
    place.mkdir(parents=True, exist_ok=True)
    where = f"-artifact_prefix={place}/"
    # Leaks are found at the end; new devices for each input would be searched each time.
    fuzz_run(f"fuzz/{target}/corpus", target, [where, "-runs=0", "-detect_leaks=0", corpus],
             max(1, len(list(corpus.glob("*")))), {"T3_FUZZ_TWICE": "1"})
    with tempfile.TemporaryDirectory(dir=place) as found:
        fuzz_run(f"fuzz/{target}/run", target, [where, f"-runs={RUNS}", "-max_len=4096", found, corpus], RUNS)


if __name__ == "__main__":
    run_suite(f"fuzz/{sys.argv[1]}", lambda: fuzz_suite(sys.argv[1]))
