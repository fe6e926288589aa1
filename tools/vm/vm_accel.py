# SPDX-License-Identifier: MIT
"""Which accelerator a VM uses, and whether KVM works for it.

KVM is used only where a probe boot has shown that it works with this QEMU and this kernel. What
the boot has shown is kept in the cache.
"""

import argparse
import hashlib
import os
import pathlib
import platform
import re
import subprocess

import vm_kvm
from vm_base import BUILD, CACHE, EXIT_USAGE, VmError, read_text
from vm_run import run_job

ACCELS = ("tcg", "kvm", "auto")
PROBE = "kvm-probe"
PROBE_SECONDS = 10


def cpu_model():
    match = re.search(r"^model name\s*: (.*)$", read_text(pathlib.Path("/proc/cpuinfo")), re.M)
    return match[1] if match else platform.machine()


def kept_verdict(opts):
    """The file with what a probe boot has shown of this QEMU, kernel and machine."""
    facts = [opts.qemu.resolve(), opts.kernel.resolve(), cpu_model(), platform.release()]
    key = hashlib.sha256("\n".join(map(str, facts)).encode()).hexdigest()[:10]
    return CACHE / f"{PROBE}-{key}"


def keep(path, verdict):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(verdict)
    temporary.rename(path)


def complaint_of_qemu():
    """Its last line that is no warning, in brackets."""
    lines = read_text(BUILD / "run" / PROBE / "qemu.log").strip().splitlines()
    lines = [line for line in lines if "warning:" not in line]
    return f" ({lines[-1]})" if lines else ""


def probe_boot(opts):
    """Boots Linux without devices. Raises Unusable."""
    probe = argparse.Namespace(**vars(opts))
    probe.no_devices, probe.no_driver, probe.strict, probe.iommu = True, True, True, False
    probe.timeout, probe.qemu_arg, probe.append, probe.known_trouble = PROBE_SECONDS, [], "", ""
    probe.share = probe.root = None
    try:
        status = run_job(probe, ["true"], "kvm", PROBE, subprocess.DEVNULL, probe=True)
        why = f"status {status}" if status else ""
    except VmError as error:
        why = str(error).split(";", maxsplit=1)[0] + complaint_of_qemu()
    if why:
        raise vm_kvm.Unusable(f"{vm_kvm.DEVICE} runs a guest of one instruction, but the guest's "
                              f"Linux did not boot: {why}; logs are in {BUILD}/run/{PROBE}")


def probe_kvm(opts, verdict):
    """Raises Unusable. Either way it is kept."""
    try:
        vm_kvm.check_usable()
        probe_boot(opts)
    except vm_kvm.Unusable:
        keep(verdict, "tcg")
        raise
    keep(verdict, "kvm")


def choose_accel(opts):
    """`auto` trusts a boot that has failed before. Who asks for KVM may have mended it: it is tried
    again."""
    if opts.accel == "tcg":
        return "tcg"
    verdict = kept_verdict(opts)
    known = read_text(verdict)
    if known == "kvm" and os.access(vm_kvm.DEVICE, os.R_OK | os.W_OK):
        return "kvm"
    if known and opts.accel == "auto":
        return "tcg"
    try:
        probe_kvm(opts, verdict)
        return "kvm"
    except vm_kvm.Unusable as error:
        if opts.accel == "auto":
            return "tcg"
        raise VmError(EXIT_USAGE, f"KVM cannot be used: {error}") from error
