#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Results as TAP for `meson test`, and the logs that tell why. Suites in Python import this.

usage: tap.py [--seconds N] NAME COMMAND... [, NAME COMMAND...]
       tap.py --status NAME COMMAND...

COMMAND prints TAP, as cmocka does it; of several, separated by commas, the results come together.
With --status the command is one test, by its exit status. Output and errors are in .build/log/NAME.log.
A command has N seconds (default: 1800), times what a debug kernel says.
"""

import argparse
import collections
import contextlib
import ctypes
import itertools
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import threading
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
GUEST = pathlib.Path(os.environ.get("T3_GUEST", BUILD))  # what depends on the kernel
LOGS = GUEST / "log"
IS_ARM64 = os.environ.get("T3_ARCH") == "arm64"

PROGRAM_SECONDS = 1800  # other suites, and other work, run beside it: 38 s took more than 600

Result = collections.namedtuple("Result", "name status log")
PASS, FAIL, SKIP = "passed", "failed", "skipped"


def here(program):
    """The command that runs a program of the guest's processor on this machine."""
    return ["qemu-aarch64", "-L", BUILD / "sysroot", program] if IS_ARM64 else [program]


def slowness():
    """A debug kernel's own arguments say how many times as long its programs may take."""
    path = GUEST / "kernel/append"
    match = re.search(r"\bT3_SLOW=(\d+)", path.read_text()) if path.exists() else None
    return int(match[1]) if match else 1


# --- running -----------------------------------------------------------------

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


def ends_within(process, seconds):
    """Whether it ends by itself. Popen.wait() would ask now and then, and so end later."""
    end = os.pidfd_open(process.pid)
    try:
        return bool(select.select([end], [], [], seconds)[0])
    finally:
        os.close(end)


def execute(name, command, seconds=PROGRAM_SECONDS, env=None):
    """Run one command into a log of its own; its status, or why there is none."""
    log = LOGS / f"{name.replace('/', '-')}.log"
    with open(log, "wb") as output:
        try:
            with Lines(output).writers() as (stdout, stderr), \
                    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                     cwd=ROOT, env={**os.environ, **(env or {})}) as process:
                if ends_within(process, seconds):
                    return process.wait(), log
                process.kill()
            output.write(f"\n# no end after {seconds} s\n".encode())
        except OSError as error:
            output.write(f"\n# {error}\n".encode())
    return -1, log


# --- results -----------------------------------------------------------------

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


NUMBERS = itertools.count(1)
SHOWN = set()  # logs: of one that several failures share the first one's part is enough


def report(results):
    """Print each. One that did not pass is followed by its log, a failure by the part that tells why."""
    for result in results:
        name = re.sub(r"\s*[\n#]\s*", " ", result.name)  # what TAP would take for something else
        print("not ok" if result.status == FAIL else "ok", next(NUMBERS), "-", name,
              *["# SKIP"] * (result.status == SKIP))
        if result.status != PASS:
            print(f"# see {os.path.relpath(result.log, ROOT)}")
        if result.status == FAIL and result.log not in SHOWN:
            SHOWN.add(result.log)
            print(*(f"#   | {line}" for line in excerpt(result)), sep="\n")
    sys.stdout.flush()
    return results


def run_suite(name, suite):
    """Call what reports the results of a suite, and end. A suite that breaks is a failure."""
    end_with_meson()
    os.environ["CMOCKA_MESSAGE_OUTPUT"] = "TAP"
    for filtered in ("CMOCKA_TEST_FILTER", "CMOCKA_SKIP_FILTER"):
        os.environ.pop(filtered, None)  # by these cmocka 2 would leave tests out without a word
    LOGS.mkdir(parents=True, exist_ok=True)
    try:
        suite()
    except Exception as error:  # pylint: disable=broad-except
        log = LOGS / f"{name.replace('/', '-')}-broken.log"
        log.write_text(traceback.format_exc())
        report([Result(f"{name} ({type(error).__name__}: {error})", FAIL, log)])
    print(f"1..{next(NUMBERS) - 1}")
    used = os.times()
    print(f"# processor: {sum(used[:4]):.2f} s", flush=True)


def end_with_meson():
    """Meson ends the process group of a test, but not what it starts in the moment of a Ctrl-C."""
    def end_group(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
        os._exit(1)

    if os.getpgid(0) == os.getpid():
        signal.signal(signal.SIGHUP, end_group)
        ctypes.CDLL(None).prctl(1, signal.SIGHUP)  # PR_SET_PDEATHSIG


# --- programs ----------------------------------------------------------------

def tap_program(name, command, env=None, seconds=PROGRAM_SECONDS):
    status, log = execute(name, command, seconds, env)
    return report(tap_results(name, log.read_text(errors="replace"), status, log))


def status_program(name, command, seconds):
    """One result. A program that skips itself says why."""
    status, log = execute(name, command, seconds)
    why = log.read_text(errors="replace").startswith("skipped: ")
    verdict = {0: PASS, 77: SKIP if why else FAIL}.get(status, FAIL)
    return report([Result(name, verdict, log)])


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n", maxsplit=1)[0],
                                     allow_abbrev=False)
    parser.add_argument("--seconds", type=float, default=PROGRAM_SECONDS)
    parser.add_argument("--status", action="store_true")
    parser.add_argument("name")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    given = arguments()
    seconds = given.seconds * slowness()
    parts, words = [], iter([given.name, *given.command])
    while part := list(itertools.takewhile(lambda word: word != ",", words)):
        parts.append(part)
    run = status_program if given.status else lambda name, command, limit: tap_program(name, command, None, limit)
    run_suite(given.name, lambda: [run(name, command, seconds) for name, *command in parts])


if __name__ == "__main__":
    main()
