#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The series of `make series`, applied to its kernel's tree, built and checked; TAP on stdout.

usage: series_tree.py [NAME...]     (default: all tests)

The tree is a copy by hard links, in .build/series/tree. Only the files that the series changes are
under git there, and the licences, which checkpatch looks up. Builds have folders of their own
beside it, and are kept for the next time.
"""

import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

import loop
from loop import BUILD, ROOT, check

sys.path.insert(0, str(ROOT / "tools/series"))
import series  # pylint: disable=wrong-import-position
from series import DRIVER  # pylint: disable=wrong-import-position
from tree import PARENTS, with_driver  # pylint: disable=wrong-import-position

PLACE = BUILD / "series"
PATCHES = PLACE / "patches"
SOURCE = PLACE / "source"
TREE = PLACE / "tree"
FRAGMENT = ROOT / "tools/series/kernel.config"
ARM64 = ("ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-")
CLANG = ("CC=clang-19",)
UAPI = "include/uapi/drm/t3_accel.h"
JOBS = os.environ.get("T3_JOBS", "2")
SECONDS = 3600

# What the driver is built with, beyond the fragment.
MODULE = {"DRM_ACCEL_T3": "m", "DRM_ACCEL_T3_KUNIT_TEST": "y"}
BUILT_IN = {"DRM_ACCEL_T3": "y", "DRM_ACCEL_T3_KUNIT_TEST": "y"}
# To boot it in a VM, with a console.
BOOT = {**{name: "y" for name in ("HYPERVISOR_GUEST", "PVH", "ACPI", "TTY", "SERIAL_8250",
                                  "SERIAL_8250_CONSOLE")}, "VT": "n", "INPUT": "n"}
# All that it needs; the rest is left out.
BARE = {name: "y" for name in ("64BIT", "WERROR", "PCI", "DRM", "DRM_ACCEL", "DRM_ACCEL_T3")}


def call(*command, cwd=TREE, status=0, seconds=SECONDS):
    """Its output and errors, as one text."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=seconds, check=False,
                          env={**{key: value for key, value in os.environ.items()
                                  if not key.startswith(("MAKE", "MFLAGS", "T3_"))},
                               "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})
    check(done.returncode == status, f"{command[0]}: status {done.returncode}",
          done.stdout[-6000:])
    return done.stdout


# --- the tree ----------------------------------------------------------------

def git(*words):
    """Without the user's settings; none of its commits are kept."""
    return call("env", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "git", "-c",
                "user.name=T3", "-c", "user.email=t3@localhost", *words)


def identity():
    """Of the tree that the series was made for: its place, its commit if it has one, its files."""
    source = SOURCE.resolve()
    files = hashlib.sha256(b"".join((source / name).read_bytes() for name in PARENTS)).hexdigest()
    commit = call("git", "-C", source, "rev-parse", "HEAD", cwd=PLACE) \
        if (source / ".git").exists() else ""
    return f"{source}\n{files}\n{commit}"


def copy_tree():
    """The kernel's sources, once for each tree; git's own folder is not among them."""
    marker = PLACE / "tree.of"
    if marker.exists() and marker.read_text() == identity():
        git("checkout", "-q", "-f", "base")
        git("clean", "-qfdx", DRIVER, "Documentation/accel/t3")
        return
    marker.unlink(missing_ok=True)
    shutil.rmtree(TREE, ignore_errors=True)
    if (SOURCE / ".git").exists():
        TREE.mkdir(parents=True)
        call("sh", "-c", 'git -C "$1" archive HEAD | tar -x', "sh", SOURCE.resolve())
    else:
        call("cp", "-al", SOURCE.resolve(), TREE, cwd=PLACE)
    git("init", "-q", "-b", "series")
    git("add", "-f", *PARENTS, "LICENSES")
    git("commit", "-q", "-m", "base")
    git("tag", "base")
    marker.write_text(identity())


@functools.cache
def steps():
    """The table's steps, each with its commit, after all patches have been applied."""
    copy_tree()
    git("checkout", "-q", "-B", "series", "base")
    table = series.read_table()["step"]
    patches = sorted(PATCHES.glob("*.patch"))[1:]
    check(len(patches) == len(table), f"{len(patches)} patches, {len(table)} steps")
    git("am", "-q", *patches)
    commits = git("rev-list", "--reverse", "base..series").split()
    check(len(commits) == len(table), f"{len(commits)} commits")
    return [(step, commit, patch) for step, commit, patch in zip(table, commits, patches)]


def at_end():
    git("checkout", "-q", "-f", steps()[-1][1])


# --- builds ------------------------------------------------------------------

def kernel_make(name, *words):
    """LOCALVERSION keeps git's state out of the kernel's version, and so from being compiled."""
    return call("make", "-s", f"-j{JOBS}", f"O={PLACE / name}", "LOCALVERSION=", *words)


def fragment_lines():
    return dict(re.findall(r"^CONFIG_(\w+)=(.*)$", FRAGMENT.read_text(), re.M))


def configure(name, lines, *words):
    """tinyconfig and these lines; each of them must be taken."""
    out = PLACE / name
    out.mkdir(parents=True, exist_ok=True)
    fragment = out / "series.config"
    fragment.write_text("".join(f"CONFIG_{key}={value}\n" for key, value in lines.items()))
    kernel_make(name, *words, "tinyconfig")
    call("scripts/kconfig/merge_config.sh", "-m", "-O", out, out / ".config", fragment)
    kernel_make(name, *words, "olddefconfig")
    taken = dict(re.findall(r"^CONFIG_(\w+)=(.*)$", (out / ".config").read_text(), re.M))
    refused = [f"CONFIG_{key}={value}" for key, value in lines.items() if taken.get(key, "n") != value]
    check(not refused, f"the configuration of {name} did not take", refused)


def build(name, *words, goals=(f"{DRIVER}/",)):
    """Strictly; whatever is said is a finding."""
    said = kernel_make(name, *words, "W=1", *goals)
    check(not said.strip(), f"{name}: {' '.join(goals)} says", said[-6000:])


def reach_driver():
    """Before the patch that adds them, the parent's lines are added for the compiler alone."""
    files = {name: (TREE / name).read_text() for name in PARENTS}
    if "accel/t3/Kconfig" not in files["drivers/accel/Kconfig"]:
        for name, text in with_driver(files).items():
            if text != files[name]:
                (TREE / name).unlink()
                (TREE / name).write_text(text)


def objects_of(step):
    return [pathlib.Path(file).with_suffix(".o").name for file in step["files"]
            if re.fullmatch(r"driver/\w+\.c", file)]


# --- tests -------------------------------------------------------------------

def series_applies():
    """By git am, on a tree as its users have it."""
    check(len(steps()) > 1, "no steps")
    changed = set(git("diff", "--name-only", "base", "series").split())
    table = {series.place_of(file) for step, _, _ in steps() for file in step["files"]}
    check(table <= changed, "not in the tree", table - changed)


def interface_compiles_for_users():
    """As `make headers` exports it, alone, with the first patch."""
    git("checkout", "-q", "-f", steps()[0][1])
    kernel_make("steps", "headers")
    include = PLACE / "steps/usr/include"
    for language, std in (("c", "c11"), ("c++", "c++17")):
        call("gcc", "-x", language, f"-std={std}", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
             f"-I{include}", include / "drm/t3_accel.h")


def check_objects(step, linked):
    """What the step adds is compiled. From the PCI driver on, nothing of it is missing."""
    out = PLACE / "steps" / DRIVER
    built = {path.name for path in out.glob("t3_*.o")}
    check(set(objects_of(step)) <= built, f"{step['name']}: not built",
          set(objects_of(step)) - built)
    undefined = re.findall(r"^ *U (\S+)$", call("nm", "-u", out / "t3.o"), re.M)
    missing = [name for name in undefined if re.search(r"(^|_)t3_", name)]
    check(not linked or (undefined and not missing), f"{step['name']}: t3.o lacks", missing)


def each_step_builds():
    """Each patch compiles all objects that the driver's Makefile lists then, without a word."""
    names, known, listed = [step["name"] for step, _, _ in steps()], None, 0
    for number, (step, commit, _) in enumerate(steps()):
        git("checkout", "-q", "-f", commit)
        if not (TREE / DRIVER / "Kconfig").exists():
            continue
        reach_driver()
        text = (TREE / DRIVER / "Kconfig").read_text()
        if text != known:
            configure("steps", {**fragment_lines(), **{key: value for key, value in MODULE.items()
                                                       if f"config {key}\n" in text}})
        known = text
        build("steps")
        check_objects(step, number >= names.index("driver"))
        listed += len(objects_of(step))
    check(listed > 0, "no objects")


def kernel_links():
    """The driver built in: all symbols are the kernel's own."""
    at_end()
    configure("x86", {**fragment_lines(), **BOOT, **BUILT_IN})
    kernel_make("x86", "vmlinux")
    symbols = call("nm", PLACE / "x86/vmlinux")
    check(re.search(r" t3_probe$", symbols, re.M), "vmlinux is without the driver")


def kunit_passes_at_boot():
    """That kernel, in a VM with two devices: it binds to them, and its KUnit tests pass."""
    qemu = BUILD / "qemu/qemu-system-x86_64"
    log = call(qemu, "-machine", "q35", "-accel", "tcg", "-cpu", "max", "-m", "1G", "-smp", "2",
               "-nodefaults", "-no-reboot", "-display", "none", "-chardev",
               "stdio,id=console", "-device", "isa-serial,chardev=console",
               "-object", "t3-fabric,id=f0,ranks=2", "-device", "t3,fabric=f0,rank=0",
               "-device", "t3,fabric=f0,rank=1", "-kernel", PLACE / "x86/vmlinux", "-append",
               "console=ttyS0 panic=-1 kunit.filter_glob=t3_*", cwd=PLACE, seconds=600)
    check(len(re.findall(r"Initialized t3 .* for ", log)) == 2, "not bound", log[-6000:])
    suites = re.findall(r'^\t\.name = "(t3_\w+)",$',
                        "".join(path.read_text() for path in
                                (TREE / DRIVER / "tests").glob("*.c")), re.M)
    passed = re.findall(r"^(?:\[.*\] )?ok \d+ (t3_\w+)\r?$", log, re.M)
    check(suites and sorted(passed) == sorted(suites), "passed", passed + [log[-6000:]])
    check(not re.search(r"not ok|WARNING: |BUG: |Oops", log), "trouble", log[-6000:])
    totals = re.findall(r"# Totals: pass:(\d+) fail:(\d+) skip:(\d+)", log)
    print("#", ", ".join(f"{sum(int(one[column]) for one in totals)} {name}" for column, name in
                         enumerate(("passed", "failed", "skipped"))), "in KUnit", flush=True)


def bare_kernel_builds():
    """Without what it can do without."""
    at_end()
    configure("bare", BARE)
    build("bare")
    check((PLACE / "bare" / DRIVER / "built-in.a").exists(), "not built")


def arm64_builds():
    at_end()
    for options in (MODULE, BUILT_IN):
        configure("arm64", {**fragment_lines(), **options}, *ARM64)
        build("arm64", *ARM64)


def clang_builds():
    at_end()
    configure("clang", {**fragment_lines(), **MODULE}, *CLANG)
    build("clang", *CLANG)


def sparse_is_silent():
    """On all files of the driver; what it says of the kernel's own headers is not counted."""
    at_end()
    configure("steps", {**fragment_lines(), **MODULE})
    said = kernel_make("steps", "C=2", "CF=-D__CHECK_ENDIAN__", f"{DRIVER}/")
    found = [line for line in said.splitlines() if re.match(rf"\S*({DRIVER}|{UAPI})", line)]
    check(not found, "sparse says", "\n".join(found))


def checkpatch_is_silent():
    """Strictly, each patch. A Signed-off-by is the submitter's. That MAINTAINERS covers new files
    is tested by tests/series.py: checkpatch only asks."""
    at_end()
    for step, _, patch in steps():
        ignored = ["MISSING_SIGN_OFF", "FILE_PATH_CHANGES", *step.get("ignore", [])]
        reasons = ["the submitter signs off", "tests/series.py tests MAINTAINERS"]
        reasons += [step["why"]] if "why" in step else []
        print(f"# {patch.name}: --ignore {','.join(ignored)} ({'; '.join(reasons)})", flush=True)
        call("perl", "scripts/checkpatch.pl", "--strict", "--terse", "--show-types", "--no-summary",
             "--quiet", "--max-line-length=100", "--ignore", ",".join(ignored), patch)


def kernel_doc_is_silent():
    at_end()
    files = sorted((TREE / DRIVER).rglob("*.[ch]"))
    check(len(files) > 1, "no files")
    said = call("scripts/kernel-doc", "-none", "-Wall", "-Werror", TREE / UAPI, *files)
    check(not said.strip(), "kernel-doc says", said)


def abi_text_is_read():
    """The kernel's tool finds each attribute in it, and complains about none."""
    at_end()
    tool = next((TREE / name for name in ("tools/docs/get_abi.py", "scripts/get_abi.py")
                 if (TREE / name).exists()), None)
    check(tool, "the tree has no get_abi.py")
    said = call("python3", tool, "validate")
    check("sysfs-driver-t3" not in said, "get_abi.py says", said)
    found = call("python3", tool, "search", "devices/<BDF>/(fabric_id|memory_size)")
    check(re.search("fabric_id", found) and re.search("memory_size", found), "not found", found)


def pages_are_silent():
    """Sphinx builds the pages of all accelerators; none of its messages is about ours."""
    at_end()
    out = PLACE / "pages"
    shutil.rmtree(out, ignore_errors=True)
    said = call("make", f"O={out}", "SPHINXDIRS=accel", "htmldocs")
    found = [line for line in said.splitlines() if re.search(r"\bt3\b|t3_|sysfs-driver-t3", line)
             and re.search(r"WARNING|ERROR|warning:|error:", line)]
    check(not found, "htmldocs says", "\n".join(found))
    for name in ("index", "uapi", "admin"):
        pages = list(out.rglob(f"t3/{name}.html"))
        check(pages, f"no page {name}", said[-3000:])
        if name == "uapi":
            check("drm_t3_segment_map" in pages[0].read_text(), "the interface is not in its page")


def maintainers_lists_what_is_there():
    at_end()
    entry = re.search(r"^DRM ACCEL DRIVER FOR T3.*?\n\n", (TREE / "MAINTAINERS").read_text(),
                      re.M | re.S)
    check(entry, "no entry")
    patterns = re.findall(r"^F:\t(.*)$", entry[0], re.M)
    check(patterns == sorted(patterns) and len(patterns) > 1, "patterns", patterns)
    for pattern in patterns:
        check((TREE / pattern).exists(), f"{pattern} is not there")


TESTS = [series_applies, maintainers_lists_what_is_there, interface_compiles_for_users,
         each_step_builds, sparse_is_silent, bare_kernel_builds, arm64_builds, clang_builds,
         checkpatch_is_silent, kernel_doc_is_silent, abi_text_is_read, pages_are_silent,
         kernel_links, kunit_passes_at_boot]


if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
