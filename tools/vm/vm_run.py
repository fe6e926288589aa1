# SPDX-License-Identifier: MIT
"""Runs QEMU to its end, and finds out how the job in the guest ended."""

import contextlib
import json
import os
import re
import shlex
import stat
import sys
import termios
import time

import vm_keep
import vm_trace
from vm_base import EXIT_DIED, EXIT_TIMEOUT, VmError, read_text
from vm_image import write_initrd
from vm_machine import qemu_command
from vm_process import answers, control_lines, ends_within, running
from vm_root import root_files
from vm_saved import saved_parts, waiting

# Of a shell and of the C library's loader: a command, or a library of it, was not found.
NOT_FOUND = 127

# --- its end -----------------------------------------------------------------

def last_lines(rundir):
    lines = read_text(rundir / "console.log").splitlines()[-15:]
    lines += read_text(rundir / "qemu.log").splitlines()[-5:]
    return "".join(f"\n  | {line}" for line in lines)


def kernel_trouble(rundir, known):
    """The first complaint in the kernel's log, and its place. Text that `known` matches is left
    out."""
    text = read_text(rundir / "console.log")
    return vm_trace.report(re.sub(known, "", text, flags=re.M) if known else text)


def shown(rundir, lines):
    return f"console log {rundir}/console.log says:" + "".join(f"\n  | {line}" for line in lines)


def outcome(rundir, finished, timeout, strict, known=""):
    """The job's status, from the control lines and the console log."""
    trouble = kernel_trouble(rundir, known)
    log = (shown(rundir, trouble) if trouble
           else f"console log {rundir}/console.log ends:{last_lines(rundir)}")
    control = (control_lines(rundir) or [""])[-1]
    match = re.fullmatch(r"exit (\d+)", control)
    if match and int(match[1]) != 0:
        return int(match[1])
    if control.startswith("fail "):
        raise VmError(EXIT_DIED, f"the guest gave up: {control[5:]}; {log}")
    if trouble and not match and finished:
        raise VmError(EXIT_DIED, f"the guest's kernel died: {trouble[0].strip()}; {log}")
    if strict and trouble:
        raise VmError(EXIT_DIED, f"the guest's kernel complained: {trouble[0].strip()}; {log}")
    if match:
        return 0
    if not finished:
        where = "".join(f"\n  | QEMU in {line}" for line in vm_keep.threads(rundir))
        raise VmError(EXIT_TIMEOUT, f"no end after {timeout} s (--timeout); {log}{where}")
    raise VmError(EXIT_DIED, f"the VM ended without a status; {log}")


def job_seconds(rundir):
    """The job's run time by the guest's clock, or None when it did not end."""
    times = {words[0]: words[1] for words in map(str.split, control_lines(rundir))
             if len(words) == 2 and words[0] in ("begin", "end")}
    try:
        return round(float(times["end"]) - float(times["begin"]), 2)
    except (KeyError, ValueError):
        return None


@contextlib.contextmanager
def told(rundir, argv, accel, opts, quiet=False):
    """Writes run.json: what ran, when, for how long and with which status, and the logs of a
    failure."""
    facts = {"command": argv, "accel": accel, "share": opts.share and str(opts.share),
             "root": opts.root and str(opts.root),
             "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    start = time.monotonic()
    try:
        yield facts
    except VmError as error:
        facts.update(status=error.status, error=str(error).split("\n", maxsplit=1)[0])
        raise
    except SystemExit as end:  # by a signal
        facts["status"] = end.code
        raise
    except KeyboardInterrupt:
        facts["status"] = 130
        raise
    finally:
        facts.update(seconds=round(time.monotonic() - start, 3), job_seconds=job_seconds(rundir))
        (rundir / "run.json").write_text(json.dumps(facts, indent=1) + "\n")
        if facts.get("status") != 0 and not quiet:
            lines = vm_keep.summary(rundir)
            if facts.get("status") == NOT_FOUND and not opts.root:
                lines.append("status 127: the VM's small root lacks that command, or a library or an "
                             "interpreter of it; --root host takes this machine's root")
            if facts.get("restored"):
                lines.append("the VM went on from a saved machine; --no-saved boots it")
            for line in lines:
                print(f"t3-vm: {line}", file=sys.stderr)


def printed_to():
    """Where the job's output goes, or None: it is nowhere."""
    try:
        return sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return None


# --- the ways to run ---------------------------------------------------------

def image_files(opts, argv=None):
    """The files that the guest's init looks for."""
    files = {"job": os.fsencode("exec " + shlex.join(argv) + "\n")} if argv else {}
    for name, wanted in (("no-driver", opts.no_driver), ("share", opts.share)):
        if wanted:
            files[name] = b""
    return {**files, **root_files(opts, argv)}


@contextlib.contextmanager
def started(opts, accel, rundir, files, facts, answered=False, **how):
    """QEMU's process, whose guest has the files, and what answers the guest, if it is to be
    `answered`. `how` is running()'s."""
    parts = None if how.get("may_crash") else saved_parts(opts, accel, files)
    if parts:
        with waiting(opts, accel, rundir, parts, **how) as (process, answer, facts["restored"]):
            yield process, answer
        return
    write_initrd(rundir / "initrd", opts.initramfs, files)
    with contextlib.ExitStack() as stack:
        answer = stack.enter_context(answers(rundir)) if answered else None
        yield stack.enter_context(running(qemu_command(opts, rundir, accel, answered=answered),
                                          rundir, **how)), answer


def run_job(opts, argv, accel, name, stdout=None, probe=False):
    """A probe may fail, also by a crash."""
    end = time.monotonic() + opts.timeout
    with vm_keep.run_directory(name) as rundir, told(rundir, argv, accel, opts, probe) as facts:
        with started(opts, accel, rundir, image_files(opts, argv), facts, stdout=stdout,
                     may_crash=probe) as (process, _):
            finished = ends_within(process, end - time.monotonic(),
                                   printed_to() if stdout is None else None)
            if not finished and not probe:
                vm_keep.keep_stuck(process, rundir)
        facts["status"] = outcome(rundir, finished, opts.timeout, opts.strict, opts.known_trouble)
        return facts["status"]


@contextlib.contextmanager
def terminal_kept():
    """QEMU sets the terminal to raw and non-blocking. When it is killed it cannot undo that."""
    stdin = 0
    if not os.isatty(stdin):
        yield
        return
    attributes, blocking = termios.tcgetattr(stdin), os.get_blocking(stdin)
    try:
        yield
    finally:
        termios.tcsetattr(stdin, termios.TCSANOW, attributes)
        os.set_blocking(stdin, blocking)


@contextlib.contextmanager
def input_open():
    """Standard input, if it is a pipe, has one writer more, and so never ends. At the end of its input
    QEMU 10.0's stdio chardev no longer waits until its output can be written: the serial port tries
    four times at once, and drops the byte."""
    try:
        piped = stat.S_ISFIFO(os.fstat(0).st_mode)
        writer = os.open("/proc/self/fd/0", os.O_WRONLY) if piped else None
    except OSError:  # there is none, or the pipe is another user's
        writer = None
    try:
        yield
    finally:
        if writer is not None:
            os.close(writer)


def run_shell(opts, accel):
    """QEMU owns the terminal, and passes Ctrl-C to the guest."""
    with vm_keep.run_directory(opts.name) as rundir, told(rundir, None, accel, opts) as facts:
        print("t3-vm: `exit` ends the VM", file=sys.stderr)
        with terminal_kept(), input_open(), \
                started(opts, accel, rundir, image_files(opts), facts, stdin=None,
                        new_session=False) as (process, _):
            process.wait()
        facts["status"] = outcome(rundir, True, None, False)
        return facts["status"]
