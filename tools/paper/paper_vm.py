# SPDX-License-Identifier: MIT
"""The same runs by driver and devices in a VM: every figure must be the native one."""

import json

from paper_run import ROOT, native, output_of

VM = ROOT / "tools/vm/t3-vm"
VM_RANKS, VM_SECONDS = 4, 600
# (options of the workload, whether on all devices or mirrored on one)
VM_WORKLOADS = [
    ("--hidden 4256 --tokens 8192 --tp 8 --sublayer fc2", False),
    ("--hidden 3072 --tokens 16384 --tp 16 --sublayer op", False),
    (f"--hidden 4256 --tokens 8192 --tp {VM_RANKS} --sublayer op", True),
]


def vm_answers():
    """The answers of one boot, one for each workload."""
    jobs = [f"t3 sim --json --device{' --every-device' if every else ''} {options}"
            for options, every in VM_WORKLOADS]
    # A full fabric, for the direct reduce-scatter. It contains the rings of the others.
    text = output_of([VM, "run", "--ranks", str(VM_RANKS), "--topology", "full", "--name", "paper",
                      "--", "sh", "-ec", "; ".join(jobs)], VM_SECONDS)
    answers, decoder = [], json.JSONDecoder()
    while (at := text.find("{")) >= 0:
        answer, end = decoder.raw_decode(text[at:])
        answers.append(answer["workloads"][0])
        text = text[at + end:]
    if len(answers) != len(VM_WORKLOADS):
        raise RuntimeError(f"{len(answers)} answers of {len(VM_WORKLOADS)} runs in the VM")
    return answers


def first_difference(vm, here, path=""):
    """The place where two answers differ, or None."""
    if not isinstance(vm, dict) or not isinstance(here, dict):
        return None if vm == here else f"{path} is {vm}, and {here} natively"
    for key in sorted(vm.keys() | here.keys()):
        found = first_difference(vm.get(key), here.get(key), f"{path}/{key}")
        if found:
            return found
    return None


def run_vm():
    """The VM's workloads. Their figures must be those of the same run on the host."""
    works = vm_answers()
    for work, (options, every) in zip(works, VM_WORKLOADS):
        here = native(*options.split(), *(["--every-device"] if every else []))["workloads"][0]
        found = first_difference({key: value for key, value in work.items() if key != "device"},
                                 here)
        if found:
            raise RuntimeError(f"the VM's {options} is not the host's: {found}")
    return works


def print_vm(works):
    print("Through driver and devices in a VM: each figure and counter is the native one")
    print(f"{'':34}{'devices':>8}{'runs':>6}{'T3-MCA':>9}{'host-paced':>12}{'wall s':>8}")
    for work in works:
        device = work["device"]
        name = f"hidden {work['hidden']} TP {work['tp']} {work['sublayer']}"
        print(f"{name:34}{device['devices']:8}{len(device['runs']):6}"
              f"{work['configs']['t3-mca']['speedup']:9.3f}"
              f"{'yes' if device['host_paced'] else 'no':>12}{device['wall_seconds']:8.2f}")
    print(flush=True)
