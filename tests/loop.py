#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The inner loop: make try, make gdb, the shared folder, what is kept of a run; TAP on stdout.

usage: loop.py [NAME...]     (default: TESTS)
       loop.py --debugger    (GDB)
       loop.py --ends        (ENDS)
"""

import concurrent.futures
import contextlib
import gzip
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.setdefault("T3_BUILD", str(ROOT / ".build")))
VM = ROOT / "tools/vm/t3-vm"
TRY = ROOT / "tools/build/try.py"
SECONDS = 180

sys.path.insert(0, str(ROOT / "tools/vm"))
import vm_gdb  # pylint: disable=wrong-import-position
import vm_keep  # pylint: disable=wrong-import-position
import vm_machine  # pylint: disable=wrong-import-position
import vm_trace  # pylint: disable=wrong-import-position
import vm_tsc  # pylint: disable=wrong-import-position

# Its core has to show crash_here() with its argument.
CRASH = """
#include <stdio.h>
#include <stdlib.h>

static int *volatile nowhere;

__attribute__((noinline)) static void crash_here(int value)
{
	*nowhere = value;
}

int main(int argc, char **argv)
{
	FILE *file = fopen("/mnt/host/from-guest", "w");

	if (!file || fprintf(file, "%s\\n", argv[argc - 1]) < 0 || fclose(file))
		return 2;
	crash_here(40 + argc);
	return 0;
}
"""


class Skip(Exception):
    pass


def check(good, what, output=""):
    if not good:
        raise AssertionError(f"{what}\n{output}")


def run(*command, env=None, seconds=SECONDS):
    """(status, stdout, stderr)"""
    variables = {key: value for key, value in os.environ.items()
                 if not key.startswith(("T3_TRY_", "MAKE", "MFLAGS"))}
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, timeout=seconds,
                          capture_output=True, text=True, errors="replace", cwd=ROOT, check=False,
                          env={**variables, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def expect(result, status, *texts):
    """The status, and expressions that occur in the output."""
    output = result[1] + result[2]
    check(result[0] == status, f"status {result[0]}, not {status}", output)
    for text in texts:
        check(re.search(text, output, re.M), f"no '{text}' in", output)


def sentences(result):
    """Lines on stderr, but for make's own that its one recipe has failed."""
    return [line for line in result[2].splitlines() if not line.startswith("make: *** [Makefile:")]


SHOW = r"""printf 'help:\n\t+@PYTHONPATH=tools/build python3 -B -c "$$SHOW"\n' | make -s -f - help "$@" """


def make_shows(expression, *arguments, env=None):
    """(status, stdout, stderr), with the expression's value for make.py's `run`, given these arguments."""
    show = f"import os, make; run = make.Run(dict(os.environ), ['help']); print({expression})"
    return run("bash", "-c", SHOW, "sh", *arguments, env={**(env or {}), "SHOW": show})


def run_folder(name):
    return BUILD / "run" / name


# --- make try ----------------------------------------------------------------

def try_test_passes():
    """One subtest, in the VM that tests/guest/vm-options wants for its program."""
    expect(run("make", "try", "TEST=test_recover/a_function-level*"), 0, "Running 1 test",
           r"OK \] a function-level reset fails no job$",
           r"^try: status 0; build [\d.]+ s, boot [\d.]+ s, run [\d.]+ s; [\d.]+ s in all$")
    facts = json.loads((run_folder("try") / "run.json").read_text())
    check(facts["command"][-1] == "test_recover" and facts["status"] == 0, "run.json", facts)


def try_command_status():
    """The guest's own status, and arguments that make and shells leave alone."""
    expect(run(TRY, "try", "CMD=a='x  y'; for i in 1 2; do echo \"$i $a\"; done; exit 7", "RANKS=2"), 7,
           "^1 x  y$", "^2 x  y$", "^try: status 7; ")
    expect(run("make", "try", "CMD=test $(ls /dev/accel | wc -l) = 2 && T3_TEST_FILTER=test_x test_abi",
               "RANKS=2"), 2, "^Bail out! there is no test 'test_x'", "^try: status 1; ")


USAGE = [
    ([], "say what to run"), (["TEST=test_abi", "CMD=true"], "say what to run"),
    (["TEST=test_rin"], "did you mean test_ring"), (["TEST=../x"], "there is no"),
    (["TEST=test_core_link"], "make .build/unit/test_core_link && "),
    (["TEST=nope"], "there are removal, test_abi, .*test_ring, "),
    (["TEST=test_kunit/x"], "has no tests that can be chosen"), (["CMD=true", "RANKS=0"], "RANKS must be"),
    (["CMD=true", "RANKS=2x"], "RANKS must be"), (["CMD=true", "RANKS=33"], "RANKS must be"),
    (["CMD=true", "KERNEL=mine"], "KERNEL must be"), (["CMD=true", "VM_OPTIONS='"], "VM_OPTIONS"),
    (["CMD=true", "WHAT=1"], "'WHAT=1' is none of"),
]


def try_bad_use():
    """One sentence, before anything is built, with 2."""
    with tempfile.TemporaryDirectory() as name:
        make = pathlib.Path(name, "make")
        make.write_text("#!/bin/sh\necho it built something first >&2\n")
        make.chmod(0o755)
        for arguments, text in USAGE:
            result = run(TRY, "try", *arguments, env={"PATH": f"{name}:{os.environ['PATH']}"})
            expect(result, 2, text)
            check(len(result[2].splitlines()) == 1, f"{arguments}: more than a sentence", result[2])
    expect(run(TRY), 2, "no action ''")
    expect(run(TRY, "gdb", "SIDE=left"), 2, "SIDE must be")
    expect(run(TRY, "gdb", "GDB_COMMANDS=/nonexistent"), 2, "no such file")
    expect(run(VM, "gdb", "--core", ROOT / "README.md"), 126, "is no core of a run")
    expect(run(VM, "run", "--share", "/nonexistent", "--", "true"), 126, "no such folder")


def try_broken_build():
    """What does not build does not boot: the image of an earlier build is not run."""
    expect(run("make", "-s", "build"), 0)
    for path in ("test_query.p/test_query.c.o", "test_query"):
        (BUILD / "native/tests/guest" / path).unlink(missing_ok=True)
    before = sorted(run_folder("try").rglob("*"))
    expect(run(TRY, "try", "TEST=test_query", env={"CC": "false"}), 1, "try: the build failed")
    check(before == sorted(run_folder("try").rglob("*")), "a VM was started")
    expect(run("make", os.path.relpath(BUILD / "guest/test_query", ROOT)), 0, r"Linking target \S*/test_query$")


# --- the shared folder, cores, logs ------------------------------------------

def build_crash(folder):
    (folder / "crash.c").write_text(CRASH)
    subprocess.run(["gcc", "-g", "-O1", "-o", folder / "crash", folder / "crash.c"], check=True)


# With the line's output stopped nothing more is sent, and nobody starts it again.
STOP_OUTPUT = """
#include <stdio.h>
#include <termios.h>

int main(void)
{
	return tcflow(1, TCOOFF) || printf("not sent\\n") < 0;
}
"""


def line_is_stuck():
    """A job whose output cannot be sent ends, and who waits for it is told."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "stop-output"
        subprocess.run(["cc", "-static", "-x", "c", "-o", program, "-"], input=STOP_OUTPUT,
                       text=True, check=True)
        expect(run(VM, "run", "--no-devices", "--no-driver", "--name", "loop-line", "--share",
                   folder, "--", "/mnt/host/stop-output"), 125,
               "the job's output does not leave the guest: ttyS1 is stuck")


def share_and_core():
    """Built here, run there from the shared folder; its crash can be looked at here."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        build_crash(folder)
        (folder / "link").symlink_to("crash")
        script = ("cd /mnt/host && (./link hello world; true) && ln -s here made && "
                  "rm link && ! sh -c 'kill -ABRT $$' && exit 3")
        result = run(VM, "run", "--ranks", "1", "--name", "loop-share", "--share", folder, "--",
                     "sh", "-c", script)
        expect(result, 3, r"logs are in .*loop-share, guest/core\.1\.link\.\d+\.gz, guest/core\.2\.",
               r"make gdb CORE=(\S+core\.1\.link\.\d+\.gz)$")
        check((folder / "from-guest").read_text() == "world\n", "the guest's file")
        check(os.readlink(folder / "made") == "here", "the guest's link is a link")
        check(not (folder / "link").exists(), "the guest removed a file")
        core = re.search(r"make gdb CORE=(\S+)", result[2])[1]
        backtrace = run("make", "gdb", f"CORE={core}", "GDB=-batch -ex backtrace")
        expect(backtrace, 0, r"crash_here \(value=.*43\) at .*crash\.c:9$", r"in main \(argc=3")
    facts = json.loads((run_folder("loop-share") / "run.json").read_text())
    check(facts["accel"] in ("tcg", "kvm"), "run.json's accelerator", facts)
    check(facts["status"] == 3 and facts["seconds"] > 0 and facts["job_seconds"] > 0, "run.json", facts)
    expect(run(TRY, "gdb", f"CORE={core}", "GDB=-batch"), 126, "is not found here")


def a_program_of_tests_says_when_it_fails():
    """A set-up or a tear-down of all tests that fails, a name twice, and no test. The environment selects
    tests by T3_TEST_FILTER alone, whatever cmocka's release reads. Results are in the order of the source."""
    program = """
        #include <stdlib.h>

        #include "test.h"

        static int begins(void) { return getenv("BAD_BEGIN") != NULL; }
        static int ends(void) { return getenv("BAD_END") != NULL; }

        TEST("the first one passes") { }
        TEST_WITH("the second one passes", begins, ends) { }
        TEST("the first one%s passes") { }

        int main(void) { return test_run(getenv("ALL") ? begins : NULL, getenv("ALL") ? ends : NULL); }"""
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        flags = run("pkg-config", "--cflags", "--libs", "cmocka")[1].split()
        for target, text in (("good", " again"), ("twice", ""), ("none", None)):
            source = place / f"{target}.c"
            source.write_text(program % text if text is not None else "")
            expect(run("cc", "-o", place / target, source, ROOT / "tests/common/test.c",
                       *[] if text is not None else [ROOT / "tests/common/main.c"],
                       f"-I{ROOT}/tests/common", *flags), 0)
        good = place / "good"
        tap, plain = {"CMOCKA_MESSAGE_OUTPUT": "TAP"}, {"CMOCKA_MESSAGE_OUTPUT": "STDOUT"}
        expect(run(good, env=tap), 0, r"ok 1 - the first one passes\nok 2 - the second one passes\n"
               "ok 3 - the first one again passes")
        expect(run(good, env={**plain, "CMOCKA_TEST_FILTER": "none"}), 0, "Running 3 test")
        expect(run(good, env={**plain, "T3_TEST_FILTER": "the_first*s"}), 0, "Running 2 test")
        expect(run(good, env={"T3_TEST_FILTER": "no*"}), 1, "there is no test 'no\\*'", "^# the second one passes$")
        for bad in ("BAD_BEGIN", "BAD_END"):
            expect(run(good, env={**tap, bad: "1"}), 1, "^not ok 2 - the second one passes", "^ok 3")
            expect(run(good, env={bad: "1", "ALL": "1"}), 1)
        expect(run(place / "twice"), 1, "two tests have the name 'the first one passes'")
        expect(run(place / "none"), 1, "there is no test")
        (place / "no.c").write_text('#include "test.h"\n\nTEST("test of_faults") { }\n')
        result = run("cc", "-fsyntax-only", place / "no.c", f"-I{ROOT}/tests/common")
        expect(result, 1, "error: static assertion failed: .*must be a sentence", "no.c:3:1: note")


def cores_are_bounded():
    """Four cores, none beyond its size, however many crash; a shell's child and its name. They reach the
    host when the machine has slept, too."""
    script = ("cd /sys/power; echo 0 >/sys/module/suspend/parameters/pm_test_delay && "
              "echo platform >pm_test && echo mem >state && "
              "for i in 1 2 3 4 5 6; do sh -c 'kill -SEGV $$'; done; grep -qx 1 suspend_stats/success")
    with tempfile.TemporaryDirectory() as cache:  # where KVM has to be probed anew, unseen
        result = run(VM, "run", "--ranks", "2", "--name", "loop-cores", "--", "sh", "-c", script,
                     env={"T3_CACHE": cache, "T3_ACCEL": "auto"})
    expect(result, 0)
    check(not result[2] and not list(ROOT.glob("core*")), "a run that passes says nothing", result[2])
    check(not (run_folder("kvm-probe") / "qemu-core").exists(), "a probe leaves no core")
    folder = run_folder("loop-cores") / "guest"
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    check([name[:6] for name in names] == ["core.1", "core.2", "core.3", "core.4"], "cores", names)
    for path in folder.glob("core*"):
        with gzip.open(path) as core:
            check(core.read(4) == b"\x7fELF", f"{path} is no core")


def illegal_instructions_are_explained():
    """A program that was built for another processor ends by a signal; t3-vm says why."""
    result = run(VM, "run", "--ranks", "1", "--name", "loop-ill", "--", "sh", "-c", "sh -c 'kill -ILL $$'")
    expect(result, 132, r"guest/core\.1\.sh\.\d+-ILL\.gz$", "^t3-vm: sh used an instruction that the VM's "
           "processor does not have: .*-march=native")


def device_dump_is_kept():
    """The driver's devcoredump of a failed device comes with the logs, whole."""
    expect(run(VM, "run", "--ranks", "2", "--name", "loop-dump", "--", "sh", "-c",
               "echo function >/sys/kernel/debug/accel/0000:02:00.0/reset"), 0)
    dump = run_folder("loop-dump") / "guest/devcoredump-0000:02:00.0"
    text = dump.read_text()
    check(text.startswith("T3 devcoredump 1\nreason ") and "\nregister ID " in text, "dump", text)


def old_runs_are_kept():
    """Three of them, as long as they take little; then none but the newest."""
    with tempfile.TemporaryDirectory() as name:
        base, vm_keep.BUILD = vm_keep.BUILD, pathlib.Path(name)
        with contextlib.ExitStack() as stack:
            stack.callback(setattr, vm_keep, "BUILD", base)
            for number in range(6):
                with vm_keep.run_directory("x") as rundir:
                    (rundir / "console.log").write_text(str(number))
                    (rundir / "initrd").write_text("large")
            texts = [(rundir / where / "console.log").read_text() for where in (".", "1", "2", "3")]
            check(texts == ["5", "4", "3", "2"], "the last four runs", texts)
            check(not (rundir / "4").exists() and not list(rundir.rglob("initrd")), "no more than that")
            with open(rundir / "console.log", "wb") as log:
                log.write(bytes(vm_keep.OLD_BYTES + 1))
            with vm_keep.run_directory("x"), vm_keep.run_directory("x") as second:
                check(second.name == f"x-{os.getpid()}", "a second one has a folder of its own")
            left = [path.name for path in rundir.iterdir() if path.name not in (".lock", "guest")]
            check(left == [], "what is too large goes", left)
            for number in range(1, 7):
                with vm_keep.run_directory(f"x-{number}"):  # whose user has called it so
                    pass
            seconds = [rundir.parent / f"x-{number}" for number in (19, 18, 17, 16)]  # numbers come again
            for age, folder in enumerate(seconds):
                with mock.patch("os.getpid", return_value=int(folder.name[2:])), vm_keep.run_directory("x"), \
                        vm_keep.run_directory("x") as second:
                    check(second == folder, "a second one", second)
                os.utime(folder / ".lock", (age + 1, age + 1))
            vm_keep.prune(rundir.parent, "x")
            left = sorted(path.name for path in rundir.parent.iterdir() if path.name != f"x-{os.getpid()}")
            check(left == ["x", *(f"x-{number}" for number in (1, 16, 17, 2, 3, 4, 5, 6))], "folders", left)


@contextlib.contextmanager
def stub_vm(script):
    """A folder to build in, and the options for a QEMU that is this shell script."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("vmlinux", "image", "qemu-system-x86_64"):
            (folder / part).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "qemu-system-x86_64").chmod(0o755)
        yield folder, ["--accel", "tcg", "--qemu", name, "--kernel", name, "--initramfs", f"{name}/image"]


def own_failures_are_no_statuses_of_a_job():
    """Not 1, which is Python's for what nobody caught."""
    with stub_vm("sleep 60") as (folder, options):
        (folder / "run").touch()
        result = run(VM, "run", *options, "--", "true", env={"T3_BUILD": str(folder)})
        expect(result, 125, rf"^t3-vm: .*Not a directory: '{folder}/run/vm'$")
        check("Traceback" not in result[2], "a sentence", result[2])


def a_signal_is_in_the_facts_of_a_run():
    """As every other end is."""
    for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)):
        with stub_vm("sleep 60") as (folder, options):
            with subprocess.Popen([VM, "run", *options, "--", "true"], stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "T3_BUILD": str(folder)},
                                  preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as launcher:
                while not (folder / "run/vm/qemu.log").exists() and launcher.poll() is None:
                    time.sleep(0.05)
                time.sleep(0.2)
                launcher.send_signal(number)
                said = launcher.communicate(timeout=SECONDS)[1]
            check(launcher.returncode == status, f"status {launcher.returncode}, not {status}", said)
            facts = json.loads((folder / "run/vm/run.json").read_text())
            check(facts.get("status") == status, "run.json", facts)


def a_killed_shell_leaves_the_terminal_as_it_was():
    """QEMU sets it to raw and non-blocking."""
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    with stub_vm("stty raw -echo; python3 -c 'import os; os.set_blocking(0, False)'; echo up; "
                 "exec sleep 60") as (folder, options):
        with subprocess.Popen([VM, "shell", *options], stdin=theirs, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env={**os.environ, "T3_BUILD": str(folder)}) as shell:
            check(shell.stdout.readline() == b"up\n", "the VM is up")
            check(termios.tcgetattr(theirs) != before and not os.get_blocking(theirs), "raw")
            shell.terminate()
            check(shell.wait(SECONDS) == 143, f"status {shell.returncode}")
    check(termios.tcgetattr(theirs) == before and os.get_blocking(theirs), "as it was")
    os.close(ours)
    os.close(theirs)


def names_of_a_guest_do_no_harm():
    """They are printed to a terminal, and as a part of a command."""
    with tempfile.TemporaryDirectory() as name:
        guest = pathlib.Path(name) / "guest"
        check(vm_keep.summary(guest.parent)[0].endswith(os.path.relpath(name)), "no folder")
        guest.mkdir()
        for file in ("core.1.gz", "dump-0000:02:00.0", ".hidden", "-x", "a\033[2J", "core.$(reboot).gz", "core.1;x.gz"):
            (guest / file).touch()
        text = "\n".join(vm_keep.summary(guest.parent))
        check(vm_keep.kept(guest.parent) == ["guest/core.1.gz", "guest/dump-0000:02:00.0"], "kept", text)
        check("reboot" not in text and text.endswith("guest/core.1.gz"), "what to do", text)


def times_without_an_end_are_refused():
    """A limit that never comes, or that has been before the boot."""
    for options in (["run", "--timeout", "nan"], ["run", "--timeout", "0"], ["run", "--timeout", "-1"],
                    ["cluster", "--timeout", "nan"], ["cluster", "--grace", "nan"],
                    ["gdb", "--timeout", "nan"]):
        with stub_vm("exit 0") as (folder, parts):
            result = run(VM, *options, *parts, "--", "true", env={"T3_BUILD": str(folder)}, seconds=20)
            expect(result, 126, rf"^t3-vm: {options[1]} must be ")


def any_bytes_may_be_a_command():
    """Names of files are bytes, and not always text. They reach the image as they are."""
    command = b"echo caf\xe9"
    with stub_vm('for word; do case $word in */initrd) cp "$word" "$T3_BUILD/kept";; esac; done') as \
            (folder, options):
        result = subprocess.run([VM, "run", *options, "--", *command.split()], capture_output=True, timeout=SECONDS,
                                check=False, env={**os.environ, "T3_BUILD": str(folder)})
        check(result.returncode == 125 and b"without a status" in result.stderr, "the stub ran", result)
        check(b"exec echo 'caf\xe9'\n" in (folder / "kept").read_bytes(), "the job in the image")


def a_comma_in_the_build_folder_is_no_end_of_an_option():
    """QEMU takes two of them for one."""
    with stub_vm("for word; do echo $word; done") as (folder, options):
        where = folder / "a,b"
        where.mkdir()
        result = run(VM, "run", *options, "--", "true", env={"T3_BUILD": str(where)})
        words = [word for word in result[1].split() if f"{folder}/a," in word and word[0] != "/"]
        check(len(words) == 4 and all(f"{folder}/a,,b/" in word for word in words), "options", words)


def child_of(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return int(text.split()[0]) if text.split() else None


def qemu_crashes():
    """Who looks is told that it was QEMU, and where."""
    with subprocess.Popen([VM, "run", "--ranks", "2", "--name", "loop-crash", "--", "sleep", "100"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          cwd=ROOT) as launcher:
        rundir = run_folder("loop-crash")
        end = time.monotonic() + SECONDS
        while "begin" not in vm_keep.read_text(rundir / "control") or launcher.poll() is not None:
            check(time.monotonic() < end and launcher.poll() is None, "the VM did not start")
            time.sleep(0.1)
        os.kill(child_of(launcher.pid), signal.SIGSEGV)
        _, told = launcher.communicate(timeout=SECONDS)
    expect((launcher.returncode, "", told), 125, "QEMU ended by SIGSEGV")
    if vm_keep.read_text(vm_keep.CORE_PATTERN).startswith("|"):
        raise Skip("this host's core_pattern is a pipe: QEMU's core goes elsewhere")
    expect((0, "", told), 0, r"loop-crash.*, qemu-backtrace\.txt")
    text = (rundir / "qemu-backtrace.txt").read_text()
    check("main_loop" in text and "Thread" in text, "a backtrace", text)
    shutil.rmtree(rundir)


def shell_with_folder():
    """The shell of the guest sees the folder, and its end is the VM's."""
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
            [VM, "shell", "--ranks", "1", "--name", "loop-shell", "--share", folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=ROOT) as shell:
        try:
            while shell.stdout.read(1) not in (b"#", b""):
                pass
            shell.stdin.write(b"echo made >/mnt/host/file; exit 5\n")
            shell.stdin.flush()
            check(shell.wait(SECONDS) == 5, f"status {shell.returncode}")
            check((pathlib.Path(folder) / "file").read_text() == "made\n", "what the guest wrote")
        finally:
            shell.kill()


# --- a kernel that fails or is stuck -----------------------------------------

def stuck_module():
    """tests/stuck, built where the launcher looks for the symbols of modules."""
    place = BUILD / "module-stuck"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "tests/stuck", place)
    release = (BUILD / "kernel/release").read_text().strip()
    expect(run("make", "-C", BUILD / "kernel/lib/modules" / release / "build", f"M={place}",
               "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"), 0)
    return place


# How it is stuck: (parameter, the first line, the function that is at fault, limits). Those that keep a
# processor of the host busy have lower limits, in seconds: watchdog_thresh and that of a stall. The
# usual ones have a test below.
STUCK = [
    ("bug", r"BUG: kernel NULL pointer dereference", "stuck_bug", ()),
    ("deadlock", r"INFO: task insmod:\d+ blocked for more than \d+ seconds", "stuck_deadlock", ()),
    # On a busy host the stall that it causes may be told first.
    ("lockup", r"BUG: soft lockup - CPU#\d stuck for \d+s|rcu: INFO: .*stall", "stuck_lockup", ("4", "20")),
    ("interrupts-off", r"rcu: INFO: .*stall", "stuck_interrupts_off", ("4", "10")),
]
# The limit, the interval at which it is looked at, the boot, and a busy host.
STUCK_SECONDS = 170
# A processor that is stuck with its interrupts off is found by another one, when its tick comes
# during a grace period. An idle one has no tick, so this one works a little each second.
STUCK_SCRIPT = """\
[ $# = 1 ] || {
	echo "$2" >/proc/sys/kernel/watchdog_thresh
	echo "$3" >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
}
taskset 1 sh -c 'while sleep 1; do :; done' &
exec taskset 2 insmod /mnt/host/stuck.ko how="$1"
"""


WARNED = """\
[    1.000000] something before it
[    2.000001] ------------[ cut here ]------------
[    2.000002] WARNING: CPU: 0 PID: 7 at driver/t3_x.c:1 t3_probe+0x8/0x400 [t3]
[    2.000003] Modules linked in: t3(OE)
[    2.000004] RIP: 0010:t3_probe+0x8/0x400 [t3]
[    2.000005] RAX: 0000000000000000 RBX: 0000000000000000 RCX: 0000000000000000
[    2.000006] Call Trace:
[    2.000007]  <TASK>
[    2.000008]  ? t3_remove+0x10/0x400 [t3]
[    2.000009]  t3_probe+0x40/0x400 [t3]
[    2.000010]  no_such_function+0x40/0x400 [t3]
[    2.000011]  local_pci_probe+0x40/0x90
[    2.000012]  </TASK>
[    2.000013] BUG: one that came of it
"""


def trace_is_decoded():
    """The first report alone, with t3.ko's lines, without what is a guess of the unwinder."""
    expect(run("make", "-s", "module"), 0)
    lines = vm_trace.report(WARNED)
    place = r"(  include/\S+)*  driver/t3_\w+\.c:\d+"
    wanted = [r"WARNING: .*", rf"RIP: 0010:t3_probe\+0x8/0x400 \[t3\]{place}.*", "Call Trace:",
              rf" t3_probe\+0x40/0x400 \[t3\]{place}.*", r" no_such_function\+0x40/0x400 \[t3\]",
              r" local_pci_probe\+0x40/0x90"]
    check(len(lines) == len(wanted) and all(map(re.fullmatch, wanted, lines)), "report", lines)
    for fine in ("all is well", "traps: cat[7] general protection fault ip:55e0 sp:7f21 error:0 in cat[d756,55e0+9000]"):
        check(vm_trace.report(f"[    1.0] {fine}\n") == [], f"nothing to report of '{fine}'")
    for words in ("general protection fault: 0000 [#1] PREEMPT SMP",
                  "Oops: general protection fault, probably for non-canonical address 0x1: 0000 [#1]"):
        check(vm_trace.report(f"[    1.0] {words}\n") == [words], words)
    with tempfile.TemporaryDirectory() as name:  # as after a move: the module has the paths of before
        moved = pathlib.Path(name) / "module"
        (moved / "driver").mkdir(parents=True)
        (moved / "driver/t3_drv.c").symlink_to("/before/driver/t3_drv.c")
        for path, wanted in (("/before/.build/module/driver/t3_drv.c:12 (discriminator 3)", "driver/t3_drv.c:12"),
                             (f"{moved}/driver/t3_drv.c:12", "driver/t3_drv.c:12"),
                             ("/cache/usr/src/linux-headers-6.12/include/linux/list.h:7", "include/linux/list.h:7"),
                             ("??:0", "??:0")):
            check(vm_trace.source_of(path, moved) == wanted, f"{path} in a moved tree",
                  vm_trace.source_of(path, moved))


WARNED_ARM64 = """\
[    2.000001] WARNING: CPU: 0 PID: 1 at driver/t3_drv.c:12 t3_probe+0x8/0x400 [nobody]
[    2.000002] pc : t3_probe+0x8/0x400 [nobody]
[    2.000003] lr : local_pci_probe+0x40/0x90
[    2.000004] x29: ffff800080003a60 x28: 0000000000000000 x27: 0000000000000000
[    2.000005] Call trace:
[    2.000006]  t3_probe+0x8/0x400 [nobody] (P)
[    2.000007]  local_pci_probe+0x40/0x90
[    2.000008] ---[ end trace 0000000000000000 ]---
[    2.000009]  something later
"""


def arm64_trace_is_found():
    """An arm64 kernel reports in other words: place, trace and its end are found."""
    lines = vm_trace.report(WARNED_ARM64)
    wanted = ["WARNING: .*", r"pc : t3_probe\+0x8/0x400 .*", "Call trace:", r" t3_probe\+0x8/.*",
              r" local_pci_probe\+0x40/0x90"]
    check(len(lines) == len(wanted) and all(map(re.fullmatch, wanted, lines)), "report", lines)


def stuck_limits_follow_the_machine():
    """In seconds: a translated guest and a debug kernel are slower, and a stall is told later than
    the soft lockup that causes it."""
    for accel, more, hung, lockup, stall in (("kvm", "quiet", 20, 6, 26), ("tcg", "", 30, 10, 40),
                                             ("tcg", "T3_SLOW=4", 120, 40, 160)):
        given = " ".join(vm_machine.stuck_args(accel, more))
        for wanted in (f"hung_task_timeout_secs={hung} ", "hung_task_panic=1", f"watchdog_thresh={lockup} ",
                       "softlockup_panic=1", f"rcu_cpu_stall_timeout={stall} ", "panic_on_rcu_stall=1"):
            check(wanted in given, f"{accel} {more}: no {wanted}", given)


def stuck_line(how, sentence, function, limits, place):
    """The line of code that a VM names which is stuck so."""
    start = time.monotonic()
    result = run(VM, "run", "--no-devices", "--no-driver", "--name", f"loop-stuck-{how}", "--timeout",
                 str(STUCK_SECONDS), "--share", place, "--", "sh", "-c", STUCK_SCRIPT, "sh", how, *limits)
    took = time.monotonic() - start
    expect(result, 125, rf"the guest's kernel died: .*({sentence})",
           rf"{function}\+0x\S+ \[stuck\].*  stuck\.c:\d+$")
    check(took < STUCK_SECONDS, f"{how}: it took {took:.0f} s", result[2])
    check("RAX:" not in result[2], f"{how}: registers are of no use here", result[2])
    return int(re.search(rf"{function}\+.*stuck\.c:(\d+)$", result[2], re.M)[1])


def kernel_is_stuck():
    """The VM ends soon, and what is told is the kernel's sentence and the line of code."""
    place = stuck_module()
    source = (place / "stuck.c").read_text().splitlines()
    with concurrent.futures.ThreadPoolExecutor() as pool:  # they mostly wait for the kernel's limits
        lines = pool.map(lambda stuck: stuck_line(*stuck, place), STUCK)
    for (how, _, function, _), line in zip(STUCK, lines):
        begin = next(number for number, text in enumerate(source, 1) if f" {function}(void)" in text)
        check(begin < line <= begin + 6, f"{how}: line {line} is not in {function}", source)


def stuck_vm_tells_its_threads():
    """A VM that does not end in time: a line for each thread of QEMU."""
    result = run(VM, "run", "--name", "loop-late", "--timeout", "15", "--", "sleep", "300")
    expect(result, 124, "t3-vm: no end after 15.0 s", r"QEMU in CPU 0/TCG: .*mttcg_cpu_thread_fn",
           "QEMU in IO io-f0: .*iothread_run")
    check((run_folder("loop-late") / vm_keep.BACKTRACE).exists(), "the whole backtrace")


def vm_without_a_reader_is_ended():
    """As with `t3-vm run ... | head -1`."""
    with subprocess.Popen([VM, "run", "--no-devices", "--no-driver", "--name", "loop-head", "--timeout", "90", "--",
                           "sh", "-c", "echo first; sleep 300"], stdin=subprocess.DEVNULL, cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as vm:
        first = vm.stdout.readline()
        vm.stdout.close()
        said = vm.stderr.read()
    check(first == "first\n", "the first line", first)
    expect((vm.returncode, "", said), 125, "t3-vm: nobody reads the output any more")


# --- gdb ---------------------------------------------------------------------

GUEST_SESSION = """
break t3_probe
break t3_space_create_ioctl
continue
printf "probe %x\\n", pdev->device
backtrace 2
delete 1
tbreak __devm_drm_dev_alloc
continue
backtrace 3
continue
printf "driver %s\\n", drm->driver->name
backtrace 2
delete
continue
"""

DEVICE_SESSION = """
break t3_dev_new
run
printf "memory of %d MiB\\n", config->memory_size >> 20
delete
break t3_dev_reset
continue
backtrace 2
delete
continue
"""


def gdb_session(text, *arguments):
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as file:
        file.write(text)
        file.flush()
        return run("make", "gdb", f"GDB_COMMANDS={file.name}", *arguments)


def code_of_module(folder):
    """[(begin, end, name)] of the code of t3.ko as gdb knows it, where the guest has no module."""
    (folder / "control").write_text("section .text 0xffffffffc0100000\n")
    setup = folder / "setup"
    setup.write_text(f"set confirm off\n{vm_gdb.add_module(folder, folder)}"
                     "maintenance info sections -all-objects CODE\n")
    status, out, err = run("gdb", "-nx", "-batch", "-x", setup)
    check(status == 0, "gdb", out + err)
    found = re.findall(r"(0x[0-9a-f]+)->(0x[0-9a-f]+) at \S+ (\S+) ", out)
    return sorted((int(begin, 16), int(end, 16), name) for begin, end, name in found)


def gdb_keeps_code_apart():
    """Else an address has several functions, and a backtrace takes the wrong one's frame."""
    expect(run("make", "-s", "module"), 0)
    with tempfile.TemporaryDirectory() as name:
        code = code_of_module(pathlib.Path(name))
    check({".text", ".init.text", ".exit.text"} <= {name for _, _, name in code}, "sections", code)
    for first, second in zip(code, code[1:]):
        check(first[1] <= second[0], "two sections have the same addresses", code)


def compiled_tree(folder):
    """A tree as make leaves it: a program, the module's and QEMU's links to sources, and a record."""
    for name in ("libt3", "driver", "qemu-device", ".build/module/driver", ".build/qemu"):
        (folder / name).mkdir(parents=True)
    for name in ("libt3/lib", "driver/mod", "qemu-device/dev"):
        (folder / f"{name}.c").write_text(f"int {name[-3:]}(void) {{ return 1; }} /* of the old tree */\n")
    (folder / ".build/module/driver/mod.c").symlink_to(folder / "driver/mod.c")
    (folder / ".build/qemu/repo").symlink_to(folder)
    (folder / "main.c").write_text("int main(void) { return 0; } /* of the old tree */\n")
    for cwd, source in ((folder, "libt3/lib.c"), (folder, folder / ".build/module/driver/mod.c"),
                        (folder / ".build/qemu", "repo/qemu-device/dev.c"), (folder, "main.c")):
        subprocess.run(["gcc", "-g", "-c", "-o", folder / f"{pathlib.Path(source).stem}.o", source], cwd=cwd, check=True)
    subprocess.run(["gcc", "-g", "-o", ".build/prog", "lib.o", "mod.o", "dev.o", "main.o"], cwd=folder, check=True)
    (folder / ".build/trees").write_text(f"{folder} {folder / '.build'}\n")


def gdb_shows_the_sources_of_a_copied_tree():
    """Also of a tree inside of the old one, and with a blank in its name."""
    with tempfile.TemporaryDirectory() as name:
        old = pathlib.Path(name) / "old"
        compiled_tree(old)
        for new in (pathlib.Path(name) / "a copy", pathlib.Path(name) / "old/inside"):
            shutil.copytree(old, new, symlinks=True)
            for path in new.rglob("*.c"):
                if not path.is_symlink():
                    path.write_text(path.read_text().replace("old", "new"))
            setup = new / "setup"
            setup.write_text(vm_gdb.source_rules(new, new / ".build", new / ".build") + "".join(
                f"list {name},{name}\n" for name in ("lib", "mod", "dev", "main")))
            _, out, err = result = run("gdb", "-nx", "-batch", "-x", setup, new / ".build/prog")
            expect(result, 0)
            check(out.count("of the new tree") == 4 and "old tree" not in out, "sources", out + err)


def gdb_has_the_rules_in_all_sessions():
    """And make keeps the record that they are made from."""
    expect(run("make", "-s", "lib"), 0)
    check(f"{ROOT} {BUILD}" in (BUILD / "trees").read_text().splitlines(), "the record", "")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for setup in (vm_gdb.guest_setup(folder, "symbols", folder), vm_gdb.device_setup(folder, ["qemu"])):
            check(setup.read_text().startswith(vm_gdb.source_rules()), "the rules", setup.read_text())


def core_of(path):
    """A core that only says which program of the guest it is of."""
    files = struct.pack("<QQQQQ", 1, 4096, 0, 4096, 0) + path.encode() + b"\0"
    note = struct.pack("<III", 5, len(files), 0x46494c45) + b"CORE\0\0\0\0" + files
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(note), len(note), 4) + note


def core_of_any_folder():
    """The program is found below the shared folder of the run, whatever that is called, and gdb takes
    its name for a name."""
    with stub_vm("exit 1") as (folder, parts):
        share, guest = folder / "my caf\u00e9's", folder / "run/guest"
        share.mkdir()
        guest.mkdir(parents=True)
        for program in ("prog ram", "prog"):
            shutil.copy("/bin/true", share / program)
        (folder / "run/run.json").write_text(json.dumps({"share": str(share), "root": None}, indent=1) + "\n")
        for program, status in (("prog ram", 0), ("none", 126), (f"prog\nshell touch {folder}/shell\n", 126)):
            (share / program).parent.mkdir(parents=True, exist_ok=True)
            if status == 126 and program != "none":
                shutil.copy("/bin/true", share / program)
            (guest / "core.gz").write_bytes(gzip.compress(core_of(f"/mnt/host/{program}")))
            result = run(VM, "gdb", *parts, "--gdb-arg=-batch", "--gdb-arg=-ex", "--gdb-arg=info files",
                         "--core", guest / "core.gz")
            expect(result, status)
            check(status or f"{share}/{program}" in result[1], "gdb's file", result[1] + result[2])
        check(not (folder / "shell").exists(), "the core's text was a command of gdb")


def gdb_guest():
    """Breakpoints in probe, below it and in an ioctl, with arguments and a kernel function's name."""
    result = gdb_session(GUEST_SESSION, "TEST=test_query", "RANKS=2")
    expect(result, 0, r"hit Breakpoint 1, t3_probe \(pdev=0x", "^probe 7433$",
           r"^#1 .* in local_pci_probe \(\)",
           r"^#1 .* in t3_probe \(pdev=.*\n(  .*\n)*#2 .* in local_pci_probe \(\)",
           r"hit Breakpoint 2, t3_space_create_ioctl \(drm=0x",
           "^driver t3$", r"^#1 .* in drm_ioctl_kernel \(\)",
           "received signal SIGQUIT")


def gdb_device():
    """Breakpoints in the core; signals of QEMU's processors do not stop it."""
    result = gdb_session(DEVICE_SESSION, "SIDE=device", "CMD=t3 list", "RANKS=2")
    expect(result, 0, r"Breakpoint 1, t3_dev_new \(config=", "^memory of 256 MiB$",
           r"^ +1  0000:02:00.0", r"exited normally\]$")
    check("SIGUSR1" not in result[1], "a signal stopped it", result[1])


def gdb_statuses():
    """The job's status, also of what gdb leaves running; a panic, with gdb still there to
    look; gdb's own failure."""
    expect(gdb_session("detach\n", "CMD=exit 4", "RANKS=1"), 2, r"Error 4$")
    expect(gdb_session("continue\nthread apply all backtrace 1\n", "CMD=echo c >/proc/sysrq-trigger", "RANKS=1"), 2,
           "received signal SIGQUIT", r"in stop_this_cpu \(\)", r"Error 125$")
    expect(gdb_session("no-such-command\n", "CMD=true", "RANKS=1"), 2, "gdb ended with status 1")


def clock_has_its_rate():
    """A guest on a busy host measures its clock's rate wrongly; it is told."""
    slow = iter([0, 0, 0.002, 0.002, 0.002, 0, 0.002, 0.002] * 2)
    counts = []

    def interrupted():
        time.sleep(next(slow))
        counts.append(time.monotonic_ns())
        return counts[-1]

    when, count = vm_tsc.pair(interrupted)
    check(abs(when - count) < 1_000_000, f"an interrupted reading was taken: {when} for {counts}")
    rate = vm_tsc.khz()
    if rate is None:
        raise Skip("this machine's time stamp counter has no rate that can be told")
    status, out, err = run(VM, "run", "--name", "loop", "--no-devices", "--no-driver", "--",
                           "sh", "-c", "cat /proc/cmdline; dmesg | grep Detected.*processor")
    told = re.search(r"tsc_early_khz=(\d+)", out)
    if not told and "lpj=" not in out:
        raise Skip("KVM tells the guest")
    check(status == 0 and told, "the guest is not told", out + err)
    used = float(re.search(r"tsc: Detected ([\d.]+) MHz", out)[1]) * 1000
    check(abs(int(told[1]) - rate) * 1000 < rate and abs(used - rate) * 1000 < rate,
          f"{rate} kHz here, {told[1]} told, {used} used", out)


TESTS = [old_runs_are_kept, own_failures_are_no_statuses_of_a_job, a_signal_is_in_the_facts_of_a_run,
         a_killed_shell_leaves_the_terminal_as_it_was, names_of_a_guest_do_no_harm,
         times_without_an_end_are_refused, any_bytes_may_be_a_command,
         a_comma_in_the_build_folder_is_no_end_of_an_option, clock_has_its_rate,
         stuck_limits_follow_the_machine, try_bad_use, try_broken_build, try_test_passes,
         try_command_status, trace_is_decoded, arm64_trace_is_found, cores_are_bounded,
         a_program_of_tests_says_when_it_fails, illegal_instructions_are_explained]
# These build nothing that others use, and may run beside others. ENDS mostly wait.
GDB = [share_and_core, core_of_any_folder, gdb_keeps_code_apart,
       gdb_shows_the_sources_of_a_copied_tree, gdb_has_the_rules_in_all_sessions, gdb_guest, gdb_device, gdb_statuses]
ENDS = [kernel_is_stuck, line_is_stuck, stuck_vm_tells_its_threads, vm_without_a_reader_is_ended,
        device_dump_is_kept, qemu_crashes, shell_with_folder]


def result_of(test):
    try:
        test()
        return "ok", ""
    except Skip as reason:
        return "ok", f" # SKIP {reason}"
    except Exception:  # whatever it is, the other tests still run
        print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
        return "not ok", ""


def main(tests):
    chosen = [test for test in tests if not sys.argv[1:] or test.__name__ in sys.argv[1:]]
    print(f"1..{len(chosen)}")
    failed = 0
    for number, test in enumerate(chosen, 1):
        start = time.monotonic()
        verdict, skipped = result_of(test)
        failed += verdict != "ok"
        print(f"{verdict} {number} - {test.__name__}{skipped}", flush=True)
        print(f"# {time.monotonic() - start:.1f} s", flush=True)
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["--ends"], ["--debugger"]):
        sys.exit(main(ENDS if sys.argv.pop() == "--ends" else GDB))
    sys.exit(main(TESTS + GDB + ENDS if sys.argv[1:] else TESTS))
