# SPDX-License-Identifier: MIT
"""gdb on the guest's kernel with our module, on QEMU with our device, or on a core of a run."""

import argparse
import gzip
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import vm_keep
import vm_run
from vm_base import BUILD, EXIT_DIED, EXIT_TIMEOUT, EXIT_USAGE, GUEST, ROOT, VmError, read_text
from vm_image import write_initrd
from vm_machine import qemu_command
from vm_process import (answers, control_lines, dies_with_us, ended, qemu_not_being_built,
                        running)
from vm_symbols import write_symbols, write_unplaced

BOOT_SECONDS = 120
CORE_BYTES = 64 << 20  # keep-core cuts a core at half of that

QUIET = ["-q", "-iex", "set debuginfod enabled off", "-iex", "set pagination off"]


def quoted(path):
    """For gdb's commands such as `file`, which split their arguments."""
    return shlex.quote(str(path))


# --- sources -------------------------------------------------------------------

def source_rules(root=ROOT, build=BUILD, guest=GUEST):
    """gdb's commands for the sources of this tree. Programs name the tree in which they were compiled,
    and this one may be a copy of it. The first rule that matches counts."""
    trees = [line.split(" ") for line in read_text(build / "trees").splitlines() if line.count(" ") == 1]
    here = [str(root), str(build)]
    rules = []
    for tree, products in [here, *(tree for tree in trees if tree != here)]:
        products = pathlib.Path(products)
        # Links to the sources of the tree that made them: the module's (module.sh), and QEMU's.
        rules += [(products / guest.relative_to(build) / "module", root), (products / "qemu/repo", root),
                  (tree, root)]
    return "".join(f"set substitute-path {quoted(old)} {quoted(new)}\n" for old, new in rules)


# --- gdb itself --------------------------------------------------------------

def is_batch(opts):
    return bool(opts.commands) or any(arg in ("-batch", "--batch") for arg in opts.gdb_args)


def gdb_command(opts, setup, *more):
    """Our commands first, then the user's."""
    command = ["gdb", *QUIET, *(["-nx", "-batch"] if is_batch(opts) else []), "-x", str(setup)]
    command += ["-x", str(opts.commands)] if opts.commands else []
    return [*command, *opts.gdb_args, *more]


def run_gdb(command, timeout=None, preexec=None):
    """Gives gdb the terminal. Ctrl-C goes to gdb alone."""
    if not shutil.which("gdb"):
        raise VmError(EXIT_USAGE, "there is no gdb here: make deps")
    old = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(command, timeout=timeout, check=False, preexec_fn=preexec,
                              env={**os.environ, "SHELL": "/bin/sh"}).returncode
    except subprocess.TimeoutExpired as error:
        raise VmError(EXIT_TIMEOUT, f"gdb did not end within {timeout} s") from error
    finally:
        signal.signal(signal.SIGINT, old)


def seconds(opts):
    """A session at the terminal has no time limit."""
    return opts.timeout if is_batch(opts) else None


def has_ended(rundir):
    """Ends QEMU by a verdict, or after a panic. The VM has nothing more to report."""
    return (re.search(r"^(exit|fail) .*\n", read_text(rundir / "control"), re.M)
            or "Kernel panic" in read_text(rundir / "console.log"))


def await_end(process, rundir, limit):
    end = time.monotonic() + limit
    while time.monotonic() < end and not ended(process) and not has_ended(rundir):
        time.sleep(0.05)
    return ended(process) or bool(has_ended(rundir))


def verdict(opts, rundir, status, finished):
    """gdb's failure, or the job's status. A user who left gdb early asked for no status."""
    if status != 0:
        raise VmError(EXIT_DIED, f"gdb ended with status {status}")
    if not is_batch(opts) and not has_ended(rundir):
        return 0
    return vm_run.outcome(rundir, finished, opts.timeout, False)


# --- the kernel --------------------------------------------------------------

def kernel_symbols(opts, accel):
    """The debug kernel has its own symbols. For Debian's kernel they are made once."""
    kernel = opts.kernel.resolve()
    if (kernel / "source/vmlinux").exists():
        return kernel / "source/vmlinux"
    output = BUILD / f"{kernel.name}.symbols"
    if output.exists() and output.stat().st_mtime >= (kernel / "vmlinux").stat().st_mtime:
        return output
    print("t3-vm: one boot to learn the kernel's symbols", file=sys.stderr)
    probe = argparse.Namespace(**vars(opts))
    probe.no_devices, probe.no_driver, probe.iommu = True, True, False
    probe.qemu_arg, probe.strict, probe.known_trouble, probe.root = [], False, "", None
    with tempfile.TemporaryDirectory() as folder:
        probe.share = pathlib.Path(folder)
        vm_run.run_job(probe, ["cp", "/proc/kallsyms", "/mnt/host/kallsyms"], accel, "gdb-symbols")
        text = read_text(probe.share / "kallsyms")
    if not re.search(r"^[0-9a-f]*[1-9a-f][0-9a-f]* [tT] \S+$", text, re.M):
        raise VmError(EXIT_DIED, "the guest's kernel does not tell its symbols")
    temporary = output.with_suffix(f".{os.getpid()}")
    write_symbols(kernel / "vmlinux", text, temporary)
    temporary.rename(output)
    return output


def addresses(rundir, kind):
    """{name: address} from what the guest says of its sections, or of its modules."""
    lines = [line.split() for line in control_lines(rundir)]
    return {words[1]: words[2] for words in lines if len(words) == 3 and words[0] == kind
            and re.fullmatch(r"[\w.-]+", words[1]) and re.fullmatch(r"0x[0-9a-f]+", words[2])}


def add_others(rundir):
    """The functions of the kernel's modules, for backtraces, as they are in the image."""
    lines = []
    for name, address in addresses(rundir, "module").items():
        found = (GUEST / "base.img.modules").glob(f"*/*/{re.sub('[-_]', '[-_]', name)}.ko")
        lines += [f"add-symbol-file {path} {address}\n" for path in found]
    return "".join(lines)


def add_module(rundir, folder):
    """`folder` has to last as long as gdb."""
    sections = addresses(rundir, "section")
    text = sections.pop(".text", None)
    if text is None:
        return ""
    write_unplaced(GUEST / "module/t3.ko", folder / "t3.ko")
    # Sections that are freed after loading have no lasting address.
    others = [f"-s {name} {address}" for name, address in sorted(sections.items())
              if re.fullmatch(r"\.(data|bss|rodata|exit|text|static_call\.text)\b.*", name)]
    return f"add-symbol-file {folder / 't3.ko'} {text} {' '.join(others)}\n"


def await_guest(process, rundir, limit):
    """The module is loaded, and no device is bound yet."""
    end = time.monotonic() + limit
    while "ready" not in control_lines(rundir):
        if ended(process) or time.monotonic() > end:
            vm_run.outcome(rundir, ended(process), limit, False)
            raise VmError(EXIT_DIED, "the guest ended before gdb could look at it")
        time.sleep(0.05)


def guest_setup(rundir, symbols, folder):
    path = rundir / "gdb-setup"
    path.write_text(f"{source_rules()}set confirm off\nset architecture i386:x86-64\n"
                    f"file {symbols}\ntarget remote {folder / 'gdb'}\n"
                    f"{add_module(rundir, folder)}{add_others(rundir)}"
                    f"shell echo go >{shlex.quote(str(rundir / 'control.in'))}\n")
    return path


def debug_guest(opts, argv, accel):
    symbols = kernel_symbols(opts, accel)
    with vm_keep.run_directory(opts.name) as rundir, \
            vm_run.told(rundir, argv, accel, opts) as facts, answers(rundir), \
            tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_initrd(rundir / "initrd", opts.initramfs,
                     {**vm_run.image_files(opts, argv), "debugger": b""})
        # Stops the VM where it would end, by itself or by a panic, so that gdb can look at it.
        command = [*qemu_command(opts, rundir, accel, f"unix:{folder / 'gdb'},server=on,wait=off"),
                   "-no-shutdown"]
        with running(command, rundir) as process:
            await_guest(process, rundir, BOOT_SECONDS)
            status = run_gdb(gdb_command(opts, guest_setup(rundir, symbols, folder)), seconds(opts))
            finished = await_end(process, rundir,
                                 opts.timeout if is_batch(opts) and status == 0 else 0)
        facts["status"] = verdict(opts, rundir, status, finished)
        return facts["status"]


# --- the device --------------------------------------------------------------

def device_setup(rundir, command):
    """QEMU uses SIGUSR1 to stop its processors. `run` starts QEMU."""
    path = rundir / "gdb-setup"
    where = f"</dev/null 2>{shlex.quote(str(rundir / 'qemu.log'))}"
    path.write_text(f"{source_rules()}handle SIGUSR1 SIGUSR2 SIGPIPE nostop noprint pass\n"
                    "set print thread-events off\nset breakpoint pending on\n"
                    f"set args {shlex.join(command[1:])} {where}\n")
    return path


def debug_device(opts, argv, accel):
    with vm_keep.run_directory(opts.name) as rundir, \
            vm_run.told(rundir, argv, accel, opts) as facts:
        write_initrd(rundir / "initrd", opts.initramfs, vm_run.image_files(opts, argv))
        command = qemu_command(opts, rundir, accel)
        if not is_batch(opts):
            print("t3-vm: breakpoints first (break t3_...), then `run`", file=sys.stderr)
        with qemu_not_being_built():
            status = run_gdb(gdb_command(opts, device_setup(rundir, command), command[0]),
                             seconds(opts), dies_with_us)
        facts["status"] = verdict(opts, rundir, status, True)
        return facts["status"]


# --- a core ------------------------------------------------------------------

def notes(core):
    """(type, contents) of a core's notes."""
    data = core.read_bytes()
    offset, size, count = struct.unpack_from("<Q14xHH", data, 32)
    for number in range(count):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + number * size)
        end = at + length
        while kind == 4 and at + 12 <= end:
            name, description, note = struct.unpack_from("<III", data, at)
            start = at + 12 + -(-name // 4) * 4
            yield note, data[start:start + description]
            at = start + -(-description // 4) * 4


def program_of(core):
    """The path of the program in the guest: the first file that was mapped."""
    NT_FILE = 0x46494c45
    for kind, text in notes(core):
        if kind == NT_FILE:
            count, _ = struct.unpack_from("<QQ", text)
            return text[16 + 24 * count:].split(b"\0")[0].decode(errors="replace")
    raise ValueError("it names no program")


def on_host(path, share, root):
    """The same file in the build folder, with debug data, or in what was the guest's root."""
    tests = [BUILD / "guest", BUILD / "guest32"]
    places = {"/usr/lib/t3/tests": tests, "/usr/bin": [BUILD], "/bin": [BUILD], "/run/t3/bin": [BUILD],
              "/run/t3/tests": tests}
    name = pathlib.PurePosixPath(path)
    candidates = [place / name.name for place in places.get(str(name.parent), [])]
    if share and path.startswith("/mnt/host/"):
        candidates.append(pathlib.Path(share) / path[len("/mnt/host/"):])
    if root:
        candidates = [*candidates, pathlib.Path(root) / path.lstrip("/"), pathlib.Path(path)]
    return next((found for found in candidates if found.exists()), None)


def folders_of(core):
    """What was the guest's shared folder and its root, in the run that has left the core."""
    try:
        facts = json.loads(read_text(core.resolve().parents[1] / "run.json"))
        return facts.get("share"), facts.get("root")
    except (ValueError, AttributeError, IndexError):
        return None, None


def unpack(packed, folder):
    core = pathlib.Path(folder) / "core"
    try:
        with gzip.open(packed, "rb") as source:
            core.write_bytes(source.read(CORE_BYTES))
        return core, program_of(core)
    except (OSError, EOFError, ValueError, struct.error) as error:
        raise VmError(EXIT_USAGE, f"{packed} is no core of a run: {error}") from error


def debug_core(opts):
    """The libraries are the host's own, except libt3."""
    with tempfile.TemporaryDirectory() as folder:
        core, path = unpack(opts.core, folder)
        # The guest has chosen the path. A line of it would be a command of gdb.
        program = on_host(path, *folders_of(opts.core)) if path.isprintable() else None
        if program is None:
            raise VmError(EXIT_USAGE, f"{path!r} of the guest, whose core it is, is not found here")
        setup = pathlib.Path(folder) / "setup"
        setup.write_text(f"{source_rules()}set solib-search-path {BUILD}:{program.parent}\n"
                         f"file {quoted(program)}\ncore-file {quoted(core)}\n")
        return run_gdb(gdb_command(opts, setup), seconds(opts))
