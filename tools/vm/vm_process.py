# SPDX-License-Identifier: MIT
"""QEMU's process: its start, its end, and the line between its guest's init and the launcher."""

import contextlib
import ctypes
import fcntl
import os
import resource
import select
import signal
import subprocess
import time

import vm_keep
from vm_base import BUILD, EXIT_DIED, VmError, read_text

POLL_SECONDS = 3600  # at a time: poll() takes 24 days at most
ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

# --- start -------------------------------------------------------------------

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


def start_qemu(command, log, stdin, stdout, new_session, prepare, pass_fds=()):
    try:
        with qemu_not_being_built():
            return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=log,
                                    start_new_session=new_session, preexec_fn=prepare,
                                    pass_fds=pass_fds)
    except OSError as error:
        raise VmError(EXIT_DIED, f"cannot start QEMU: {error}") from error


@contextlib.contextmanager
def running(command, rundir, stdin=subprocess.DEVNULL, stdout=None, new_session=True,
            may_crash=False, pass_fds=()):
    """QEMU's process, which has ended at the end of the block. Only this one process is ever
    killed."""
    started = int(time.time())
    with open(rundir / "qemu.log", "wb") as log:
        process = start_qemu(command, log, stdin, stdout, new_session,
                             no_core if may_crash else in_child, pass_fds)
    try:
        yield process
    finally:
        if not ended(process):
            process.kill()
            process.wait()
        if not may_crash:
            vm_keep.keep_crash(process, command[0], rundir, os.getcwd(), started)


# --- end ---------------------------------------------------------------------

def ended(process):
    """Whether it has ended. `returncode` is its status then.

    A signal's handler raises SystemExit between any two steps of Python. In Popen.poll() that may
    be where its lock is taken and nobody gives it back yet: then poll() never sees the end, and
    wait() waits for ever. So signals wait meanwhile.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        return process.poll() is not None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ends_within(process, timeout, output=None):
    """Raises VmError when nobody reads the output any more: QEMU itself goes on without a reader."""
    end = time.monotonic() + timeout
    handle = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if output is not None:
            poll.register(output, 0)  # only its errors
        while (left := end - time.monotonic()) > 0:
            found = [descriptor for descriptor, _ in poll.poll(1000 * min(left, POLL_SECONDS))]
            if handle in found:
                process.wait()
                return True
            if found:
                raise VmError(EXIT_DIED, "nobody reads the output any more, so the VM is ended")
        return False
    finally:
        os.close(handle)


# --- the control line --------------------------------------------------------

def control_lines(rundir):
    """The facts that the guest's init reports. The last one is how it ended."""
    return read_text(rundir / "control").splitlines()


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
