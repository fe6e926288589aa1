#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs of tests/guest in VMs, one of the suites' boots; TAP on stdout.

usage: suite.py NAME                  one boot of those below, or guest-PROGRAM
       suite.py --list VM-OPTIONS     a line for each boot: NAME SUITE

Programs of the guest suite with the same VM options (tests/guest/vm-options) share a boot.
"""

import collections
import functools
import pathlib
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tap import (BUILD, FAIL, IS_ARM64, LOGS, PASS, PROGRAM_SECONDS, ROOT,  # noqa: E402
                 SKIP, Result, execute, report, run_suite, slowness, tap_results)
from vm import VM_SECONDS, guest_batch, record_of, record_results, vm_result  # noqa: E402

OPTIONS = ROOT / "tests/guest/vm-options"
USUAL = "--ranks 4"
# Programs of DMA, interrupts and coming and going run with the IOMMU on, too.
IOMMU = ["test_abi_table", "test_dma", "test_eventfd", "test_fuzz", "test_host_bo",
         "test_jobs", "test_removal", "test_timed_command", "test_timed_faults",
         "test_unbind", "test_zz_unload"]
# A root of the host makes these different: its libraries, processes, files and terminals, accounts.
HOST_ROOT = ["test_query", "test_check", "test_isolation", "test_libt3", "test_zz_unload"]
# By QEMU's ordinary ways, which other accelerators have: for stores, and for the fabric's events.
STORES = ["test_store", "test_producer", "test_remote", "test_tile", "test_vcpus", "test_wide"]
ORDINARY = "--ranks 4 --device-opts direct-stores=off --fabric-opts iothread="
# Of each part of the driver's interface with the kernel a program that takes few seconds: files,
# buffers, mappings, jobs on the scheduler, syncobjs, usage, dumps, the module itself.
NEWEST = ["test_query", "test_bo", "test_mmap", "test_jobs", "test_syncobj", "test_fdinfo",
          "test_recover", "test_zz_unload"]
NEWEST_JOB = "t3 gemm-rs --ranks 2 --shape 64x64x64 --iters 2"
NEWEST_VM = "--ranks 2 --device-opts guest-inject=on --append iomem=relaxed"
NOT_FETCHED = (77, 100)  # kernel.sh: the mirror has none; apt: it cannot be fetched


def guest_options():
    """tests/guest/vm-options: lines of `PROGRAM: t3-vm options`, # for comments."""
    options = {}
    for line in OPTIONS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            program, _, text = line.partition(":")
            options[program.strip()] = text.strip()
    return options


def programs():
    sources = (ROOT / "tests").glob("guest/test_*.c" if IS_ARM64 else "guest*/test_*.c")
    return sorted(path.stem for path in sources)  # test_zz_*: last


def vm_options(options, wanted):
    """A debug kernel's module tests itself at its load, which one boot looks at."""
    options = shlex.split(options)
    if slowness() == 1 or "test_kunit" in wanted:
        return options
    place = options.index("--append") if "--append" in options else len(options)
    arguments = [*options[place + 1:place + 2], "kunit.enable=0"]
    return [*options[:place], "--append", " ".join(arguments), *options[place + 2:]]


def boot(suite, options, wanted, name, jobs=(), env=None):
    """In one boot jobs, which only have a status, and programs; and its kernel log."""
    commands = [*jobs, *wanted]
    status, batch = guest_batch(name, vm_options(options, wanted), commands, PROGRAM_SECONDS, env)
    for index, ran in enumerate(batch):
        prefix = f"{suite}/{commands[index]}"
        ended = -1 if ran.status is None else ran.status
        report(tap_results(prefix, ran.text, ended, ran.log) if index >= len(jobs)
               else [Result(prefix, FAIL if ended else PASS, ran.log)])
    report([vm_result(name, status, batch[0].log)])


def followed_boot(suite, options, wanted, name):
    """What the VM's first fabric did replays without the VM, and the models follow it."""
    boot(suite, f"{options} --fabric-opts record={record_of(name)}", wanted, name)
    record_results(name, all_did=False)


def skipped_clients(name):
    """Programs of tests/guest32, one by one: there is no compiler for them."""
    log = LOGS / f"{name}.log"
    log.write_text("skipped: clients of 32 bits are i386's, and the guest is arm64\n")
    report([Result(f"guest/{path.stem}", SKIP, log) for path in sorted((ROOT / "tests/guest32").glob("test_*.c"))])


def newest_built(env):
    """(verdict, log) of fetching the newest kernel and building the module for it."""
    status, log = execute("newest-fetch", [ROOT / "tools/build/kernel.sh", "fetch"], env=env)
    if status in NOT_FETCHED:
        return SKIP, log
    if status == 0:
        status, log = execute("newest-build", ["make", "--no-print-directory", "-j2", "tests-image",
                                               "KERNEL=newest"], VM_SECONDS, env)
    return PASS if status == 0 else FAIL, log


def newest(name):
    """A few programs and the main job on the newest kernel of all that the mirror offers."""
    guest = BUILD / "linux-newest"
    env = {"T3_KERNEL": "newest", "T3_GUEST": str(guest), "MAKEFLAGS": ""}
    guest.mkdir(parents=True, exist_ok=True)
    verdict, log = newest_built(env)
    report([Result("newest/module", verdict, log)])
    if verdict == PASS:
        boot("newest", NEWEST_VM, NEWEST, name, [NEWEST_JOB], env)
    elif verdict == SKIP:
        print(*(f"# {line}" for line in log.read_text(errors="replace").splitlines()), sep="\n")


def boots():
    """{name: (suite, function that takes the name)}"""
    by_options, special = collections.defaultdict(list), guest_options()
    for program in programs():
        by_options[special.get(program, USUAL)].append(program)
    found = {}
    for number, (options, wanted) in enumerate(by_options.items()):
        for suite, function in (("guest", boot), ("guest-followed", followed_boot)):
            found[f"{suite}-{number}"] = suite, functools.partial(
                function, "guest-iommu" if suite == "guest" and "--iommu" in options else suite, options, wanted)
    if IS_ARM64:
        found["guest32"] = "guest", skipped_clients
    found["guest-iommu"] = "guest-iommu", functools.partial(followed_boot, "guest-iommu", "--ranks 4 --iommu", IOMMU)
    found["guest-ordinary"] = "guest-ordinary", functools.partial(boot, "guest-ordinary", ORDINARY, STORES)
    found["guest-root"] = "guest-root", functools.partial(boot, "guest-root", "--ranks 4 --root host", HOST_ROOT)
    for cpus in (1, 4):  # the usual number is 2
        name = f"guest-vcpus-{cpus}"
        found[name] = "guest-vcpus", functools.partial(boot, name, f"--ranks 4 --cpus {cpus}", STORES)
    found["newest"] = "newest", newest
    for program in programs():
        options = special.get(program, USUAL)
        found[f"guest-{program}"] = "guest-alone", functools.partial(
            boot, "guest-iommu" if "--iommu" in options else "guest", options, [program])
    return found


def main():
    known = boots()
    if sys.argv[1:2] == ["--list"]:
        print(*(f"{name} {suite}" for name, (suite, _) in known.items()), sep="\n")
        return 0
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        print(__doc__, file=sys.stderr)
        return 2
    name = sys.argv[1]
    run_suite(name, functools.partial(known[name][1], name=name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
