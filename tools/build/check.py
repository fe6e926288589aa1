#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Run the test suites, all of them whatever fails, and count.

usage: check.py [-j N] [--all | SUITE...]      (default: SUITES at the end without LATER; --all: with them)

A suite may be guest:PROGRAM: that one of the guest suite, in a VM of its own. N suites run at the
same time (default: one for each processor, at most 4), and one more, first of those that mostly wait.
Those that build what others use come last. With -j 1 no two run at the same time.

Prints a line per program as it ends, then what failed or was skipped with the
log that tells why, and last exactly one line: "N passed, N failed[, N skipped]".
Exits 1 when a test failed or a suite had no tests at all, 2 for bad use.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import fcntl
import functools
import json
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import dev_watch
import machines
from batch import batch_command, read_batch

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
GUEST = pathlib.Path(os.environ.get("T3_GUEST", BUILD))  # what depends on the kernel
LOGS = GUEST / "log"
VM = ROOT / "tools/vm/t3-vm"
LINT = ROOT / "tests/lint/lint.sh"
IS_ARM64 = os.environ.get("T3_ARCH") == "arm64"


def here(program):
    """The command that runs a program of the guest's processor on this machine."""
    return ["qemu-aarch64", "-L", BUILD / "sysroot", program] if IS_ARM64 else [program]


def slowness():
    """A debug kernel's own arguments say how many times as long its programs may take."""
    path = GUEST / "kernel/append"
    match = re.search(r"\bT3_SLOW=(\d+)", path.read_text()) if path.exists() else None
    return int(match[1]) if match else 1


for filtered in ("CMOCKA_TEST_FILTER", "CMOCKA_SKIP_FILTER"):
    os.environ.pop(filtered, None)  # by these cmocka 2 would leave tests out without a word

PROGRAM_SECONDS = 600  # other suites run beside it
VM_SECONDS = 1200 if slowness() == 1 else 3000

Result = collections.namedtuple("Result", "name status log")
PASS, FAIL, SKIP = "passed", "failed", "skipped"


# --- running and parsing -----------------------------------------------------

SUITE = threading.local()  # whose thread this is: `work` is what its programs took of processors


def ends_within(process, seconds):
    """Whether it ended by itself. What it took of the processors is added to the suite's work, with
    all that it waited for, such as the QEMU of a VM."""
    end = os.pidfd_open(process.pid)
    try:
        in_time = bool(select.select([end], [], [], seconds)[0])
        if not in_time:
            signal.pidfd_send_signal(end, signal.SIGKILL)
    finally:
        os.close(end)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    SUITE.work = getattr(SUITE, "work", 0) + used.ru_utime + used.ru_stime
    return in_time


PIECE = 1 << 16  # bytes that a pipe holds


class Lines:
    """Two pipes, for the output and the errors of a program and its children, and one log, which gets
    whole lines of either. A child may write a line of errors in pieces. Without this, a result that
    the program writes between them would be in the middle of that line."""

    def __init__(self, log):
        self.log = log
        self.begun = {}  # what the log does not have yet of each pipe's last line

    def pipe(self):
        reader, writer = os.pipe()
        self.begun[reader] = b""
        return writer

    def copy(self, reader):
        begun, newline, rest = (self.begun[reader] + os.read(reader, PIECE)).rpartition(b"\n")
        if len(rest) > PIECE:
            begun, newline, rest = begun + newline, rest, b""
        self.begun[reader] = rest
        self.log.write(begun + newline)
        self.log.flush()  # for whoever reads it meanwhile

    def follow(self, end):
        poll = select.poll()
        for descriptor in (*self.begun, end):
            poll.register(descriptor, select.POLLIN)
        ended = False
        while not ended:
            ready = [descriptor for descriptor, _ in poll.poll()]
            ended = end in ready
            for reader in self.begun:
                if reader in ready:
                    self.copy(reader)
        # The end is that of the program. Children that live on may hold the pipes for ever.
        for reader, begun in self.begun.items():
            self.log.write(begun + b"\n" if begun else b"")

    @contextlib.contextmanager
    def writers(self):
        """The ends for the program. After the block all that it has written is in the log."""
        writers, (end, closed) = [self.pipe(), self.pipe()], os.pipe()
        thread = threading.Thread(target=self.follow, args=[end])
        thread.start()
        try:
            yield writers
        finally:
            os.close(closed)
            thread.join()
            for descriptor in (*writers, *self.begun, end):
                os.close(descriptor)


def execute(name, command, seconds=PROGRAM_SECONDS, env=None):
    """Run one command into a log of its own; its status, or why there is none."""
    log = LOGS / f"{name.replace('/', '-')}.log"
    with open(log, "wb") as output:
        try:
            with Lines(output).writers() as (stdout, stderr), \
                    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                     cwd=ROOT, env={**os.environ, **(env or {})}) as process:
                if ends_within(process, seconds):
                    return process.returncode, log
            output.write(f"\n# no end after {seconds} s\n".encode())
        except OSError as error:
            output.write(f"\n# {error}\n".encode())
    return -1, log


TAP = re.compile(r"^(not ok|ok) +(\d+)(?: *-)? *(.*)$")
SKIPPED = re.compile(r"# *skip\b *", re.I)


def tap_results(prefix, text, status, log):
    """A program's TAP lines, plus a failure where it died or stopped short."""
    results, planned = [], None
    for line in text.splitlines():
        plan = re.match(r"^1\.\.(\d+)", line)
        planned = int(plan[1]) + (planned or 0) if plan else planned
        match = TAP.match(line)
        if not match:
            continue
        verdict = FAIL if match[1] == "not ok" else PASS
        if SKIPPED.search(match[3]):
            verdict = SKIP  # some cmocka versions print "not ok N # SKIP"
        name = (match[3].partition("#")[0] or SKIPPED.sub("", match[3])).strip() or f"test {match[2]}"
        results.append(Result(f"{prefix}/{name}", verdict, log))
    failed = any(result.status == FAIL for result in results)
    if status == 77 and not results:
        results.append(Result(prefix, SKIP, log))
    elif status != 0 and not failed:
        results.append(Result(f"{prefix} (ended with status {status})", FAIL, log))
    elif planned is not None and planned != len(results):
        results.append(Result(f"{prefix} ({len(results)} of {planned} tests ran)", FAIL, log))
    elif not results:
        results.append(Result(f"{prefix} (reported no test)", FAIL, log))
    return results


EXCERPT = 12  # lines; the whole log may be gone when the failure is read


def excerpt(result):
    """The first and the last of a failed test's own lines in its log, or the end of the whole log."""
    try:
        lines = result.log.read_text(errors="replace").splitlines()
    except OSError as error:
        return [str(error)]
    name = re.escape(result.name.rpartition("/")[2])
    told = [number for number, line in enumerate(lines) if re.match(rf"not ok .*{name}", line)]
    end = told[0] + EXCERPT // 2 if told else len(lines)
    first = max(0, end - EXCERPT)
    # A test says what was wrong in its first line, which follows the results of the test before.
    results = [number for number in range(first) if re.match(r"(not )?ok |1\.\.", lines[number])]
    begin = min(first, results[-1] + 1) if told and results else first
    head = range(begin, min(first, begin + EXCERPT // 4))
    shown = [*(lines[number] for number in head), *["..."] * (head.stop < first), *lines[first:end]]
    return [line[:200] for line in shown]


def tell(results):
    """What did not pass. Of a log that several failures share the first one's part is enough."""
    shown = set()
    for status, label in ((SKIP, "SKIP"), (FAIL, "FAIL")):
        for result in (result for result in results if result.status == status):
            print(f"{label} {result.name}: see {os.path.relpath(result.log)}")
            if status == FAIL and result.log not in shown:
                shown.add(result.log)
                print(*(f"  | {line}" for line in excerpt(result)), sep="\n")


def report(name, results, seconds):
    counts = collections.Counter(result.status for result in results)
    text = ", ".join(f"{counts[status]} {status}" for status in (PASS, FAIL, SKIP)
                     if counts[status])
    say(f"[{name}] {text} ({seconds:.1f} s)")
    return results


def say(text):
    """Whole lines, whatever other suites print."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def tap_program(name, command, env=None, seconds=PROGRAM_SECONDS):
    start = time.monotonic()
    status, log = execute(name, command, seconds, env={"CMOCKA_MESSAGE_OUTPUT": "TAP", **(env or {})})
    text = log.read_text(errors="replace")
    return report(name, tap_results(name, text, status, log), time.monotonic() - start)


# --- the guest ---------------------------------------------------------------

@contextlib.contextmanager
def progress(name, commands):
    """Where a boot takes minutes: say which of its commands begins."""
    log = LOGS / f"{name}.log"
    ended = threading.Event()

    def follow():
        shown = 0
        while not ended.wait(2):
            begun = len(re.findall(r"^@@ begin", log.read_text(errors="replace"), re.M))
            if begun > shown:
                shown = begun
                say(f"[{name}] {shown} of {len(commands)}: {commands[shown - 1]}")

    log.write_bytes(b"")
    thread = threading.Thread(target=follow)
    if slowness() > 1:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()


def guest_batch(name, options, commands, seconds, env=None):
    """Run shell commands in one VM. The VM's status, and what each command did."""
    with progress(name, commands):
        status, log = execute(name, [VM, "run", "--name", name, "--timeout", str(VM_SECONDS), *options,
                                     "--", *batch_command(seconds, commands)],
                              VM_SECONDS + 60, env)
    return status, read_batch(log.read_text(errors="replace"), len(commands), log)


def vm_result(name, status, log):
    """The VM itself is a test: its kernel must end well and without a warning."""
    return Result(f"{name} (kernel log is clean)", PASS if status == 0 else FAIL, log)


def guest_options():
    """tests/guest/vm-options: lines of `PROGRAM: t3-vm options`, # for comments."""
    path = ROOT / "tests/guest/vm-options"
    options = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.strip() and not line.startswith("#"):
            program, _, text = line.partition(":")
            options[program.strip()] = text.strip()
    return options


def guest_suite_name(name, options):
    """What its results are called by."""
    if name in ("newest", "guest-ordinary", "guest-root") or name.startswith("guest-vcpus-"):
        return name
    if name.startswith("guest-followed"):
        return "guest-followed"
    return "guest-iommu" if "--iommu" in options else "guest"


def vm_options(options, programs):
    """A debug kernel's module tests itself at its load, which one boot looks at."""
    options = shlex.split(options)
    if slowness() == 1 or "test_kunit" in programs:
        return options
    place = options.index("--append") if "--append" in options else len(options)
    arguments = [*options[place + 1:place + 2], "kunit.enable=0"]
    return [*options[:place], "--append", " ".join(arguments), *options[place + 2:]]


def guest_boot(name, options, programs, jobs=(), env=None, where=""):
    """In one boot jobs, which only have a status, and programs; and its kernel log."""
    start, results = time.monotonic(), []
    commands = [*jobs, *programs]
    status, batch = guest_batch(name, vm_options(options, programs), commands, PROGRAM_SECONDS, env)
    for index, ran in enumerate(batch):
        prefix = f"{guest_suite_name(name, options)}/{commands[index]}"
        ended = -1 if ran.status is None else ran.status
        found = (tap_results(prefix, ran.text, ended, ran.log) if index >= len(jobs)
                 else [Result(prefix, FAIL if ended else PASS, ran.log)])
        results += report(prefix, found, ran.seconds)
    return results + report(f"guest VM {options}{where}", [vm_result(name, status, batch[0].log)],
                            time.monotonic() - start)


def guest_boots():
    """(number, options, programs): programs with the same VM options share a boot."""
    boots = collections.defaultdict(list)
    special = guest_options()
    sources = (ROOT / "tests").glob("guest/test_*.c" if IS_ARM64 else "guest*/test_*.c")
    for source in sorted(sources, key=lambda path: path.stem):  # test_zz_*: last
        boots[special.get(source.stem, "--ranks 4")].append(source.stem)
    return [(number, options, programs) for number, (options, programs) in enumerate(boots.items())]


def guest_parts():
    """Each boot by itself."""
    boots = [functools.partial(guest_boot, f"guest-{number}", options, programs)
             for number, options, programs in guest_boots()]
    return boots + ([skipped_clients] if IS_ARM64 else [])


def followed_boot(name, options, programs):
    """What the VM's first fabric did replays without the VM, and the models follow it."""
    record_of(name).parent.mkdir(parents=True, exist_ok=True)
    results = guest_boot(name, f"{options} --fabric-opts record={record_of(name)}", programs)
    start = time.monotonic()
    followed = follow_results(name, all_did=False)
    keep = any(result.status == FAIL for result in followed)
    return results + report(f"{name}, its record", [*followed, replay_result(name, keep)],
                            time.monotonic() - start)


def guest_followed_suite():
    return [result for number, options, programs in guest_boots()
            for result in followed_boot(f"guest-followed-{number}", options, programs)]


def skipped_clients():
    """Programs of tests/guest32, one by one: there is no compiler for them."""
    log = LOGS / "guest32.log"
    log.write_text("skipped: clients of 32 bits are i386's, and the guest is arm64\n")
    names = sorted(path.stem for path in (ROOT / "tests/guest32").glob("test_*.c"))
    say(f"[guest32] {len(names)} {log.read_text().strip()}")
    return [Result(f"guest/{name}", SKIP, log) for name in names]


def guest_program(name):
    """The suite of one program, or None: there is no such program."""
    prefix, _, program = name.partition(":")
    if prefix != "guest" or not list((ROOT / "tests").glob(f"guest*/{program}.c")):
        return None
    options = guest_options().get(program, "--ranks 4")
    return lambda: guest_boot(f"guest-{program}", options, [program])


# What deals with DMA, interrupts and coming and going: each also with the IOMMU on.
GUEST_IOMMU = ["test_abi_table", "test_dma", "test_eventfd", "test_fuzz", "test_host_bo",
               "test_jobs", "test_removal", "test_timed_command", "test_timed_faults",
               "test_unbind", "test_zz_unload"]


def guest_iommu_suite():
    return followed_boot("guest-iommu", "--ranks 4 --iommu", GUEST_IOMMU)


# What a root of the host makes different: its libraries, processes, files and terminals, accounts.
GUEST_ROOT = ["test_query", "test_check", "test_isolation", "test_libt3", "test_zz_unload"]


def guest_root_suite():
    """The small image's programs, with this machine's userland around them."""
    return guest_boot("guest-root", "--ranks 4 --root host", GUEST_ROOT)


# By QEMU's ordinary ways, which other accelerators have: for stores, and for the fabric's events.
STORES = ["test_store", "test_producer", "test_remote", "test_tile", "test_vcpus", "test_wide"]
ORDINARY = "--ranks 4 --device-opts direct-stores=off --fabric-opts iothread="


def guest_ordinary_suite():
    return guest_boot("guest-ordinary", ORDINARY, STORES)


def guest_vcpus_suite():
    """The usual number is 2."""
    return [result for cpus in (1, 4)
            for result in guest_boot(f"guest-vcpus-{cpus}", f"--ranks 4 --cpus {cpus}", STORES)]


# Of each part of the driver's interface with the kernel a program that takes few seconds: files,
# buffers, mappings, jobs on the scheduler, syncobjs, usage, dumps, the module itself.
NEWEST = ["test_query", "test_bo", "test_mmap", "test_jobs", "test_syncobj", "test_fdinfo",
          "test_recover", "test_zz_unload"]
NEWEST_JOB = "t3 gemm-rs --ranks 2 --shape 64x64x64 --iters 2"
NEWEST_VM = "--ranks 2 --device-opts guest-inject=on --append iomem=relaxed"
NOT_FETCHED = (77, 100)  # kernel.sh: the mirror has none; apt: it cannot be fetched


def newest_built(env):
    """(verdict, log) of fetching the newest kernel and building the module for it."""
    status, log = execute("newest-fetch", [ROOT / "tools/build/kernel.sh", "fetch"], env=env)
    if status in NOT_FETCHED:
        say(log.read_text(errors="replace").strip())
        return SKIP, log
    if status == 0:
        status, log = execute("newest-build", ["make", "--no-print-directory", "-j2", "tests-image",
                                               "KERNEL=newest"], VM_SECONDS, env)
    return PASS if status == 0 else FAIL, log


def newest_suite():
    """A few programs and the main job on the newest kernel of all that the mirror offers."""
    start = time.monotonic()
    guest = BUILD / "linux-newest"
    env = {"T3_KERNEL": "newest", "T3_GUEST": str(guest), "MAKEFLAGS": ""}
    guest.mkdir(parents=True, exist_ok=True)
    verdict, log = newest_built(env)
    results = report("newest", [Result("newest/module", verdict, log)], time.monotonic() - start)
    if verdict != PASS:
        return results
    release = (guest / "kernel/release").read_text().strip()
    return results + guest_boot("newest", NEWEST_VM, NEWEST, [NEWEST_JOB], env, f" on {release}")


def e2e_matrix():
    """(ranks, arguments of `t3 gemm-rs` but for --write): each runs by both ways."""
    for dtype in ("i32", "f32", "f16", "bf16"):
        yield 4, f"--shape 64x64x64 --dtype {dtype} --iters 2 --seed 7"
    yield 2, "--shape 32x64x32 --dtype f32 --iters 3 --seed 1"
    yield 8, "--shape 128x64x64 --dtype i32 --iters 2 --seed 3"
    yield 4, "--shape 256x256x256 --dtype f32 --iters 1 --seed 5 --tile 64x16"
    yield 4, "--shape 68x36x20 --dtype i32 --iters 2 --seed 9 --tile 16x16"
    yield 32, "--shape 64x32x64 --dtype i32 --iters 1 --seed 2 --tile 2x32"
    yield 4, SPILLING


# More tiles half done at once than the tracker's 256 entries: rank 0 starts late.
SPILLING = ("--shape 512x256x16 --dtype f32 --iters 1 --seed 4 --tile 4x8 "
            "--delay-rank 0 --delay-step 0 --delay-ms 300")


def e2e_json(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def e2e_same(first, second, keys):
    """Equal results and counts, chunk by chunk; what varies by design is left out."""
    def essence(run):
        return (run["hash"], [[[chunk[key] for key in keys] for chunk in rank["chunks"]]
                              for rank in run["ranks"]])
    return bool(first and second and first["pass"] and second["pass"]
                and essence(first) == essence(second))


def e2e_compare(ranks, arguments, runs, log):
    """runs: store, store again, doorbell, gemm."""
    counts = ["chunk", "kind", "local_bytes", "remote_bytes", "triggers", "dma_bytes",
              "nmc_elements"]
    every = counts + ["stores", "doorbells", "link_bytes"]
    checks = {
        "two runs have the same bits and counts": e2e_same(runs[0], runs[1], every),
        "all ways give the same bits and update bytes": e2e_same(runs[0], runs[2], counts)
                                                        and e2e_same(runs[0], runs[3], counts),
    }
    timed = (runs[3] or {}).get("timed", {})
    checks["all devices ran it in virtual time"] = (
        timed.get("devices") == ranks and not timed["host_paced"]
        and all(timed[f"{name}_ps"] > 0 for name in ("sequential", "t3", "t3_mca")))
    if arguments == SPILLING:
        checks["the tracker spills"] = bool(runs[0]) and any(
            rank["varying"]["tracker_spill"] for rank in runs[0].get("ranks", []))
    return [Result(f"e2e/{arguments} ({what})", PASS if good else FAIL, log)
            for what, good in checks.items()]


# The full fabric comes with device memory that few hosts could back, and that takes longer to save
# than a boot, for this one run.
E2E_OPTIONS = {32: ["--device-opts", "memory-size=4G", "--no-saved"]}

# What e2e_compare() is given, in this order.
E2E_WRITES = ("store", "store", "doorbell", "gemm --timed")


def e2e_boot(ranks, jobs, *options):
    """All jobs for one number of ranks in one VM."""
    commands = [f"t3 gemm-rs --json --ranks {ranks} {arguments} --write {write}"
                for arguments in jobs for write in E2E_WRITES]
    name = f"e2e-{ranks}-ranks" + re.sub(r"[^\w-]", "-", "".join(options))
    options = [*options, *E2E_OPTIONS.get(ranks, [])]
    status, batch = guest_batch(name, ["--ranks", str(ranks), *options], commands,
                                PROGRAM_SECONDS)
    log = batch[0].log
    results = [Result(f"e2e/{command}", PASS if ran.status == 0 else FAIL, log)
               for command, ran in zip(commands, batch)]
    for index, arguments in enumerate(jobs):
        first = len(E2E_WRITES) * index
        runs = [e2e_json(ran.text) for ran in batch[first:first + len(E2E_WRITES)]]
        results += e2e_compare(ranks, arguments, runs, log)
    return results + [vm_result(name, status, log)]


def record_of(name):
    return BUILD / "run" / f"{name}.t3r"


def replay_result(name, keep=False):
    """A VM's record must replay without the VM, to its end; kept if it does not."""
    status, log = execute(f"{name}-replay", [*here(BUILD / "t3"), "sim", "--replay", record_of(name)])
    text = log.read_text(errors="replace")
    good = status == 0 and text.startswith("same: ") and "in the middle" not in text
    if good and not keep:
        record_of(name).unlink()
    return Result(f"{name}/replay of the record", PASS if good else FAIL, log)


def follow_results(name, all_did=True):
    """The models must be able to do what a VM's links and spaces did. all_did: both did something."""
    if IS_ARM64:
        log = LOGS / f"{name}-follow.log"
        log.write_text("skipped: the spies are built for this machine alone\n")
        return [Result(f"{name}/the record in the models", SKIP, log)]
    status, log = execute(f"{name}-follow", [ROOT / "tests/follow.py", "--replay", record_of(name)])
    good = status == 0 and not (all_did and " followed 0 events" in log.read_text(errors="replace"))
    return [Result(f"{name}/the record in the models", PASS if good else FAIL, log)]


# What t3 sim ends with: (its arguments, status).
SIM_USE = [("--help", 0), ("", 2), ("--replay", 2), ("--replay /nonexistent", 2), ("--replay /", 2),
           ("--replay README.md", 2), ("--replay README.md --json", 2), ("argument", 2),
           ("--replay README.md --until 0", 2), ("--replay README.md --until 1x", 2),
           ("--replay README.md --json --verbose", 2), ("--no-such-option", 2),
           ("--list-params", 0), ("--model tools/paper/paper.model --config t3-mca", 0),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer ip --every-device --json", 0),
           ("--hidden 256 --tokens 1024 --tp 2", 2), ("--model README.md", 2),
           ("--hidden 0 --tokens 1024 --tp 2 --sublayer op", 2),
           ("--hidden 256 --tokens 1024 --tp 3 --sublayer op", 0),
           ("--hidden 256 --tokens 128 --tp 2 --sublayer op", 0),
           ("--hidden 256 --tokens 1024 --tp 513 --sublayer op", 2),
           ("--hidden 256 --tokens 1024 --tp 1 --sublayer op", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer qkv", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --tp 4 --sublayer op", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer op --sublayer op", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer op --param warp=1", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer op --device", 1),
           ("--device", 2), ("--replay README.md --device", 2),
           ("--model tools/paper/paper.model --timeline /dev/full", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer op --timeline /dev/full", 1)]


def sim_use():
    """Its exit status, and one sentence on stderr where it is not 0."""
    log = LOGS / "sim-use.log"
    results, start = [], time.monotonic()
    with open(log, "w", encoding="utf-8") as output:
        for text, wanted in SIM_USE:
            done = subprocess.run([*here(BUILD / "t3"), "sim", *text.split()], timeout=60, cwd=ROOT,
                                  capture_output=True, text=True, check=False)
            output.write(f"{text}: {done.returncode} {done.stderr}\n")
            good = (done.returncode == wanted
                    and len(done.stderr.splitlines()) == (1 if wanted else 0))
            results.append(Result(f"sim/{text}", PASS if good else FAIL, log))
    return report("sim use", results, time.monotonic() - start)


# Faults given with the fabric: (name, injections, whether the job must still pass).
E2E_INJECTED = [
    ("injection", "link-random rank=0 peer=1 nth=3000 seed=7;"
     "drop rank=1 peer=2 nth=30 count=3;duplicate rank=2 peer=3 nth=5;"
     "corrupt rank=3 peer=0 nth=50;reorder rank=3 peer=0 nth=70", True),
    ("link-down", "link-down rank=0 peer=1", False),
]


def e2e_injected():
    """Faults injected at links do not change a result; a dead link ends the job on all ranks."""
    results = []
    job = "t3 gemm-rs --ranks 4 --shape 64x64x64 --dtype i32 --iters 2 --seed 7"
    for name, text, good in E2E_INJECTED:
        start = time.monotonic()
        record_of(f"e2e-{name}").parent.mkdir(parents=True, exist_ok=True)
        fabric = f"inject={text},record={record_of(f'e2e-{name}')}"
        status, batch = guest_batch(f"e2e-{name}", ["--ranks", "4", "--fabric-opts", fabric],
                                    [job, f"{job} --write doorbell"], 60)
        first, second = batch
        told = all(f"rank {rank}:" in first.text for rank in range(4))
        ok = first.status == 0 if good else first.status not in (0, 124, None) and told
        ok = ok and (second.status == 0) == good
        followed = follow_results(f"e2e-{name}")
        outcome = "the same result" if good else "an error on each rank"
        results += report(f"e2e {name}",
                          [Result(f"e2e/{name} ({outcome})", PASS if ok else FAIL, first.log),
                           vm_result(f"e2e-{name}", status, first.log), *followed,
                           replay_result(f"e2e-{name}", any(one.status == FAIL for one in followed))],
                          time.monotonic() - start)
    return results


# t3 sim in a VM: (arguments, status, what it says), on a fabric with and without timed=on.
SIM_DEVICE = [("--tp 2 --device", 0, "on 1 device: 6 runs"),
              ("--tp 4 --device --every-device", 0, "on 4 devices: 5 runs"),
              ("--tp 2 --device --timeline /tmp/timeline", 0, "on 1 device: 2 runs"),
              ("--tp 4 --device --json", 0, '"host_paced": false'),
              ("--tp 2 --device --every-device", 2, "the fabric has 4 ranks"),
              ("--tp 4 --device --every-device --config direct", 1, "needs a full fabric")]
SIM_NO_DEVICE = [("--tp 2 --device", 1, "timed=on"), ("--tp 2", 0, "virtual us")]


def sim_device_boot(name, options, uses):
    status, batch = guest_batch(name, ["--ranks", "4", *options],
                                [f"t3 sim --hidden 256 --tokens 1024 --sublayer op {text}"
                                 for text, _, _ in uses], 60)
    return [Result(f"{name}/{text}", PASS if ran.status == wanted and said in ran.text else FAIL, ran.log)
            for (text, wanted, said), ran in zip(uses, batch)] + [vm_result(name, status, batch[0].log)]


def sim_device():
    """The model on devices, whose record replays without them; and where there is none."""
    start, name = time.monotonic(), "sim-device"
    record_of(name).parent.mkdir(parents=True, exist_ok=True)
    results = sim_device_boot(name, ["--fabric-opts", f"record={record_of(name)}"], SIM_DEVICE)
    results.append(replay_result(name))
    results += sim_device_boot("sim-no-device", ["--fabric-opts", "timed=off"], SIM_NO_DEVICE)
    return report("sim on devices", results, time.monotonic() - start)


def e2e_suite():
    results = sim_use() + sim_device() + e2e_injected()
    by_ranks = collections.defaultdict(list)
    for ranks, arguments in e2e_matrix():
        by_ranks[ranks].append(arguments)
    for ranks, jobs in by_ranks.items():
        start = time.monotonic()
        results += report(f"e2e {ranks} ranks", e2e_boot(ranks, jobs), time.monotonic() - start)
    start = time.monotonic()
    jobs = ["--shape 64x64x64 --dtype f32 --iters 2 --seed 11"]
    return results + report("e2e 4 ranks --iommu, ordinary stores",
                            e2e_boot(4, jobs, "--iommu", "--device-opts", "direct-stores=off"),
                            time.monotonic() - start)


# --- the device without our driver -------------------------------------------

# Four linked devices, and one whose neighbour in its ring of two is missing. The
# four let their guest inject faults, the lone one does not.
CONFORMANCE_VM = ["--ranks", "4", "--no-driver", "--iommu",
                  "--device-opts", "guest-inject=on",
                  "--qemu-arg=-object", "--qemu-arg=t3-fabric,id=f1,topology=ring,ranks=2",
                  "--qemu-arg=-device", "--qemu-arg=t3,id=lone,fabric=f1,rank=0"]
PATIENT = ["--timeout", "20"]  # seconds that a device may take for something, on a busy host
CONFORMANCE = f"modprobe -a vfio-pci vfio_iommu_type1 && exec t3-conformance --bind {' '.join(PATIENT)}"
ONE_DEVICE = "t3-conformance --device 0000:01:00.0 --json"

# What t3-conformance ends with where there is nothing to test: (its arguments, status).
CONFORMANCE_USE = [("--help", 0), ("--list", 0), ("--list --section 2", 0), ("--section 99", 2),
                   ("--section", 2), ("--timeout 0", 2), ("--timeout 31", 2), ("--timeout 1x", 2),
                   ("--device 1:0", 2), ("--no-such-option", 2), ("argument", 2),
                   ("--device ffff:ff:1f.7", 3)]


def conformance_use():
    """Its exit status, and one sentence on stderr where it is not 0."""
    log = LOGS / "conformance-use.log"
    results = []
    with open(log, "w", encoding="utf-8") as output:
        for arguments, wanted in CONFORMANCE_USE:
            done = subprocess.run([*here(BUILD / "t3-conformance"), *arguments.split()], timeout=60,
                                  capture_output=True, text=True, check=False)
            output.write(f"{arguments}: {done.returncode} {done.stderr}\n")
            good = done.returncode == wanted and len(done.stderr.splitlines()) == bool(wanted)
            results.append(Result(f"conformance/{arguments}", PASS if good else FAIL, log))
    return results


def conformance_one_device(text, ended, log):
    """Alone, a device passes what needs no peer, and the rest is counted as skipped."""
    try:
        found = json.loads(text)
        good = (ended == 0 and found["failed"] == 0 and found["skipped"] > 0
                and found["passed"] > found["skipped"]
                and all(test["why"] for section in found["sections"]
                        for test in section["tests"] if test["result"] == "skipped"))
    except (ValueError, KeyError):
        good = False
    return Result("conformance/one device, as JSON", PASS if good else FAIL, log)


def conformance_suite():
    start = time.monotonic()
    status, batch = guest_batch("conformance", CONFORMANCE_VM, [CONFORMANCE, ONE_DEVICE],
                                PROGRAM_SECONDS)
    every, alone = batch
    results = tap_results("conformance", every.text, -1 if every.status is None else every.status,
                          every.log)
    results += [conformance_one_device(alone.text, alone.status, every.log),
                vm_result("conformance", status, every.log)]
    report("conformance", results, time.monotonic() - start)
    say("\n".join(f"    {line}" for line in re.findall(r"^# (section .*)$", every.text, re.M)))
    return results + report("conformance, use of the program", conformance_use(), 0)


# What the model without a machine around it cannot show: (reason, how many tests).
NATIVE_SKIPS = {"the model alone has no configuration space": 12,
                "needs ranks on other nodes, and no CAPS.FAR_KEYS": 1}


# The same of a QEMU without a guest.
QTEST_SKIPS = {"there is no IOMMU, which would keep devices from a page": 13,
               "needs ranks on other nodes, and no CAPS.FAR_KEYS": 1}


def conformance_elsewhere(name, program, env, skips):
    """The suite without VFIO: all of it runs but what is known to have no place there."""
    start = time.monotonic()
    status, log = execute(name, [program, *PATIENT], env=env)
    text = log.read_text(errors="replace")
    results = tap_results(name, text, status, log)
    reasons = collections.Counter(re.findall(r"# SKIP (.*)$", text, re.M))
    results.append(Result(f"{name}/no other test is skipped", PASS if reasons == skips else FAIL, log))
    return report(name, results, time.monotonic() - start)


def conformance_native_suite():
    """Under sanitizers; stores may take the short way, or never do."""
    return [result for stores in ("direct", "ordinary")
            for result in conformance_elsewhere(f"conformance-native-{stores}",
                                                BUILD / "conformance-native-sanitized",
                                                {"T3_STORES": stores}, NATIVE_SKIPS)]


def conformance_qtest_suite():
    """With a thread for the fabric's events, which VFIO's IOMMU excludes."""
    program = qtest_copy("t3-conformance")
    return conformance_elsewhere("conformance-qtest", program, qtest_env(program, True), QTEST_SKIPS)


# --- native suites -----------------------------------------------------------

def is_counted(source):
    """Whether the coverage suite runs it, natively and without sanitizers; threads lose counts."""
    return (re.match("test_(core|sim)_", source.stem) is not None
            and not source.stem.startswith("test_core_threads"))


def unit_suite(directory, names="test_*.c", wanted=lambda source: True):
    results, env = [], {"T3_QEMU_USER": "1"} if IS_ARM64 else {}
    for source in filter(wanted, sorted((ROOT / "tests/unit").glob(names))):
        program = here(BUILD / directory / source.stem)
        results += tap_program(f"{directory}/{source.stem}", program, env)
    return results


def unit_uncounted_suite():
    """All that the coverage suite does not run."""
    return unit_suite("unit", wanted=lambda source: not is_counted(source))


def spec_suite():
    results = []
    for source in sorted((ROOT / "tests/spec").glob("test_*.c")):
        results += tap_program(f"spec/{source.stem}", [BUILD / "spec" / source.stem])
    return results


FUZZ_RUNS = 1500  # some 3 s of the slowest target; a busy host needs longer for as many


def fuzz_run(name, target, arguments, least, env=None):
    """One libFuzzer run that must end well after at least so many inputs."""
    start = time.monotonic()
    status, log = execute(name, [BUILD / "fuzzers" / target, "-timeout=120", "-seed=1", *arguments],
                          env=env)
    done = re.search(r"^Done (\d+) runs", log.read_text(errors="replace"), re.M)
    good = status == 0 and done and int(done[1]) >= least
    return report(name, [Result(name, PASS if good else FAIL, log)], time.monotonic() - start)


def fuzz_suite():
    """Each target's corpus, on new and on rewound devices, and a short run from there."""
    results = tap_program("fuzz/run.py", [ROOT / "tests/fuzz_run.py"])
    for source in sorted((ROOT / "tests/fuzz").glob("fuzz_*.c")):
        target = source.stem
        corpus = ROOT / "tests/fuzz/corpus" / target
        place = BUILD / "fuzz/out" / target
        place.mkdir(parents=True, exist_ok=True)
        where = f"-artifact_prefix={place}/"
        seeds = len(list(corpus.glob("*")))
        # Leaks are found at the end; new devices for each input would be searched each time.
        results += fuzz_run(f"fuzz/{target}/corpus", target,
                            [where, "-runs=0", "-detect_leaks=0", corpus],
                            max(1, seeds), {"T3_FUZZ_TWICE": "1"})
        with tempfile.TemporaryDirectory(dir=place) as found:
            results += fuzz_run(f"fuzz/{target}/run", target,
                                [where, f"-runs={FUZZ_RUNS}", "-max_len=4096", found, corpus],
                                FUZZ_RUNS)
    return results


def coverage_suite():
    """What the unit tests found, and how much of the core these, spec and conformance reached."""
    start = time.monotonic()
    status, log = execute("coverage", [ROOT / "tests/coverage.py"], 6 * PROGRAM_SECONDS,
                          {"CMOCKA_MESSAGE_OUTPUT": "TAP"})
    results = [Result("coverage (of the core)", PASS if status == 0 else FAIL, log)]
    for source in filter(is_counted, sorted((ROOT / "tests/unit").glob("test_*.c"))):
        output = BUILD / f"coverage/{source.stem}.log"
        text = output.read_text(errors="replace") if output.exists() else ""
        results += tap_results(f"coverage/{source.stem}", text, 0, output)
    return report("coverage", results, time.monotonic() - start)


def qtest_copy(name):
    """A program that runs QEMU, copied with it: no build replaces them in the middle of the run."""
    folder = BUILD / f"qemu/copy-{name}"
    with open(BUILD / ".lock-qemu", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "qemu-bundle").symlink_to("../qemu-bundle")  # QEMU looks for it beside itself
        for path in (BUILD / "qemu/tests/qtest/t3" / name, BUILD / "qemu/qemu-system-x86_64"):
            shutil.copy2(path, folder)
    return folder / name


def qtest_env(program, thread):
    return {"QTEST_QEMU_BINARY": str(program.parent / "qemu-system-x86_64"),
            "QTEST_QEMU_ARGS": "", "G_TEST_SRCDIR": str(ROOT), "T3_TOOL": str(BUILD / "t3"),
            **({"T3_TEST_THREAD": "1"} if thread else {})}


def qtest_suite():
    program = qtest_copy("t3-qtest")
    return [result for name, thread in (("qtest/t3", False), ("qtest/thread", True))
            for result in tap_program(name, [program, "--tap", "-k"], qtest_env(program, thread))]


def lint_verdict(status, log):
    """Who skips a check says why."""
    why = log.read_text(errors="replace").startswith("skipped: ")
    return {0: PASS, 77: SKIP if why else FAIL}.get(status, FAIL)


def lint_suite():
    names = subprocess.run([LINT, "--list"], capture_output=True, text=True, check=True)
    results = []
    for checker in names.stdout.split():
        start = time.monotonic()
        status, log = execute(f"lint/{checker}", [LINT, checker])
        results += report(f"lint/{checker}",
                          [Result(f"lint/{checker}", lint_verdict(status, log), log)],
                          time.monotonic() - start)
    results += tap_program("rooms", [ROOT / "tests/rooms.py"])
    results += tap_program("counts", [ROOT / "tests/counts.py"])
    return results + tap_program("docs", [ROOT / "tests/docs.py"])


# --- packaging ---------------------------------------------------------------

REFUSALS = [("an older kernel", ["VERSION=6", "PATCHLEVEL=11"],
             "t3 is a module for Linux 6.12 and later, and these are the headers of 6.11"),
            ("a much older kernel", ["VERSION=5", "PATCHLEVEL=15"],
             "t3 is a module for Linux 6.12 and later, and these are the headers of 5.15"),
            ("no DRM_ACCEL", ["CONFIG_DRM_ACCEL="],
             "t3 needs a kernel with CONFIG_DRM_ACCEL, and this one has none"),
            ("no DRM_EXEC", ["CONFIG_DRM_EXEC="],
             "t3 needs a kernel with CONFIG_DRM_SCHED and CONFIG_DRM_EXEC")]


def package_changed(sources):
    """A kernel whose scheduler has no form that the driver knows, as its probe would say."""
    copy = sources.parent / "changed"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(sources, copy)
    (copy / "driver/probe.sh").write_text("echo 'changed: drm_sched_init() (<drm/gpu_scheduler.h>)'\n")
    return ("a kernel with another interface", [f"M={copy}"],
            "t3 does not know the form that this kernel has given to drm_sched_init() "
            "(<drm/gpu_scheduler.h>). Add it to driver/probe.sh")


def package_refusals(kernel, sources):
    """Kbuild says in a sentence what it is not for; cleaning works all the same."""
    make = ["make", "-C", kernel, f"M={sources}"]
    results = []
    for name, options, sentence in REFUSALS + [package_changed(sources)]:
        status, log = execute(f"package/{name}", [*make, *options, "modules"])
        good = status != 0 and sentence in log.read_text(errors="replace")
        results.append(Result(f"package/refuses {name}", PASS if good else FAIL, log))
        status, log = execute(f"package/clean, {name}", [*make, *options, "clean"])
        results.append(Result(f"package/clean, {name}", PASS if status == 0 else FAIL, log))
    return results


def package_dkms(kernel, release, place):
    """DKMS builds it, strictly, for the kernel it is for, and for no other."""
    version = next(place.glob("usr/src/t3-*")).name.replace("t3-", "t3/")
    (place / "tree").mkdir()
    dkms = ["dkms", "--dkmstree", place / "tree", "--sourcetree", place / "usr/src"]
    # Debian's headers without pahole, which a machine that has them installed has too.
    strict = {"MAKEFLAGS": "-- W=1 KCFLAGS=-Werror CONFIG_DEBUG_INFO_BTF_MODULES="}
    added, log = execute("package/dkms add", [*dkms, "add", version])
    results = [Result("package/dkms add", PASS if added == 0 else FAIL, log)]
    build = [*dkms, "build", version, "--kernelsourcedir", kernel, "-k"]
    built, log = execute("package/dkms build", [*build, release], env=strict)
    modules = list((place / "tree").glob("t3/*/*/*/module/t3.ko*"))
    good = built == 0 and len(modules) == 1
    if good:
        shown = subprocess.run(["modinfo", "-F", "version", modules[0]], capture_output=True,
                               text=True, check=True,
                               env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin"})
        good = "t3/" + shown.stdout.strip() == version
    results.append(Result("package/dkms build", PASS if good else FAIL, log))
    refused, log = execute("package/dkms build, another kernel", [*build, "6.1.0-1-amd64"])
    good = refused != 0 and "BUILD_EXCLUSIVE" in log.read_text(errors="replace")
    return results + [Result("package/dkms refuses another kernel", PASS if good else FAIL, log)]


def package_suite():
    start = time.monotonic()
    place = GUEST / "package"
    shutil.rmtree(place, ignore_errors=True)
    status, log = execute("package/install", [ROOT / "tools/build/dkms.sh", place])
    rule = place / "usr/lib/udev/rules.d/60-t3.rules"
    good = status == 0 and rule.exists()
    results = [Result("package/install", PASS if good else FAIL, log)]
    if good:
        release = (GUEST / "kernel/release").read_text().strip()
        kernel = GUEST / "kernel/lib/modules" / release / "build"
        results += package_refusals(kernel, next(place.glob("usr/src/t3-*")))
        results += package_dkms(kernel, release, place)
    return report("package", results, time.monotonic() - start)


OPTIONS = {"RANKS": "4", "NODES": "1", "SHAPE": "256x256x256", "TILE": "32x32", "DTYPE": "f32",
           "WRITE": "store", "ITERS": "4", "SEED": "1"}
OPTIONS_ALLOWED = ["", "RANKS=2", "RANKS=32", "NODES=2 RANKS=8", "NODES=4", "SHAPE=4x1x4", "SHAPE=68x35x20 TILE=16x5",
                   "DTYPE=i32", "DTYPE=f16", "DTYPE=bf16", "WRITE=doorbell", "ITERS=100000",
                   "SEED=0", "SEED=18446744073709551615", "TILE=1024x1024"]
OPTIONS_REFUSED = ["RANKS=", "RANKS=0", "RANKS=1", "RANKS=33", "RANKS=-4", "RANKS=4x", "RANKS=0x4",
                   "NODES=", "NODES=0", "NODES=3", "NODES=5", "NODES=8", "NODES=02", "NODES=2x",
                   "RANKS=3", "RANKS=99999999999999999999", "SHAPE=", "SHAPE=256", "SHAPE=256x256",
                   "SHAPE=0x4x4", "SHAPE=4x0x4", "SHAPE=4x4x0", "SHAPE=4x4x4x4", "SHAPE=6x4x4",
                   "SHAPE=4x4x6", "SHAPE=65540x4x4", "SHAPE=-4x4x4", "SHAPE=65536x65536x4",
                   "DTYPE=", "DTYPE=f64", "DTYPE=F32", "WRITE=", "WRITE=both", "ITERS=0",
                   "ITERS=-1", "ITERS=100001", "SEED=", "SEED=-1", "SEED=18446744073709551616",
                   "SEED=1e3", "TILE=", "TILE=32", "TILE=0x4", "TILE=1025x1",
                   "SHAPE=4096x4096x64 TILE=1x1"]


def options_suite():
    """`make run`'s options: a refusal is one sentence on stderr that names the option."""
    log = LOGS / "options.log"
    results, start = [], time.monotonic()
    with open(log, "w", encoding="utf-8") as output:
        for text in OPTIONS_ALLOWED + OPTIONS_REFUSED:
            changed = dict(part.split("=", 1) for part in text.split())
            done = subprocess.run([ROOT / "tools/build/options.py"], timeout=60,
                                  capture_output=True, text=True, check=False,
                                  env={**os.environ, **OPTIONS, **changed})
            output.write(f"{text or '(defaults)'}: {done.returncode} {done.stderr}\n")
            if text in OPTIONS_ALLOWED:
                good = done.returncode == 0 and not done.stderr
            else:
                good = (done.returncode == 2 and len(done.stderr.splitlines()) == 1
                        and any(name in done.stderr for name in changed))
            results.append(Result(f"options/{text or 'defaults'}", PASS if good else FAIL, log))
    return report("options", results, time.monotonic() - start)


# The links that udev makes on a machine.
STREAMS = """set -e
[ "$(echo out >/dev/stdout)" = out ]
[ "$({ echo err >/dev/stderr; } 2>&1 >/dev/null)" = err ]
[ "$(echo in | cat /dev/stdin)" = in ]
[ "$(echo three | cat /dev/fd/3 3<&0)" = three ]"""
# What a run of the launcher must end with: (name, its arguments, status, on stderr).
LAUNCHER = [
    ("no-command", ["--", "no-such-command"], 127, "--root host"),
    ("panic", ["--", "sh", "-c", "echo c >/proc/sysrq-trigger; sleep 60"], 125, "console.log"),
    ("known-trouble", ["--known-trouble", "WARNING: a.*\\n.*known$", "--", "sh", "-c",
                       "echo 'WARNING: a fault' >/dev/kmsg; echo known >/dev/kmsg"], 0, None),
    ("other-trouble", ["--known-trouble", "WARNING: a.*\\n.*known$", "--", "sh", "-c",
                       "echo 'WARNING: a fault' >/dev/kmsg; echo new >/dev/kmsg"], 125, "a fault"),
    ("power-off", ["--", "poweroff", "-f"], 125, "console.log"),
    ("streams", ["--", "sh", "-c", STREAMS], 0, None),
    ("bad-ranks", ["--ranks", "33", "--", "true"], 126, "32"),
    ("fabric", ["--ranks", "1", "--fabric", "f1:ranks=2,topology=full,device.memory-size=32M", "--", "sh",
                "-c", "t3 list && t3 gemm-rs --fabric 1 --ranks 2"], 0, "PASS"),
    ("bad-fabric", ["--fabric", "f1:ranks=9", "--", "true"], 126, "ranks must be 1..8"),
    ("bad-fabric-name", ["--fabric", "f0:ranks=2", "--", "true"], 126, "another one than f0"),
    ("bad-fabric-item", ["--fabric", "f1:ranks=2,ring", "--", "true"], 126, "'ring' is not K=V"),
    ("bad-regex", ["--known-trouble", "(", "--", "true"], 126, "regular"),
    ("no-such-option", ["--no-such-option"], 126, "no-such-option"),
]


def deb_suite():
    """In a fresh Debian of this machine's release, or of RELEASE."""
    release = ["--release", os.environ["RELEASE"]] if os.environ.get("RELEASE") else []
    return tap_program("deb", [ROOT / "tests/deb.py", *release], seconds=12 * PROGRAM_SECONDS)


def launcher_suite():
    """t3-vm's exit codes: whatever the guest does, the command ends and says why."""
    results = []
    for name, arguments, wanted, text in LAUNCHER:
        start = time.monotonic()
        options = ["--name", f"launcher-{name}"] if "--" in arguments else []
        status, log = execute(f"launcher-{name}", [VM, "run", *options, *arguments])
        good = status == wanted and (not text or text in log.read_text(errors="replace"))
        results += report(f"launcher/{name}",
                          [Result(f"launcher/{name}", PASS if good else FAIL, log)],
                          time.monotonic() - start)
    return results


def hotplug_suite():
    return tap_program("hotplug", [ROOT / "tests/hotplug.py"],
                       seconds=PROGRAM_SECONDS * slowness())


def migrate_suite():
    return tap_program("migrate", [ROOT / "tests/migrate.py"])


# On other devices than one for each rank in the fabric's order, too: (name, ranks, VM options).
EXAMPLE_RUNS = [("ring", 4, ["--ranks", "4"]),
                ("full", 3, ["--ranks", "4", "--topology", "full"])]


def examples_suite():
    """Open MPI starts the ranks, in the guest; its only transport is shared memory."""
    results = []
    for name, ranks, options in EXAMPLE_RUNS:
        start = time.monotonic()
        command = ["mpirun", "-n", str(ranks), "mpi_all_reduce"]  # as its header says
        status, log = execute(f"examples-{name}",
                              [VM, "run", *options, "--name", f"examples-{name}", "--initramfs",
                               GUEST / "mpi.img", "--", *command])
        lines = re.findall(rf"^rank \d of {ranks}: 5 sums of 10007 elements are MPI's\r?$",
                           log.read_text(errors="replace"), re.M)
        good = status == 0 and len(set(lines)) == ranks
        results += report(f"examples/{name}",
                          [Result(f"examples/mpi_all_reduce, {name}", PASS if good else FAIL, log)],
                          time.monotonic() - start)
    return results


def root_suite():
    return tap_program("root", [ROOT / "tests/root.py"], seconds=2 * PROGRAM_SECONDS)


def launch_suite():
    return tap_program("launch", [ROOT / "tests/launch.py"])


def cluster_suite():
    return [result for name in ("nodes", "gather", "cluster", "node_faults")
            for result in tap_program(name, [ROOT / f"tests/{name}.py"], seconds=3 * PROGRAM_SECONDS)]


def tool_suite():
    return tap_program("tool", [ROOT / "tests/tool.py"])


def loop_suite():
    return tap_program("loop", [ROOT / "tests/loop.py"], seconds=3 * PROGRAM_SECONDS)


def build_suite():
    return tap_program("build", [ROOT / "tests/build.py"])


def paper_suite():
    return tap_program("paper", [ROOT / "tests/paper.py"])


# Suites that only a translator can pass, and why.
NOT_UNDER_KVM = {"patching": "it pauses QEMU's translator (TCG) between two of its steps"}


def patching_suite():
    return tap_program("patching", [ROOT / "tests/patching.py"])


def model_suite(name, *options, seconds=PROGRAM_SECONDS):
    """The models, and runs of the code that they must be able to do."""
    return (tap_program(name, [ROOT / "tests/model.py", *options], seconds=seconds)
            + tap_program("follow", [ROOT / "tests/follow.py"]))


SUITES = {
    "lint": lint_suite,
    "package": package_suite,
    "install": lambda: tap_program("install", [ROOT / "tests/libt3/install.py"]),
    "abi": lambda: tap_program("abi", [ROOT / "tests/libt3/abi.py"]),
    "dist": lambda: tap_program("dist", [ROOT / "tests/dist.py"]),
    "manual": lambda: tap_program("manual", [ROOT / "tests/libt3/manual.py"]),
    "options": options_suite,
    "unit-uncounted": unit_uncounted_suite,
    "unit-sanitized": lambda: unit_suite("unit-sanitized"),
    "unit-threads": lambda: unit_suite("unit-threads", "test_core_threads*.c"),
    "spec": spec_suite,
    "coverage": coverage_suite,
    "fuzz": fuzz_suite,
    "model": lambda: model_suite("model"),
    "qtest": qtest_suite,
    "launcher": launcher_suite,
    "installed": lambda: tap_program("installed", [ROOT / "tests/installed.py"]),
    "build": build_suite,
    "kernels": lambda: tap_program("kernels", [ROOT / "tests/kernels.py"]),
    "accel": lambda: tap_program("accel", [ROOT / "tests/accel.py"]),
    "cells": lambda: tap_program("cells", [ROOT / "tests/cells.py"]),
    "overlay": lambda: tap_program("overlay", [ROOT / "tests/overlay.py"]),
    "series": lambda: tap_program("series", [ROOT / "tests/series.py"]),
    "patching": patching_suite,
    "paper": paper_suite,
    "loop": loop_suite,
    "saved": lambda: tap_program("saved", [ROOT / "tests/saved.py"]),
    "stuck": lambda: tap_program("stuck", [ROOT / "tests/loop.py", "--ends"]),
    "debugger": lambda: tap_program("debugger", [ROOT / "tests/loop.py", "--debugger"]),
    "conformance": conformance_suite,
    "conformance-native": conformance_native_suite,
    "conformance-qtest": conformance_qtest_suite,
    "guest": guest_parts,
    "guest-iommu": guest_iommu_suite,
    "guest-ordinary": guest_ordinary_suite,
    "guest-root": guest_root_suite,
    "guest-vcpus": guest_vcpus_suite,
    "newest": newest_suite,
    "tracepoints": lambda: tap_program("tracepoints", [ROOT / "tests/tracepoints.py"]),
    "hotplug": hotplug_suite,
    "migrate": migrate_suite,
    "root": root_suite,
    "launch": launch_suite,
    "examples": examples_suite,
    "mpi": lambda: tap_program("mpi", [ROOT / "tests/mpi.py"], seconds=3 * PROGRAM_SECONDS),
    "programs": lambda: tap_program("programs", [ROOT / "tests/programs.py"]),
    "cluster": cluster_suite,
    "python": lambda: tap_program("python", [ROOT / "tests/python/run.py"],
                                  seconds=2 * PROGRAM_SECONDS),
    "tool": tool_suite,
    "e2e": e2e_suite,
    "tutorial": lambda: tap_program("tutorial", [ROOT / "tests/tutorial.py"]),
    "recipes": lambda: tap_program("recipes", [ROOT / "tests/recipes.py"],
                                   seconds=3 * PROGRAM_SECONDS),
}

# Suites that make check leaves to make check-all: tests/suites.md has each one's seconds, and why.
LATER = ("build", "package", "install", "dist", "model", "installed", "kernels", "cells", "overlay", "series",
         "patching", "paper", "saved", "stuck", "debugger", "conformance-qtest", "guest-ordinary",
         "guest-root", "guest-vcpus", "newest", "tracepoints", "hotplug", "migrate", "root", "examples",
         "mpi", "programs", "cluster", "tutorial", "recipes")

# Those that are lists of parts, which may run beside each other.
IN_PARTS = ("guest",)
# They build what others use, or look at the build's lock: one after the other, after all others.
ALONE = ("build", "loop")
# They run beside those, as they have no VM and build nothing.
QUIET = ("coverage",)
# They wait for nearly half of their time or more: the place beside the N begins with them.
WAITING = ("recipes", "stuck", "qtest", "debugger", "unit-uncounted", "install", "launch", "conformance")
# The longest, which begin first. The others follow in the order above.
LONG = ("guest", "recipes", "cluster", "stuck", "mpi", "unit-sanitized", "model", "tutorial", "qtest",
        "tool", "e2e", "lint", "programs", "root", "newest", "debugger")

# Those that run only when they are asked for.
MORE_SUITES = {
    "unit": lambda: unit_suite("unit"),
    "host": lambda: tap_program("host", [ROOT / "tests/host.py"]),
    "guest-followed": guest_followed_suite,
    "cluster-wide": lambda: tap_program("cluster_wide", [ROOT / "tests/cluster_wide.py"],
                                        seconds=20 * PROGRAM_SECONDS),
    "model-all": lambda: model_suite("model-all", "--all", seconds=4 * PROGRAM_SECONDS),
    "programs-all": lambda: tap_program("programs-all", [ROOT / "tests/programs.py", "--all"],
                                        seconds=15 * PROGRAM_SECONDS),
    "deb": deb_suite,
    "series-tree": lambda: tap_program("series-tree", [ROOT / "tests/series_tree.py"],
                                       seconds=20 * PROGRAM_SECONDS),
}


def parts_of(name):
    """Functions whose results together are the suite's."""
    suite = {**SUITES, **MORE_SUITES}.get(name) or guest_program(name)
    return suite() if name in IN_PARTS else [suite]


def run_part(name, part):
    """One that itself breaks is a failure and not a pause."""
    if os.environ.get("T3_ACCEL") == "kvm" and name in NOT_UNDER_KVM:
        say(f"[{name}] 1 skipped under KVM: {NOT_UNDER_KVM[name]}")
        return [Result(f"{name} (under KVM)", SKIP, LOGS)]
    try:
        return part()
    except Exception as error:  # whatever it is, the other suites still run
        return [Result(f"{name} ({type(error).__name__}: {error})", FAIL, LOGS)]


def accelerator():
    """Of the VMs. A KVM that does not run a guest ends the run before the first test."""
    try:
        return machines.accelerator()
    except subprocess.CalledProcessError as error:
        print(error.stderr, end="", file=sys.stderr)
        return None


TOOK = {}  # (seconds, seconds of processors) of each part, by suite
RUNNING = {}  # the suite of each thread that runs a part of one


def timed_part(name, part):
    start, SUITE.work = time.monotonic(), 0
    RUNNING[threading.get_ident()] = name
    results = run_part(name, part)
    del RUNNING[threading.get_ident()]
    TOOK.setdefault(name, []).append((time.monotonic() - start, SUITE.work))
    return results


def seconds_by_suite():
    """{suite: [seconds, seconds of processors]}, those that took most of the time first."""
    took = {name: [round(sum(part), 1) for part in zip(*parts)] for name, parts in TOOK.items()}
    return dict(sorted(took.items(), key=lambda item: -item[1][0]))


def keep_seconds(took):
    (LOGS / "seconds.json").write_text(json.dumps(
        {name: {"seconds": wall, "processor": work} for name, (wall, work) in took.items()}, indent=1) + "\n")


def longest(took, count):
    return ", ".join(f"{name} {wall:.0f} s ({work:.0f})" for name, (wall, work) in [*took.items()][:count])


def load(start):
    """What a run cost that began at `start`. VMs and programs count, as whoever starts one waits."""
    took, times = time.monotonic() - start, os.times()
    busy = (times.user + times.system + times.children_user + times.children_system) / took
    return f"{took:.0f} s, with {busy:.1f} of {os.cpu_count()} processors busy"


def parts_in(names):
    """(suite, number, part), in the order in which places take them."""
    return collections.deque((name, number, part) for name in names
                             for number, part in enumerate(parts_of(name)))


def phases(wanted, jobs):
    """One after the other: places, each with the queues that it takes parts from. Its own comes first."""
    late = [name for name in wanted if name in ALONE]
    quiet = [name for name in wanted if name in QUIET] if late and jobs > 1 else []
    early = sorted((name for name in wanted if name not in late + quiet),
                   key=lambda name: LONG.index(name) if name in LONG else len(LONG))
    waiting = [name for name in early if name in WAITING] if jobs > 1 else []
    others = parts_in(name for name in early if name not in waiting)
    waiting = parts_in(waiting)
    more = [[waiting, others]] if jobs > 1 else []
    return [[[others, waiting]] * jobs + more, [[parts_in(quiet)]] * (jobs - 1) + [[parts_in(late)]]]


def next_part(queues):
    """Of the first that still has one; None: no queue has."""
    for queue in queues:
        with contextlib.suppress(IndexError):
            return queue.popleft()
    return None


def work(queues):
    """What one place does: (number, suite, results), a part after the other."""
    done = []
    while found := next_part(queues):
        name, number, part = found
        done.append((number, name, timed_part(name, part)))
    return done


def run_phase(places):
    """(suite, results) of each part, those of a suite in its order."""
    pool = concurrent.futures.ThreadPoolExecutor(len(places))
    begun = [pool.submit(work, queues) for queues in places]
    try:
        done = [part for place in begun for part in place.result()]
    except KeyboardInterrupt:
        for queues in places:
            for queue in queues:
                queue.clear()
        pool.shutdown(wait=False)
        raise
    return [(name, results) for _, name, results in sorted(done, key=lambda part: part[0])]


def run_suites(wanted, jobs):
    """Their results, in the order of `wanted`. A suite that is empty is a failure."""
    done = {name: [] for name in wanted}
    for places in phases(wanted, jobs):
        for name, results in run_phase(places):
            done[name] += results
    return [result for name in wanted
            for result in done[name] or [Result(f"{name} (no tests)", FAIL, ROOT / "tests")]]


def run_watched(wanted, jobs):
    """The same. A test that changes /dev is a failure, whichever it is: these suites ran then."""
    log = LOGS / "dev.log"
    with dev_watch.Watch(lambda: " ".join(sorted(set(RUNNING.copy().values()))) or "no suite",
                         lambda sentence: say(f"[dev] {sentence}")) as watch:
        results = run_suites(wanted, jobs)
    log.write_text("".join(f"{sentence}\n" for sentence in watch.found) or "/dev is as it was\n")
    return [*results, *([Result("dev (it has changed)", FAIL, log)] if watch.found else [])]


def arguments():
    parser = argparse.ArgumentParser(usage="check.py [-j N] [--all | SUITE...]", allow_abbrev=False,
                                     description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-j", dest="jobs", type=int, default=min(os.cpu_count() or 1, 4),
                        help="suites at a time, 1 to 64 (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help=f"also {' '.join(LATER)}")
    parser.add_argument("suite", nargs="*", help=f"{' '.join(SUITES)} (default: these without those of --all); "
                        f"or guest:PROGRAM of tests/guest; or {' '.join(MORE_SUITES)}")
    given = parser.parse_args()
    if not 1 <= given.jobs <= 64:
        parser.error(f"-j {given.jobs} is out of range: allowed are 1 to 64")
    if given.all and given.suite:
        parser.error("--all and names of suites exclude each other")
    return given.jobs, list(dict.fromkeys(given.suite)) or [name for name in SUITES
                                                            if given.all or name not in LATER]


def main():
    jobs, wanted = arguments()
    unknown = [name for name in wanted
               if name not in (*SUITES, *MORE_SUITES) and not guest_program(name)]
    if unknown:
        print(f"check.py: no suite '{unknown[0]}'; there are: "
              f"{' '.join([*SUITES, *MORE_SUITES])}",
              file=sys.stderr)
        return 2
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
    results = run_watched(wanted, jobs)
    counts = collections.Counter(result.status for result in results)
    tell(results)
    took = seconds_by_suite()
    keep_seconds(took)
    print(f"longest, with seconds of a processor: {longest(took, 12)}")
    print(load(start))
    print(used)
    skipped = f", {counts[SKIP]} skipped" if counts[SKIP] else ""
    print(f"{counts[PASS]} passed, {counts[FAIL]} failed{skipped}")
    return 1 if counts[FAIL] else 0


if __name__ == "__main__":
    sys.exit(main())
