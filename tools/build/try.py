#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""From an edit to a result: build what changed, boot, run one test or command, say its status.

usage: try.py try (TEST=PROGRAM[/SUBTEST] | CMD=COMMAND) [NAME=VALUE...]
       try.py gdb [TEST=... | CMD=... | CORE=FILE] [NAME=VALUE...]

`make try` and `make gdb` call this with their variables (as T3_TRY_NAME in the environment).
Called itself, it ends with the guest's own status (make turns each but 0 into 2), with 1
where the build failed, with 2 for bad use. What it takes:

  TEST=test_ring            a program of tests/guest or tests/guest32, with its own VM options
  TEST=test_ring/*_stores   some of its tests: * and ? are wildcards, _ is a blank
  CMD='t3 list; test_ring'  a shell command; programs of tests/guest in it are there
  RANKS=N                   devices, instead of the program's own number
  VM_OPTIONS='--iommu'      more options of t3-vm
  KERNEL=debug              the kernel of `make check-debug`
  KERNEL=7.3                the newest of these: see `make kernels`
  SIDE=guest|device         (gdb) the kernel with our module, or the device in QEMU
  GDB_COMMANDS=FILE         (gdb) not at the terminal: run this and end
  GDB=ARGS                  (gdb) more arguments of gdb
  CORE=FILE                 (gdb) look at a core that a run has left
"""

import difflib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
VM = ROOT / "tools/vm/t3-vm"
KNOWN = {"try": ("TEST", "CMD", "RANKS", "VM_OPTIONS", "KERNEL")}
KNOWN["gdb"] = (*KNOWN["try"], "SIDE", "GDB_COMMANDS", "GDB", "CORE")
SUBTESTS = re.compile(r"^(\w+_)?TEST(_WITH)?\(|\bcollinject_main\(", re.M)


class UsageError(Exception):
    pass


# --- what to run -------------------------------------------------------------

def guest_programs():
    """{name: source} of all programs that `make guest` can run."""
    sources = [*(ROOT / "tests").glob("guest*/test_*.c"), ROOT / "tests/guest/removal.c"]
    return {source.stem: source for source in sources}


def program_options(program):
    """The program's options in tests/guest/vm-options."""
    path = ROOT / "tests/guest/vm-options"
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, text = line.partition(":")
        if name.strip() == program:
            return shlex.split(text)
    return ["--ranks", "4"]


def chosen_test(text):
    """(programs, VM options, command) of TEST."""
    name, _, subtest = text.partition("/")
    programs = guest_programs()
    if re.fullmatch(r"\w+", name) and (ROOT / f"tests/unit/{name}.c").exists():
        raise UsageError(f"TEST={text}: a unit test needs no VM: "
                         f"make .build/unit/{name} && .build/unit/{name}")
    if name not in programs:
        near = difflib.get_close_matches(name, programs, 3)
        raise UsageError(f"TEST={text}: there is no {name} in tests/guest; "
                         + (f"did you mean {' or '.join(near)}?" if near
                            else f"there are {', '.join(sorted(programs))}"))
    if subtest and (programs[name].parent.name == "guest32" or not SUBTESTS.search(
            programs[name].read_text(encoding="utf-8"))):
        raise UsageError(f"TEST={text}: {name} has no tests that can be chosen")
    filtered = ["env", f"T3_TEST_FILTER={subtest}"] if subtest else []
    return [programs[name]], program_options(name), [*filtered, name]


def chosen_command(text):
    """The same for CMD. Test programs that it names are built and packed."""
    words = set(re.findall(r"[\w-]+", text))
    programs = [source for name, source in guest_programs().items() if name in words]
    return programs, ["--ranks", "4"], ["sh", "-c", text]


def chosen(given):
    if bool(given["TEST"]) == bool(given["CMD"]):
        raise UsageError("say what to run: TEST=test_ring, TEST=test_ring/*stores* "
                         "or CMD='t3 list', and only one of them")
    programs, options, command = (chosen_test(given["TEST"]) if given["TEST"]
                                  else chosen_command(given["CMD"]))
    ranks = given["RANKS"]
    if ranks and not (re.fullmatch(r"[0-9]{1,2}", ranks) and 1 <= int(ranks) <= 32):
        raise UsageError(f"RANKS must be a whole number from 1 to 32; got '{ranks}'")
    options += ["--ranks", ranks] if ranks else []
    try:
        options += shlex.split(given["VM_OPTIONS"])
    except ValueError as error:
        raise UsageError(f"VM_OPTIONS: {error}") from error
    return programs, options, command


SELECTOR = re.compile(r"\d+(\.\d+){0,2}(\+[a-z0-9.]+)?|newest")


def is_crossed():
    """Whether the guest has another processor than this machine (make's ARCH)."""
    return os.environ.get("T3_ARCH", "amd64") != "amd64"


def choose_kernel(kernel):
    """Tells make and the launcher. The debug kernel has a build folder of its own, as in
    check-debug; any other has one for what depends on it. That one is returned."""
    folder = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
    if kernel and is_crossed():
        raise UsageError(f"KERNEL selects a kernel for amd64; ARCH={os.environ['T3_ARCH']} has one of "
                         "its own: leave KERNEL out")
    if kernel not in ("", "debian", "debug") and not SELECTOR.fullmatch(kernel):
        raise UsageError("KERNEL must be the beginning of a version, as in 7.3 or 6.12.117, or "
                         f"newest, debian or debug; got '{kernel}'")
    if kernel == "debug":
        folder /= "debug"
        os.environ["T3_KERNEL"] = "kernel-debug"
    os.environ["T3_BUILD"] = str(folder)
    os.environ.pop("T3_GUEST", None)
    if is_crossed():
        os.environ["T3_KERNEL"] = f"kernel-{os.environ['T3_ARCH']}"
    if kernel not in ("", "debian", "debug"):
        folder /= f"linux-{kernel}"
        os.environ.update(T3_KERNEL=kernel, T3_GUEST=str(folder))
    return folder


# --- building ----------------------------------------------------------------

def make_flags():
    """The caller's make flags without its job server, which is not passed to this process."""
    flags = os.environ.get("MAKEFLAGS", "").split(" -- ")[0].split()
    return " ".join(flag for flag in flags if not re.match(r"-?-?j(observer.*|\d*)$", flag))


def package_sets(action):
    """Installs the sets of packages.txt that it needs."""
    return ["run", "try", *(["gdb"] if action == "gdb" else []),
            *([os.environ["T3_ARCH"]] if is_crossed() else []),
            *(["kernel-debug"] if os.environ.get("T3_KERNEL") == "kernel-debug" else [])]


def build(action, folder, programs):
    """Builds what changed. True when all of it is there."""
    names = " ".join(f"{source.parent.name}/{source.stem}" for source in programs)
    image = os.path.relpath(folder / "try.img", ROOT)
    if image.startswith(".."):
        image = folder / "try.img"
    jobs = os.environ.get("T3_JOBS", "2")
    return subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT, f"-j{jobs}", image,
         f"TRY_PROGRAMS={names}", f"T3_PACKAGES={' '.join(package_sets(action))}"], env={**os.environ, "MAKEFLAGS": make_flags()},
        stdin=subprocess.DEVNULL, check=False).returncode == 0


# --- running -----------------------------------------------------------------

def times(building, running):
    """The time of each part. The job's time is by the guest's clock."""
    build = pathlib.Path(os.environ["T3_BUILD"])
    try:
        job = json.loads((build / "run/try/run.json").read_text())["job_seconds"]
    except (OSError, ValueError, KeyError):
        job = None
    parts = ([f"VM {running:.1f} s"] if job is None
             else [f"boot {running - job:.1f} s", f"run {job:.1f} s"])
    return ", ".join([f"build {building:.1f} s", *parts]) + f"; {building + running:.1f} s in all"


def try_it(given, folder):
    programs, options, command = chosen(given)
    start = time.monotonic()
    if not build("try", folder, programs):
        print(f"try: the build failed after {time.monotonic() - start:.1f} s", file=sys.stderr)
        return 1
    built = time.monotonic()
    status = subprocess.run([VM, "run", "--name", "try", "--initramfs", folder / "try.img",
                             *options, "--", *command], check=False).returncode
    ended = time.monotonic()
    print(f"try: status {status}; {times(built - start, ended - built)}", file=sys.stderr)
    return status


def gdb_options(given):
    options = []
    if given["SIDE"]:
        if given["SIDE"] not in ("guest", "device"):
            raise UsageError(f"SIDE must be guest or device; got '{given['SIDE']}'")
        options += ["--side", given["SIDE"]]
    if given["GDB_COMMANDS"]:
        if not os.path.isfile(given["GDB_COMMANDS"]):
            raise UsageError(f"GDB_COMMANDS={given['GDB_COMMANDS']}: no such file")
        options += ["--commands", given["GDB_COMMANDS"]]
    try:
        return options + [f"--gdb-arg={word}" for word in shlex.split(given["GDB"])]
    except ValueError as error:
        raise UsageError(f"GDB: {error}") from error


def debug_it(given, folder):
    options = gdb_options(given)
    if given["CORE"]:
        return subprocess.run([VM, "gdb", *options, "--core", given["CORE"]], check=False).returncode
    if not given["TEST"] and not given["CMD"]:
        given["CMD"] = f"t3 gemm-rs --ranks {given['RANKS'] or 4}"
    programs, machine, command = chosen(given)
    if not build("gdb", folder, programs):
        return 1
    return subprocess.run([VM, "gdb", "--name", "gdb", "--initramfs", folder / "try.img", *options,
                           *machine, "--", *command], check=False).returncode


# --- the command line --------------------------------------------------------

def arguments(argv):
    """(action, {name: value}) of the environment and the command line, which takes precedence."""
    action = argv[0] if argv else ""
    if action not in KNOWN:
        raise UsageError(f"no action '{action}'; there are {' and '.join(KNOWN)}")
    given = {name: os.environ.get(f"T3_TRY_{name}", "") for name in KNOWN[action]}
    for argument in argv[1:]:
        name, equals, value = argument.partition("=")
        if not equals or name not in KNOWN[action]:
            raise UsageError(f"'{argument}' is none of {', '.join(KNOWN[action])}")
        given[name] = value
    return action, given


def main():
    try:
        action, given = arguments(sys.argv[1:])
        act = {"try": try_it, "gdb": debug_it}[action]
        return act(given, choose_kernel(given["KERNEL"]))
    except UsageError as error:
        print(f"try: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
