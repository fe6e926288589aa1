#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Models in Promela of what threads of the device do, checked by SPIN in all states; TAP on stdout.
A model is also checked with one of its rules broken, and must then fail.

usage: model.py [NAME...]     (default: all tests)
"""

import pathlib
import re
import sys
import tempfile

import loop
from loop import ROOT, check, run

LOCK = ROOT / "tests/model/lock.pml"
SECONDS = 300
FOUND = re.compile(r"errors: (\d+)\n\s+(\d+) states, stored", re.M)


def verdict(model, *defines):
    """(the first error's text or "", states). All states of the model are visited."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for command in (("spin", "-a", *(f"-D{name}" for name in defines), model),
                        ("gcc", "-O2", "-w", "-DSAFETY", "-o", "pan", "pan.c")):
            made = run("env", "-C", folder, *command, seconds=SECONDS)
            check(made[0] == 0, command, made[1] + made[2])
        done = run("env", "-C", folder, "./pan", "-m100000", seconds=SECONDS)
    counts = FOUND.search(done[1])
    check(done[0] == 0 and counts and "too small" not in done[1], "a whole search", done)
    error = re.search(r"^pan:1: (.*?) \(at depth", done[1], re.M)
    check(bool(error) == (counts[1] != "0"), "an error has a text", done[1])
    return error[1] if error else "", int(counts[2])


def lock_holds():
    for defines in ((), ("THREADS=2", "TURNS=4")):
        error, states = verdict(LOCK, *defines)
        check(not error, defines, error)
        check(states > 10000, "states", states)
        print(f"# {' '.join(defines) or '3 threads, 2 turns'}: {states} states")


def broken(rule, *texts):
    error, _ = verdict(LOCK, rule)
    check(error in texts, f"{rule} is found as one of {texts}", error)


def lock_needs_barrier():
    broken("NO_BARRIER", "invalid end state")


def lock_needs_wake():
    broken("NO_WAKE", "invalid end state")


def lock_needs_turns():
    broken("NO_TURNS", "assertion violated (turn==ticket)")


def lock_is_not_overtaken():
    broken("OVERTAKE", "assertion violated (passed[_pid]<=1)")


def lock_needs_exchange():
    broken("PLAIN", "assertion violated (inside==1)")


TESTS = [lock_holds, lock_needs_barrier, lock_needs_wake, lock_needs_turns, lock_is_not_overtaken,
         lock_needs_exchange]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
