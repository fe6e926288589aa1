#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Break the product on purpose, one place at a time, and see the tests fail. These are places that
native tests do not reach: driver, tools, what QEMU, Open MPI and Python call. Of the core and libt3
mutate.py generates mutants.

usage: mutants.py [NAME...]     (default: all; --list names them, --check only sees
                                 that each still has its place in the tree)

Those of the suite debug:PROGRAM are for one guest program under the debug kernel, which
is built first if it has to be.

Each mutant is one edit in a copy of the tree; the working tree is not touched.
The unedited copy must pass first. Ends in one line "N passed, N failed": passed
is a mutant that a test caught, by a failing test and not by a failing build.
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
CACHE = pathlib.Path(os.environ.get("T3_CACHE", ROOT / ".cache"))
COPY = BUILD / "mutants"
SECONDS = 900
KERNEL_SECONDS = 3600
# With a QEMU of its own, for the files of the device outside the core.
OWN = {"T3_BUILD": str(COPY / ".build/own")}
DEBUG = {"T3_BUILD": str(COPY / ".build/debug"), "T3_KERNEL": "kernel-debug"}

Mutant = collections.namedtuple("Mutant", "name suite file old new")

MUTANTS = [
    Mutant("python-array", "python", "libt3/python/t3/buffer.py",
           "    handle.retain()\n    # At the", "    # At the"),
    Mutant("python-int32", "python", "libt3/python/t3/dtypes.py",
           "NAMES.get(name, Dtype.__members__.get(name.upper()))",
           "NAMES.get(name) or Dtype.__members__.get(name.upper())"),
    Mutant("python-slice", "python", "libt3/python/t3/_waits.py", "part = min(end, ",
           "part = max(end, "),
    Mutant("python-first-rank", "python", "libt3/python/t3/errors.py", "causes[-1]", "causes[0]"),
    Mutant("key-user-limit", "guest:test_key", "driver/t3_key.c",
           "	ret = t3_key_may_ask(debt);\n	if (ret)\n		return ret;\n",
           "	t3_key_may_ask(debt);\n"),
    Mutant("key-user-namespace", "guest:test_key", "driver/t3_user.c",
           "		payer = t3_user_ns_payer(ns, payer);\n", "		t3_user_ns_payer(ns, payer);\n"),
    Mutant("key-root-namespace", "guest:test_key", "driver/t3_user.c",
           "uid_eq(root, GLOBAL_ROOT_UID) ? root : payer;",
           "uid_eq(root, GLOBAL_ROOT_UID) ? payer : payer;"),
    Mutant("read-for-others", "qtest", "qemu-device/fabric/events.c",
           "	if (!waits)\n", "	if (fabric)\n"),
    Mutant("tile-behind-the-end", "guest:test_tile", "driver/t3_tile.c",
           "cmd->tile >= from && ", "(cmd->tile >= from || *tiles) && "),
    Mutant("dma-stale", "qtest", "qemu-device/pci/dma.c",
           "	drop_pages(s);\n	if (fabric)\n		t3_fabric_leave", "	if (fabric)\n		t3_fabric_leave"),
    Mutant("lock-turns", "qtest", "qemu-device/sync/lock.h",
           "t3_lock_awaited(lock) || ", ""),
    Mutant("write-one-clear", "spec", "qemu-device/core/front/regs.c",
           ">pending[index] &= ~(uint32_t)value;", ">pending[index] = (uint32_t)value;"),
    Mutant("manual-reset-value", "spec", "qemu-device/SPEC.md",
           "| 0x024 | MAX_SEGMENTS | 4 | RO | | 4096 |",
           "| 0x024 | MAX_SEGMENTS | 4 | RO | | 4097 |"),
    Mutant("driver-grant-rights", "guest:test_segment", "driver/t3_segment.c",
           "	if (!(grant->segment_mask & BIT_ULL(args->target_segment)))\n",
           "	if (!grant->segment_mask)\n"),
    Mutant("driver-event-writable", "guest:test_mmap", "driver/t3_map.c",
           "vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);",
           "vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);"),
    Mutant("driver-get-unique", "guest:test_core_ioctls", "driver/t3_fops.c",
           "	case DRM_IOCTL_NR(DRM_IOCTL_GET_UNIQUE):\n", ""),
    Mutant("driver-pad2", "guest:test_abi_table", "driver/t3_route.c",
           "	T3_ZERO(drm_t3_grant_import, pad2),\n", ""),
    Mutant("driver-compat", "guest:test_compat32", "driver/t3_fops.c",
           "compat_ptr(arg), drm_compat_ioctl);", "compat_ptr(arg), drm_ioctl);"),
    Mutant("driver-ioctl-type", "guest:test_core_ioctls", "driver/t3_fops.c",
           "DRM_IOCTL_TYPE(cmd) != DRM_IOCTL_BASE", "!DRM_IOCTL_TYPE(cmd)"),
    Mutant("driver-early-handle", "guest:test_abi_table", "driver/t3_space_ioctl.c",
           "	space = t3_space_alloc(file, bo, args->max_tiles);\n",
           "	args->space = handle;\n	space = t3_space_alloc(file, bo, args->max_tiles);\n"),
    Mutant("driver-bind-once", "guest:test_grant", "driver/t3_route.c",
           "	if (grant->bound)\n", "	if (!grant)\n"),
    Mutant("driver-gemm-reads", "guest:test_gemm", "driver/t3_job_bo.c",
           "		if (bo && i % T3_STEP_BOS)\n", "		if (bo && i % T3_STEP_BOS > 1)\n"),
    Mutant("driver-gemm-b-reads", "guest:test_gemm", "driver/t3_job_bo.c",
           "		if (bo && i % T3_STEP_BOS)\n", "		if (bo && i % T3_STEP_BOS == 1)\n"),
    Mutant("driver-gemm-b-rows", "guest:test_gemm", "driver/t3_gemm.c",
           "T3_OPERAND(drm_t3_gemm, b, b, depth, columns,", "T3_OPERAND(drm_t3_gemm, b, b, raster_rows, columns,"),
    Mutant("driver-gemm-generation", "guest:test_gemm", "driver/t3_gemm.c",
           "	command->generation = space->generation;", "	command->generation = 1;"),
    Mutant("driver-timed-overlap", "guest:test_timed_command", "driver/t3_timed.c",
           "	return command->src.bo == command->dst.bo &&", "	return command->src.bo != command->dst.bo &&"),
    Mutant("driver-timed-page", "guest:test_timed_command", "driver/t3_timed.c",
           " ||\n	    (host && user->offset % T3_PAGE_SIZE + bytes > T3_PAGE_SIZE))", ")"),
    Mutant("driver-timed-memory", "guest:test_timed_command", "driver/t3_timed.c",
           "sizeof(struct t3_timed_result), T3_PLACE_HOST)",
           "sizeof(struct t3_timed_result), T3_PLACE_ANY)"),
    Mutant("driver-timed-counts", "guest:test_timed_experts", "driver/t3_timed.c",
           "	rules[0].bytes = t3_timed_args_bytes(command);\n", ""),
    Mutant("driver-timed-gang", "guest:test_timed_faults", "driver/t3_step.c",
           "		return -ECANCELED;\n", "		return -EIO;\n"),
    Mutant("driver-timed-repeat", "guest:test_timed_faults", "driver/t3_step.c",
           "d->opcode == T3_DESC_FILL || d->opcode == T3_DESC_TIMED", "d->opcode == T3_DESC_FILL"),
    Mutant("driver-leak", "debug:test_bounce", "driver/t3_bo_host.c",
           "err_table:\n	sg_free_table(sgt);\n", "err_table:\n"),
    Mutant("driver-fault-ungated", "debug:test_removal", "driver/t3_map.c",
           "	if (t3_access_enter(tdev))\n		return ret;\n"
           "	/* Under the lock, so that t3_map_revoke() unmaps what is inserted here. */\n"
           "	mutex_lock(&map->lock);\n	if (!map->revoked)\n"
           "		ret = t3_map_insert(vmf, obj, PHYS_PFN(map->address));\n"
           "	mutex_unlock(&map->lock);\n	t3_access_exit(tdev);\n",
           "	(void)tdev;\n	mutex_lock(&map->lock);\n	if (!map->revoked)\n"
           "		ret = t3_map_insert(vmf, obj, PHYS_PFN(map->address));\n"
           "	mutex_unlock(&map->lock);\n"),
    Mutant("driver-unlock", "debug:test_grant", "driver/t3_route.c",
           "	ret = t3_release_locked(space, args);\n"
           "	mutex_unlock(&t3_topology_lock);\n",
           "	ret = t3_release_locked(space, args);\n"
           "	if (!ret)\n		mutex_unlock(&t3_topology_lock);\n"),
    Mutant("driver-never-repeat", "guest:test_recover", "driver/t3_restart.c",
           "	if (!begun || t3_step_repeatable(", "	if (!begun && t3_step_repeatable("),
    Mutant("driver-always-repeat", "guest:test_recover", "driver/t3_restart.c",
           "		return 0;\n	return -ECANCELED;", "		return 0;\n	return 0;"),
    Mutant("driver-slots-kept", "guest:test_recover", "driver/t3_reset.c",
           "	t3_slots_mark_lost(tdev);\n	t3_queues_rebuild(", "	t3_queues_rebuild("),
    Mutant("driver-submit-silent", "guest:test_syncobj", "driver/t3_submit.c",
           "		t3_syncobj_notify(submit->outs[i].syncobj);\n", "		;\n"),
    Mutant("driver-transfer-flags", "guest:test_syncobj", "driver/t3_syncobj.c",
           "	T3_BITS(drm_syncobj_transfer, flags, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,\n",
           "	T3_BITS(drm_syncobj_transfer, flags, ~0u,\n"),
    Mutant("driver-refusal-thread", "guest:test_refusal", "driver/t3_refuse.c",
           "record->tid == task_pid_nr(current)", "record->tid"),
    Mutant("driver-refusal-index", "guest:test_refusal", "driver/t3_refuse.c",
           "index != ~0u ? index : record->index;", "record->index;"),
    Mutant("root-read-only", "root", "tools/vm/vm_root.py", '",readonly=on"', '""'),
    Mutant("root-absolute-link", "root", "tools/vm/vm_userland.py",
           'target.startswith("/")', 'target == "/"'),
    Mutant("saved-random-numbers", "saved", "tools/vm/vm_saved.py",
           'answered=True), "-device", "vmgenid,guid=auto"]', "answered=True)]"),
    Mutant("saved-any-machine", "saved", "tools/vm/vm_saved.py",
           "*map(of_this_run, command), ", ""),
    Mutant("saved-forgotten-boot", "saved", "tools/vm/vm_saved.py",
           "shutil.copy(place / CONSOLE, rundir / CONSOLE)", "open(place / CONSOLE).close()"),
    Mutant("saved-stands-still", "saved", "tools/vm/vm_saved.py",
           '    finally:\n        control.command("cont")\n', "    finally:\n        pass\n"),
    Mutant("mpi-piece", "examples", "libt3/mpi/piece.c",
           "return (part * p->job->count + p->first) * p->job->element;",
           "return part * p->job->count * p->job->element;"),
    Mutant("mpi-unsigned", "examples", "libt3/mpi/types.c", "{ MPI_UNSIGNED, DRM_T3_I32, UNSIGNED }",
           "{ MPI_UNSIGNED, DRM_T3_I32, INTEGER }"),
    Mutant("mpi-gaps", "examples", "libt3/mpi/flat.c", "	if (end == COLL_T3_DONE)\n		unpack(out);",
           "	if (end == COLL_T3_FAILED)\n		unpack(out);"),
    Mutant("mpi-place", "examples", "libt3/mpi/form.c", "#define DOWNWARDS ~SIGN", "#define DOWNWARDS SIGN"),
    Mutant("mpi-started-again", "examples", "libt3/mpi/later.c", "\t\tl->pieces = l->whole;\n", ""),
    Mutant("mpi-range", "examples", "libt3/mpi/piece.c", "result + (from - start)", "result"),
    Mutant("mpi-version", "examples", "libt3/mpi/component.c",
           "!strncmp(running, version, strlen(version))", "!strncmp(running, version, 4)"),
]


def run(command, log, more=None, seconds=SECONDS):
    """Exit status of a command in the copy; -1 when it did not end in time."""
    env = {**os.environ, "T3_CACHE": str(CACHE), "T3_BUILD": str(COPY / ".build"),
           **(more or {})}
    env.pop("MAKEFLAGS", None)
    with open(log, "ab") as output:
        try:
            return subprocess.run(command, cwd=COPY, stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, timeout=seconds, env=env).returncode
        except subprocess.TimeoutExpired:
            return -1


def copy_tree():
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True,
                           check=True).stdout.decode().split("\0")
    kept = {COPY / name for name in filter(None, files)}
    for old in COPY.rglob("*"):
        if old.is_file() and old not in kept and COPY / ".build" not in old.parents:
            old.unlink()
    for name in filter(None, files):
        target = COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != (ROOT / name).read_bytes():
            shutil.copy2(ROOT / name, target)
            target.touch()
    # The guest suites mutate no device: they borrow the real build's QEMU. A suite that begins with a
    # make of all puts one of its own there, which may be older than the tree the next time.
    for build in (COPY / ".build", pathlib.Path(DEBUG["T3_BUILD"])):
        build.mkdir(exist_ok=True)
        link = build / "qemu"
        if link.is_dir() and not link.is_symlink():
            shutil.rmtree(link)
        link.unlink(missing_ok=True)
        link.symlink_to((BUILD / "qemu").resolve())


def run_guest(suite, log):
    """None: the module or a program could not be built."""
    kind, _, program = suite.partition(":")
    more = DEBUG if kind == "debug" else {}
    if more and run(["make", "kernel"], log, more, KERNEL_SECONDS):
        return None
    if run(["make", "tests-image"], log, more):
        return None
    return run(["tools/build/check.py", f"guest:{program}" if program else suite], log, more)


def verdict(suite, log):
    """passes, fails (a test said so), or breaks (it could not be built or run)."""
    log.unlink(missing_ok=True)
    if suite in ("spec", "examples"):
        status = run(["make", suite], log)
    elif suite == "qtest":
        status = run(["make", suite], log, OWN)
    elif suite == "python":
        status = (None if run(["make", "build", "python"], log)
                  else run(["tools/build/check.py", suite], log))
    else:
        status = run_guest(suite, log)
    text = log.read_text(errors="replace")
    if status is None or not re.search(r"^\d+ passed, \d+ failed", text, re.M):
        return "breaks"
    return "fails" if status else "passes"


def edit(mutant):
    path = COPY / mutant.file
    path.write_text(path.read_text().replace(mutant.old, mutant.new))


def lost():
    """Mutants whose text is not once in its file any more."""
    return [mutant for mutant in MUTANTS
            if (ROOT / mutant.file).read_text().count(mutant.old) != 1]


def try_mutant(mutant):
    start = time.monotonic()
    copy_tree()
    edit(mutant)
    log = BUILD / "log" / f"mutant-{mutant.name}.log"
    result = verdict(mutant.suite, log)
    copy_tree()
    caught = result == "fails"
    print(f"[{mutant.name}] {'caught' if caught else result} by {mutant.suite} "
          f"({time.monotonic() - start:.0f} s) {'' if caught else log}", flush=True)
    return caught


def main():
    names = sys.argv[1:]
    if names == ["--list"]:
        print("\n".join(mutant.name for mutant in MUTANTS))
        return 0
    for mutant in lost():
        print(f"{mutant.file}: mutant {mutant.name}: its text is not there once",
              file=sys.stderr)
    if lost() or names == ["--check"]:
        return 1 if lost() else 0
    unknown = set(names) - {mutant.name for mutant in MUTANTS}
    if unknown:
        print(f"mutants.py: no mutant '{unknown.pop()}'; --list names them", file=sys.stderr)
        return 2
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    (BUILD / "log").mkdir(parents=True, exist_ok=True)
    copy_tree()
    for suite in sorted({mutant.suite for mutant in chosen}):
        result = verdict(suite, BUILD / "log" / f"mutant-none-{suite}.log")
        print(f"[unedited] {result} {suite}", flush=True)
        if result != "passes":
            print("0 passed, 1 failed")
            return 1
    caught = sum(try_mutant(mutant) for mutant in chosen)
    print(f"{caught} passed, {len(chosen) - caught} failed")
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
