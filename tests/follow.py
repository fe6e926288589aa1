#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The models of links and epochs do what the code has done; TAP on stdout.

usage: follow.py [NAME...]         (default: all tests but LONG)
       follow.py --replay RECORD   what was done in a VM with --fabric-opts record=RECORD

Programs of $T3_BUILD/traced write what each link and each space does. SPIN takes the model
(tests/model/link.pml, epoch.pml) through these events, one by one. Where the model's rules do not allow
an event, it says which one. So what is true of all runs of the model is true of these runs of the code.
"""

import array
import os
import pathlib
import re
import struct
import sys
import tempfile

import loop
from loop import BUILD, ROOT, check, run

MODEL = ROOT / "tests/model"
TRACED = BUILD / "traced"
SECONDS = 300
VARIABLES = {"link": "T3_LINK_TRACE", "epoch": "T3_SPACE_TRACE"}
EVENT = struct.Struct("4I")
BEGINS, TAKEN = 0, 3  # TAKEN: of links
AT_ONCE = 50000  # events, and the rest of a run
SAID = re.compile(r"^followed (\d+) of (\d+) events; (next: .*)$", re.M)

PROGRAMS = {}  # by model and the rule that is broken: a folder with the compiled model


def compiled(model, rule):
    if (model, rule) not in PROGRAMS:
        place = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        for command in (("spin", "-a", "-DTRACE", *([f"-D{rule}"] if rule else []), MODEL / f"{model}.pml"),
                        (*(("tcc",) if rule else ("gcc", "-O2")), "-w", "-DSAFETY", "-DBITSTATE",
                         "-DVECTORSZ=16384", f"-I{MODEL}", "-o", "pan", "pan.c")):
            made = run("env", "-C", place.name, *command, seconds=SECONDS)
            check(made[0] == 0, command, made[1] + made[2])
        PROGRAMS[model, rule] = place
    return pathlib.Path(PROGRAMS[model, rule].name)


def follow_part(place, part):
    """Runs that are there as a whole."""
    trace = place / "trace"
    trace.write_bytes(part)
    steps = 100 * (len(part) // EVENT.size) + 100000
    done = run("env", "-C", place, "./pan", f"-m{steps}", "-w20", env={"T3_TRACE": str(trace)},
               seconds=SECONDS)
    said = SAID.search(done[1])
    check(done[0] == 0 and said and "too small" not in done[1], "the model runs", done[1] + done[2])
    error = re.search(r"^pan:1: (.*?) \(at depth", done[1], re.M)
    check(not error and said[1] == said[2],
          f"the model followed {said[1]} of {said[2]} events; {said[3]}", error and error[1])


def follow(model, data, rule=""):
    """(events, runs), or an AssertionError that says where the model stops."""
    if not data:
        return 0, 0
    place = compiled(model, rule)
    kinds = array.array("I", data)[::EVENT.size // 4]
    begins = [number for number, kind in enumerate(kinds) if kind == BEGINS]
    cuts = [0]
    for number in begins:
        if number - cuts[-1] >= AT_ONCE:
            cuts.append(number)
    for first, end in zip(cuts, [*cuts[1:], len(kinds)]):
        follow_part(place, data[first * EVENT.size:end * EVENT.size])
    return len(kinds), len(begins)


def traced(program, *arguments, seeds=0):
    """What was done in that program: {model: events}. seeds: of programs at random; 0: all."""
    with tempfile.TemporaryDirectory() as place:
        names = {model: pathlib.Path(place) / model for model in VARIABLES}
        done = run(TRACED / program, *arguments, seconds=SECONDS,
                   env={**{VARIABLES[model]: str(path) for model, path in names.items()},
                        **({"T3_SEEDS": str(seeds)} if seeds else {})})
        check(done[0] == 0, program, done[1] + done[2])
        return {model: path.read_bytes() if path.exists() else b"" for model, path in names.items()}


def follows(program, seeds=0, **least):
    """At least so many events of each model."""
    for model, data in traced(program, seeds=seeds).items():
        events, runs = follow(model, data)
        print(f"# {program}: {events} events of {model} in {runs} runs", flush=True)
        check(events >= least.get(model, 0), f"events of {model}", events)


def random_programs_are_followed():
    follows("test_core_property", seeds=24, link=10000, epoch=5000)


def accidents_are_followed():
    follows("test_core_inject", link=10000, epoch=5000)
    follows("test_core_nak", link=400, epoch=500)
    follows("test_core_burst", seeds=20, link=10000, epoch=1000)
    follows("test_core_loss", link=10000, epoch=5000)
    follows("test_core_peer", link=50000, epoch=20000)


def nodes_are_followed():
    follows("test_core_node_fault", link=5000, epoch=1000)


def preparing_is_followed():
    follows("test_core_prepare", link=20, epoch=200)


def hostile_programs_are_followed():
    follows("test_core_hostile", seeds=2, link=500, epoch=5000)


def many_jobs_are_followed():
    for name in ("chain", "fabric", "generations", "isolation", "node", "routes"):
        follows(f"test_core_{name}", link=10000, epoch=9000)


def many_random_programs_are_followed():
    follows("test_core_property", link=50000, epoch=500000)


def many_hostile_programs_are_followed():
    follows("test_core_hostile", link=10000, epoch=100000)


def campaigns_are_followed():
    follows("test_core_campaign", link=1000000, epoch=1000000)


# --- it can fail --------------------------------------------------------------

def stops(model, data, what, rule=""):
    try:
        follow(model, data, rule)
    except AssertionError as error:
        check(re.match(r"the model followed \d+ of \d+ events", str(error)), "it says where", error)
        return
    check(False, f"the model followed {what}")


BROKEN = {"link": ("TWICE", "AHEAD"),
          "epoch": ("CURRENT", "NO_POISON", "NO_STATE", "NO_REPORT", "NO_QUERY", "ANY_EPOCH", "UNPREPARED")}


def broken_models_do_not_follow():
    """The runs have what each of these rules is about."""
    runs = [traced(f"test_core_{name}", seeds=2) for name in ("inject", "nak", "hostile", "prepare")]
    for model, rules in BROKEN.items():
        for rule in rules:
            stops(model, b"".join(run[model] for run in runs), rule, rule)


def changed_runs_are_not_followed():
    """An event that is missing, comes twice, or has another number or verdict."""
    data = traced("test_core_nak")["link"]
    events = list(EVENT.iter_unpack(data))
    at = next(i for i, event in enumerate(events) if event[0] == TAKEN and event[3])
    kind, incarnation, number, _ = events[at]
    for changed in ([], [events[at]] * 2, [(kind, incarnation, number + 1, 1)],
                    [(kind, incarnation + 1, number, 1)], [(kind, incarnation, number, 0)]):
        stops("link", b"".join(EVENT.pack(*event) for event in events[:at] + changed + events[at + 1:]),
              f"{changed} in the place of {events[at]}")


TESTS = [random_programs_are_followed, accidents_are_followed, nodes_are_followed, preparing_is_followed,
         hostile_programs_are_followed, broken_models_do_not_follow, changed_runs_are_not_followed]
LONG = [many_jobs_are_followed, many_random_programs_are_followed, many_hostile_programs_are_followed,
        campaigns_are_followed]


def main():
    if sys.argv[1:2] != ["--replay"]:
        return loop.main(TESTS + LONG if sys.argv[1:] else TESTS)
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        done = traced("t3", "sim", "--replay", sys.argv[2])
        check(any(done.values()), "no link and no space has done anything")
        for model, data in done.items():
            events, runs = follow(model, data)
            print(f"{sys.argv[2]}: the model of {model}s followed {events} events in {runs} runs")
    except AssertionError as error:
        print(f"follow: {sys.argv[2]}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    os.environ.setdefault("T3_BUILD", str(BUILD))
    sys.exit(main())
