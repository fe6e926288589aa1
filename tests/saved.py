#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Saved machines of t3-vm: what goes on from one, what boots, and what a state may cost; TAP.

usage: saved.py [NAME...]     (default: all tests)

The tests have a folder of states of their own.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import functools
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from unittest import mock

import loop
from loop import BUILD, ROOT, VM, Skip, check, expect, run

sys.path.insert(0, str(ROOT / "tools/vm"))
import vm_image  # pylint: disable=wrong-import-position
import vm_process  # pylint: disable=wrong-import-position
import vm_qmp  # pylint: disable=wrong-import-position
import vm_saved  # pylint: disable=wrong-import-position
import vm_span  # pylint: disable=wrong-import-position

HELD = contextlib.ExitStack()  # to the end of all tests
GUEST = pathlib.Path(os.environ.get("T3_GUEST", BUILD))
PIPE_BYTES = 4096  # of what a shell prints; the kernel rounds up to a page
SMALL = ("--ranks", "1", "--device-opts", "memory-size=16M,aperture-size=16M")


@contextlib.contextmanager
def build_folder():
    """The parts of this build, with no saved machine yet, and its name for t3-vm."""
    if os.environ.get("T3_ARCH") == "arm64":
        raise Skip("arm64 always boots")
    if not vm_saved.reseeds(argparse.Namespace(kernel=GUEST / "kernel")):
        raise Skip("this kernel has no CONFIG_VMGENID, so it always boots")
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="saved-") as name:
        folder = pathlib.Path(name)
        for part in (BUILD / "qemu", GUEST / "kernel", GUEST / "initramfs.img", GUEST / "tests.img"):
            if part.exists():
                (folder / part.name).symlink_to(part.resolve())
        yield folder, {**os.environ, "T3_BUILD": str(folder), "T3_GUEST": str(folder),
                       "T3_SAVED": "on", "T3_ACCEL": "tcg"}


@functools.cache
def saved_once():
    """A folder with a saved machine, for the tests that only go on from it; with what it printed."""
    folder, env = HELD.enter_context(build_folder())
    return folder, env, vm(env, "--", "sh", "-c", TELL)


def vm(env, *arguments, status=0):
    """What the job printed. Its exit status must be `status`."""
    result = run(VM, "run", *SMALL, *arguments, env=env)
    expect(result, status)
    return result[1]


def facts(folder, name="vm"):
    return json.loads((folder / "run" / name / "run.json").read_text())


def states(folder):
    return sorted((folder / "saved").iterdir()) if (folder / "saved").exists() else []


# --- which runs go on from a state -------------------------------------------

TELL = "date +%s; cat /proc/sys/kernel/random/uuid; t3 gemm-rs --ranks 1 --json >/dev/null 2>&1; " \
       "t3 list; dmesg | grep -c 'Linux version'; [ ! -e /mnt/keep/rest ] && echo unmounted"


def later_runs_go_on():
    """They have their own time, random numbers and driver, and the boot's part of the log."""
    folder, env, first = saved_once()
    check(len(states(folder)) == 1, "nothing was saved")
    (states(folder)[0] / "console.log").write_text("the boot's part\n")
    began = time.time()
    first, second = first.split(), vm(env, "--", "sh", "-c", TELL).split()
    check(facts(folder)["restored"] is True, "the second run booted")
    check(len(states(folder)) == 1, "the second run saved again")
    ended = time.time()
    check(began - 2 < int(second[0]) < ended + 2,
          f"its clock says {second[0]}, and the run was from {began:.0f} to {ended:.0f}")
    check(first[1] != second[1], f"both have the random number {first[1]}")
    check(first[2:] == second[2:] and second[-1] == "unmounted", f"{first} and {second}")
    log = (folder / "run/vm/console.log").read_text()
    check(log.startswith("the boot's part\n") and "virtual machine fork" in log
          and "Initialized t3" in log, "its log is incomplete", log)
    check(not list((folder / "run/vm").glob("guest/*")), "the rest of the image was left behind")
    check(list((folder / "run/vm").glob("initrd")) == [], "the image was left behind")


def an_edit_needs_no_boot():
    """Programs and the module are no part of the state."""
    folder, env, _ = saved_once()
    edited = folder / "edited.img"
    vm_image.write_initrd(edited, folder / "initramfs.img",
                          {"usr/bin/edited": b"#!/bin/sh\necho edited $#\n"})
    out = vm(env, "--initramfs", str(edited), "--", "edited", "a", "b c")
    check(facts(folder)["restored"] and out.strip() == "edited 2", "the edit is not there", out)


def status_and_trouble_are_told():
    """As of a run that boots."""
    folder, env, _ = saved_once()
    vm(env, "--", "sh", "-c", "exit 7", status=7)
    check(facts(folder)["restored"], "it booted")
    result = run(VM, "run", *SMALL, "--", "sh", "-c", "echo c >/proc/sysrq-trigger", env=env)
    expect(result, 125, "console.log", "went on from a saved machine")
    result = run(VM, "run", *SMALL, "--timeout", "4", "--", "sleep", "60", env=env)
    expect(result, 124, "no end after 4")
    trouble = states(folder)[0] / "console.log"
    before = trouble.read_text()
    trouble.write_text(f"{before}[    1.000000] WARNING: CPU: 0 PID: 1 at init/main.c:1 boot+0x1/0x2\n")
    result = run(VM, "run", *SMALL, "--", "true", env=env)
    trouble.write_text(before)
    expect(result, 125, "WARNING")


def options(folder, *arguments):
    """As t3-vm reads them."""
    source = importlib.machinery.SourceFileLoader("t3_vm", str(VM))
    launcher = importlib.util.module_from_spec(importlib.util.spec_from_loader("t3_vm", source))
    source.exec_module(launcher)
    return launcher.parse(["run", "--qemu", str(folder / "qemu"), "--kernel", str(folder / "kernel"),
                           "--initramfs", str(folder / "initramfs.img"), *arguments, "--", "true"])[0]


# What a kernel finds at its boot.
OTHER_MACHINES = [
    [], ["--ranks", "3"], ["--append", "t3_other"], ["--memory", "900M"], ["--cpus", "1"], ["--iommu"],
    ["--device-opts", "memory-size=32M"], ["--device-opts", "keys=off,aperture-size=32M"],
    ["--device-opts", "rombar=0"],
    ["--fabric", "f1:ranks=2"], ["--fabric", "f1:ranks=2,device.memory-size=32M"], ["--share", "/tmp"],
    ["--qemu-arg=-device", "--qemu-arg=t3,id=lone"]]

# What nobody sees before t3.ko is loaded.
OTHER_KINDS = [
    ["--name", "other", "--timeout", "5", "--no-driver"], ["--topology", "full"],
    ["--fabric-opts", "timed=off"], ["--fabric-opts", "record=/tmp/r,workers=0"],
    ["--fabric-opts", "inject=drop rank=0 peer=1 nth=1"], ["--fabric-opts", "iothread="],
    ["--device-opts", "guest-inject=on,tracker-entries=16,direct-stores=off"]]


def each_machine_has_its_state():
    """One for all kinds of devices, and one for all nodes of a cluster."""
    with build_folder() as (folder, _):
        parts = vm_saved.parts_of(folder / "initramfs.img", {})
        place = lambda opts: vm_saved.place_of(opts, "tcg", parts)
        places = {place(options(folder, *more)) for more in OTHER_MACHINES}
        check(len(places) == len(OTHER_MACHINES),
              f"{len(places)} states of {len(OTHER_MACHINES)} machines")
        for more in OTHER_KINDS:
            check(place(options(folder, *more)) == place(options(folder)), f"{more} has its own")
        check(place(options(folder, "--share", str(folder))) in places, "the shared folder counts")
        more = ["--fabric", "f1:ranks=2,topology=full,timed=on,device.tracker-ways=4"]
        check(place(options(folder, *more)) in places, "the kind of a second fabric counts")
        nodes = [options(folder) for _ in range(2)]
        for node, opts in enumerate(nodes):
            opts.node, opts.nodes, opts.own_fabrics = node, 2, False
            opts.network = folder / f"net-{node}"
            opts.span = vm_span.Span(folder, node, [4, 4], "00000000-0000-4000-8000-000000000001")
        of_nodes = {place(opts) for opts in nodes}
        check(len(of_nodes) == 1 and not of_nodes & places, f"{of_nodes} of {places}")


def some_always_boot():
    """Nobody here can judge arguments of the user's own."""
    with build_folder() as (folder, env):
        check(vm_saved.is_allowed(options(folder), "tcg"), "the usual machine always boots")
        with mock.patch.dict(os.environ, T3_SAVED="off"):
            check(not vm_saved.is_allowed(options(folder), "tcg"), "T3_SAVED=off may use a state")
        own = lambda *args: [f"--qemu-arg={arg}" for arg in args]
        for more in (["--no-saved"], own("-nodefaults"), own("-device"), own("-device", "t3-other"),
                     own("-device", "t3,id=a", "-device", "nvme,drive=d"), own("-object", "t3,id=a")):
            check(not vm_saved.is_allowed(options(folder, *more), "tcg"), f"{more} may use a state")
        more = own("-device", "pcie-root-port,id=p,chassis=9,slot=9", "-device", "t3,id=a,bus=p")
        check(vm_saved.is_allowed(options(folder, *more), "tcg"), "a T3 device more always boots")
        check(not vm_saved.is_allowed(options(folder), "kvm"), "KVM may use a state")
        with tempfile.TemporaryDirectory() as name:
            other = options(folder)
            other.kernel = pathlib.Path(name)
            check(not vm_saved.is_allowed(other, "tcg"), "a kernel that is not told may use one")
        expect(run(VM, "run", "--", "true", env={**env, "T3_SAVED": "0"}), 126, "T3_SAVED", "off")


def other_kinds_go_on():
    """With their own properties, records and injected faults, which count from the driver's load."""
    folder, env, _ = saved_once()
    record = folder / "record"
    out = vm(env, "--topology", "full", "--device-opts", f"{SMALL[-1]},guest-inject=on,tracker-entries=16",
             "--fabric-opts", f"record={record},inject=fail-dma rank=0 nth=1", "--", "sh", "-c",
             "t3 list; t3 info; t3 selftest", status=1)
    check(facts(folder)["restored"] and len(states(folder)) == 1, "it booted", out)
    check(" full " in out and " 16 entries" in out, "not its own properties", out)
    check(" passed, 1 failed" in out, "not one DMA has failed", out)
    expect(run(BUILD / "t3", "sim", "--replay", record), 0, "same")


def a_refused_option_keeps_the_state():
    """QEMU says what is wrong with it, and the state is good."""
    folder, env, _ = saved_once()
    for wrong in ("tracker-entries=0", "nonsense=1"):
        result = run(VM, "run", *SMALL[:-1], f"{SMALL[-1]},{wrong}", "--", "true", env=env)
        expect(result, 125, wrong.split("=", maxsplit=1)[0])
        check(len(states(folder)) == 1, "the state was removed")
    vm(env, "--", "true")
    check(facts(folder)["restored"], "the next run booted")


def nodes_go_on():
    """All from one state, which the first of them makes; each with an address of its own."""
    with build_folder() as (folder, env):
        for _ in range(2):
            status, out, err = run(VM, "cluster", *SMALL, "--nodes", "3", "--", "sh", "-c",
                                   "cat /sys/class/net/eth0/address; t3 list; ping -c 1 -w 20 node0", env=env)
            check(status == 0, f"status {status}", out + err)
            for node in range(3):
                check(f"node{node}: 52:54:00:74:33:{node:02x}\n" in out, "not its address", out)
                check(f" {node} of 3 " in out, "not its rank", out)
                check(facts(folder, f"cluster/node{node}")["restored"], f"node {node} booted")
            check(len(states(folder)) == 1, "each made its own state")


def one_makes_what_many_need():
    """The others wait, and then they find it. Nobody waits for ever."""
    with tempfile.TemporaryDirectory() as name, mock.patch.object(vm_saved, "SAVED", pathlib.Path(name)), \
            mock.patch.object(vm_saved, "is_usable", pathlib.Path.exists):
        place, made = vm_saved.SAVED / "machine", []

        def one(number):
            with vm_saved.making(place, 5):
                if not place.exists():
                    time.sleep(0.5)
                    made.append(number)
                    place.mkdir()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(one, range(4)))
        check(len(made) == 1, f"made by {made}")
        place.rmdir()
        with vm_saved.making(place, 5), vm_saved.making(place, 0.2):
            pass
        check(list(vm_saved.SAVED.iterdir()) == [], "a lock is left")


def two_may_go_on_at_once():
    """Each with devices and memory of its own."""
    folder, env, _ = saved_once()
    names = ["vm1", "vm2"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda name: vm(env, "--name", name, "--", "t3", "selftest"), names):
            pass
    check(all(facts(folder, name)["restored"] for name in names), "one of them booted")


def the_first_of_two_states_is_kept():
    """Two runs of a machine that boot at once save it both."""
    with tempfile.TemporaryDirectory() as name, \
            mock.patch.object(vm_saved, "SAVED", pathlib.Path(name)):
        place = vm_saved.SAVED / "machine"
        for number in "12":
            with vm_saved.new_state(place) as part:
                (part / "state").write_text(number)
        check((place / "state").read_text() == "1", "the second one took its place")
        check([path.name for path in vm_saved.SAVED.iterdir()] == ["machine"], "a part is left")


def told_to_shell(env, lines, seconds=0):
    """The output of a shell that is told so at its prompt, before its input ends. Nobody reads it for
    so long."""
    with subprocess.Popen([VM, "shell", *SMALL, "--name", "vm"], env=env, cwd=ROOT,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as shell:
        fcntl.fcntl(shell.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        out = b""
        while b"/ #" not in out and (more := os.read(shell.stdout.fileno(), 4096)):
            out += more
        with shell.stdin:
            shell.stdin.write(lines)
        shell.stdin = None  # or communicate() would flush it
        time.sleep(seconds)
        out += shell.communicate(timeout=loop.SECONDS)[0]
    check(shell.returncode == 0, f"status {shell.returncode}", out.decode(errors="replace"))
    return out


def a_shell_goes_on():
    """Its input begins at the prompt."""
    folder, env, _ = saved_once()
    out = told_to_shell(env, b"echo t3 is $((40 + 2))\nexit\n")
    check(b"t3 is 42" in out, "output", out.decode(errors="replace"))
    check(facts(folder)["restored"], "it booted")


def last_words_of_a_shell_are_heard():
    """The shell ends while its terminal cannot send. A pipe and the guest's kernel hold the rest. QEMU
    drops none of it, although the input has ended, too."""
    _, env, _ = saved_once()
    numbers = range(1000, 2400)
    out = told_to_shell(env, b"exec seq -s ' ' %d %d\n" % (numbers[0], numbers[-1]), 3)
    check(" ".join(map(str, numbers)) in out.decode(errors="replace"), "output",
          out.decode(errors="replace"))


# --- states that are of no use -----------------------------------------------

def cut(path):
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 3)


def fill(path):
    with open(path, "r+b") as file:
        file.write(b"\xa5" * 200_000)


# (what, of which file, how)
DAMAGES = [("cut", "state", cut), ("overwritten", "state", fill),
           ("empty", "state", lambda path: path.write_bytes(b"")),
           ("gone", "state", lambda path: path.unlink()),
           ("gone", "console.log", lambda path: path.unlink())]


def is_loaded(folder, place):
    """Whether a QEMU goes on from the state."""
    opts = options(folder, *SMALL)
    with tempfile.TemporaryDirectory(dir=folder) as name, contextlib.ExitStack() as stack:
        rundir = pathlib.Path(name)
        (rundir / "guest").mkdir()
        stack.enter_context(vm_process.answers(rundir))
        process = vm_saved.go_on(stack, vm_saved.machine_args(opts, "tcg", rundir), rundir, place,
                                 {"stdout": subprocess.DEVNULL})
        check(process is not None or not (rundir / "console.log").exists(),
              "the next boot would write behind the log of a state that is of no use")
        return process is not None


def damaged_states_are_seen():
    """Before the guest runs."""
    folder, _, _ = saved_once()
    check(is_loaded(folder, states(folder)[0]), "a whole state is not loaded")
    for what, name, damage in DAMAGES:
        copy = folder / "copy"
        subprocess.run(["cp", "-r", "--sparse=always", states(folder)[0], copy], check=True)
        damage(copy / name)
        check(not is_loaded(folder, copy), f"{name}, {what}: it went on")
        check(not copy.exists(), f"{name}, {what}: it was not removed")


def a_damaged_state_is_replaced():
    """The run boots, passes, and saves a whole one."""
    folder, env, _ = saved_once()
    cut(states(folder)[0] / "state")
    for restored in (False, True):
        vm(env, "--", "true")
        check(facts(folder)["restored"] is restored, f"restored is not {restored}")
        check([path.name for path in sorted(states(folder)[0].iterdir())]
              == ["console.log", "facts.json", "state"], "it was not replaced")


def states_are_of_this_host():
    """As it is since its start, with a clock that runs as fast."""
    here = {"khz": 2_000_000, "host-boot": "a"}
    cases = [(here, True), ({**here, "khz": 2_000_100}, True), ({**here, "khz": 2_100_000}, False),
             ({**here, "khz": None}, False), ({**here, "host-boot": "b"}, False),
             ({"khz": 2_000_000}, False), ([], False), (None, False)]
    with tempfile.TemporaryDirectory() as name, \
            mock.patch.object(vm_saved, "host_facts", lambda: here):
        place = pathlib.Path(name)
        check(not vm_saved.is_usable(place), "there is none")
        (place / "state").touch()
        for known, good in cases:
            (place / "facts.json").write_text(json.dumps(known))
            check(vm_saved.is_usable(place) is good, f"{known} is not {good}")
        (place / "facts.json").write_text("{")
        check(not vm_saved.is_usable(place), "no JSON")


# t3-vm, where all machines may be saved.
ANY_MACHINE = f"""
import runpy, sys
sys.path.insert(0, {str(VM.parent)!r})
import vm_saved
vm_saved.is_allowed = lambda *_: True
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def qemu_refuses_to_save():
    """What nobody has thought of: the run goes on and passes. It is not tried again."""
    with build_folder() as (folder, env):
        more = [*SMALL, "--qemu-arg=-object", f"--qemu-arg=t3-fabric,id=x,record={folder}/record"]
        expect(run(sys.executable, "-c", ANY_MACHINE, VM, "run", *more, "--", "t3", "list", env=env), 0)
        why = (states(folder)[0] / "refused").read_text()
        check("record" in why, f"refused: {why}")
        opts = options(folder, *more)
        with mock.patch.object(vm_saved, "SAVED", folder / "saved"), \
                mock.patch.object(vm_saved, "is_allowed", lambda *_: True):
            check(vm_saved.saved_parts(opts, "tcg", {}) is None, "it is tried again")


class Refusing:
    """A QEMU whose state cannot be saved."""

    def __init__(self):
        self.commands = []

    def command(self, name, **_arguments):
        self.commands.append(name)
        return {}

    def migrated(self, _limit):
        raise vm_qmp.QmpError("no")

    def cancel(self):
        self.commands.append("cancel")


def one_that_cannot_be_saved_goes_on():
    """It is not tried again, and nothing large is left."""
    with tempfile.TemporaryDirectory() as name, \
            mock.patch.object(vm_saved, "SAVED", pathlib.Path(name) / "saved"), \
            mock.patch.object(vm_saved, "FREE_BYTES", 0):
        rundir, place = pathlib.Path(name), vm_saved.SAVED / "machine"
        (rundir / "console.log").write_text("booted\n")
        control = Refusing()
        vm_saved.save(control, rundir, place)
        check(control.commands[0] == "stop" and control.commands[-2:] == ["cancel", "cont"],
              f"it was given {control.commands}")
        check((place / "refused").read_text() == "no\n" and not (place / "state").exists(),
              f"left: {sorted(place.iterdir())}")
        check([path.name for path in vm_saved.SAVED.iterdir()] == ["machine"], "a part is left")


def a_full_disk_saves_none():
    with tempfile.TemporaryDirectory() as name, \
            mock.patch.object(vm_saved, "SAVED", pathlib.Path(name) / "saved"), \
            mock.patch.object(vm_saved, "FREE_BYTES", 1 << 62):
        control = Refusing()
        vm_saved.save(control, pathlib.Path(name), vm_saved.SAVED / "machine")
        check(control.commands == [] and not vm_saved.SAVED.exists(), f"{control.commands}")


def old_states_make_room():
    """Those of other machines, by their last use; and parts that a killed launcher left."""
    with tempfile.TemporaryDirectory() as name, \
            mock.patch.object(vm_saved, "SAVED", pathlib.Path(name)), \
            mock.patch.object(vm_saved, "SAVED_BYTES", 5 << 20):
        now = time.time()
        for number, age in [(0, 50), (1, 10), (2, 40), (3, 20), (4, 30)]:
            place = pathlib.Path(name) / str(number)
            place.mkdir()
            (place / "state").write_bytes(bytes(2 << 20))
            os.utime(place, (now - age, now - age))
        for part, age in ((".part.1", 4000), (".part.2", 1000)):
            (pathlib.Path(name) / part).mkdir()
            os.utime(pathlib.Path(name) / part, (now - age, now - age))
        vm_saved.make_room()
        left = sorted(path.name for path in pathlib.Path(name).iterdir())
        check(left == [".part.2", "1", "3"], f"left: {left}")


# --- the image in parts ------------------------------------------------------

def images_are_taken_apart():
    """Their archives together, and nothing else than archives."""
    one, two = vm_image.cpio({"a": b"1", "bc": b"22222"}), vm_image.cpio({"d": b""})
    image = one + bytes(-len(one) % 512) + two
    found = vm_image.archives(image)
    check([part.names for part in found] == [{b"a", b"bc"}, {b"d"}], f"{found}")
    check(found[0].end == found[1].start and found[1].end == len(image), f"{found}")
    for wrong in (image[:-124], b"\x1f\x8b" + image, one + b"more", image.replace(b"00000005", b"0000000x")):
        try:
            found = vm_image.archives(wrong)
        except ValueError:
            continue
        check(False, f"taken for archives: {found}")


def an_image_of_another_init_boots():
    """It has no folder that says that its init can wait."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "image"
        path.write_bytes(vm_image.cpio({"init": b"#!/bin/sh\n"}))
        check(vm_saved.parts_of(path, {}) is None, "it is booted without its rest")
        path.write_bytes(vm_image.cpio({"init": b"", "rest": b""}) + vm_image.cpio({"a": b"b"}))
        parts = vm_saved.parts_of(path, {"job": b"true"})
        check([part.names for part in vm_image.archives(parts.rest)] == [{b"a", b"job"}], "no rest")
        check(vm_image.archives(b"".join(parts.base))[1].names == {b"rest/awaited"}, "no sign in the base")


def another_image_needs_another_state():
    """And another QEMU or kernel, even of the same name and size."""
    with build_folder() as (folder, _), tempfile.TemporaryDirectory() as name:
        opts = options(folder)
        parts = lambda text: vm_saved.parts_of(image(text), {})

        def image(text):
            path = pathlib.Path(name) / "image"
            path.write_bytes(vm_image.cpio({"rest": b"", "init": text}) + vm_image.cpio({}))
            return path

        found = {vm_saved.place_of(opts, "tcg", parts(text)) for text in (b"1", b"2", b"2")}
        check(len(found) == 2, f"two bases have {len(found)} states")
        copy = pathlib.Path(name) / "qemu"
        copy.mkdir()
        shutil.copy((folder / "qemu/qemu-system-x86_64").resolve(), copy)
        opts.qemu = copy
        before = vm_saved.place_of(opts, "tcg", parts(b"1"))
        os.utime(copy / "qemu-system-x86_64", (1, 1))
        check(len({before, vm_saved.place_of(opts, "tcg", parts(b"1")), *found}) == 4,
              "QEMU was built again, and its old state is used")
        check(re.fullmatch("[0-9a-f]{16}", before.name), before.name)


TESTS = [images_are_taken_apart, an_image_of_another_init_boots, another_image_needs_another_state,
         one_that_cannot_be_saved_goes_on, a_full_disk_saves_none, old_states_make_room,
         each_machine_has_its_state, some_always_boot, states_are_of_this_host,
         one_makes_what_many_need, later_runs_go_on, other_kinds_go_on, a_refused_option_keeps_the_state,
         nodes_go_on, an_edit_needs_no_boot, status_and_trouble_are_told, two_may_go_on_at_once,
         the_first_of_two_states_is_kept, a_shell_goes_on, last_words_of_a_shell_are_heard,
         qemu_refuses_to_save, damaged_states_are_seen, a_damaged_state_is_replaced]

if __name__ == "__main__":
    with HELD:
        status = loop.main(TESTS)
    sys.exit(status)
