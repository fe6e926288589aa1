# SPDX-License-Identifier: MIT
"""Commands of suites in one VM, and results of its kernel, its record and what models say of that."""

import sys

import tap
from tap import BUILD, FAIL, IS_ARM64, LOGS, PASS, ROOT, SKIP, Result, execute, here, slowness

sys.path.insert(0, str(ROOT / "tools/build"))
from batch import batch_command, read_batch  # pylint: disable=wrong-import-position

VM = ROOT / "tools/vm/t3-vm"
VM_SECONDS = 1200 if slowness() == 1 else 3000


def guest_batch(name, options, commands, seconds, env=None):
    """Run shell commands in one VM. The VM's status, and what each command did."""
    status, log = execute(name, [VM, "run", "--name", name, "--timeout", str(VM_SECONDS), *options,
                                 "--", *batch_command(seconds, commands)],
                          VM_SECONDS + 60, env)
    return status, read_batch(log.read_text(errors="replace"), len(commands), log)


def vm_result(name, status, log):
    """The VM itself is a test: its kernel must end well and without a warning."""
    return Result(f"{name} (kernel log is clean)", PASS if status == 0 else FAIL, log)


def record_of(name):
    place = BUILD / "run" / f"{name}.t3r"
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def replay_result(name, keep=False):
    """A VM's record must replay without the VM, to its end; kept if it does not."""
    status, log = execute(f"{name}-replay", [*here(BUILD / "t3"), "sim", "--replay", record_of(name)])
    text = log.read_text(errors="replace")
    good = status == 0 and text.startswith("same: ") and "in the middle" not in text
    if good and not keep:
        record_of(name).unlink()
    return Result(f"{name}/replay of the record", PASS if good else FAIL, log)


def follow_results(name, all_did=True):
    """The models must be able to do what a VM's links and spaces did. all_did: both did something."""
    if IS_ARM64:
        log = LOGS / f"{name}-follow.log"
        log.write_text("skipped: the spies are built for this machine alone\n")
        return [Result(f"{name}/the record in the models", SKIP, log)]
    status, log = execute(f"{name}-follow", [ROOT / "tests/follow.py", "--replay", record_of(name)])
    good = status == 0 and not (all_did and " followed 0 events" in log.read_text(errors="replace"))
    return [Result(f"{name}/the record in the models", PASS if good else FAIL, log)]


def record_results(name, all_did=True):
    """Of both. The record is kept where the models could not do it."""
    followed = follow_results(name, all_did)
    return tap.report([*followed, replay_result(name, any(one.status == FAIL for one in followed))])
