#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Accelerators: how ACCEL is given, what is said where KVM is missing, and what a probe boot
decides; TAP on stdout. Needs no KVM: a script stands for QEMU.

usage: accel.py [NAME...]     (default: all tests)
"""

import json
import os
import pathlib
import re
import sys
from unittest import mock

import loop
from build import FRONT, folder, small_project
from loop import ROOT, Skip, check, expect, make_shows, run, sentences

sys.path[:0] = [str(ROOT / "tools/vm"), str(ROOT / "tools/build")]
import check as suites  # pylint: disable=wrong-import-position
import vm_kvm  # pylint: disable=wrong-import-position


# --- make's option -----------------------------------------------------------

def selector():
    """The command line decides, then T3_ACCEL of the caller, then tcg. ACCEL of an environment may
    be anything."""
    for before, after, taken in (({}, [], "tcg"), ({"ACCEL": "kvm"}, [], "tcg"), ({}, ["ACCEL="], "tcg"),
                                 ({"T3_ACCEL": "auto"}, [], "auto"), ({}, ["ACCEL=auto"], "auto"),
                                 ({"T3_ACCEL": "auto"}, ["ACCEL=tcg"], "tcg")):
        expect(make_shows("run['T3_ACCEL']", *after, env={"T3_ACCEL": "", **before}), 0, rf"^{taken}$")


def bad_selectors():
    """One sentence at once with what is allowed, from make and from the launcher."""
    for word in ("xen", "KVM", "tcg kvm", "tcg,thread=single", "kvm'"):
        for goal in ("run", "check", "try"):
            result = run("make", "-s", goal, f"ACCEL={word}", env={"T3_ACCEL": ""})
            expect(result, 2, "ACCEL must be tcg, kvm or auto; got '" + re.escape(word))
            check(len(sentences(result)) == 1, "one sentence", result[2])
    expect(run("tools/vm/t3-vm", "accel", env={"T3_ACCEL": "xen"}), 126,
           "^t3-vm: T3_ACCEL must be tcg, kvm or auto; got 'xen'$")


# --- what KVM needs ----------------------------------------------------------

def refusal(function, *arguments, **more):
    try:
        function(*arguments, **more)
    except vm_kvm.Unusable as error:
        return str(error)
    return ""


def missing_device():
    """Which module it takes, or that the processor does not show what KVM needs."""
    with folder() as place:
        for flags, wanted in (("fpu vmx sse", "sudo modprobe kvm_intel"),
                              ("fpu svm sse", "sudo modprobe kvm_amd"),
                              ("fpu svmx sse", "shows no virtualization")):
            (place / "cpuinfo").write_text(f"model name\t: x\nflags\t\t: {flags}\n")
            said = refusal(vm_kvm.check_device, place / "kvm", place / "cpuinfo")
            check(wanted in said and f"there is no {place}/kvm" in said, wanted, said)
        (place / "kvm").touch()
        check(not refusal(vm_kvm.check_device, place / "kvm", place / "cpuinfo"), "it is there")


def missing_rights():
    """The group that has them, by the device's own."""
    with folder() as place:
        (place / "kvm").touch()
        said = refusal(vm_kvm.check_rights, place / "kvm", access=lambda path, mode: False)
        group = (place / "kvm").group()
        check(f"usermod -aG {group} " in said and "may not read and write" in said, "rights", said)
        check(not refusal(vm_kvm.check_rights, place / "kvm"), "with the rights")


def other_processor():
    """KVM emulates none, however it is called."""
    said = refusal(vm_kvm.check_processor, "arm64", "x86_64")
    check("this one is x86_64, and the VM's is arm64" in said, "arm64 on x86", said)
    for guest, host in (("x86_64", "x86_64"), ("arm64", "aarch64"), ("aarch64", "aarch64")):
        check(not refusal(vm_kvm.check_processor, guest, host), guest)


def guest_does_not_run():
    """What is no KVM, and a guest that does not end in time."""
    said = refusal(vm_kvm.check_guest, pathlib.Path("/dev/null"))
    check(said.startswith("/dev/null is there, but does not run a guest: "), "no KVM", said)
    with folder() as place:
        (place / "slow.py").write_text("import time\ntime.sleep(60)\n")
        with mock.patch.object(vm_kvm, "__file__", str(place / "slow.py")):
            said = refusal(vm_kvm.check_guest, pathlib.Path("/dev/kvm"), seconds=0.5)
    check("did not end within 0.5 s" in said, "a guest that hangs", said)


def guest_halts():
    """Where there is a KVM, the probe's guest of one instruction really runs on it."""
    if not os.access(vm_kvm.DEVICE, os.R_OK | os.W_OK):
        raise Skip(f"{vm_kvm.DEVICE} cannot be opened here")
    try:
        reason = vm_kvm.halt(vm_kvm.DEVICE)
    except OSError as error:
        raise Skip(f"KVM runs no guest here: {error}") from error
    check(reason == vm_kvm.EXIT_HLT, "exit reason", reason)


def make_says_it_before_it_builds():
    """In one sentence: what it needs, and what is missing."""
    hidden = ["unshare", "-rm", "sh", "-c", f"mount --bind /dev/null {vm_kvm.DEVICE} && exec \"$@\"",
              "sh"]
    if not vm_kvm.DEVICE.exists():
        hidden = []
    elif run(*hidden, "true")[0]:
        raise Skip("/dev/kvm cannot be hidden here: unshare -rm is not allowed")
    with folder() as place:
        for goal in ("run", "check", "try", "guest"):
            result = run(*hidden, "make", "-s", goal, "ACCEL=kvm", "CMD=true",
                         env={"T3_BUILD": str(place / "build"), "T3_LOCKED": ""})
            expect(result, 2, r"t3: ACCEL=kvm needs a KVM that runs guests: .*/dev/kvm")
            check(len(sentences(result)) == 1, "one sentence", result[2])
        check(not (place / "build").exists(), "it has built something")


# --- the probe boot ----------------------------------------------------------

# The launcher, in a machine whose KVM runs a guest of one instruction.
LAUNCHER = """
import importlib.machinery, importlib.util, sys
sys.path.insert(0, "tools/vm")
import vm_accel, vm_kvm
vm_kvm.check_usable = lambda: None
vm_kvm.DEVICE = vm_accel.vm_kvm.DEVICE = __import__("pathlib").Path("/dev/null")
vm_accel.PROBE_SECONDS = 1
loader = importlib.machinery.SourceFileLoader("t3_vm", "tools/vm/t3-vm")
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("t3_vm", loader))
sys.dont_write_bytecode = True
loader.exec_module(module)
sys.exit(module.main())
"""

# Stands for QEMU: it notes its arguments and ends as $HOW says, whatever the accelerator.
QEMU = r"""#!/bin/sh
echo "$*" >>"$T3_CACHE/calls"
for word; do case $word in file,id=control,path=*) control=${word#*path=} ;; esac; done
case $HOW in
works) echo 'exit 0' >"$control" ;;
hangs) echo 'qemu: warning: host lacks a feature' >&2; exec sleep 60 ;;
crashes) echo "kvm.c:1: Assertion \`ret == n' failed." >&2; kill -ABRT $$ ;;
refuses) echo 'qemu: failed to initialize kvm: Permission denied' >&2; exit 1 ;;
esac
"""


class Machine:
    """A cache, and parts of a VM of which none is real."""

    def __init__(self, place):
        self.place, self.calls = place, place / "calls"
        for name in ("qemu", "kernel"):
            (place / name).mkdir()
        (place / "qemu/qemu-system-x86_64").write_text(QEMU)
        (place / "qemu/qemu-system-x86_64").chmod(0o755)
        (place / "kernel/vmlinux").touch()
        (place / "initramfs.img").write_bytes(b"image")

    def launch(self, how, *words):
        """(its result, what QEMU was called with)"""
        self.calls.unlink(missing_ok=True)
        command, *rest = words
        result = run(sys.executable, "-c", LAUNCHER, command, "--qemu", self.place / "qemu",
                     "--kernel", self.place / "kernel", "--initramfs", self.place / "initramfs.img",
                     "--no-devices", *rest,
                     env={"HOW": how, "T3_BUILD": str(self.place), "T3_CACHE": str(self.place),
                          "T3_ACCEL": ""})
        return result, self.calls.read_text().splitlines() if self.calls.exists() else []


FAILURES = [("crashes", "Assertion .ret == n. failed"),
            ("refuses", "failed to initialize kvm: Permission denied"),
            ("hangs", "no end after 1 s .--timeout.; logs")]


def probe_decides():
    """A boot that fails in any way is a refusal with its reason for kvm, and tcg for auto. It is in
    the cache then, which kvm does not believe."""
    for how, why in FAILURES:
        with folder() as place:
            machine = Machine(place)
            result, calls = machine.launch(how, "accel", "--accel", "kvm")
            expect(result, 126, "^t3-vm: KVM cannot be used: .* Linux did not boot: .*(" + why + ")")
            check(len(result[2].splitlines()) == 1, "one sentence", result[2])
            check(len(calls) == 1 and "-accel kvm -cpu host" in calls[0], "the probe", calls)
            result, calls = machine.launch(how, "accel", "--accel", "auto")
            expect(result, 0, "^tcg$")
            check(not calls, "auto boots once only", calls)
            result, calls = machine.launch("works", "accel", "--accel", "kvm")
            expect(result, 0, "^kvm$")
            check(len(calls) == 1, "kvm tries again", calls)
            result, calls = machine.launch("hangs", "accel", "--accel", "auto")
            expect(result, 0, "^kvm$")
            check(not calls, "a boot that worked is in the cache", calls)


def run_says_its_accelerator():
    """In run.json. What only a translated guest needs is no argument of KVM's kernel."""
    for accel, wanted in (("tcg", "-accel tcg,thread=multi"), ("kvm", "-accel kvm -cpu host")):
        with folder() as place:
            result, calls = Machine(place).launch("works", "run", "--accel", accel, "--", "true")
            expect(result, 0)
            check(wanted in calls[-1] and ("lpj=" in calls[-1]) == (accel == "tcg"), accel, calls)
            facts = json.loads((place / "run/vm/run.json").read_text())
            check(facts["accel"] == accel, "run.json", facts)


def default_is_tcg():
    """Without a word nothing is probed."""
    with folder() as place:
        result, calls = Machine(place).launch("works", "accel")
    expect(result, 0, "^tcg$")
    check(not calls, "it has probed", calls)


# --- suites ------------------------------------------------------------------

def suites_under_kvm():
    """make check ACCEL=kvm runs suites that there are, the tcg-only one among them."""
    names = make_shows("*make.chosen_suites(run)", "ACCEL=kvm")[1].split()
    check(len(names) > 5 and set(names) <= {test.suites[0] for test in declared()}, "suites", names)
    check("patching" in names, "what is skipped is counted", names)


def declared():
    expect(run("tools/build/native.sh", "native", "build.ninja"), 0)
    return suites.declared(suites.NATIVE)


def suites_that_check_leaves_are_in_the_page():
    """tests/suites.md has a table of those of make check, and one of those of make check-all alone."""
    page = (ROOT / "tests/suites.md").read_text()
    first, _, second = page.partition("\n## make check-all\n")
    tables = [set(re.findall(r"^\| `([\w-]+)` \|", part, re.M)) for part in (first, second)]
    wanted = [{test.suites[0] for test in declared() if name in test.suites} for name in ("check", "check-all")]
    check(tables == wanted, "the page's suites", [one ^ other for one, other in zip(tables, wanted)])
    for words, taken in (([], ["check"]), (["--all"], ["check", "check-all"]), (["abi"], ["abi"])):
        with mock.patch.object(sys, "argv", ["check.py", *words]):
            check(suites.arguments()[1] == taken, "what is taken", words)


def translator_suites_are_skipped():
    """With the reason on stdout, and a count."""
    expect(run("tests/patching.py", env={"T3_ACCEL": "kvm"}), 0, r"^1\.\.1$",
           r"^ok 1 - code_is_patched # SKIP it pauses QEMU's translator")


def front(place, jobs, seconds=60, **scripts):
    """What check.py does with these tests."""
    small_project(place, seconds, **scripts)
    return run("python3", "-c", FRONT, place, jobs)


def one_more_runs_beside_the_others():
    """With -j 2 three meet. With -j 1 no two run at the same time."""
    meet = "touch {0}/$1; while [ ! -e {0}/x ] || [ ! -e {0}/y ] || [ ! -e {0}/z ]; do sleep 0.05; done"
    alone = "mkdir {0}/lock && sleep 0.2 && rmdir {0}/lock"
    for jobs, text in ((2, meet), (1, alone)):
        with folder() as place:
            (place / "meeting").mkdir()
            script = f"{text.format(place / 'meeting')} && echo ok 1 - $1 && echo 1..1"
            expect(front(place, jobs, x=script, y=script, z=script), 0, "^3 passed, 0 failed$")


def those_that_build_come_last():
    """One after the other."""
    declared()
    tests = json.loads((suites.NATIVE / "meson-info/intro-tests.json").read_text())
    late = {test["name"]: test for test in tests if not test["is_parallel"]}
    check(set(late) == {"build", "loop"}, "alone", set(late))
    least = min(test["priority"] for test in tests if test["is_parallel"])
    check(all(test["priority"] < least for test in late.values()), "the order", late)


def a_test_that_says_too_little_is_a_failure():
    """Whatever its status: Meson takes one without a result for skipped."""
    for script, said in (("exit 0", r"wrong \(0 of unknown tests ran\)"), ("echo 1..0", r"wrong \(no tests\)"),
                         ("echo 1..2; echo ok 1 - a", r"wrong \(error after \d+ s, status 0\)"),
                         ("echo ok 1 - a", r"wrong \(1 of unknown tests ran\)"),
                         ("echo ok 1 - a; echo 1..1; exit 3", r"wrong \(error after \d+ s, status 3\)"),
                         ("echo ok 1 - a; kill -9 $$", r"wrong \(error after \d+ s, status -9\)"),
                         ("echo 1..1; echo not ok 1 - a; echo '# see x.log'; echo '#   | why'",
                          r"a: see x\.log\n  \| why$")):
        with folder() as place:
            expect(front(place, 1, wrong=script, right="echo 1..1; echo ok 1 - b"), 1, f"^FAIL {said}",
                   f"^{1 + ('ok 1 - a' in script and 'not ok' not in script)} passed, 1 failed$")


def a_test_without_an_end_is_a_failure():
    """What it has printed counts, and its log is shown."""
    with folder() as place:
        expect(front(place, 2, 1, stays="echo ok 1 - a; echo begun >../log/stays.log; sleep 987652"), 1,
               r"^FAIL stays \(timeout after \d s, status -15\): see .*stays\.log$", "^  \\| begun$",
               "^1 passed, 1 failed$")


def a_test_that_has_not_run_is_a_failure():
    """Its program may have gone. Meson ends then, and tells nothing of the others."""
    with folder() as place:
        small_project(place, gone="echo ok 1 - a; echo 1..1")
        (place / "gone").unlink()
        expect(run("python3", "-c", FRONT, place, "1"), 1, r"^FAIL gone \(it has not run\): see ",
               "^0 passed, 1 failed$")


TESTS = [selector, bad_selectors, missing_device, missing_rights, other_processor,
         guest_does_not_run, guest_halts, make_says_it_before_it_builds, probe_decides,
         run_says_its_accelerator, default_is_tcg, suites_under_kvm,
         suites_that_check_leaves_are_in_the_page,
         translator_suites_are_skipped, one_more_runs_beside_the_others, those_that_build_come_last,
         a_test_that_says_too_little_is_a_failure, a_test_without_an_end_is_a_failure,
         a_test_that_has_not_run_is_a_failure]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
