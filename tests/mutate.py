#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How many generated mutants of a room its native tests find.

usage: mutate.py [--room ROOM] [-n COUNT] [-s SEED] [-j JOBS] [--json FILE] [FILE...]

ROOM is core (qemu-device/core; the default) or libt3 (with its checker, without the component of Open
MPI, which has no native tests). mutation.py writes all mutants of the room into one build of the unit
tests. Of these, COUNT (300) are drawn by SEED (1), in all files of the room or in FILE. Each is run
against the programs that reach its place, the fastest first, until one fails or does not end. Prints each
survivor, and the score: found / all that were run. Exits 1 when the score is below 85 %.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
WANTED = 0.85
# Bytes of a program's data: a mutant may ask for memory in a loop without an end.
MEMORY = 4 << 30


@dataclasses.dataclass(frozen=True)
class Room:
    """What is changed, and what has to notice."""
    name: str
    folder: str
    home: str  # a file that is in each program and shared object of the room: it gets the switch
    includes: tuple
    packages: tuple  # of pkg-config
    tests: tuple  # how the names of its programs begin
    programs: tuple = ()  # others
    again: tuple = ()  # (a program, what else its environment has): it runs a second time
    without: tuple = ()  # folders and programs
    runs: int = 1  # a program fails if so many runs of it do

    @property
    def base(self):
        return BUILD / "mutate" / self.name

    @property
    def tree(self):
        return self.base / "tree"

    def sources(self):
        names = (str(path.relative_to(ROOT)) for path in sorted((ROOT / self.folder).glob("*/*.c")))
        return [name for name in names if not name.startswith(self.without)]

    def targets(self):
        """The programs, as ninja calls them."""
        names = [path.stem for path in sorted((ROOT / "tests/unit").glob("test_*.c"))]
        return [*self.programs, *(f"tests/unit/{name}" for name in names if name.startswith(self.tests)
                                  and not name.startswith(self.without))]

    def options(self):
        """How libclang reads its files."""
        found = subprocess.run(["pkg-config", "--cflags", *self.packages], capture_output=True, check=True,
                               text=True).stdout.split() if self.packages else []
        return [f"-I{path}" for path in ("uapi", *self.includes)] + ['-DT3_VERSION="0"', "-std=gnu11"] + found


# test_sim_files finds in more time what others find, and ends of threads vary. Those of processes with
# deadlines vary on a busy host alone, so the third failure counts.
ROOMS = {room.name: room for room in (
    Room("core", "qemu-device/core", home="qemu-device/core/clock/clock.c", includes=("qemu-device/core",),
         packages=(), tests=("test_core_", "test_sim_"), programs=("tests/conformance/conformance-native",),
         again=(("tests/conformance/conformance-native", ("T3_TOPOLOGY", "switch")),),
         without=("test_core_threads", "test_sim_files")),
    Room("libt3", "libt3", home="libt3/device/host.c", includes=("libt3",), packages=("libdrm", "libpci"),
         tests=("test_lib_", "test_coll_"), without=("libt3/mpi/",), runs=3))}


# --- the build ---------------------------------------------------------------

def copy_tree(room):
    """All that rewrite() does not write."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, check=True, text=True)
    for name in set(filter(None, names.stdout.split("\0"))) - set(room.sources()):
        target = room.tree / name
        write_if_changed(target, (ROOT / name).read_bytes())
        shutil.copymode(ROOT / name, target)


def write_if_changed(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def rewrite(room):
    """All mutants of the room, in the order of their numbers."""
    import mutation  # pylint: disable=import-outside-toplevel # here alone libclang is needed
    os.chdir(ROOT)  # the options have paths in it
    rewriter = mutation.Rewriter(ROOT, room.options())
    texts = {name: rewriter.rewrite(name) for name in room.sources()}
    texts[room.home] += mutation.SOURCE % (len(rewriter.mutants) + 1)
    for name, text in texts.items():
        write_if_changed(room.tree / name, text.encode())
    return rewriter.mutants


@dataclasses.dataclass(frozen=True, order=True)
class Program:
    """One that has to notice."""
    path: pathlib.Path
    env: tuple = ()  # pairs of a name and a value

    def __str__(self):
        return "-".join((self.path.name, *(value for _, value in self.env)))


def build(room, jobs):
    """The programs of the room."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "T3_"))}
    with open(room.base / "build.log", "w", encoding="utf-8") as log:
        subprocess.run(["tools/build/native.sh", "native", *room.targets()], cwd=room.tree, stdout=log,
                       stderr=log, check=True, env={**environment, "CFLAGS": "-w", "T3_JOBS": str(jobs)})
    place = room.tree / ".build/native"
    return [*(Program(place / target) for target in room.targets()),
            *(Program(place / target, (pair,)) for target, pair in room.again)]


# --- runs --------------------------------------------------------------------

def run(program, seconds, **env):
    """Whether it passes, None if it does not end. Its children end with it."""
    with subprocess.Popen([program.path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True,
                          env={**os.environ, **dict(program.env), **env}) as process:
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def fails(runs, program, seconds, **env):
    for _ in range(runs):
        passed = run(program, seconds, **env)
        if passed is not False:
            return passed is None
    return True


def look(room, program):
    """(program, seconds, mutants whose places it reaches)"""
    file = room.base / "reached" / str(program)
    file.unlink(missing_ok=True)
    begun = time.monotonic()
    if fails(room.runs, program, 300, T3_REACHED=str(file)):
        sys.exit(f"mutate.py: {program} fails without a mutant")
    marks = file.read_bytes() if file.exists() else b""  # it may use nothing of the room
    return program, time.monotonic() - begun, {number for number, mark in enumerate(marks) if mark}


def find(room, mutant, looks):
    """The program that finds it, "" if none does, None if none reaches it."""
    reaching = sorted((seconds, program) for program, seconds, reached in looks if mutant.number in reached)
    for seconds, program in reaching:
        if fails(room.runs, program, 10 * seconds + 5, T3_MUTANT=str(mutant.number)):
            return str(program)
    return "" if reaching else None


def find_all(room, pool, chosen, looks):
    """mutant -> finder; with progress."""
    found, begun = {}, time.monotonic()
    futures = {pool.submit(find, room, mutant, looks): mutant for mutant in chosen}
    for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
        mutant = futures[future]
        found[mutant] = future.result()
        if not found[mutant]:
            why = "no program reaches it" if found[mutant] is None else "all programs pass"
            print(f"survives: {mutant} ({why})", flush=True)
        if number % 100 == 0:
            print(f"{number} of {len(chosen)} in {time.monotonic() - begun:.0f} s", flush=True)
    return found


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n", maxsplit=1)[0],
                                     allow_abbrev=False)
    parser.add_argument("--room", choices=ROOMS, default="core")
    parser.add_argument("-n", dest="count", type=int, default=300)
    parser.add_argument("-s", dest="seed", type=int, default=1)
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("file", nargs="*")
    return parser.parse_args()


def draw(mutants, given):
    files = {str(pathlib.Path(name)) for name in given.file}
    if unknown := files - {mutant.file for mutant in mutants}:
        sys.exit(f"mutate.py: there is no mutant in {sorted(unknown)[0]}; "
                 f"files are those of {ROOMS[given.room].folder}, as {mutants[0].file}")
    those = [mutant for mutant in mutants if not files or mutant.file in files]
    return random.Random(given.seed).sample(those, min(given.count, len(those)))


def write_json(path, found):
    path.write_text(json.dumps([{"file": mutant.file, "line": mutant.line, "rule": mutant.rule,
                                 "text": mutant.text, "found_by": finder}
                                for mutant, finder in found.items()], indent=1) + "\n")


def main():
    given = arguments()
    if given.count < 1 or given.jobs < 1:
        sys.exit("mutate.py: COUNT and JOBS are 1 or more")
    room = ROOMS[given.room]
    for folder in (room.tree, room.base / "reached"):
        folder.mkdir(parents=True, exist_ok=True)
    copy_tree(room)
    mutants = rewrite(room)
    chosen = draw(mutants, given)
    print(f"{len(mutants)} mutants, {len(chosen)} of them drawn by seed {given.seed}", flush=True)
    programs = build(room, given.jobs)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    # A program that crashes leaves what it made.
    with tempfile.TemporaryDirectory(prefix="t3-mutate-") as os.environ["TMPDIR"], \
            concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        looks = list(pool.map(functools.partial(look, room), programs))
        found = find_all(room, pool, chosen, looks)
    if given.json:
        write_json(given.json, found)
    score = sum(bool(finder) for finder in found.values()) / len(found)
    print(f"{score:.1%} of {len(found)} mutants were found, wanted are {WANTED:.0%}")
    return 0 if score >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
