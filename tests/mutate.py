#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How many generated mutants of the core its native tests find.

usage: mutate.py [-n COUNT] [-s SEED] [-j JOBS] [--json FILE] [FILE...]

mutation.py writes all mutants of qemu-device/core into one build of the unit tests. Of these, COUNT
(300) are drawn by SEED (1), in all files of the core or in FILE. Each is run against the programs that
reach its place, the fastest first, until one fails or does not end. Prints each survivor, and the score:
found / all that were run. Exits 1 when the score is below 85 %.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import mutation

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
TREE = BUILD / "mutate/tree"
REACHED = BUILD / "mutate/reached"
CORE = "qemu-device/core"
WANTED = 0.85
OPTIONS = ["-Iuapi", f"-I{CORE}", "-std=gnu11"]
# What takes long and finds what others find; and threads, whose ends vary.
LEFT_OUT = ("test_core_threads", "test_lib_", "test_coll_", "test_sim_files")


# --- the build ---------------------------------------------------------------

def copy_tree():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    for name in filter(None, names.stdout.split("\0")):
        target = TREE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_if_changed(target, (ROOT / name).read_bytes())
        shutil.copymode(ROOT / name, target)


def write_if_changed(path, data):
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def rewrite_core():
    """All mutants of the core, in the order of their numbers."""
    os.chdir(ROOT)  # the options have paths in it
    rewriter = mutation.Rewriter(ROOT, OPTIONS)
    for path in sorted((ROOT / CORE).glob("*/*.c")):
        name = str(path.relative_to(ROOT))
        write_if_changed(TREE / name, rewriter.rewrite(name).encode())
    source = mutation.SOURCE % (len(rewriter.mutants) + 1)
    write_if_changed(TREE / CORE / "clock/mutants.c", source.encode())
    return rewriter.mutants


def build(jobs):
    """The unit programs that have the core, and the conformance suite."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "T3_"))}
    programs = [".build/conformance-native"]
    programs += [f".build/unit/{path.stem}" for path in sorted((ROOT / "tests/unit").glob("test_*.c"))
                if not path.stem.startswith(LEFT_OUT)]
    with open(BUILD / "mutate/build.log", "w", encoding="utf-8") as log:
        subprocess.run(["make", f"-j{jobs}", "CFLAGS=-w", *programs], cwd=TREE, stdout=log, stderr=log,
                       check=True, env={**environment, "T3_BUILD": ".build"})
    return [TREE / program for program in programs]


# --- runs --------------------------------------------------------------------

def run(program, seconds, **env):
    """Whether it passes."""
    try:
        done = subprocess.run([program], cwd=TREE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=seconds, check=False,
                              env={**os.environ, **env})
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def look(program):
    """(program, seconds, mutants whose places it reaches)"""
    file = REACHED / program.name
    begun = time.monotonic()
    if not run(program, 300, T3_REACHED=str(file)):
        sys.exit(f"mutate.py: {program} fails without a mutant")
    return program, time.monotonic() - begun, set(map(int, file.read_text().split()))


def find(mutant, looks):
    """The program that finds it, "" if none does, None if none reaches it."""
    reaching = sorted((seconds, program) for program, seconds, reached in looks if mutant.number in reached)
    for seconds, program in reaching:
        if not run(program, 10 * seconds + 5, T3_MUTANT=str(mutant.number)):
            return program.name
    return "" if reaching else None


def find_all(pool, chosen, looks):
    """mutant -> finder; with progress."""
    found, begun = {}, time.monotonic()
    futures = {pool.submit(find, mutant, looks): mutant for mutant in chosen}
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
                 f"files are those of {CORE}, as {mutants[0].file}")
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
    for folder in (TREE, REACHED):
        folder.mkdir(parents=True, exist_ok=True)
    copy_tree()
    mutants = rewrite_core()
    chosen = draw(mutants, given)
    print(f"{len(mutants)} mutants, {len(chosen)} of them drawn by seed {given.seed}", flush=True)
    programs = build(given.jobs)
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        looks = list(pool.map(look, programs))
        found = find_all(pool, chosen, looks)
    if given.json:
        write_json(given.json, found)
    score = sum(bool(finder) for finder in found.values()) / len(found)
    print(f"{score:.1%} of {len(found)} mutants were found, wanted are {WANTED:.0%}")
    return 0 if score >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
