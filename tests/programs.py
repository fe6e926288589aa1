#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs of Debian that know nothing of T3, with and without the component of Open MPI; TAP on stdout.

usage: programs.py [--all]     (hpcc, ScaLAPACK, HDF5, MUMPS, MPB and mpi4py's own tests, which take long,
                                only with --all)

All run in one VM whose root is this machine's. Results are compared, and the component's counters show
who has done the work. T3_MPI4PY is a folder with mpi4py's tests; default: Debian's source package.
"""

import collections
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools/build"))

from batch import batch_command, read_batch  # noqa: E402

BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
OWN = ROOT / "tests/programs"
HPCC_INPUT = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
SCALAPACK = pathlib.Path("/usr/share/scalapack")  # inputs of its own tests
SCALAPACK_TESTS = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests"
SECONDS, LONG_SECONDS = 800, 2400  # on a busy host
MPI4PY_SECONDS = 5400

CALLS = ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "allgather", "alltoall", "bcast",
         "allgatherv", "gather", "gatherv", "scatter", "scatterv", "alltoallv")
RUN = "mpirun -n 4 --mca coll_t3_verbose 1"
SMALL = " ".join(f"--mca coll_t3_{call}_min 0" for call in CALLS)  # all messages are T3's
OFF = "--mca coll ^t3"

# What runs: (name, command). All of it is in the working directory, in memory.
COMMANDS = {
    "lammps": f"{RUN} {SMALL} lmp -in melt.lammps -log none",
    "lammps-usual": f"{RUN} lmp -in melt.lammps -log none",
    "lammps-off": f"{RUN} {OFF} lmp -in melt.lammps -log none",
    "fit": f"{RUN} /usr/bin/python3 fit.py",
    "fit-small": f"{RUN} {SMALL} /usr/bin/python3 fit.py",
    "fit-off": f"{RUN} {OFF} /usr/bin/python3 fit.py",
    "netpipe": "mpirun -n 2 --mca coll_t3_verbose 1 NPopenmpi -u 4096 -n 20 -p 0",
}
BLACS = f"{SCALAPACK_TESTS}/xCbtest"
LU = f"{SCALAPACK_TESTS}/xslu"
PBLAS = f"{SCALAPACK_TESTS}/PBLAS/spb3tst"
# The solution is a long line, which the component's messages would come into.
MUMPS = "/usr/lib/mumps/dsimpletest < mumps.txt > out.txt 2> errors.txt; status=$?; cat out.txt errors.txt; exit $status"
MPB = "mpb-mpi crystal.ctl"
LONG_COMMANDS = {
    "blacs": f"{RUN} {SMALL} {BLACS}",
    "blacs-usual": f"{RUN} {BLACS}",
    "blacs-off": f"{RUN} {OFF} {BLACS}",
    "lu": f"{RUN} {SMALL} {LU}",
    "lu-usual": f"{RUN} {LU}",
    "lu-off": f"{RUN} {OFF} {LU}",
    "pblas": f"{RUN} {SMALL} {PBLAS}",
    "pblas-usual": f"{RUN} {PBLAS}",
    "pblas-off": f"{RUN} {OFF} {PBLAS}",
    "grid": f"{RUN} {SMALL} /usr/bin/python3 grid.py",
    "grid-usual": f"{RUN} /usr/bin/python3 grid.py",
    "grid-off": f"{RUN} {OFF} /usr/bin/python3 grid.py",
    "mumps": f"{RUN} {SMALL} {MUMPS}",
    "mumps-usual": f"{RUN} {MUMPS}",
    "mumps-off": f"{RUN} {OFF} {MUMPS}",
    "mpb": f"{RUN} {SMALL} {MPB}",
    "mpb-usual": f"{RUN} {MPB}",
    "mpb-off": f"{RUN} {OFF} {MPB}",
    "hpcc": f"rm -f hpccoutf.txt; {RUN} hpcc; cat hpccoutf.txt",
    "hpcc-small": f"rm -f hpccoutf.txt; {RUN} {SMALL} hpcc; cat hpccoutf.txt",
    "hpcc-off": f"rm -f hpccoutf.txt; {RUN} {OFF} hpcc; cat hpccoutf.txt",
}
# A rank's report is a file of its own, as mpirun would mix them. Tests that start more processes want
# more places than mpirun has.
MPI4PY = ("{} sh -c '/usr/bin/python3 {}/runtests.py --quiet --exclude spawn --exclude dynproc "
          ">report.$OMPI_COMM_WORLD_RANK 2>&1'; status=$?; cat report.?; rm report.?; exit $status")


class Skipped(Exception):
    """Why a test has nothing to run."""


def must(good, text):
    assert good, text[-4000:]


def hpcc_input():
    """Debian's example with a small matrix."""
    text, changed = re.subn(r"^\d+( +Ns)$", r"120\1", HPCC_INPUT.read_text(), flags=re.M)
    assert changed == 1, f"{HPCC_INPUT} has no line Ns"
    return text


def blacs_input():
    """Debian's example: broadcasts and sums of integers and floats. The rest sends from rank to rank, or
    tests that an abort ends all."""
    text = (SCALAPACK / "BLACS/bt.dat").read_text()
    for old, new in (("'T'  (.*Run SDRV)", r"'F'  \1"), ("'T'  (.*Run AUX)", r"'F'  \1"),
                     ("5   (.*Number of precisions)", r"2   \1"), ("'I' 'S' 'D' 'C' 'Z'", "'I' 'S'")):
        text, changed = re.subn(old, new, text)
        assert changed == 1, f"BLACS/bt.dat has no line {old}"
    return text


def lu_input():
    """Debian's example with half of its sizes."""
    text, changed = re.subn(r"^4(\t+number of problems sizes)$", r"2\1", (SCALAPACK / "LU.dat").read_text(),
                            flags=re.M)
    assert changed == 1, "LU.dat has no number of sizes"
    return text


MESH = 24  # points of each side of a square


def mumps_solution():
    return [1 + i % 7 for i in range(MESH * MESH)]


def mumps_input():
    """The equations of a membrane whose solution is known: each point has four neighbours at most."""
    entries, right = [], []
    for i, own in enumerate(mumps_solution()):
        row, column = divmod(i, MESH)
        near = [i - MESH] * (row > 0) + [i - 1] * (column > 0) + [i + 1] * (column < MESH - 1) + [i + MESH] * (
            row < MESH - 1)
        entries += [f"{i + 1} {i + 1} 4.0"] + [f"{i + 1} {other + 1} -1.0" for other in near]
        right.append(str(float(4 * own - sum(1 + other % 7 for other in near))))
    return "\n".join([str(MESH * MESH), str(len(entries)), *entries, *right, ""])


def run(commands, seconds=SECONDS):
    """{name: (status, output)}"""
    with tempfile.TemporaryDirectory(prefix="programs-test-", dir=BUILD) as name:
        place = pathlib.Path(name)
        for path in OWN.iterdir():
            (place / path.name).write_bytes(path.read_bytes())
        (place / "hpccinf.txt").write_text(hpcc_input())
        (place / "mumps.txt").write_text(mumps_input())
        for path in SCALAPACK.glob("*/*.dat"):
            (place / path.name).write_bytes(path.read_bytes())
        if SCALAPACK.exists():
            (place / "bt.dat").write_text(blacs_input())
            (place / "LU.dat").write_text(lu_input())
        done = subprocess.run([ROOT / "tools/vm/t3-vm", "run", "--name", "programs", "--root", "host",
                               "--ranks", "4", "--timeout", str(seconds - 60), "--",
                               *batch_command(seconds, commands.values())],
                              cwd=place, capture_output=True, text=True, errors="replace", check=False,
                              timeout=seconds)
    text = done.stdout
    assert done.returncode == 0, f"the VM ended with {done.returncode}\n{done.stderr}\n{text[-3000:]}"
    return {name: (ran.status, ran.text) for name, ran in zip(commands, read_batch(text, len(commands)))}


def by_t3(text, ranks=4):
    """Calls that T3 did, which is the same on all ranks."""
    counts = re.findall(r"coll:t3: (\d+) calls by T3", text)
    must(len(counts) == ranks and len(set(counts)) == 1, text)
    return int(counts[0])


def coverage(text):
    """What T3 did of all calls that the component saw, on all ranks together, and why not the others."""
    done, passed = map(sum, zip(*(map(int, pair) for pair in
                                  re.findall(r"coll:t3: (\d+) calls by T3.*, (\d+) passed on", text))))
    own, other = map(sum, zip(*(map(int, pair) for pair in
                                re.findall(r"coll:t3: bytes of calls: (\d+) by T3, (\d+) passed on", text))))
    reasons = collections.Counter()
    for call, calls, number, why in re.findall(r"coll:t3: (\w+) passed on: (\d+) calls of (\d+) bytes: (.*?)\r?$", text,
                                               re.M):
        reasons[f"{call}: {why}", "calls"] += int(calls)
        reasons[f"{call}: {why}", "bytes"] += int(number)
    why = "; ".join(f"{name} {number}" for (name, what), number in sorted(reasons.items()) if what == "calls")
    return f"{done} of {done + passed} calls, {own} of {own + other} bytes by T3. Passed on: {why}"


def without_t3(text):
    must("calls by T3" not in text, text)


def both(outputs, name):
    """The outputs with T3, which did work, and without."""
    (status, with_t3), (status_off, without) = outputs[name], outputs[f"{name}-off"]
    must(status == 0 and status_off == 0, with_t3 + without)
    must(by_t3(with_t3) > 0, with_t3)
    without_t3(without)
    return with_t3, without


def lammps_has_the_same_physics(outputs):
    """It broadcasts its input and adds its atoms' numbers by T3, so all it prints is the same."""
    steps = [re.findall(r"^ +\d+(?: +-?[\d.]+){5} *$", text, re.M) for text in both(outputs, "lammps")]
    must(len(steps[0]) == 5 and steps[0] == steps[1], f"{steps}")


def a_python_program_fits_the_same(outputs):
    """Losses are sums of f32 in another order; integers have the same bits."""
    texts = both(outputs, "fit")
    losses = [list(map(float, re.findall(r"^step \d loss ([\d.]+)$", text, re.M))) for text in texts]
    must(len(losses[0]) == len(losses[1]) == 6 and losses[0][-1] < losses[0][0] / 2, f"{losses}")
    for one, other in zip(*losses):
        must(abs(one - other) <= 1e-5 * losses[0][0], f"{losses}")
    hashes = [re.findall(r"^integers ([0-9a-f]{64})$", text, re.M) for text in texts]
    must(len(hashes[0]) == 1 and hashes[0] == hashes[1], f"{hashes}")
    must(by_t3(texts[0]) == 18, texts[0])  # two sums and a gather in each step


def netpipe_which_has_no_collectives_works(outputs):
    status, text = outputs["netpipe"]
    must(status == 0 and len(re.findall(r"^ *\d+: +\d+ bytes +20 times", text, re.M)) > 20, text)
    must(by_t3(text, 2) == 0, text)


def hpcc_finds_no_error(outputs):
    """It checks its own results. Its FFT and its transpose exchange by MPI_Alltoall."""
    texts = both(outputs, "hpcc")
    must(re.search(r"\(alltoall \d+", texts[0]), texts[0])
    for text in texts:
        must("End of HPC Challenge tests." in text, text)
        must(re.search(r"\.{6} PASSED$", text, re.M) and "FAILED" not in text, text)
        must(len(re.findall(r"^ +0 tests completed and failed residual checks", text, re.M)) >= 2, text)
        must(re.search(r"^MPIRandomAccess_Errors=0$", text, re.M), text)
    errors = [re.findall(r"^MPIFFT_maxErr=[\d.e+-]+$", text, re.M) for text in texts]
    must(len(errors[0]) == 1 and errors[0] == errors[1], f"{errors}")


def some_by_t3(text):
    """Programs with communicators of a few ranks: T3 did calls on each rank, but not equally many."""
    counts = re.findall(r"coll:t3: (\d+) calls by T3", text)
    must(len(counts) == 4 and all(map(int, counts)), text)


def scalapack_passes_its_own_tests(outputs):
    """Its broadcasts and sums in rows, columns and all of a grid; LU; and products of matrices. All of
    them check their results."""
    for name, pattern, least in (
            ("blacs", r"^\w+ \w+ TESTS: +(\d+) TESTS; +(\d+) PASSED, +\d+ SKIPPED, +(\d+) FAILED\.", 8),
            ("lu", r"^ +(\d+) tests (completed) and (passed) residual checks\.$", 1),
            ("pblas", r"^ *\|? +(PS\w+) +(\d+) +\2 +(0) +0$", 8)):
        found = []
        for key in (name, f"{name}-off"):
            status, text = outputs[key]
            must(status == 0, text)
            found.append(re.findall(pattern, text, re.M))
        must(len(found[0]) >= least and found[0] == found[1], f"{name}: {found}")
        some_by_t3(outputs[name][1])
        without_t3(outputs[f"{name}-off"][1])
        if name == "blacs":
            must(all(failed == "0" for _, _, failed in found[0]), f"{found[0]}")
        if name == "lu":
            must(re.search(r"^ +0 tests completed and failed residual checks\.$", outputs[name][1], re.M),
                 outputs[name][1])


def mumps_solves_its_equations(outputs):
    """Its ranks choose pivots by maxima, and share a tree of dense matrices."""
    for text in both(outputs, "mumps"):
        found = list(map(float, re.search(r"^  Solution is +((?:[-\d.E+]+\s+)+)", text, re.M)[1].split()))
        must(len(found) == MESH * MESH and all(abs(is_ - right) < 1e-9 for is_, right in zip(found, mumps_solution())),
             f"{found}")


def mpb_finds_the_same_bands(outputs):
    """Its eigensolver ends when the bands change by less than 1e-7."""
    bands = [[list(map(float, line.split(",")[5:])) for line in re.findall(r"^tmfreqs:, (\d+,.*?)\r?$", text, re.M)]
             for text in both(outputs, "mpb")]
    must(len(bands[0]) == len(bands[1]) == 5 and {len(line) for line in bands[0]} == {6}, f"{bands}")
    for one, other in zip(bands[0], bands[1]):
        must(all(abs(a - b) < 2e-6 for a, b in zip(one, other)), f"{bands}")


def hdf5_writes_the_same_file(outputs):
    """Its ranks exchange their blocks before they write."""
    hashes = [re.findall(r"^grid ([0-9a-f]{64})$", text, re.M) for text in both(outputs, "grid")]
    must(len(hashes[0]) == 1 and hashes[0] == hashes[1], f"{hashes}")


def tests_of_mpi4py():
    """(their folder, or None; why not)"""
    given = os.environ.get("T3_MPI4PY")
    if given:
        must(pathlib.Path(given, "runtests.py").exists(), f"{given} has no runtests.py")
        must(shlex.quote(given) == given, f"MPI4PY has a character that a shell takes for something else: {given}")
        return str(pathlib.Path(given).resolve()), None
    done = subprocess.run([ROOT / "tests/mpi4py.sh"], capture_output=True, text=True, check=False)
    must(done.returncode in (0, 77), done.stderr)
    why = done.stderr.splitlines()[-1:]
    return (None, why[0].removeprefix("skipped: ")) if done.returncode else (done.stdout.strip(), None)


def mpi4py_outcome(text):
    """Of each rank: how many tests ran, and which did not pass."""
    reports = re.split(r"^Ran (\d+) tests? in .*$", text, flags=re.M)
    counts, failed = reports[1::2], re.findall(r"^(?:FAIL|ERROR): (.*)$", text, re.M)
    must(len(counts) == 4 and len(set(counts)) == 1 and int(counts[0]) > 100, text)
    must(len(re.findall(r"^(?:OK|FAILED)\b", text, re.M)) == 4, text)
    return counts, sorted(failed)


def mpi4py_passes_its_own_tests():
    """What does not pass without T3 is Open MPI's. Its messages are short, so the thresholds are 0."""
    folder, why = tests_of_mpi4py()
    if not folder:
        raise Skipped(why)
    outputs = run({"mpi4py": MPI4PY.format(f"{RUN} {SMALL}", folder),
                   "mpi4py-off": MPI4PY.format(f"{RUN} {OFF}", folder)}, MPI4PY_SECONDS)
    (_, text), (_, without) = outputs["mpi4py"], outputs["mpi4py-off"]
    must(mpi4py_outcome(text) == mpi4py_outcome(without), text + without)
    some_by_t3(text)
    without_t3(without)


TESTS = [lammps_has_the_same_physics, a_python_program_fits_the_same,
         netpipe_which_has_no_collectives_works]
LONG_TESTS = [hpcc_finds_no_error, scalapack_passes_its_own_tests, hdf5_writes_the_same_file,
              mumps_solves_its_equations, mpb_finds_the_same_bands]


def verdict(test, *arguments):
    """How its line of TAP begins and ends."""
    try:
        test(*arguments)
        return "ok", ""
    except Skipped as why:
        return "ok", f" # SKIP {why}"
    except Exception:  # any exception: the other tests still run
        print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
        return "not ok", ""


def main():
    whole = sys.argv[1:] == ["--all"]
    if sys.argv[1:] and not whole:
        print("usage: programs.py [--all]", file=sys.stderr)
        return 2
    commands, seconds = (COMMANDS | LONG_COMMANDS, LONG_SECONDS) if whole else (COMMANDS, SECONDS)
    tests = TESTS + (LONG_TESTS if whole else [])
    alone = [mpi4py_passes_its_own_tests] if whole else []
    print(f"1..{len(tests + alone)}", flush=True)
    outputs = run(commands, seconds)
    for name, (_, text) in outputs.items():
        if "calls by T3" in text:
            print(f"# {name}: {coverage(text)}")
    verdicts = [verdict(test, outputs) for test in tests] + [verdict(test) for test in alone]
    for number, (test, (begin, end)) in enumerate(zip(tests + alone, verdicts), 1):
        print(f"{begin} {number} - {test.__name__}{end}")
    return 1 if any(begin != "ok" for begin, _ in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
