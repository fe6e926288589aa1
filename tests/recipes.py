#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Each command that READMEs, the manual and comments show is run; TAP on stdout.

usage: recipes.py [REGEX]      (default: all; else the commands in which it is found)
       recipes.py --list       (what would be run, and what is not and why; runs nothing)

What counts is the exit status; the tutorial's commands, and what they print, are tutorial.py's.
Commands that cannot be run here are listed with the reason, and counted. One of which this file
knows nothing fails: somebody must decide. So does an entry for a command that there is no more.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

from vm import BUILD, ROOT, guest_batch

PLACE = BUILD / "recipes"
SECONDS = 240
AT_LEAST = 50  # the least number of commands; fewer means that the search is broken

# Words that begin a command. A block with another beginning shows something else.
BEGINS = re.compile(r"(\w+=\S+ )*(make|cc|gdb|sudo|modprobe|mpirun|t3|qom-[gs]et|migrate|"
                    r"\./t3-conformance|t3-vm|tests/\S+|tools/\S+|\.build/\S+)( |$)")
ROOMS = ("driver", "libt3", "qemu-device", "tests", "tools", "uapi")

# (pattern, why it is not run here)
CANNOT = [
    (r"^make check(-all)?$", "it runs this"),
    (r"^make (run|try|check) ARCH=|^T3_BUILD=\.build/arm64 ", "it builds a kernel and a QEMU of that "
     "processor; by hand, as with all of make check ARCH=arm64"),
    (r"^make run QEMU=", "it builds another QEMU; make check-matrix has cells with it"),
    (r"^make (run|check) KERNEL=|^make check-matrix", "it fetches kernels and works for minutes; "
     "the newest suite boots one of them"),
    (r"^make check ACCEL=kvm", "no KVM here boots a guest; accel.py runs what it says then"),
    (r"^make shell$|^make gdb |^gdb ", "for a person at a terminal; loop.py runs both without one"),
    (r"^tools/vm/t3-vm shell ", "for a person at a terminal; root.py of the tests runs it without one"),
    (r"^make deb$|^t3-vm ", "make check-deb does both"),
    (r"^make (check-)?series( |$)", "series.py of the tests runs make series; "
     "make check-series works for an hour, by hand when the driver's files change"),
    (r"^make help$|^make (unit|spec|model|conformance-(native|qtest))$", "tests of their own run it"),
    (r"^tests/follow\.py$", "the model suite runs its tests"),
    (r"^pip install ", "a test of tests/python does it, into a folder"),
    (r"^tests/python/run\.py -k |^tools/build/check\.py python$", "the python suite runs all of it"),
    (r"^make try ", "loop.py runs its forms"),
    (r"^t3 launch -n 4 -- mlp ", "tutorial.py compiles and runs it"),
    (r"^make (paper|bench)$", "it works for minutes; by hand, when the model or its speed changes"),
    (r"^make fuzz( |$)", "the fuzz suite runs each target for a short time"),
    (r"^QEMU_FUZZ_ARGS=", "QEMU's own fuzzer is not built here; a qtest does the same"),
    (r"^make -C /lib/modules|^make install$|^sudo ", "it changes the host; install.py and "
     "package suites do it below a folder"),
    (r"^modprobe -a vfio|^\./t3-conformance", "another machine's; the conformance suite runs it "
     "in a VM"),
    (r"^T3_BUILD=\.build/debug .* test_kunit$", "the debug kernel's; check-debug runs it"),
    (r"^qom-|^migrate ", "a monitor's; qtests and migrate.py do it"),
    (r"^cc .* -o program program\.c ", "installs first; install.py does both"),
    (r"^tools/paper/paper\.py --(draws|merge) |^mpirun sh -c 'tools/paper/",
     "it works for minutes; paper.py of the tests runs parts, also by mpirun, and merges them"),
    (r"^\.build/t3 sim --config .* --html ", "paper.py of the tests makes such pages, where matplotlib is"),
    (r"^sbatch ", "no Slurm is installed here"),
    (r"^(mpirun|srun) .* (tools/vm/)?t3-vm node ", "cluster.py of the tests runs nodes by both"),
    (r"^mpirun ", "its image is another one; the examples suite runs this line in it"),
    (r"^tools/vm/t3-vm cluster --ranks 1 -- sh -c 't3 gemm-rs --nodes|"
     r"^tools/vm/t3-vm cluster .* mpirun -n 4 mpi_all_reduce|"
     r"^tools/vm/t3-vm cluster .* ring,hierarchical$|"
     r"^tools/vm/t3-vm cluster .* (true|'ping .*)$", "cluster.py of the tests runs these in VMs of its own"),
    (r"^tools/vm/t3-vm run --no-driver --iommu .* t3-conformance ", "the conformance suite runs all sections "
     "in such a VM"),
    (r"^tools/vm/t3-vm cluster .* t3 perf -b ", "the same command runs with other sizes"),
    (r"--root host -- mpirun .* lmp ", "the programs suite runs it"),
    (r"--root host -- python3 -c ", "root.py of the tests runs such programs"),
    (r"^tools/vm/t3-vm run -- t3 sim ", "the same t3 sim runs in the guest of these tests"),
    (r"^tools/vm/t3-vm run --ranks 4 -- t3 list$", "installed.py of the tests runs it"),
    (r"^tools/vm/t3-vm run --initramfs \.build/mpi\.img", "the examples suite runs it"),
]

# (pattern, its replacement): commands without an end, for a person, or of minutes.
ADAPT = [
    (r"^t3 top$", "t3 top --once"),
    (r"^(t3 top --json --interval 0\.5) \| jq \.devices\[0\]\.per_second\.stores$",
     r"\1 --count 2 | grep '\"stores\"'"),
    (r" \| less$", " | cat >/dev/null"),
    (r"^T3_BUILD=\.build/debug ", ""),
    # Short jobs, as results and speed are tested elsewhere.
    (r"t3 perf -b 64M -e 64M -n 3$", "t3 perf -b 256K -e 256K -n 1"),
    (r"-n 2 -- t3 perf$", "-n 2 -- t3 perf --max 64K"),
    (r"-- t3 gemm-rs$", "-- t3 gemm-rs --shape 64x64x64 --iters 2"),
    (r"--shape 512x256x256 ", "--shape 128x64x64 "),
    (r"^(make run RANKS=8 SHAPE)=512x256x512 (.*) ITERS=10 ", r"\1=128x64x128 \2 ITERS=2 "),
    (r"^make run NODES=2 RANKS=8$", "make run NODES=2 RANKS=8 SHAPE=64x64x64"),
    (r"--seconds 60$", "--seconds 5"),
    (r"--rounds 3 --clients 100$", "--rounds 1 --clients 5"),
]

# Files that a host's command writes go to the folder of this run.
WRITTEN = re.compile(r"(?<![\w/.])((?:/tmp/)?run\.t3r|/mnt/host/guest\.json|guest\.json|timeline\.json|"
                     r"fc2\.json|/tmp/t3|\.build)(?![\w-])")

# What the guest's commands need before and after one of them.
BEFORE = [r"printf '#!/bin/sh\nt3 gemm-rs --shape 64x64x64\n' >program; chmod +x program", "t3 gemm-rs --ranks 4 --iters 2 --delay-rank 0 "
          "--delay-step 3 --delay-ms 60000 >/dev/null 2>&1 & sleep 3; echo function "
          ">/sys/kernel/debug/accel/0000:01:00.0/reset; kill $!; wait"]
AFTER = {"t3 inject 'link-down rank=0 peer=1'": "t3 inject 'link-up rank=0 peer=1'"}


# --- what is shown -----------------------------------------------------------

def is_whole(text):
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


def uncommented(line):
    """A line without its comment, which may have an apostrophe. It may be part of a command."""
    for mark in re.finditer(r"\s+#\s", line):
        if is_whole(line[:mark.start()]):
            return line[:mark.start()]
    return line


def joined(lines):
    """The commands in lines. A command continues after a backslash or in open quotes."""
    command = ""
    for line in lines:
        command += (" " if command else "") + uncommented(line).strip()
        if command.endswith("\\"):
            command = command[:-1].strip()
            continue
        if is_whole(command):
            yield command
            command = ""
    if command:
        yield command


def markdown():
    """Each README, and the other pages for readers. SPEC.md has options and no commands."""
    every = [path for room in ROOMS for path in (ROOT / room).rglob("*.md")]
    return [ROOT / "README.md", *sorted(path for path in every if path.name != "SPEC.md")]


def of_markdown():
    for path in markdown():
        text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)  # tutorial.py's
        for block in re.findall(r"(?:^ {4}.*\n)+", text, re.M):
            yield from joined([line[4:] for line in block.splitlines()])


def of_pages():
    """Literal blocks of man pages that begin with a command. The others are C."""
    for page in (ROOT / "tools/t3/t3.1", ROOT / "tools/vm/t3-vm.1",
                 *sorted((ROOT / "libt3/man").glob("*.[347]"))):
        text = page.read_text().replace("\\-", "-").replace("\\e", "\\")
        for block in re.findall(r"^\.(?:nf|Bd .*)\n(.*?)^\.(?:fi|Ed)$", text, re.M | re.S):
            if BEGINS.match(block):
                yield from joined(block.splitlines())


def of_comments():
    """Indented lines of comments in headers and examples."""
    for folder, pattern in (("uapi", "*.h"), ("libt3", "*.h"), ("tests/examples", "*.c")):
        for path in sorted((ROOT / folder).glob(pattern)):
            for line in re.findall(r"^ \*\t(\S.*)$", path.read_text(), re.M):
                if BEGINS.match(line):
                    yield uncommented(line)


# --- how it is run -----------------------------------------------------------

def adapted(command):
    for pattern, instead in ADAPT:
        command = re.sub(pattern, instead, command)
    return command


def why_not(command):
    return next((why for pattern, why in CANNOT if re.search(pattern, command)), "")


def localized(command):
    def place(match):
        name = match[1]
        if name == ".build":
            return str(BUILD)
        return name if name.startswith("/mnt/") else str(PLACE / pathlib.Path(name).name)
    return WRITTEN.sub(place, command).replace("--share . ", f"--share {PLACE} ")


def run_on_host(command):
    try:
        done = subprocess.run(["bash", "-c", localized(command)], cwd=ROOT, text=True,
                              capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL,
                              check=False)
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    return f"status {done.returncode}\n{done.stdout}{done.stderr}" if done.returncode else ""


def run_in_guest(commands):
    """Run each as root, in one VM, in the order of the text. Yields why one failed."""
    script = []
    for command in commands:
        after = AFTER.get(command, ":")
        script.append(f"cd /tmp; {adapted(command)}; s=$?; {after}; exit $s")
    status, batch = guest_batch("recipes-guest", ["--ranks", "4", "--device-opts", "guest-inject=on",
                                            "--share", str(PLACE)],
                                [f"cd /tmp; {command}" for command in BEFORE] + script, SECONDS)
    for ran, command in zip(batch[len(BEFORE):], commands):
        yield command, "" if ran.status == 0 else f"status {ran.status}\n{ran.text}"
    yield "the guest's VM ends well", f"status {status}" if status else ""


def stale(commands):
    """Entries of the tables that match no command."""
    patterns = [pattern for pattern, _ in CANNOT + ADAPT]
    return [pattern for pattern in patterns if not any(re.search(pattern, command)
                                                       for command in commands)]


def results(commands):
    """(command, why it failed)"""
    guest = []
    for command in commands:
        if not BEGINS.match(command):
            yield command, "recipes.py does not know how to run it"
        elif command.startswith("t3 ") and " sim --replay " not in command:
            guest.append(command)
        else:
            yield command, run_on_host(adapted(re.sub(r"^t3 sim", ".build/t3 sim", command)))
    if guest:
        yield from run_in_guest(guest)


def report(number, command, why):
    for line in why.splitlines():
        print(f"# {line}")
    # A test's name is one word.
    name = re.sub(r"[\s#]+", "_", command)
    print(f"{'not ok' if why else 'ok'} {number} - {name}", flush=True)


def list_commands(commands):
    """Runs nothing, but reports commands that no entry covers."""
    wrong = [f"no command needs this entry: {pattern}" for pattern in stale(commands)]
    for command in commands:
        if why := why_not(command):
            print(f"not run: {command}: {why}")
        elif BEGINS.match(command):
            print(f"run: {command}")
        else:
            wrong.append(f"recipes.py does not know how to run it: {command}")
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


def main():
    listed = sys.argv[1:] == ["--list"]
    wanted = re.compile(sys.argv[1] if len(sys.argv) > 1 and not listed else "")
    every = list(dict.fromkeys([*of_markdown(), *of_pages(), *of_comments()]))
    chosen = [command for command in every if wanted.search(command)]
    kept = [command for command in chosen if why_not(command)]
    if listed:
        return list_commands(every)
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    for command in kept:
        print(f"# not run: {command}: {why_not(command)}")
    failed = number = 0
    start = time.monotonic()
    for number, (command, why) in enumerate(
            results([command for command in chosen if command not in kept]), 1):
        report(number, command, why)
        print(f"# {time.monotonic() - start:.1f} s")
        failed += bool(why)
        start = time.monotonic()
    left = "\n".join(stale(every))
    few = "" if len(every) >= AT_LEAST else f"only {len(every)} commands were found"
    report(number + 1, f"{len(kept)} of {len(chosen)} commands are not run here, as listed above", left + few)
    print(f"1..{number + 1}")
    return 1 if failed or left or few else 0


if __name__ == "__main__":
    sys.exit(main())
