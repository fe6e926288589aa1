#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The build: locks, a cache that clones share, trees that move, builds that go on, and what
is said where it cannot work; TAP on stdout.

usage: build.py [NAME...]     (default: all tests)
"""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import loop
from loop import BUILD, ROOT, Skip, check, expect, make_shows, run, sentences

sys.path.insert(0, str(ROOT / "tools/build"))
import dev_watch  # pylint: disable=wrong-import-position

CACHE = pathlib.Path(os.environ.get("T3_CACHE", ROOT / ".cache")).resolve()


@contextlib.contextmanager
def folder():
    """A short path, so that messages are not cut. It is on the disk of the build."""
    path = pathlib.Path(tempfile.mkdtemp(dir=BUILD, prefix="test-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def copied_tree(to):
    """A copy of the files that git knows, with their times, so that what is built here is up to
    date there."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


# --- one make at a time ------------------------------------------------------

def make_waits():
    """While another make has the build folder, make says which one it waits for, and then builds."""
    with folder() as place, open(place / ".lock", "w+", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("make check (process 42)\n")
        lock.flush()
        product = ROOT / os.path.relpath(place / "fuzz-seeds", ROOT)
        command = ["make", f"T3_BUILD={place}", product.relative_to(ROOT)]
        with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as make:
            said = make.stderr.readline()
            check(re.search(r"^t3: make \S+ \(process \d+\) waits for make check \(process 42\), "
                            r"which holds \S+/\.lock$", said), "who waits for whom", said)
            time.sleep(0.5)
            check(make.poll() is None and not product.exists(), "it did not wait")
            fcntl.flock(lock, fcntl.LOCK_UN)
            check(make.wait(loop.SECONDS) == 0 and product.exists(), "it did not build then")


def makes_at_once():
    """Both succeed, and neither finds a file half written by the other."""
    with folder() as place:
        command = ["make", f"T3_BUILD={place}", os.path.relpath(place / "t3-conformance", ROOT)]
        both = [subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for _ in range(2)]
        ended = [(make.wait(loop.SECONDS), *make.communicate()) for make in both]
    check([status for status, _, _ in ended] == [0, 0], "statuses", ended)
    built = [len(re.findall(r"\] Linking target \S+/t3-conformance$", text, re.M)) for _, text, _ in ended]
    check(sorted(built) == [0, 1], "one of them builds, the other one finds it built", ended)


def try_lock():
    """Whether a make could build now."""
    with open(BUILD / ".lock", "a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False


def another_entry_is_not_waited_for():
    """While a clone builds one QEMU in the cache, another clone uses its own."""
    with open(CACHE / ".lock-qemu", "a", encoding="utf-8") as every, \
            open(CACHE / ".lock-qemu-0000000000", "a", encoding="utf-8") as other:
        for lock in (every, other):
            fcntl.flock(lock, fcntl.LOCK_EX)
        expect(run("tools/build/qemu.sh"), 0)


def shell_takes_options():
    """`make shell` passes VM_OPTIONS on unchanged, and does not block other builds."""
    with subprocess.Popen(["make", "shell", "RANKS=1", "SHARE=",
                           "VM_OPTIONS=--append 't3test=a b' --name build-shell"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          cwd=ROOT, env={key: value for key, value in os.environ.items()
                                         if not key.startswith(("MAKE", "T3_TRY"))}) as shell:
        said = b""
        while not said.endswith(b"# "):
            byte = shell.stdout.read(1)
            check(byte, "no shell", said.decode(errors="replace"))
            said += byte
        free = try_lock()
        shell.stdin.write(b"grep -c 't3test=a b' /proc/cmdline; exit 0\n")
        shell.stdin.flush()
        check(shell.wait(loop.SECONDS) == 0, "status", shell.stdout.read().decode(errors="replace"))
    check(free, "the lock is held while the shell runs")
    text = (loop.run_folder("build-shell") / "job.log").read_text(errors="replace")
    check(re.search(r"^1\r?$", text, re.M), "the options did not arrive", text)


# --- what clones share -------------------------------------------------------

def clone_with_device(place, text):
    """A clone with this tree's objects, whose device says `text`."""
    copied_tree(place)
    shutil.copytree(BUILD / "qemu", place / ".build/qemu", symlinks=True)
    source = place / "qemu-device/pci/pci.c"
    changed = source.read_text().replace("T3 accelerator: tracked and triggered output", text)
    check(changed != source.read_text(), "the device's description has another text")
    source.write_text(changed)


def build_device(tree):
    result = run(tree / "tools/build/qemu.sh", env={"T3_BUILD": str(tree / ".build"),
                                                   "T3_CACHE": str(CACHE)})
    expect(result, 0)
    return (tree / ".build/log/qemu.log").read_text()


def device_help(tree):
    return run(tree / ".build/qemu/qemu-system-x86_64", "-device", "help")


def clones_share_a_cache():
    """Each clone builds and runs its own device. The other's build changes nothing for it."""
    expect(run("make", "-s", "qemu"), 0)
    with folder() as place:
        for name in ("one", "two"):
            clone_with_device(place / name, f"device {name}")
        for name in ("one", "two", "one"):
            build_device(place / name)
        for name in ("one", "two"):
            expect(device_help(place / name), 0, f'"t3", .*desc "device {name}"')
        expect(device_help(ROOT), 0, '"t3", .*tracked and triggered')


def moved_tree():
    """A tree that has moved compiles nothing again, and its device works there."""
    expect(run("make", "-s", "qemu"), 0)
    with folder() as place:
        copied_tree(place / "first")
        shutil.copytree(BUILD / "qemu", place / "first/.build/qemu", symlinks=True)
        (place / "first").rename(place / "other")
        log = build_device(place / "other")
        check("no work to do" in log, "it compiled something", log)
        expect(device_help(place / "other"), 0, '"t3"')
        (place / "other/qemu-device/core/front/dev.c").touch()
        log = build_device(place / "other")
        check(log.count("CC ") == 1, "an edit compiles one file", log)


def steps_of(tree):
    """What ninja does for a program of that tree: {kind of step: how many}."""
    result = run("make", "--no-print-directory", "-C", tree, "T3_BUILD=.build", f"T3_CACHE={CACHE}",
                 ".build/t3-conformance")
    expect(result, 0)
    expect(run(tree / ".build/t3-conformance", "--list"), 0)
    nowhere = [str(path) for path in (tree / ".build").iterdir() if not path.exists()]
    check(not nowhere, "links lead somewhere, which Open MPI wants of the component's folder", nowhere)
    return {kind: result[1].count(f"] {kind} ") for kind in ("Compiling", "Linking")}


def programs_follow_their_tree():
    """A tree that has moved compiles nothing again. A new source is found, and one that goes is left out."""
    with folder() as place:
        first, other = place / "first", place / "other"
        copied_tree(first)
        sources = len(list((ROOT / "tests/conformance").glob("*.c")))
        check(steps_of(first) == {"Compiling": sources, "Linking": 1}, "a new tree", steps_of(first))
        first.rename(other)
        check((steps := steps_of(other)) == {"Compiling": 0, "Linking": 0}, "a moved tree", steps)
        more = other / "tests/conformance/more.c"
        more.write_text("int more(void);\n\nint more(void)\n{\n\treturn 1;\n}\n")
        check((steps := steps_of(other)) == {"Compiling": 1, "Linking": 1}, "a new source", steps)
        more.unlink()
        check((steps := steps_of(other)) == {"Compiling": 0, "Linking": 1}, "a source has gone", steps)


def moved_kernel():
    """The headers of a cache entry find each other after a move."""
    kernel = (BUILD / "kernel").resolve()
    release = (kernel / "release").read_text().strip()
    with folder() as place:
        subprocess.run(["cp", "-al", kernel, place / "kernel"], check=True)
        build = place / "kernel/lib/modules" / release / "build"
        expect(run("make", "-s", "-C", build, "kernelversion"), 0, r"^6\.12\.")
        for link in (build, build.parent / "source"):
            check(str(link.resolve()).startswith(str(place)), f"{link} leads out of the entry")
        for makefile in build.glob("Makefile"):
            check(str(CACHE) not in makefile.read_text(), f"{makefile} has a path of before")


def surroundings_change_nothing():
    """The scripts' language, modes and kernel do not come from the caller's environment."""
    odd = {"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8", "LANGUAGE": "tr", "CDPATH": "/", "ARCH": "mips",
           "CROSS_COMPILE": "mips-", "KBUILD_OUTPUT": "/nonexistent", "KCFLAGS": "-Wrong",
           "NINJA_STATUS": "%p", "TAR_OPTIONS": "--wrong"}
    script = (". tools/build/common.sh; umask; locale charmap; cd tools; env; "
              ": >\"$T3_BUILD/file\"; stat -c mode=%a \"$T3_BUILD/file\"")
    with folder() as place:
        done = subprocess.run(["bash", "-euc", script], cwd=ROOT, umask=0o077, text=True, check=True,
                              capture_output=True, env={**os.environ, **odd, "T3_BUILD": str(place)})
    expect((0, done.stdout, done.stderr), 0, r"\A0022\nUTF-8\n", "^mode=644$", "^LC_ALL=C.UTF-8$")
    for name in odd:
        check(name in ("LANG", "LC_ALL") or f"\n{name}=" not in done.stdout, f"{name} stays", done.stdout)


# --- builds that go on -------------------------------------------------------

def qemu_selector():
    """Another QEMU has an entry of its own; the usual one keeps that of before."""
    for wrong in ("ten", "10", "10.", "10.0 ", "10.0;id"):
        expect(run("tools/build/qemu.sh", "fetch", env={"T3_QEMU": wrong}), 1,
               "must be the start of a version, such as 10.0 or 10.2.2")
    with folder() as place:
        for version, fitting in (("10.0", "10.0.13"), ("10.2", "10.2.2"), ("10.2.2", "10.2.2")):
            expect(run("bash", "-c", SELECT, env={"T3_QEMU": version, "T3_CACHE": str(place),
                                                  "T3_BUILD": str(place / "b")}),
                   0, rf"^1:{re.escape(fitting)}\+ds-1$")
        expect(run("bash", "-c", SELECT, env={"T3_QEMU": "11.1", "T3_CACHE": str(place),
                                              "T3_BUILD": str(place / "b")}), 0, r"^$")
    for before, after, taken in (({"QEMU": "10.2"}, [], "10.2"), ({"QEMU": "/usr/bin/qemu"}, [], ""),
                                 ({}, ["QEMU=10.2.2"], "10.2.2"), ({}, ["QEMU=ten"], "ten")):
        expect(make_shows("run['T3_QEMU']", *after, env={"T3_QEMU": "", **before}), 0, rf"^{taken}$")


# (arguments of make, its sentence)
WRONG_ARCH = [("run ARCH=arm", "t3: ARCH must be amd64, which is the default, or arm64; got 'arm'"),
              ("run ARCH=x86_64", "ARCH must be amd64, which is the default, or arm64; got 'x86_64'"),
              ("run ARCH=arm64\\ amd64", "ARCH must be amd64.*; got 'arm64 amd64'"),
              ("run ARCH=arm64 KERNEL=7.3", "ARCH=arm64 has a kernel of its own: leave KERNEL out"),
              ("try ARCH=arm64 KERNEL=7.3 CMD=true", "ARCH=arm64 has one of its own: leave KERNEL"),
              ("deb ARCH=arm64", "ARCH=arm64 is for run shell .*; got 'deb'"),
              ("gdb ARCH=arm64", "ARCH=arm64 is for run shell .*; got 'gdb'")]


def arch_selector():
    """ARCH of the command line selects a processor, with a build folder, a kernel and packages of
    its own. Any other one is refused, before anything is built."""
    for arguments, sentence in WRONG_ARCH:
        expect(run("bash", "-c", f"make {arguments}", env={"T3_ARCH": ""}), 2, sentence)
    show = "run['T3_ARCH'], run.build, run.guest, run['T3_KERNEL'], *make.package_sets(run)"
    own = rf"^arm64 {ROOT}/.build/arm64 {ROOT}/.build/arm64 kernel-arm64 arm64 run try$"
    usual = rf"^amd64 {ROOT}/.build {ROOT}/.build kernel check$"
    for arguments, wanted in ((["ARCH=arm64"], own), (["ARCH=amd64"], usual), ([], usual),
                              (["ARCH=arm64", "T3_BUILD=.build/arm64"], own)):
        expect(make_shows(show, "T3_BUILD=.build", *arguments, env={"T3_ARCH": "", "ARCH": "mips", "T3_KERNEL": ""}), 0, wanted)


def arch_of_a_folder():
    """t3-vm boots the machine whose QEMU is in the build folder, with a kernel in that form."""
    machine = "import sys; sys.path.insert(0, 'tools/vm'); import pathlib, types, vm_machine; " \
        "here = pathlib.Path(sys.argv[1]); print(*vm_machine.programs(types.SimpleNamespace(" \
        "qemu=here, kernel=here)))"
    with folder() as place:
        expect(run("python3", "-c", machine, place), 0, "/qemu-system-x86_64 .*/vmlinux$")
        (place / "qemu-system-aarch64").touch()
        expect(run("python3", "-c", machine, place), 0, "/qemu-system-aarch64 .*/Image$")
        expect(run("tools/vm/t3-vm", "run", "--qemu", place, "--kernel", place, "--", "true"), 126,
               "/Image does not exist: run make first")


def foreign_packages():
    """An apt for another architecture sees it alone, nothing as installed, and this release."""
    script = """. tools/build/common.sh; . tools/build/apt-private.sh; apt_foreign arm64
        debian_mirror() { echo http://mirror/; }; apt_write_sources; apt_write_config
        cat "$APT_DIR/sources.list"; apt_private apt-config dump"""
    with folder() as place:
        result = run("bash", "-c", script, env={"T3_CACHE": str(place), "T3_BUILD": str(place / "b")})
        expect(result, 0, r'^APT::Architecture "arm64";$',
               rf'^Dir::State::status "{place}/apt-arm64/installed";$',
               r"^deb \[signed-by=\S+\] http://mirror/ (bookworm|trixie) main$")
        check((place / "apt-arm64/installed").read_text() == "", "something is installed there")


SELECT = r"""
. tools/build/qemu.sh
apt_private() { printf 'Version: 1:%s+ds-1\n' 10.0.13 10.2.2 10.20.1 9.10.2; }
qemu_version
"""

STUBS = r"""
. tools/build/qemu.sh
cd "$T3_CACHE"
apt_setup() { :; }
qemu_version() { echo 10.0.1; }
download_source() { echo fetch >>calls; }
unpack_source() { echo unpack >>calls; mkdir -p "$1/source"; touch "$1/.fetched"; }
configure_qemu() { echo configure >>calls; mkdir -p "$1/build"; }
build_qemu() { echo build >>calls; [ ! -e stop ] || { rm stop; exit 130; }; }
finish_entry() { echo finish >>calls; }
build_device() { :; }
main
"""


def entry_goes_on(cache):
    return run("bash", "-c", STUBS, env={"T3_CACHE": str(cache), "T3_BUILD": str(cache / "b")})


def calls(cache):
    text = (cache / "calls").read_text().split()
    (cache / "calls").unlink()
    return text


def stopped_build_goes_on():
    """QEMU's build, stopped and then started again: what is there stays. After a move of
    the unfinished entry it is configured again, and not fetched."""
    with folder() as place:
        cache = place / "cache"
        cache.mkdir()
        (cache / "stop").touch()
        expect(entry_goes_on(cache), 130)
        check(calls(cache) == ["fetch", "unpack", "configure", "build"], "the first one")
        expect(entry_goes_on(cache), 0, "goes on with a build that was stopped")
        check(calls(cache) == ["build", "finish"], "the second one goes on")
        (next(cache.glob("qemu-*")) / ".complete").unlink()
        cache.rename(place / "moved")
        expect(entry_goes_on(place / "moved"), 0)
        check(calls(place / "moved") == ["configure", "build", "finish"], "a moved one")
        (place / "moved").rename(cache)
        expect(entry_goes_on(cache), 0)
        check(not (cache / "calls").exists(), "a finished one is used where it is")


# --- where it cannot work ----------------------------------------------------

REFUSED = ["a b", "a'b", "a$b", "a#b", "a:b", "a%b", "a;b", "a,b", "a[b", "a*b", "a\\b"]


def strange_paths():
    """The error comes at once and in one message, whatever the target is. Other characters are
    allowed."""
    with folder() as place:
        for name in [*REFUSED, "a.b-c_d+e=f@g~h"]:
            tree = place / name
            tree.mkdir()
            for folder_of_files in ("tools/packaging", "tools/build"):
                (tree / folder_of_files).mkdir(parents=True)
            for file in ("Makefile", "tools/packaging/VERSION", "tools/build/make.py", "tools/build/options.py"):
                shutil.copy(ROOT / file, tree / file)
            result = run("make", "--no-print-directory", "-C", tree, "help")
            if name not in REFUSED:
                expect(result, 0, "^make run ")
                continue
            expect(result, 2, "the path of the tree, T3_BUILD or T3_CACHE has a blank or another")
            check(len(sentences(result)) == 1, "more than one message", result[2])
        expect(run("make", f"T3_BUILD={place}/x y", "help"), 2, "has a blank or another")
        expect(run("make", f"T3_CACHE={place}/x y", "help"), 2, "has a blank or another")


MOUNTED = 'mount -t tmpfs -o "$1" none "$2" && shift 2 && "$@"'


def in_mount(options, where, *command, env=None):
    """Run it with a file system of its own mounted there."""
    own = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]
    return run(*own, "sh", "-c", MOUNTED, "sh", options, where, *command, env=env)


def as_stranger(place, *command):
    """Run it as a user who may not write here."""
    if os.getuid() == 0:
        return run("setpriv", "--reuid", "65534", "--clear-groups", *command)
    place.chmod(0o555)
    return run(*command)


def folders_on_bad_disks():
    """A read-only or full disk: one sentence says which folder, why, and what to do."""
    own = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]
    if run(*own, "true")[0]:
        raise Skip("no file system can be mounted here for a test alone, as in a chroot")
    with folder() as place:
        make = ["make", "-s", f"T3_BUILD={place}/b", "lib"]
        for options, why in (("ro", "Read-only file system"), ("nr_inodes=1", "No space left")):
            result = in_mount(options, place, *make)
            expect(result, 2, rf"^t3: cannot write to {place}/b/log \({why}.*set T3_BUILD to")


def fresh_releases():
    """make check-fresh knows two releases, and installs none for a user who is not root."""
    for release in ("", "sid", "13", "trixie bookworm", "../trixie", "$(id)"):
        expect(run("make", "check-fresh", env={"RELEASE": release}), 2,
               rf"^t3: RELEASE must be bookworm or trixie \(Debian 12 or 13\); got '{re.escape(release)}'$")
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        place.chmod(0o777)
        shutil.copytree(ROOT / "tools/build", place / "tools/build")
        (place / "tests").mkdir()
        shutil.copy2(ROOT / "tests/check-fresh.sh", place / "tests")
        expect(as_stranger(place / "tools", "env", "RELEASE=trixie", f"T3_BUILD={place}/b", f"T3_CACHE={place}/c",
                           place / "tests/check-fresh.sh"), 1, "installs a Debian, and needs root for that$")


ENTER = ". tests/check-fresh.sh; ROOT=$1; shift; inside \"$@\""


def small_machine(place):
    """A root with busybox, in which namespaces can be entered."""
    if os.getuid() or run("unshare", "--mount", "--pid", "--fork", "true")[0]:
        raise Skip("no namespaces can be made here")
    for name in ("bin", "dev", "mnt", "proc", "root", "sys", "tmp"):
        (place / name).mkdir(parents=True)
    shutil.copy(os.path.realpath(shutil.which("busybox")), place / "bin/busybox")
    for name in ("sh", "env", "umount", "rm", "ls", "sleep", "stat", "grep", "mount"):
        (place / "bin" / name).symlink_to("busybox")


FRESH = """
. tests/check-fresh.sh
install_tools() { :; }
install_release() { cp -a "$T3_BUILD/small/." "$ROOT/"; }
clone_head() { mkdir "$ROOT/root/t3"; }
main
"""


def fresh_runs_end_clean():
    """The machine goes when all passed, and at a signal, with all that runs in it. One that failed stays."""
    with folder() as place:
        small_machine(place / "small")
        env = {"RELEASE": "bookworm", "T3_BUILD": str(place), "T3_CACHE": str(place / "c")}
        make = place / "small/bin/make"
        for text, status, said in (("true", 0, "^made check-all$"), ('test "$1" = run', 1, "^t3: make check-all failed on a fresh"
                                   "(.|\n)*the fresh bookworm stays in .*/root until")):
            make.write_text(f"#!/bin/sh\necho made $1; {text}\n")
            make.chmod(0o755)
            expect(run("bash", "-c", FRESH, env=env), status, "^made run$", said)
            check((place / "fresh/bookworm").exists() == bool(status), "the machine")
            check((place / "log/fresh-bookworm.log").read_text() == "made run\nmade check-all\n", "its log")
        make.write_text("#!/bin/sh\necho made $1; sleep 987654\n")
        process = subprocess.Popen(["bash", "-c", FRESH], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                                   env={**os.environ, **env})
        while "made run" not in (line := process.stdout.readline()):
            check(line, "it begins")
        process.send_signal(signal.SIGTERM)
        check(process.communicate(timeout=60)[0] == "" and process.returncode == 130, "how it ended", process.returncode)
        check(not (place / "fresh/bookworm").exists(), "the machine of a run that was stopped")


def fresh_machine_is_apart():
    """It has a /dev, processes and mounts of its own. They end with the script, even if that is killed."""
    with folder() as place:
        small_machine(place / "root")
        env = {"RELEASE": "trixie", "T3_BUILD": str(place / "b"), "T3_CACHE": str(place / "c")}
        enter = ["bash", "-c", ENTER, "sh", place / "root"]
        before, mounts = os.stat("/dev/null"), pathlib.Path("/proc/self/mountinfo").read_text()
        result = run(*enter, "rm /dev/null; echo text >/dev/null; stat -c %F /dev/null; ls /dev; mount; "
                     "echo $(ls /proc | grep -c ^[1-9]) processes; grep SigIgn: /proc/self/status; exit 7", env=env)
        expect(result, 7, "^regular file$", r"^fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\n"
               r"urandom\nzero$", r"^[3-6] processes$", r" on /dev type tmpfs")
        ignored = int(re.search(r"^SigIgn:\t(\w+)$", result[1], re.M)[1], 16)
        check(not ignored & (1 << signal.SIGINT - 1 | 1 << signal.SIGTERM - 1), "it ignores signals", result[1])
        check(len(re.findall(" on /", result[1])) == 6, "it has the mounts of this machine", result[1])
        check(os.stat("/dev/null") == before, "/dev/null of this machine changed")
        for ending in (signal.SIGTERM, signal.SIGKILL):
            process = subprocess.Popen([*map(str, enter), "echo ready; sleep 987654"], cwd=ROOT, text=True,
                                       stdout=subprocess.PIPE, env={**os.environ, **env})
            check(process.stdout.readline() == "ready\n", "it begins")
            process.send_signal(ending)
            # All that runs there holds its end of the pipe.
            check(process.communicate(timeout=60)[0] == "" and process.returncode == -ending, "how it ended",
                  process.returncode)
        check(pathlib.Path("/proc/self/mountinfo").read_text() == mounts, "mounts are left")


def folders_of_others():
    """The folder of another user: the same. The parent is readable for strangers, as /root may not
    be."""
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        place.chmod(0o755)
        common = place / "tools/build/common.sh"  # where a stranger can read it
        common.parent.mkdir(parents=True)
        shutil.copy(ROOT / "tools/build/common.sh", common)
        stage = ["bash", "-c", f". {common}; usable_folder T3_CACHE {place}/c"]
        os.environ["T3_BUILD"], before = f"{place}/b", os.environ["T3_BUILD"]
        (place / "b/log").mkdir(parents=True)
        try:
            expect(as_stranger(place, *stage), 1,
                   r"^t3: cannot write to \S+ \(Permission denied.*: set T3_\w+ to a folder")
        finally:
            os.environ["T3_BUILD"] = before


def suites_run_beside_each_other():
    """Each once, and the last line counts all; wrong use is one sentence."""
    check_py = ROOT / "tools/build/check.py"
    result = run(check_py, "-j", "2", "options", "abi", "options")
    expect(result, 0)
    passed = sum(map(int, re.findall(r" / (?:options|abi) .*OK .* (\d+) subtests passed", result[1])))
    check(result[1].count(" / options ") == result[1].count(" / abi ") == 1, "each once", result[1])
    check(result[1].splitlines()[-1] == f"{passed} passed, 0 failed", "the last line", result[1])
    for words, said in ((("-j", "0"), "-j 0 is out of range: allowed are 1 to 64"),
                        (("-j", "x"), "invalid int value"),
                        (("--all", "options"), "--all and names of suites exclude each other"),
                        (("nothing",), "no suite 'nothing'; there are: ")):
        expect(run(check_py, *words), 2, said)
    expect(run(check_py, "--known", "guest", "abi"), 0)
    status, out, err = run("make", "check", "SUITES=options nothing")
    check(status and "no suite 'nothing'" in err and "[qemu" not in out + err, "before the build", out + err)


def failures_are_explained():
    """A tool's message about the disk or the network comes with what to do."""
    with folder() as place:
        for said, text in (("cc: No space left on device", "the disk is full"),
                           ("E: Could not get lock /var/lib/dpkg/lock", "another apt or dpkg"),
                           ("Temporary failure resolving 'example.org'", "cannot be reached"),
                           ("404  Not Found", "names a file that the mirror does not have"),
                           ("E: Unable to locate package x", "run apt-get update")):
            script = (f". tools/build/common.sh; fails() {{ echo \"{said}\"; return 3; }}; "
                      "stage name 'did it' fails")
            expect(run("bash", "-c", script, env={"T3_BUILD": str(place)}), 3, f"^t3: .*{text}")


def failures_show_their_log():
    """A failed test comes with its own lines; a log that is none says so."""
    tell = ("import sys, pathlib; sys.path.insert(0, 'tests'); import tap; "
            "log = pathlib.Path(sys.argv[1]); "
            "tap.report([tap.Result(name, tap.FAIL, log) for name in ('x/this', 'x/other')])")
    with folder() as place:
        lines = [*(f"# {i}" for i in range(40)), "ok 1 - other", "# it is 3, not 4",
                 "not ok 2 - this", *("#" for _ in range(40)), "# the end"]
        (place / "log").write_text("\n".join(lines))
        result = run("python3", "-c", tell, str(place / "log"))
        expect(result, 0, r"^not ok 1 - x/this\n# see .*\n#   \| # 3\d\n",
               r"it is 3, not 4\n#   \| not ok 2 - this")
        check("the end" not in result[1], "only the part", result[1])
        check(result[1].count("it is 3") == 1, "one excerpt of a log", result[1])
        (place / "log").write_text("\n".join(["ok 1 - other", "# it is 3, not 4", *("# a line" for _ in range(40)),
                                              "not ok 2 - this"]))
        expect(run("python3", "-c", tell, str(place / "log")), 0,
               r"see .*\n#   \| # it is 3, not 4\n(#   \| # a line\n){2}#   \| \.\.\.\n(#   \| # a line\n)+#   \| not ok 2")
        expect(run("python3", "-c", tell, str(place / "none")), 0, "No such file")


# A child writes an error in pieces, as QEMU does, and the program its results meanwhile.
IN_PIECES = """
import os, sys, time
os.write(2, b"child: ")
os.write(1, b"1..2\\nok 1 - first\\n")
os.write(2, b"it has no ")
os.write(1, b"ok 2 - sec")
time.sleep(0.2)
os.write(2, b"disk\\nchild: it en")
os.write(1, b"ond\\n")
if not os.fork():
    time.sleep(30)
    os.write(2, b"later")
"""


def results_have_lines_of_their_own():
    """Whatever a child of the program writes to its errors meanwhile. A child that lives on is not waited
    for, and a program that does not end is ended."""
    tap = ("import sys, pathlib; sys.path.insert(0, 'tests'); import tap; tap.LOGS = pathlib.Path(sys.argv[1]); "
           "tap.tap_program('x/pieces', [sys.executable, '-c', sys.argv[2]], seconds=float(sys.argv[3]))")
    with folder() as place:
        expect(run("python3", "-c", tap, place, IN_PIECES, "60"), 0,
               r"^ok 1 - x/pieces/first\nok 2 - x/pieces/second$")
        lines = (place / "x-pieces.log").read_text().splitlines()
        check(sorted(lines) == ["1..2", "child: it en", "child: it has no disk", "ok 1 - first", "ok 2 - second"],
              "the log", lines)
        endless = "import os\nwhile True: os.write(2, b'no end')"
        expect(run("python3", "-c", tap, place, endless, "1"), 0, r"^not ok 1 - x/pieces \(ended with status -1\)$")
        check((place / "x-pieces.log").read_text().endswith("\n# no end after 1.0 s\n"), "what the log says")


def changes_of_dev_are_noticed():
    """By the suites that ran then: something becomes something else, goes, or is new and a file. Devices
    that come and go are none of it."""
    names = {name: (stat.S_IFCHR, os.makedev(*numbers), 0o666, 0, 0) for name, numbers in dev_watch.ALWAYS.items()}
    before = {**names, "fd": (stat.S_IFLNK, 0, 0o777, 0, 0), "sda": (stat.S_IFBLK, os.makedev(8, 0), 0o660, 0, 6)}
    file, device = (stat.S_IFREG, 0, 0o644, 0, 0), (stat.S_IFCHR, os.makedev(1, 3), 0o600, 0, 0)
    for now, said in (({**before, "null": file}, "/dev/null was device 1:3, mode 666 of 0:0, and is an ordinary file"),
                      ({**before, "null": device}, "/dev/null was .*, and is device 1:3, mode 600 of 0:0$"),
                      ({**before, "sda": file}, "/dev/sda was device 8:0, .*, and is an ordinary file"),
                      ({name: before[name] for name in before if name != "zero"}, "^/dev/zero has gone$"),
                      ({name: before[name] for name in before if name != "fd"}, "^/dev/fd has gone$"),
                      ({**before, "made": file}, "^/dev/made is new, and an ordinary file, mode 644 of 0:0$"),
                      ({**before, "sdb": device}, None), ({name: names[name] for name in names}, "fd has gone")):
        found = [sentence for _, sentence in dev_watch.complaints(before, now)]
        check(bool(said) == (len(found) == 1) and (not said or re.search(said, found[0])), said, found)
    check(not list(dev_watch.wrong_devices(before)), "devices are right", before)
    check(re.fullmatch("/dev/null must be the character device 1:3, and is an ordinary file, .*",
                       *dev_watch.wrong_devices({**before, "null": file})), "a wrong one is named")
    with folder() as place:
        said = []
        (place / "null").touch()
        with dev_watch.Watch(lambda: "series paper", said.append, place) as watch:
            (place / "null").unlink()
            (place / "null").mkdir()
            (place / "shm").mkdir()
            (place / "shm/file").touch()
        check(said == watch.found and len(said) == 1
              and re.fullmatch(r"/dev/null was an ordinary file, .* \(while series paper ran\)", said[0]), "watch", said)


# The front of meson test, on a project of a few scripts: its folder, and how many run at the same time.
FRONT = """
import pathlib, sys, time
sys.path.insert(0, "tools/build")
import check
looks, place = check.dev_watch.look, pathlib.Path(sys.argv[1])
changes = place / "changes"  # a test makes it
def look(root="/dev"):
    return {**looks(root), **({"made": (0o100000, 0, 0o644, 0, 0)} if changes.exists() else {})}
check.LOGS, check.dev_watch.look = place / "log", look
tests = check.declared(place / "build")
sys.exit(check.report(tests, *check.run_meson(place / "build", tests, int(sys.argv[2]), check.LOGS), time.monotonic(), ""))
"""


def small_project(place, seconds=60, **scripts):
    """A build folder of Meson with these tests, each a shell script."""
    (place / "log").mkdir()
    text = "project('small')\n"
    for name, script in scripts.items():
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / name).chmod(0o755)
        text += f"test('{name}', find_program('{name}'), args: '{name}', protocol: 'tap', suite: '{name}s', timeout: {seconds})\n"
    (place / "meson.build").write_text(text)
    expect(run("meson", "setup", place / "build", place), 0)


def a_run_in_which_dev_changes_fails():
    """Though all its tests have passed. One in which nothing changes does not."""
    with folder() as place:
        small_project(place, good="echo ok 1 - a; echo 1..1; ls ../wanted && touch ../changes && sleep 2; exit 0")
        expect(run("python3", "-c", FRONT, place, "1"), 0, "^1 passed, 0 failed$")
        check((place / "log/dev.log").read_text() == "/dev is as it was\n", "its log")
        (place / "wanted").touch()
        expect(run("python3", "-c", FRONT, place, "1"), 1, r"^/dev/made is new, .* \(while goods ran\)$",
               r"^FAIL dev \(it has changed\): see .*dev.log$", "^1 passed, 1 failed$")
        check("/dev/made is new, and an ordinary file" in (place / "log/dev.log").read_text(), "its log")


def a_stopped_run_leaves_nothing():
    """By Ctrl-C or a signal: tests end, with what they have begun in a group of their own."""
    with folder() as place:
        small_project(place, stays=f"touch {place}/begun; sleep 987653 & sleep 987653")
        for ending, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            front = FRONT.replace("import check\n", "import check, signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n")
            process = subprocess.Popen(["python3", "-c", front, place, "2"], cwd=ROOT, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            while not (place / "begun").exists():
                check(process.poll() is None, "it begins")
                time.sleep(0.05)
            process.send_signal(ending)
            # All that runs there holds its end of the pipe.
            process.communicate(timeout=60)
            check(process.returncode in (status, -ending), "how it ended", process.returncode)
            left = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if is_sleep(path)]
            check(not left, "it left", left)
            (place / "begun").unlink()


def is_sleep(path):
    with contextlib.suppress(OSError):
        return path.read_bytes() == b"sleep\0987653\0"
    return False


def unread_variables_are_refused():
    """At once, with the nearest right name; what make and compilers know by custom is taken, and an outer
    make's variables are its own."""
    for given, near in (("RANK=8", "RANKS"), ("ranks=8", "RANKS"), ("SHAP=2x2x2", "SHAPE"), (f"T3_{'BULID'}=x", "T3_BUILD"),
                        ("KERNL=7.3", "KERNEL"), ("GDB_COMMAND=x", "GDB_COMMANDS"), ("FOO=", "")):
        name = given.partition("=")[0]
        for goal in ("run", "try", "help"):
            result = run("make", "-s", goal, given)
            expect(result, 2, f"nothing here reads the variable '{name}'" +
                   (f"; did you mean {near}\\?" if near else "\\?") + " `make help` lists")
            check(len(sentences(result)) == 1 and not result[1], "one sentence", result)
    expect(run("make", "-n", "help", "x';y;'=1"), 2, "nothing here reads the variable")
    for given in ("V=1", "CC=gcc", "CFLAGS=-O1", "LDFLAGS=-s", "RANKS=8", "CMD=t3 list", "T3_JOBS=1", "T3_WIDE=2x4",
                  "DESTDIR=/x", "VM_OPTIONS=--iommu"):
        expect(run("make", "-n", "help", given), 0)
    expect(run("make", "-n", "help", "OUTER=1", env={"MAKELEVEL": "1"}), 0)


# A script of the build that notes its call, and whether make has the folder's lock then.
NOTES = r"""#!/bin/sh
flock -n .build/.lock true && lock=free || lock=held
echo "$(basename "$0") $* $lock" >>calls
[ "$(basename "$0")" != "$FAILS" ] || exit 3
[ "$(basename "$0")" != "$WAITS" ] || { echo waits; exec sleep 600; }
"""


@contextlib.contextmanager
def tree_of_notes():
    """A tree in which make's scripts do nothing."""
    with folder() as place:
        for name in ("tools/build", "tools/packaging", "tools/vm"):
            (place / name).mkdir(parents=True)
        for name in ("Makefile", "tools/packaging/VERSION", "tools/build/make.py", "tools/build/options.py"):
            shutil.copy(ROOT / name, place / name)
        shutil.copytree(ROOT / "libt3", place / "libt3")
        for name in ("build/deps.sh", "build/qemu.sh", "build/kernel.sh", "build/module.sh", "build/native.sh",
                     "build/initramfs.sh", "build/check.py", "vm/t3-vm"):
            (place / "tools" / name).write_text(NOTES)
            (place / "tools" / name).chmod(0o755)
        yield place


def calls_of(place, *arguments, status=0, **env):
    """What make calls there: [(script and arguments, lock)]."""
    result = run("env", "-C", place, "make", *arguments, env={"T3_BUILD": ".build", "T3_GUEST": "", "T3_KERNEL": "", **env})
    expect(result, status)
    lines = (place / "calls").read_text().splitlines()
    (place / "calls").unlink()
    return [tuple(line.rsplit(" ", 1)) for line in lines], result


def steps_come_in_order():
    """Each one after all that it needs, once, under the lock; what runs then is not. Goals follow each other."""
    needs = [("deps.sh run", "kernel.sh "), ("kernel.sh fetch", "kernel.sh "), ("kernel.sh ", "module.sh "),
             ("qemu.sh fetch", "qemu.sh "), ("deps.sh run", "native.sh native lib tools/t3/t3")]
    with tree_of_notes() as place:
        found, _ = calls_of(place, "run", "RANKS=8")
        names = [name for name, _ in found]
        check(all(names.index(one) < names.index(other) for one, other in needs), "the order", found)
        check(len(set(names)) == len(names) == 10 and names[-2].startswith("initramfs.sh image"), "each once", found)
        check(re.match("t3-vm run --ranks 8 .*/initramfs.img .* t3 gemm-rs --timed --ranks 8 ", names[-1]), "the run", found)
        check([lock for _, lock in found] == ["held"] * 9 + ["free"], "the lock", found)
        found, _ = calls_of(place, "-j4", "module", "spec", "qemu")
        goals = [name for name, _ in found if name in ("module.sh ", "native.sh sanitized spec-tests", "check.py spec", "qemu.sh ")]
        check(goals == ["module.sh ", "native.sh sanitized spec-tests", "check.py spec", "qemu.sh "], "goals", found)


def a_failure_ends_make():
    """Nothing that needs the step follows, and nothing runs. An unknown goal is refused."""
    with tree_of_notes() as place:
        found, _ = calls_of(place, "run", status=2, FAILS="module.sh")
        check(not any(name.startswith(("initramfs.sh image", "t3-vm")) for name, _ in found), "what followed", found)
        found, _ = calls_of(place, "spec", "run", status=2, FAILS="check.py")
        check(found[-1] == ("check.py spec", "free"), "a goal followed", found)
        found, result = calls_of(place, "-k", "spec", "run", status=2, FAILS="check.py")
        check(found[-1][0].startswith("t3-vm run"), "no goal followed with -k", found)
        expect(result, 2, "^t3: make spec has failed, and -k goes on$")
        for goal in ("nothing", "../x", ".build/../x", "Makefile"):
            result = run("env", "-C", place, "make", goal, env={"T3_BUILD": ".build"})
            expect(result, 2, f"^t3: there is no target '{goal}': `make help` lists them$")
            check(len(sentences(result)) == 1 and not (place / "calls").exists(), "one sentence", result)


def shells_complete_the_targets():
    """By make's own list, as bash-completion asks for it: those of `make help`."""
    text = run("make", "--no-print-directory", "-npq", ".DEFAULT")[1]
    known = set(re.findall(r"\n\n([a-z0-9-]+): targets\n", text))
    told = set(re.findall(r"^make ([a-z0-9-]+)", run("make", "-s", "help")[1], re.M))
    check(known == told, "in the Makefile or in help alone", known ^ told)


def an_interrupt_ends_make():
    """By Ctrl-C, which all processes of a terminal get, or by a signal to make alone. The lock is free then."""
    with tree_of_notes() as place:
        for number, end in ((signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill)):
            env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS", "T3_"))}
            with subprocess.Popen(["make", "run"], cwd=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  start_new_session=True, env={**env, "WAITS": "module.sh"}, preexec_fn=lambda: signal.signal(
                                      signal.SIGINT, signal.SIG_DFL)) as make:
                check(make.stdout.readline() == "waits\n", "it begins")
                end(make.pid, number)
                make.stderr.read()
                check(make.wait(loop.SECONDS) != 0, "status", make.returncode)
            text = (place / "calls").read_text()
            check("module.sh" in text and "initramfs.sh image" not in text and "t3-vm" not in text, "what followed", text)
            (place / "calls").unlink()
            expect(run("flock", "-n", place / ".build/.lock", "true"), 0)


# --- tests/new ---------------------------------------------------------------

SENTENCE = "an example of a test fails"
LAST = re.compile(r"^.*this test is not written yet.*last line to remove.*\n", re.M)


@contextlib.contextmanager
def tree_with_new_test(kind, name):
    """A copy of the tree, with what is built, in which tests/new has written that test: (tree, file)."""
    with folder() as place:
        copied_tree(place)
        shutil.copytree(BUILD / "native", place / ".build/native", symlinks=True)
        result = run(place / "tests/new", kind, name, SENTENCE)
        expect(result, 0, r"^tests/\S+ builds, and fails until it is filled in\. It is run by:$")
        yield place, place / result[1].split()[0]


def made_of(tree, product):
    expect(run("make", "--no-print-directory", "-C", tree, "T3_BUILD=.build", f"T3_CACHE={CACHE}", product), 0)
    return tree / product


def fails_until_it_is_filled_in(source, result_of):
    """The skeleton says so. Without its last line it passes, so the rest of it is right."""
    status, said, errors = result_of()
    check(status == 1 and "this test is not written yet" in said + errors, "a new test", (status, said, errors))
    text = source.read_text(encoding="utf-8")
    check(len(LAST.findall(text)) == 1, "a last line to remove", text)
    source.write_text(LAST.sub("", text), encoding="utf-8")
    expect(result_of(), 0, SENTENCE if source.suffix == ".c" else SENTENCE.replace(" ", "_"))


def new_unit_tests_fail():
    for name in ("core_example", "sim_example", "lib_example", "coll_example"):
        with tree_with_new_test("unit", name) as (tree, source):
            fails_until_it_is_filled_in(
                source, lambda tree=tree, name=name: run(made_of(tree, f".build/unit/test_{name}")))


def new_conformance_tests_fail():
    with tree_with_new_test("conformance", "09_example") as (tree, source):
        fails_until_it_is_filled_in(
            source, lambda: run(made_of(tree, ".build/conformance-native"), "--section", "9"))


def new_guest_tests_fail():
    with tree_with_new_test("guest", "example") as (tree, source):
        def result():
            made_of(tree, ".build/guest/test_example")
            return run("tools/vm/t3-vm", "run", "--name", "build-new", "--ranks", "4", "--share", tree, "--",
                       "/mnt/host/.build/native/tests/guest/test_example")
        fails_until_it_is_filled_in(source, result)


def new_python_tests_fail():
    python = "/usr/bin/python3"
    if run(python, "-c", "import cffi, numpy, pytest")[0]:
        raise Skip("cffi, NumPy or pytest is missing")
    expect(run("make", "-s", "python"), 0)
    env = {"LD_LIBRARY_PATH": str(BUILD), "PYTHONPATH": f"{BUILD}/python"}
    for name in ("native_example", "example"):
        with tree_with_new_test("python", name) as (tree, source):
            command = [python, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-c",
                       tree / "libt3/python/pyproject.toml", "--rootdir", tree / "tests/python", source]
            if name == "example":
                command = ["tools/vm/t3-vm", "run", "--name", "build-new", "--ranks", "4", "--root", "host", "--",
                           "env", f"PYTHONPATH={BUILD}/python", *command]
            fails_until_it_is_filled_in(source, lambda command=command: run(*command, env=env))


# (arguments, the reason)
WRONG_NEW = [([], "three arguments are wanted.*; got 0"), (["unit", "core_x"], "three arguments are wanted.*; got 2"),
             (["unity", "core_x", SENTENCE], "KIND is one of unit, conformance, guest, python; got 'unity'"),
             (["unit", "x", SENTENCE], "begins with what it tests: core_, sim_, lib_, coll_; got 'x'"),
             (["unit", "test_core_x", SENTENCE], "the part of the file's name after test_ or section_"),
             (["unit", "core_x.c", SENTENCE], "the part of the file's name"),
             (["guest", "X", SENTENCE], "small letters, digits and _; got 'X'"),
             (["guest", "../x", SENTENCE], "the part of the file's name"),
             (["guest", "ring", SENTENCE], "tests/guest/test_ring.c exists already"),
             (["conformance", "x", SENTENCE], "begins with the section of SPEC.md in two digits"),
             (["conformance", "99_x", SENTENCE], "begins with the section of SPEC.md in two digits"),
             *((["guest", "x", wrong], "is no sentence for a test") for wrong in (
                 "", "two words", "test of_faults here", "The record is skipped", "a  record is", "a record is skipped ",
                 'a quote" is there', "a # is there"))]


def new_tests_are_checked():
    for arguments, reason in WRONG_NEW:
        result = run("tests/new", *arguments)
        expect(result, 2, f"^tests/new: .*{reason}", "^tests/new --help says more$")
        check(not result[1], "nothing was written", result)
    expect(run("tests/new", "--help"), 0, "^usage: tests/new unit NAME ")


# (room, file, what is no sentence)
WRONG_SENTENCES = [("unit", "test_core_heap", "events_of_one time come"), ("conformance", "section_10_reset", "resets"),
                   ("guest", "test_bo", "A buffer of pages"), ("guest32", "test_core32", "it works")]


def tests_without_a_sentence_do_not_build():
    flags = run("pkg-config", "--cflags", "libdrm", "cmocka")[1].split()
    for room, name, text in WRONG_SENTENCES:
        with folder() as place:
            source = place / "wrong.c"
            right = (ROOT / f"tests/{room}/{name}.c").read_text(encoding="utf-8")
            command = ["cc", "-std=gnu11", "-fsyntax-only", source, *["-m32"] * (room == "guest32"),
                       *(f"-I{ROOT / path}" for path in ("tests/common", f"tests/{room}", f"tests/{room}/common", "uapi",
                                                         "libt3", "qemu-device/core")),
                       "-idirafter", "/usr/include/x86_64-linux-gnu", *flags]
            source.write_text(right, encoding="utf-8")
            expect(run(*command), 0)
            source.write_text(re.sub(r'TEST\("[^"]*"', f'TEST("{text}"', right, count=1), encoding="utf-8")
            expect(run(*command), 1, "error: static assertion failed: .*the name of a test must be a sentence")


TESTS = [unread_variables_are_refused, steps_come_in_order, a_failure_ends_make, shells_complete_the_targets, an_interrupt_ends_make, strange_paths, folders_on_bad_disks, folders_of_others, failures_are_explained, failures_show_their_log,
         fresh_releases, fresh_machine_is_apart, fresh_runs_end_clean,
         results_have_lines_of_their_own, changes_of_dev_are_noticed, a_run_in_which_dev_changes_fails, a_stopped_run_leaves_nothing,
         surroundings_change_nothing,
         suites_run_beside_each_other, make_waits, makes_at_once, another_entry_is_not_waited_for,
         stopped_build_goes_on, qemu_selector, arch_selector,
         arch_of_a_folder, foreign_packages, moved_kernel, moved_tree, programs_follow_their_tree,
         clones_share_a_cache, shell_takes_options, new_tests_are_checked, tests_without_a_sentence_do_not_build,
         new_unit_tests_fail, new_conformance_tests_fail, new_guest_tests_fail, new_python_tests_fail]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
