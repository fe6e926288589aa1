# SPDX-License-Identifier: MIT
"""What is kept of a run, below .build/run/NAME, and for how long.

The newest run is in NAME itself. Older runs are in NAME/1 to NAME/3, as long as they take less
than OLD_BYTES. `guest` in each has what the guest hands over at its end: cores and device
dumps.
"""

import contextlib
import fcntl
import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess

from vm_base import BUILD, EXIT_USAGE, IS_INSTALLED, VmError, read_text

OLD_RUNS = 3
SECOND = "second\n"  # in the lock file of a second VM's folder
OLD_BYTES = 64 << 20
# A larger core of QEMU is not kept, but its backtrace is.
QEMU_CORE_BYTES = 256 << 20
BACKTRACE_SECONDS = 120
BACKTRACE = "qemu-backtrace.txt"
THREAD = re.compile(r'^Thread \d+ .*"(.+)"')
FRAME = re.compile(r"^#\d+ +(?:0x[0-9a-f]+ in )?([a-z][\w.]*) \(")  # not the C library's own
FRAMES = 8  # of a thread, innermost first

CORE_PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern")


# --- folders, and how long they stay -----------------------------------------

def members(rundir):
    """The files of the newest run: all but the lock and the older runs."""
    return [path for path in rundir.iterdir()
            if path.name != ".lock" and not re.fullmatch(r"\d+", path.name)]


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def size_of(folder):
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def rotate(rundir):
    """Makes room for a new run: the newest becomes number 1, and so on."""
    last = members(rundir)
    if not last:
        return
    remove(rundir / str(OLD_RUNS))
    for number in range(OLD_RUNS - 1, 0, -1):
        if (rundir / str(number)).exists():
            (rundir / str(number)).rename(rundir / str(number + 1))
    (rundir / "1").mkdir()
    for path in last:
        path.rename(rundir / "1" / path.name)
    taken = 0
    for number in range(1, OLD_RUNS + 1):
        taken += size_of(rundir / str(number)) if (rundir / str(number)).exists() else 0
        if taken > OLD_BYTES:
            remove(rundir / str(number))


def began(path):
    """When a second VM began in the folder. 0: it is none of theirs, but its user has called it so."""
    with contextlib.suppress(OSError), open(path / ".lock", encoding="utf-8") as lock:
        if lock.read() == SECOND:
            return os.fstat(lock.fileno()).st_mtime_ns
    return 0


def prune(base, name):
    """Folders of second VMs of a name that have ended, except the newest ones."""
    others = [(began(path), path) for path in base.glob(f"{name}-*")
              if re.fullmatch(re.escape((base / name).name) + r"-\d+", path.name)]
    for _, path in sorted(other for other in others if other[0])[:-OLD_RUNS]:
        with contextlib.suppress(OSError), open(path / ".lock", "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(path)


@contextlib.contextmanager
def run_directory(name):
    """.build/run/NAME, held by a lock. A second VM of that name gets another folder."""
    base = BUILD / "run"
    prune(base, name)
    for candidate in (name, f"{name}-{os.getpid()}"):
        rundir = base / candidate
        rundir.mkdir(parents=True, exist_ok=True)
        with open(rundir / ".lock", "a", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            lock.truncate(0)
            print(SECOND if candidate != name else "", end="", file=lock, flush=True)
            rotate(rundir)
            (rundir / "guest").mkdir()
            try:
                yield rundir
            finally:
                tidy(rundir)
            return
    raise VmError(EXIT_USAGE, f"another VM is using {base}/{name}")


def tidy(rundir):
    """The image is large and can be made again. An empty hand-over has no information."""
    for name in ("initrd", "control.in"):
        (rundir / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        (rundir / "guest").rmdir()


# --- when QEMU itself crashes ------------------------------------------------

def host_core(process, directory, started):
    """The core of QEMU that the host's kernel wrote, if its core pattern names a file."""
    pattern = read_text(CORE_PATTERN).strip()
    if not pattern or pattern.startswith("|"):
        return None
    path = re.sub(r"%p", str(process.pid), pattern)
    path = os.path.join(directory, re.sub(r"%[^%]", "*", path))
    found = [pathlib.Path(name) for where in (path, f"{path}.{process.pid}")
             for name in glob.glob(where)]
    found = [core for core in found if core.is_file() and core.stat().st_mtime >= started]
    return max(found, key=lambda core: core.stat().st_mtime, default=None)


def backtrace(output, *of):
    """`of`: what gdb takes, a program with a core, or a process."""
    with open(output, "wb") as log:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
                            "-ex", "thread apply all backtrace", *of],
                           stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                           timeout=BACKTRACE_SECONDS, check=False)


def keep_crash(process, qemu, rundir, directory, started):
    """After a signal: QEMU's core, if there is one, and the backtrace of its threads."""
    if process.returncode is None or process.returncode >= 0:
        return
    name = signal.Signals(-process.returncode).name
    if name in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"):
        return
    core = host_core(process, directory, started)
    with open(rundir / "qemu.log", "a", encoding="utf-8") as log:
        log.write(f"QEMU ended by {name}\n")
        if core is None:
            log.write("The host's kernel left no core file (its core_pattern is "
                      f"'{read_text(CORE_PATTERN).strip()}')\n")
            return
    backtrace(rundir / BACKTRACE, qemu, core)
    if core.stat().st_blocks * 512 <= QEMU_CORE_BYTES:
        shutil.move(core, rundir / "qemu-core")
    else:
        core.unlink()


# --- when it does not end ----------------------------------------------------

def keep_stuck(process, rundir):
    """Where the threads of a QEMU are that is killed because it did not end in time."""
    if shutil.which("gdb"):
        backtrace(rundir / BACKTRACE, "-p", str(process.pid))


def threads(rundir):
    """A line for each thread of the backtrace: its name, and the functions that it is in."""
    lines = []
    for line in read_text(rundir / BACKTRACE).splitlines():
        thread, frame = THREAD.match(line), FRAME.match(line)
        if thread:
            lines.append([f"{thread[1]}:"])
        elif frame and lines and len(lines[-1]) <= FRAMES:
            lines[-1].append(frame[1])
    return [" ".join(words) for words in lines]


# --- what to tell ------------------------------------------------------------

def of_guest(rundir, pattern):
    """Files that the guest handed over. It chose their names: none may do more than be read."""
    return [path for path in sorted((rundir / "guest").glob(pattern))
            if re.fullmatch(r"\w[\w.,:@%+=-]*", path.name, re.ASCII)]


def kept(rundir):
    """Names of files that tell more than the logs, cores first."""
    extra = [*rundir.glob("qemu-*"), *of_guest(rundir, "*")]
    return [str(path.relative_to(rundir)) for path in extra]


def summary(rundir):
    """One or two lines on where to look after a failure."""
    where = os.path.relpath(rundir)
    lines = [f"logs are in {where}" + "".join(f", {name}" for name in kept(rundir))]
    cores = of_guest(rundir, "core.*.gz")
    for name in [core.name.split(".", 2)[2].rpartition(".")[0].rpartition(".")[0] for core in cores
                 if core.name.endswith("-ILL.gz")]:
        lines.append(f"{name} used an instruction that the VM's processor does not have: build it for "
                     "any x86-64, without -march=native (/proc/cpuinfo in the VM has its features)")
    if cores and not IS_INSTALLED:
        lines.append(f"to see where it crashed: make gdb CORE={os.path.relpath(cores[0])}")
    return lines
