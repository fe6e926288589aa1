#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Faults that somebody wrote without a look at the tests, and which tests find them.

usage: faults.py [-n COUNT] [-s SEED] [--suite SUITE] [--results FILE] [ROOM|NAME...]

Each file of tests/faults is a ROOM, and has its faults as small edits of one file. Without arguments
all faults are listed with what a user would see. With --check, each is only looked for in the tree: its
old lines must be there exactly once, and its new lines must differ.

Of the given rooms or names, COUNT are drawn by SEED (default: all of them). Each is made in a copy of
the tree, which is built with warnings as errors, and SUITE is run: `native` (of core and libt3; runs
the programs that mutate.py names until one fails), `models` (tests of `t3 sim` on models), or one
that mutants.py knows: qtest, python, examples, guest:PROGRAM, debug:PROGRAM. Each room has its usual
one. FILE gets a line for each: name, what failed first (- for nothing), seconds. tests/faults/found.txt
has those of the last whole run. Ends in "N passed, N failed": passed is a fault that was found.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import sys
import tempfile
import time

import mutants
import mutate

ROOT = mutants.ROOT
FOLDER = ROOT / "tests/faults"
SUITES = {"core": "native", "libt3": "native", "python": "python", "mpi": "examples",
          "device": "qtest", "driver": "guest", "tools": "models"}

Fault = collections.namedtuple("Fault", "room name file suite says old new")


# --- the lists ---------------------------------------------------------------

def one(room, text):
    """NAME: FILE [SUITE], what a user would see, and a hunk as diff writes it, without its head."""
    first, *lines = text.splitlines()
    name, file, suite = [*first.split(), SUITES[room]][:3]
    begin = next((at for at, line in enumerate(lines) if line[:1] in "-+ "), len(lines))
    hunk = [line or " " for line in lines[begin:]]
    if not all(line[0] in "-+ " for line in hunk):
        sys.exit(f"faults.py: {room}.txt: the hunk of {name} has a line without - + or a blank")

    def side(signs):
        return "".join(f"{line[1:]}\n" for line in hunk if line[0] in signs)
    return Fault(room, f"{room}/{name.rstrip(':')}", file, suite, " ".join(lines[:begin]),
                 side("- "), side("+ "))


def read_room(room):
    _, *parts = re.split(r"\n\n(?=[\w-]+: \S+(?: \S+)?\n)", (FOLDER / f"{room}.txt").read_text())
    return [one(room, part) for part in parts]


def read_all():
    return [fault for room in SUITES for fault in read_room(room)]


def edited(text, fault):
    """The file's new text, or None: the old lines are not there once."""
    if not fault.old or ("\n" + text).count("\n" + fault.old) != 1:
        return None
    return ("\n" + text).replace("\n" + fault.old, "\n" + fault.new)[1:]


def complaints(faults):
    names = collections.Counter(fault.name for fault in faults)
    yield from (f"two faults are called {name}" for name, count in names.items() if count > 1)
    for fault in faults:
        path = ROOT / fault.file
        if not path.is_file() or edited(path.read_text(), fault) is None:
            yield f"{fault.file}: fault {fault.name}: its lines are not there once"
        if fault.old == fault.new or not fault.says:
            yield f"fault {fault.name} changes nothing, or does not say what a user would see"


# --- runs --------------------------------------------------------------------

class Native:
    """The native programs of a room, built in the copy of the tree."""

    def __init__(self, room):
        self.room = mutate.ROOMS[room]
        self.seconds = {}

    def build(self, targets, log):
        return not mutants.run(["tools/build/native.sh", "native", *targets], log,
                               {"T3_JOBS": str(os.cpu_count())}, mutants.KERNEL_SECONDS)

    def measure(self, log):
        """Whether all pass without a fault."""
        targets = self.room.targets()
        if not self.build(targets, log):
            return False
        for target in targets:
            begun = time.monotonic()
            if mutate.fails(self.room.runs, mutants.COPY / ".build/native" / target, 300):
                print(f"{target} fails without a fault", file=sys.stderr)
                return False
            self.seconds[target] = time.monotonic() - begun
        return True

    def fails(self, target):
        """Twice, and the second time with patience: a busy host makes programs late."""
        program = mutants.COPY / ".build/native" / target
        return (mutate.fails(self.room.runs, program, 10 * self.seconds[target] + 60)
                and mutate.fails(self.room.runs, program, 900))

    def first_failure(self, targets):
        """The name of what fails first, the shortest being run first; or ""."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            futures = {pool.submit(self.fails, target): target
                       for target in sorted(targets, key=self.seconds.get)}
            for future in concurrent.futures.as_completed(futures):
                if future.result():
                    pool.shutdown(wait=False, cancel_futures=True)
                    return pathlib.Path(futures[future]).name
        return ""

    def verdict(self, fault, log):
        """What fails first, "" if all pass, None if it was not built.

        To link all programs takes longer than to run most. So those with a word of the file's name
        come first.
        """
        path = pathlib.Path(fault.file)
        words = (path.parent.name, *path.stem.split("_"))
        likely = [name for name in self.seconds
                  if any(part.startswith(words) for part in pathlib.Path(name).name.split("_"))]
        others = [name for name in self.seconds if name not in likely]
        for targets in filter(None, (likely, others)):
            if not self.build(targets, log):
                return None
            if found := self.first_failure(targets):
                return found
        return ""


class Models:
    """The tests of `t3 sim` on models: of its parts natively, and of the tool."""

    PROGRAMS = ("test_sim_transformer", "test_sim_families", "test_sim_timed", "test_sim_routing",
                "test_sim_functional", "test_core_timed_routed", "test_core_timed_turns")

    def measure(self, log):
        return self.verdict(None, log) == ""

    def verdict(self, _fault, log):
        targets = ["tools/t3/t3", *(f"tests/unit/{name}" for name in self.PROGRAMS)]
        if mutants.run(["tools/build/native.sh", "native", *targets], log, {}, mutants.KERNEL_SECONDS):
            return None
        for name in self.PROGRAMS:
            if mutants.run([mutants.COPY / ".build/native/tests/unit" / name], log):
                return name
        if not mutants.run(["tests/tool.py", "sim of a model"], log):
            return ""
        return re.search(r"^not ok \d+ - (\S+)", log.read_text(errors="replace"), re.M)[1]


class Suite:
    """One that mutants.py runs."""

    def __init__(self, name):
        self.name = name

    def measure(self, log):
        return self.verdict(None, log) == ""

    def verdict(self, _fault, log):
        return {"passes": "", "fails": self.name, "breaks": None}[mutants.verdict(self.name, log)]


def in_groups(chosen, suite):
    """Those of one suite together, as it has to pass without a fault first."""
    groups = collections.defaultdict(list)
    for fault in chosen:
        groups[fault.room, suite or fault.suite].append(fault)
    return groups.items()


def try_fault(fault, suite):
    begun = time.monotonic()
    path = mutants.COPY / fault.file
    log = mutants.BUILD / "log" / f"fault-{fault.name.replace('/', '-')}.log"
    log.unlink(missing_ok=True)
    path.write_text(edited(path.read_text(), fault))
    found = suite.verdict(fault, log)
    mutants.copy_tree()
    seconds = time.monotonic() - begun
    what = "not built" if found is None else f"found by {found}" if found else "NOT FOUND"
    print(f"[{fault.name}] {what} ({seconds:.0f} s)", flush=True)
    return f"{fault.name} {found or '-'} {seconds:.0f}", bool(found)


def run_faults(chosen, given):
    (mutants.BUILD / "log").mkdir(parents=True, exist_ok=True)
    mutants.copy_tree()
    results = []
    for (room, name), faults in in_groups(chosen, given.suite):
        suite = Native(room) if name == "native" else Models() if name == "models" else Suite(name)
        if not suite.measure(mutants.BUILD / "log" / f"fault-none-{room}.log"):
            print(f"faults.py: {name} fails without a fault of {room}", file=sys.stderr)
            return 1
        for fault in faults:
            results.append(try_fault(fault, suite))
            if given.results:
                given.results.write_text("".join(f"{line}\n" for line, _ in results))
    found = sum(is_found for _, is_found in results)
    print(f"{found} passed, {len(results) - found} failed")
    return 0 if found == len(results) else 1


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n", maxsplit=1)[0],
                                     allow_abbrev=False)
    parser.add_argument("-n", dest="count", type=int)
    parser.add_argument("-s", dest="seed", type=int, default=1)
    parser.add_argument("--suite")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("given", nargs="*", metavar="ROOM|NAME")
    return parser.parse_args()


def main():
    given, faults = arguments(), read_all()
    wrong = list(complaints(faults))
    print("".join(f"{line}\n" for line in wrong), end="", file=sys.stderr)
    if wrong or given.check:
        return 1 if wrong else 0
    unknown = set(given.given) - set(SUITES) - {fault.name for fault in faults}
    if unknown:
        sys.exit(f"faults.py: there is no room and no fault '{unknown.pop()}'")
    chosen = [fault for fault in faults if {fault.room, fault.name} & set(given.given)]
    if not chosen:
        print("\n".join(f"{fault.name}: {fault.says}" for fault in faults))
        return 0
    if given.count:
        chosen = random.Random(given.seed).sample(chosen, min(given.count, len(chosen)))
    with tempfile.TemporaryDirectory(prefix="t3-faults-") as os.environ["TMPDIR"]:
        return run_faults(chosen, given)


if __name__ == "__main__":
    sys.exit(main())
