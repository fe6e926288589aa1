#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Models in Promela of threads and links of the device, checked by SPIN in all states; TAP on stdout.
A model is also checked with one of its rules broken, and must then fail.

usage: model.py [--all] [NAME...]     (default: all tests but LONG)
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
GRANT = ROOT / "tests/model/grant.pml"
GROUP = ROOT / "tests/model/group.pml"
ORDER = ROOT / "tests/model/order.pml"
MULTICAST = ROOT / "tests/model/multicast.pml"
PAGES = [ROOT / "tests/model/README.md", ROOT / "tests/model/groups.md"]
SECONDS = 600
FOUND = re.compile(r"errors: (\d+)\n\s+(\d+) states, stored", re.M)


# For a whole search, which takes longer than its compilation, and for one that soon finds an error. SFH is
# a faster hash; states are compared as a whole all the same.
SEARCH, GLANCE = ("gcc", "-Og", "-DSFH"), ("tcc",)


def verdict(model, *defines, compiler=SEARCH):
    """(the first error's text or "", states). All states of the model are visited."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for command in (("spin", "-a", *(f"-D{name}" for name in defines), model),
                        (*compiler, "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c")):
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
    error, _ = verdict(model, rule, *variant, compiler=GLANCE)
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
    holds(LINK, ())


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
STUCK_BY_LINK = "assertion violated ((unheard||(s[i].state==2))||((s[i].state==1)&&(s[i].finished==2)))"
NO_CAUSE = "assertion violated (struck||(s[i].state==1))"
OTHER_EPOCH = "assertion violated ((epoch==s[r].epoch)&& !(s[r].got))"


def epochs_hold():
    holds(EPOCH, ("FAULTS=0",), ("LINE",), ("FREE",))


def epochs_hold_on_a_ring():
    holds(EPOCH, ())


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


CUT = ("CUTS=1", "FAULTS=0")


def epochs_hold_with_accidents_of_links():
    holds(EPOCH, (*CUT, "LINE"))


def epochs_hold_with_accidents_and_a_free_rank():
    holds(EPOCH, (*CUT, "FREE"))


def epochs_need_the_verdict_of_links():
    broken(EPOCH, "NO_VERDICT", STUCK_BY_LINK, variant=(*CUT, "LINE"))


def epochs_need_the_verdict_of_states():
    broken(EPOCH, "STATE_LOST", STUCK_BY_LINK, variant=(*CUT, "LINE"))


def epochs_do_not_wait_for_who_ended_later():
    broken(EPOCH, "WAITS", STUCK_BY_LINK, variant=(*CUT, "FREE"))


def rings_hold_with_accidents_of_links():
    holds(EPOCH, (*CUT, "EPOCHS=1"))


NAMES = ("BY_NAME", "GRANTS=1", "ENDS=1")
KEYS = ("BY_KEY", "GRANTS=1", "CLAIMS=1", "ENDS=0")
# The rule, a variant that needs it, and what is found: a part of the assertion.
GRANT_RULES = [
    ("SAME", NAMES, "in_flight"), ("NO_GENERATION", ("BY_NAME", "ENDS=1"), "s[i].state!="),
    ("NO_SOURCE", NAMES, "s[i].state!="), ("ANY_RANK", NAMES, "s[i].state!="),
    ("KEEP", NAMES, "over[current]"), ("KEEP_KEY", KEYS, "over[k]"),
    ("RESET_KEEPS", (*KEYS[:3], "ENDS=1"), "over[k]"),
    ("ANY_KEY", KEYS, "over[k]"), ("ANY_MASK", KEYS, "over[k]"), ("REBIND", KEYS, "over[k]"),
    ("NO_AGAIN", ("BY_KEY", "GRANTS=1", "ENDS=0"), "over[k]"),
    ("NO_LIMIT", ("BY_KEY", "GRANTS=0", "CLAIMS=3", "ENDS=0"), "judged<="),
    ("FORGIVE", ("BY_KEY", "GRANTS=0", "ENDS=0", "CUTS=1"), "judged<="),
    ("ANY_SERIAL", ("BY_KEY", "GRANTS=1", "ENDS=0"), "s[i].asked==n"),
    ("STALE_ANSWER", NAMES, "s[i].in_flight"), ("EARLY", KEYS, "!(((((("), ("NO_ASK", KEYS, "s[i].state!="),
    ("NO_TELL", NAMES, "s[i].state!="), ("UNTOLD", (*KEYS[:3], "ENDS=1"), "had_route[current]"),
    ("NO_LOSS", NAMES, "s[i].state!="), ("LOSS_ALL", ("BY_NAME", "ENDS=1"), "!(((((("),
    ("LOSS_OTHERS", ("BY_NAME",), "!(((((("), ("REUSE", ("BY_NAME", "ENDS=0"), "!((((((")]


def grants_hold():
    holds(GRANT, NAMES[:2], ("BY_NAME", "ENDS=1"), (*KEYS[:3], "ENDS=1"))


def grants_hold_with_accidents_of_links():
    holds(GRANT, (*NAMES, "GIVE_UPS=1"), (*KEYS, "GIVE_UPS=1"), (*KEYS, "CUTS=1"))


def more_grants_hold():
    holds(GRANT, ("BY_NAME",), ("BY_KEY", "CLAIMS=1", "ENDS=1"))


def grants_need_each_rule():
    for rule, variant, text in GRANT_RULES:
        error, _ = verdict(GRANT, rule, *variant, compiler=GLANCE)
        check(text in error, f"{rule} is found as {text}", error)


LOSSY = ("RESETS=0",)
RESET = ("ACCIDENTS=0",)
NARROW = ("RESETS=0", "ACCIDENTS=0", "SLOTS=2", "UPDATES=3")
# As GRANT_RULES.
GROUP_RULES = [
    ("AGAIN", LOSSY, "added[0]<="), ("OWN_ENTRY", LOSSY, "counted=="), ("KEEP_DONE", LOSSY, "state==0"),
    ("NO_ROOM", LOSSY, "added[0]=="), ("PASS_BUSY", NARROW, "added[0]=="),
    ("BEHIND_BUSY", NARROW, "added[0]=="), ("ANY_ROOM", NARROW, "had_room["),
    ("KEEP_ENTRIES", RESET, "state==0"), ("UNTOLD", RESET, "knows")]


def groups_hold_with_resets_of_ports():
    holds(GROUP, RESET)


def groups_hold_with_accidents_of_links():
    holds(GROUP, LOSSY)


def groups_hold_with_a_narrow_link():
    holds(GROUP, NARROW, (*NARROW[:2], "SLOTS=1", "UPDATES=3"))


def groups_need_each_rule():
    for rule, variant, text in GROUP_RULES:
        error, _ = verdict(GROUP, rule, *variant, compiler=GLANCE)
        check(text in error, f"{rule} is found as {text}", error)


PLAIN = (*LOSSY, *RESET)
ORDER_RULES = [
    ("ARRIVAL", PLAIN, "order<4"), ("EARLY", PLAIN, "got[at])||knows"), ("WAIT_DONE", (*PLAIN, "SKIP"), "(held)"),
    ("ANY_DONE", (*PLAIN, "EPOCHS=2"), "got[at])||knows"), ("FEW", PLAIN, "(held<"), ("SHARE", PLAIN, "(held<"),
    ("DOUBLE", (*PLAIN, "HOSTILE"), "(held)"), ("TWICE", LOSSY, "got[at])||knows"),
    ("KEEP_HELD", RESET, "(held)")]
MULTICAST_RULES = [
    ("HALF", PLAIN, "number==g[from].got[t]"), ("DROP_FULL", PLAIN, "(g[0].knows[0])"),
    ("LACKING", PLAIN, ".had["), ("STAYS", RESET, "(ticket[0])&&"), ("HIGHEST", PLAIN, "g[from].armed[t]"),
    ("NO_END", RESET, "(g[0].knows[0])"), ("ONE_END", RESET, "(g[0].knows[0])")]


def orders_hold():
    holds(ORDER, LOSSY, (*RESET, "SKIP"), (*PLAIN, "SOURCES=3"))


def orders_hold_over_epochs():
    holds(ORDER, (*LOSSY, "EPOCHS=2"))


def orders_hold_with_places_left_out():
    holds(ORDER, (*LOSSY, "SKIP"))


def orders_hold_with_a_hostile_source():
    holds(ORDER, (*RESET, "SKIP", "HOSTILE"))


def copies_hold():
    holds(MULTICAST, LOSSY, (*LOSSY, "SLOTS=2"), RESET)


def copies_hold_over_epochs():
    holds(MULTICAST, (*PLAIN, "EPOCHS=2"), (*PLAIN, "SLOTS=2", "UPDATES=3"))


def orders_and_copies_need_each_rule():
    for model, rules in ((ORDER, ORDER_RULES), (MULTICAST, MULTICAST_RULES)):
        for rule, variant, text in rules:
            error, _ = verdict(model, rule, *variant, compiler=GLANCE)
            check(text in error, f"{rule} is found as {text}", error)


def native_test_exists(name):
    program, _, sentence = name.partition(": ")
    path = ROOT / f"tests/unit/{program}.c"
    return path.exists() and re.search(rf'^\w*TEST\w*\("{re.escape(sentence)}"[,)]', path.read_text(), re.M)


def rules_have_native_tests():
    """Each rule of links, epochs, grants and groups is in a page's table with native tests that there are."""
    text = "\n".join(page.read_text() for page in PAGES)
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|$", text, re.M)
    heads = [rule for model in (LINK, EPOCH, GRANT, GROUP, ORDER, MULTICAST)
             for rule in re.findall(r"^ \*\t([A-Z_]{3,}) +\S", model.read_text().split("*/\n#", 1)[0], re.M)]
    check(sorted(rule for rule, _ in rows) == sorted([*heads, "FAR_BEHIND", "NO_QUERY"]), "rules",
          (rows, heads))
    for rule, tests in rows:
        names = re.findall(r"`(\w+: [^`]+)`", tests)
        check(names or re.match(r"none: \w", tests), f"a native test of {rule}", tests)
        for name in names:
            check(native_test_exists(name), f"{rule}: there is no {name}")


def rules_that_nothing_needs():
    """They keep the state small, and nothing goes wrong without them."""
    holds(LINK, ("FAR_BEHIND",))
    holds(EPOCH, ("NO_QUERY",))


TESTS = [lock_holds, lock_needs_barrier, lock_needs_wake, lock_needs_turns, lock_is_not_overtaken,
         lock_needs_exchange, gate_holds, gate_needs_barrier, gate_waits_for_lanes,
         gate_is_looked_at_after_the_mark, gate_stays_closed_in_the_end, lane_needs_exchange,
         lane_is_not_shared, link_holds, link_counts_what_has_passed, link_waits_for_the_turn,
         link_refuses_what_has_ended, link_begins_an_incarnation,
         link_compares_the_incarnation_of_responses, link_loses_all_when_it_is_cut, link_needs_a_timer,
         epochs_hold, epochs_that_are_finished_are_told_as_such, epochs_need_poison, epochs_need_state,
         epochs_remember_who_has_gone, epochs_are_reported, epochs_take_updates_while_arming,
         epochs_are_compared, epochs_end_by_a_refusal, epochs_hold_with_accidents_of_links,
         epochs_need_the_verdict_of_links, epochs_need_the_verdict_of_states,
         epochs_do_not_wait_for_who_ended_later, grants_hold, groups_hold_with_resets_of_ports,
         orders_hold, copies_hold, rules_have_native_tests]
LONG = [epochs_hold_on_a_ring, epochs_hold_with_accidents_and_a_free_rank,
        grants_hold_with_accidents_of_links, grants_need_each_rule, rules_that_nothing_needs,
        rings_hold_with_accidents_of_links, more_grants_hold, groups_hold_with_accidents_of_links,
        groups_hold_with_a_narrow_link, groups_need_each_rule, orders_hold_over_epochs,
        orders_hold_with_places_left_out, orders_hold_with_a_hostile_source, copies_hold_over_epochs,
        orders_and_copies_need_each_rule]


def main():
    known = TESTS + LONG if sys.argv[1:] else TESTS
    if sys.argv[1:2] == ["--all"]:
        del sys.argv[1]
    return loop.main(known)


if __name__ == "__main__":
    sys.exit(main())
