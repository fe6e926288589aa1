#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Run test suites by `meson test`, all of them whatever fails, and count.

usage: check.py [-j N] [--all | SUITE...]      (default: those of make check; --all: of make check-all)
       check.py --known SUITE...               whether there are such suites; nothing runs

A suite may be guest:PROGRAM: that one of the guest suite, in a VM of its own. N tests run at the
same time (default: one for each processor, at most 4), and one more, as some of them wait.
Those that build what others use come last. With -j 1 no two run at the same time.

Prints Meson's line per program as it ends, then what failed or was skipped with the
log that tells why, and last exactly one line: "N passed, N failed[, N skipped]".
Exits 1 when a test failed, 2 for bad use.
"""

import argparse
import collections
import contextlib
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import dev_watch
import machines

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))

from tap import BUILD, FAIL, GUEST, LOGS, PASS, ROOT, SKIP, slowness  # noqa: E402

NATIVE = BUILD / "native"

# Name, suites, and the command, by which a process is known.
Test = collections.namedtuple("Test", "name suites command")
# `lines` say where its log is, and what of it tells why.
Result = collections.namedtuple("Result", "name status lines")
# Without options of the sanitizers meson test would choose ones of its own.
USUAL = {"MALLOC_PERTURB_": "0", "ASAN_OPTIONS": "halt_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=0",
         "MSAN_OPTIONS": "halt_on_error=1"}


# --- what there is -----------------------------------------------------------

def declared(folder):
    """All tests of a build folder, in the order in which Meson begins them."""
    found = json.loads((folder / "meson-info/intro-tests.json").read_text())
    return [Test(test["name"], [suite.rpartition(":")[2] for suite in test["suite"]], test["cmd"])
            for test in sorted(found, key=lambda test: -test["priority"])]


def suites_of(tests):
    return list(dict.fromkeys(sorted(test.suites[0] for test in tests)))


def belongs(test, word):
    """Whether it is of a suite, or guest:PROGRAM."""
    return word in test.suites or test.name == word.replace("guest:", "guest-") != word


def select(tests, words):
    """Those of the suites, and the first word that no test belongs to."""
    unknown = [word for word in words if not any(belongs(test, word) for test in tests)]
    return [test for test in tests if any(belongs(test, word) for word in words)], *unknown[:1]


# --- running -----------------------------------------------------------------

def running(pid, tests):
    """The suites whose programs are children of meson test now."""
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(") ")[2].split()[1])
            words = (process / "cmdline").read_text().split("\0")[:-1] if parent == pid else []
        except (OSError, ValueError):
            continue
        found.update(test.suites[0] for test in tests
                     if words[-len(test.command):] == test.command)
    return found


@contextlib.contextmanager
def own_records(logs):
    """Where Meson writes: testlog.*, but to other files for a run inside a test or beside another run."""
    with open(logs / ".lock-testlog", "w", encoding="utf-8") as lock:
        name = "testlog"
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            name += f"-{os.getpid()}"
        (logs / f"{name}.json").unlink(missing_ok=True)
        try:
            yield logs / name
        finally:
            for path in logs.glob(f"testlog-{os.getpid()}.*"):
                path.unlink()


def run_meson(folder, tests, jobs, logs, slow=1, say=print):
    """What meson test says of each test that has run: {name: record}. And what has changed in /dev."""
    with own_records(logs) as base:
        command = ["meson", "test", "-C", folder, "--no-rebuild", "--timeout-multiplier", str(slow), "--num-processes",
                   str(jobs + 1 if jobs > 1 else 1), "--logbase", base, *(test.name for test in tests)]
        # Of its own session: by a Ctrl-C it would end one test.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True,
                                   env={**USUAL, **os.environ})
        try:
            with dev_watch.Watch(lambda: " ".join(sorted(running(process.pid, tests))) or "no suite", say) as watch:
                process.wait()
        finally:
            process.terminate()
            process.wait()
        path = base.with_suffix(".json")
        records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {record["name"].rpartition(" / ")[2]: record for record in records}, watch.found


# --- results -----------------------------------------------------------------

RESULT = re.compile(r"(not ok|ok) \d+ - (.*?)( # SKIP)?$")
ENDINGS = ("OK", "FAIL", "SKIP")  # of a test that has said what it found


def results_of(name, record, logs):
    """Those that it printed, and a failure where this is not all."""
    if record is None:
        return [Result(f"{name} (it has not run)", FAIL, [])]
    results, output = [], record["stdout"].splitlines()
    for line in output:
        match = RESULT.match(line)
        if match:
            status = SKIP if match[3] else PASS if match[1] == "ok" else FAIL
            results.append(Result(match[2], status, []))
        elif results and line.startswith(("# see ", "#   | ")):
            results[-1].lines.append(line[2:])
    plans = re.findall(r"^1\.\.(\d+)$", record["stdout"], re.M)
    failed = any(result.status == FAIL for result in results)
    if record["result"] not in ENDINGS or record["result"] == "FAIL" and not failed:
        why = f"{record['result'].lower()} after {record['duration']:.0f} s, status {record['returncode']}"
    elif plans != [str(len(results))]:
        why = f"{len(results)} of {' + '.join(plans) or 'unknown'} tests ran"
    else:
        why = "" if results else "no tests"
    if why:
        log = logs / f"{name.replace('/', '-')}.log"
        text = log.read_text(errors="replace").splitlines() if log.exists() else output
        told = [*text[-12:], *record.get("stderr", "").splitlines()[-12:]]
        results.append(Result(f"{name} ({why})", FAIL, [
            f"see {os.path.relpath(log if log.exists() else logs / 'testlog.txt')}", *(f"  | {line[:200]}" for line in told)]))
    return results


def tell(results):
    """What did not pass."""
    for status, label in ((SKIP, "SKIP"), (FAIL, "FAIL")):
        for result in (result for result in results if result.status == status):
            first, *others = result.lines or [f"see {os.path.relpath(LOGS / 'testlog.txt')}"]
            print(f"{label} {result.name}: {first}", *(f"{line}" for line in others), sep="\n")


def seconds_by_suite(tests, records):
    """{suite: [seconds, seconds of processors]}, those that took most of the time first."""
    took = collections.defaultdict(lambda: [0, 0])
    for test in tests:
        record = records.get(test.name)
        if record:
            work = re.search(r"^# processor: ([\d.]+) s$", record["stdout"], re.M)
            took[test.suites[0]][0] += record["duration"]
            took[test.suites[0]][1] += float(work[1]) if work else 0
    return dict(sorted(took.items(), key=lambda item: -item[1][0]))


def keep_seconds(took):
    (LOGS / "seconds.json").write_text(json.dumps(
        {name: {"seconds": round(wall, 1), "processor": round(work, 1)} for name, (wall, work) in took.items()},
        indent=1) + "\n")


def longest(took, count):
    return ", ".join(f"{name} {wall:.0f} s ({work:.0f})" for name, (wall, work) in [*took.items()][:count])


def load(start):
    """What a run cost that began at `start`. VMs and programs count, as whoever starts one waits."""
    took, times = time.monotonic() - start, os.times()
    busy = (times.user + times.system + times.children_user + times.children_system) / took
    return f"{took:.0f} s, with {busy:.1f} of {os.cpu_count()} processors busy"


# --- the command -------------------------------------------------------------

def arguments():
    parser = argparse.ArgumentParser(usage="check.py [-j N] [--all | [--known] SUITE...]", allow_abbrev=False,
                                     description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-j", dest="jobs", type=int, default=min(os.cpu_count() or 1, 4),
                        help="tests at a time, 1 to 64 (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="also the second table of tests/suites.md")
    parser.add_argument("--known", action="store_true", help="run nothing: only an unknown suite is an error")
    parser.add_argument("suite", nargs="*", help="of tests/suites.md, which an unknown one lists, or guest:PROGRAM of "
                        "tests/guest (default: those of make check)")
    given = parser.parse_args()
    if not 1 <= given.jobs <= 64:
        parser.error(f"-j {given.jobs} is out of range: allowed are 1 to 64")
    if given.all and given.suite:
        parser.error("--all and names of suites exclude each other")
    return given.jobs, given.suite or ["check", *["check-all"] * given.all], given.known


def is_busy(folder):
    """Whether a make builds there."""
    with open(BUILD / f".lock-{folder}", "a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def is_configured():
    """The build folder knows all tests; native.sh says why not. A make that builds there is not waited for."""
    if (NATIVE / "meson-info/intro-tests.json").exists() and is_busy("native"):
        return True
    done = subprocess.run([ROOT / "tools/build/native.sh", "native", "build.ninja"], cwd=ROOT, check=False)
    return done.returncode == 0


def accelerator():
    """Of the VMs. A KVM that does not run a guest ends the run before the first test."""
    try:
        return machines.accelerator()
    except subprocess.CalledProcessError as error:
        print(error.stderr, end="", file=sys.stderr)
        return None


def report(tests, records, changes, start, used):
    """All that is to say of a run; its exit status."""
    results = [result for test in tests for result in results_of(test.name, records.get(test.name), LOGS)]
    results += [Result("dev (it has changed)", FAIL, [f"see {os.path.relpath(LOGS / 'dev.log')}"])] * bool(changes)
    (LOGS / "dev.log").write_text("".join(f"{sentence}\n" for sentence in changes) or "/dev is as it was\n")
    tell(results)
    took = seconds_by_suite(tests, records)
    keep_seconds(took)
    print(f"longest, with seconds of a processor: {longest(took, 12)}")
    print(load(start))
    print(used)
    counts = collections.Counter(result.status for result in results)
    skipped = f", {counts[SKIP]} skipped" if counts[SKIP] else ""
    print(f"{counts[PASS]} passed, {counts[FAIL]} failed{skipped}")
    return 1 if counts[FAIL] else 0


def main():
    jobs, words, only_known = arguments()
    if not is_configured():
        return 2
    known = declared(NATIVE)
    tests, *unknown = select(known, words)
    if unknown:
        print(f"check.py: no suite '{unknown[0]}'; there are: {' '.join(suites_of(known))}", file=sys.stderr)
        return 2
    if only_known:
        return 0
    accel = accelerator()
    if accel is None:
        return 2
    for sentence in dev_watch.wrong_devices(dev_watch.look()):
        print(f"check.py: {sentence}: no test can be trusted here", file=sys.stderr)
        return 2
    # Before the tests, which may build others.
    used = (f"VMs: Linux {machines.kernel_release(GUEST) or 'none'}, "
            f"QEMU {machines.qemu_version() or 'none'}, {accel}")
    LOGS.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        records, changes = run_meson(NATIVE, tests, jobs, LOGS, slowness(),
                                     lambda sentence: print(f"[dev] {sentence}", flush=True))
    except KeyboardInterrupt:
        return 130
    return report(tests, records, changes, start, used)


if __name__ == "__main__":
    sys.exit(main())
