#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Models in Promela of threads and links of the device, checked by SPIN in all states; TAP on stdout.
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
GATE = ROOT / "tests/model/gate.pml"
LINK = ROOT / "tests/model/link.pml"
EPOCH = ROOT / "tests/model/epoch.pml"
SECONDS = 300
FOUND = re.compile(r"errors: (\d+)\n\s+(\d+) states, stored", re.M)


def verdict(model, *defines):
    """(the first error's text or "", states). All states of the model are visited."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for command in (("spin", "-a", *(f"-D{name}" for name in defines), model),
                        ("gcc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c")):
            made = run("env", "-C", folder, *command, seconds=SECONDS)
            check(made[0] == 0, command, made[1] + made[2])
        done = run("env", "-C", folder, "./pan", "-m200000", seconds=SECONDS)
    counts = FOUND.search(done[1])
    check(done[0] == 0 and counts and "too small" not in done[1], "a whole search", done)
    error = re.search(r"^pan:1: (.*?) \(at depth", done[1], re.M)
    check(bool(error) == (counts[1] != "0"), "an error has a text", done[1])
    return error[1] if error else "", int(counts[2])


def holds(model, *variants):
    for defines in variants:
        error, states = verdict(model, *defines)
        check(not error, defines, error)
        check(states > 10000, "states", states)
        print(f"# {' '.join((model.stem, *defines))}: {states} states")


def broken(model, rule, *texts, variant=()):
    error, _ = verdict(model, rule, *variant)
    check(error in texts, f"{rule} is found as one of {texts}", error)


def lock_holds():
    holds(LOCK, (), ("THREADS=2", "TURNS=4"))


def lock_needs_barrier():
    broken(LOCK, "NO_BARRIER", "invalid end state")


def lock_needs_wake():
    broken(LOCK, "NO_WAKE", "invalid end state")


def lock_needs_turns():
    broken(LOCK, "NO_TURNS", "assertion violated (turn==ticket)")


def lock_is_not_overtaken():
    broken(LOCK, "OVERTAKE", "assertion violated (passed[_pid]<=1)")


def lock_needs_exchange():
    broken(LOCK, "PLAIN", "assertion violated (inside==1)")


BESIDE = "assertion violated  !(alone)"
AFTER = "assertion violated attached"
LANE = "assertion violated (inside[(_pid%2)]==1)"


def gate_holds():
    holds(GATE, ())


def gate_needs_barrier():
    broken(GATE, "NO_BARRIER", BESIDE, AFTER)


def gate_waits_for_lanes():
    broken(GATE, "NO_WAIT", BESIDE, AFTER)


def gate_is_looked_at_after_the_mark():
    broken(GATE, "LOOK_FIRST", BESIDE, AFTER)


def gate_stays_closed_in_the_end():
    broken(GATE, "REOPEN", AFTER)


def lane_needs_exchange():
    broken(GATE, "PLAIN", BESIDE, AFTER, LANE)


def lane_is_not_shared():
    broken(GATE, "NO_SHARE", BESIDE, AFTER, LANE)


ONCE = "assertion violated (applied[who]==1)"
INTO_ORDER = "assertion violated ((last==255)||(last<who))"
WHOSE = "assertion violated (who==(base+number))"


def link_holds():
    holds(LINK, (), ("FAR_BEHIND",))


def link_counts_what_has_passed():
    broken(LINK, "TWICE", ONCE)


def link_waits_for_the_turn():
    broken(LINK, "AHEAD", INTO_ORDER)


def link_refuses_what_has_ended():
    broken(LINK, "OLD", ONCE)


def link_begins_an_incarnation():
    broken(LINK, "SAME", WHOSE)


def link_compares_the_incarnation_of_responses():
    broken(LINK, "ANY", WHOSE)


def link_loses_all_when_it_is_cut():
    broken(LINK, "KEEP", ONCE)


def link_needs_a_timer():
    broken(LINK, "NO_TIMER", "assertion violated verdict[i]")


STUCK = "assertion violated ((s[i].state==2)||((s[i].state==1)&&(s[i].finished==2)))"
NO_CAUSE = "assertion violated (struck||(s[i].state==1))"
OTHER_EPOCH = "assertion violated ((epoch==s[r].epoch)&& !(s[r].got))"


def epochs_hold():
    holds(EPOCH, (), ("FAULTS=0",), ("LINE",), ("FREE",), ("NO_QUERY",))


def epochs_that_are_finished_are_told_as_such():
    broken(EPOCH, "CURRENT", NO_CAUSE)


def epochs_need_poison():
    broken(EPOCH, "NO_POISON", STUCK)


def epochs_need_state():
    broken(EPOCH, "NO_STATE", STUCK, variant=("LINE",))


def epochs_remember_who_has_gone():
    broken(EPOCH, "FORGET", STUCK)


def epochs_are_reported():
    broken(EPOCH, "NO_REPORT", STUCK)


def epochs_take_updates_while_arming():
    broken(EPOCH, "ARMED_ONLY", NO_CAUSE)


def epochs_are_compared():
    broken(EPOCH, "ANY_EPOCH", OTHER_EPOCH, variant=("FREE",))


def epochs_end_by_a_refusal():
    broken(EPOCH, "NO_REJECT", STUCK, variant=("FREE",))


TESTS = [lock_holds, lock_needs_barrier, lock_needs_wake, lock_needs_turns, lock_is_not_overtaken,
         lock_needs_exchange, gate_holds, gate_needs_barrier, gate_waits_for_lanes,
         gate_is_looked_at_after_the_mark, gate_stays_closed_in_the_end, lane_needs_exchange,
         lane_is_not_shared, link_holds, link_counts_what_has_passed, link_waits_for_the_turn,
         link_refuses_what_has_ended, link_begins_an_incarnation,
         link_compares_the_incarnation_of_responses, link_loses_all_when_it_is_cut, link_needs_a_timer,
         epochs_hold, epochs_that_are_finished_are_told_as_such, epochs_need_poison, epochs_need_state,
         epochs_remember_who_has_gone, epochs_are_reported, epochs_take_updates_while_arming,
         epochs_are_compared, epochs_end_by_a_refusal]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
