# SPDX-License-Identifier: MIT
"""Runs QEMU to its end, and finds out how the job in the guest ended."""

import contextlib
import ctypes
import fcntl
import json
import os
import re
import resource
import select
import shlex
import signal
import subprocess
import sys
import termios
import time

import vm_keep
import vm_trace
from vm_base import BUILD, EXIT_DIED, EXIT_TIMEOUT, VmError, read_text
from vm_machine import qemu_command, write_initrd
from vm_process import ended
from vm_root import root_files

POLL_SECONDS = 3600  # at a time: poll() takes 24 days at most

# --- the process -------------------------------------------------------------

def dies_with_us():
    """No QEMU may outlive a killed launcher."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def in_child():
    """The same. If QEMU crashes, it may leave a core."""
    dies_with_us()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def no_core():
    dies_with_us()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@contextlib.contextmanager
def qemu_not_being_built():
    """qemu.sh holds this lock while it replaces the program."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / ".lock-qemu", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def start_qemu(command, log, stdin, stdout, new_session, prepare):
    try:
        with qemu_not_being_built():
            return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=log,
                                    start_new_session=new_session, preexec_fn=prepare)
    except OSError as error:
        raise VmError(EXIT_DIED, f"cannot start QEMU: {error}") from error


@contextlib.contextmanager
def running(command, rundir, stdin=subprocess.DEVNULL, stdout=None, new_session=True,
            may_crash=False):
    """QEMU's process, which has ended at the end of the block. Only this one process is ever
    killed."""
    started = int(time.time())
    with open(rundir / "qemu.log", "wb") as log:
        process = start_qemu(command, log, stdin, stdout, new_session,
                             no_core if may_crash else in_child)
    try:
        yield process
    finally:
        if not ended(process):
            process.kill()
            process.wait()
        if not may_crash:
            vm_keep.keep_crash(process, command[0], rundir, os.getcwd(), started)


def printed_to():
    """Where the job's output goes, or None: it is nowhere."""
    try:
        return sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def ends_within(process, timeout, output=None):
    """Raises VmError when nobody reads the output any more: QEMU itself goes on without a reader."""
    end = time.monotonic() + timeout
    ended = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        if output is not None:
            poll.register(output, 0)  # only its errors
        while (left := end - time.monotonic()) > 0:
            found = [descriptor for descriptor, _ in poll.poll(1000 * min(left, POLL_SECONDS))]
            if ended in found:
                process.wait()
                return True
            if found:
                raise VmError(EXIT_DIED, "nobody reads the output any more, so the VM is ended")
        return False
    finally:
        os.close(ended)


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


def control_lines(rundir):
    """The facts that the guest's init reports. The last one is how it ended."""
    return read_text(rundir / "control").splitlines()


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
        raise VmError(EXIT_TIMEOUT, f"no end after {timeout} s; {log}{where}")
    raise VmError(EXIT_DIED, f"the VM ended without a status; {log}")


@contextlib.contextmanager
def answers(rundir):
    """The other direction of the control line: a function that sends a line to the guest. It opens
    here, or QEMU would wait for a writer."""
    os.mkfifo(rundir / "control.in")
    descriptor = os.open(rundir / "control.in", os.O_RDWR)
    try:
        yield lambda line: os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


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
            for line in vm_keep.summary(rundir):
                print(f"t3-vm: {line}", file=sys.stderr)


# --- the ways to run ---------------------------------------------------------

def image_files(opts, argv=None):
    """The files that the guest's init looks for."""
    files = {"job": os.fsencode("exec " + shlex.join(argv) + "\n")} if argv else {}
    for name, wanted in (("no-driver", opts.no_driver), ("share", opts.share)):
        if wanted:
            files[name] = b""
    return {**files, **root_files(opts, argv)}


def run_job(opts, argv, accel, name, stdout=None, probe=False):
    """A probe may fail, also by a crash."""
    with vm_keep.run_directory(name) as rundir, told(rundir, argv, accel, opts, probe) as facts:
        write_initrd(rundir / "initrd", opts.initramfs, image_files(opts, argv))
        with running(qemu_command(opts, rundir, accel), rundir, stdout=stdout,
                     may_crash=probe) as process:
            finished = ends_within(process, opts.timeout, printed_to() if stdout is None else None)
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


def run_shell(opts, accel):
    """QEMU owns the terminal, and passes Ctrl-C to the guest."""
    with vm_keep.run_directory(opts.name) as rundir, told(rundir, None, accel, opts) as facts:
        write_initrd(rundir / "initrd", opts.initramfs, image_files(opts))
        print("t3-vm: `exit` ends the VM", file=sys.stderr)
        with terminal_kept(), running(qemu_command(opts, rundir, accel), rundir, None,
                                      new_session=False) as process:
            process.wait()
        facts["status"] = outcome(rundir, True, None, False)
        return facts["status"]
