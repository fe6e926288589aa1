#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""t3-conformance in a place, by VFIO in a VM, natively, or in a QEMU without a guest; TAP on stdout.

usage: suite.py conformance
       suite.py conformance-native-direct, conformance-native-ordinary or conformance-native-switch
       suite.py conformance-qtest
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from qtest.suite import qtest_copy, qtest_env  # noqa: E402
from tap import (BUILD, FAIL, LOGS, PASS, PROGRAM_SECONDS, Result, execute, here, report,  # noqa: E402
                 run_suite, tap_results)
from vm import guest_batch, vm_result  # noqa: E402

# Four linked devices, and one whose neighbour in its ring of two is missing. The
# four let their guest inject faults, the lone one does not, and lacks what version 1.9 has added.
CONFORMANCE_VM = ["--ranks", "4", "--no-driver", "--iommu",
                  "--device-opts", "guest-inject=on",
                  "--qemu-arg=-object", "--qemu-arg=t3-fabric,id=f1,topology=ring,ranks=2",
                  "--qemu-arg=-device", "--qemu-arg=t3,id=lone,fabric=f1,rank=0,without-caps=0x1f000"]
PATIENT = ["--timeout", "20"]  # seconds that a device may take for something, on a busy host
CONFORMANCE = f"modprobe -a vfio-pci vfio_iommu_type1 && exec t3-conformance --bind {' '.join(PATIENT)}"
ONE_DEVICE = "t3-conformance --device 0000:01:00.0 --json"

# t3-conformance ends so where there is nothing to test: (its arguments, status).
CONFORMANCE_USE = [("--help", 0), ("--list", 0), ("--list --section 2", 0), ("--section 99", 2),
                   ("--section", 2), ("--timeout 0", 2), ("--timeout 31", 2), ("--timeout 1x", 2),
                   ("--device 1:0", 2), ("--no-such-option", 2), ("argument", 2),
                   ("--device ffff:ff:1f.7", 3)]


def conformance_use():
    """Its exit status, and one sentence on stderr where it is not 0."""
    log = LOGS / "conformance-use.log"
    results = []
    with open(log, "w", encoding="utf-8") as output:
        for arguments, wanted in CONFORMANCE_USE:
            done = subprocess.run([*here(BUILD / "t3-conformance"), *arguments.split()], timeout=60,
                                  capture_output=True, text=True, check=False)
            output.write(f"{arguments}: {done.returncode} {done.stderr}\n")
            good = done.returncode == wanted and len(done.stderr.splitlines()) == bool(wanted)
            results.append(Result(f"conformance/{arguments}", PASS if good else FAIL, log))
    return results


def conformance_one_device(text, ended, log):
    """Alone, a device passes what needs no peer, and the rest is counted as skipped."""
    try:
        found = json.loads(text)
        good = (ended == 0 and found["failed"] == 0 and found["skipped"] > 0
                and found["passed"] > found["skipped"]
                and all(test["why"] for section in found["sections"]
                        for test in section["tests"] if test["result"] == "skipped"))
    except (ValueError, KeyError):
        good = False
    return Result("conformance/one device, as JSON", PASS if good else FAIL, log)


def conformance_suite():
    status, batch = guest_batch("conformance", CONFORMANCE_VM, [CONFORMANCE, ONE_DEVICE],
                                PROGRAM_SECONDS)
    every, alone = batch
    report(tap_results("conformance", every.text, -1 if every.status is None else every.status, every.log))
    report([conformance_one_device(alone.text, alone.status, every.log),
            vm_result("conformance", status, every.log)])
    print(*re.findall(r"^# section .*$", every.text, re.M), sep="\n")
    report(conformance_use())


NO_SWITCH = {"needs SWITCH: devices whose fabric has topology=switch": 170}
# A model without a machine around it cannot show these: (reason, how many tests).
ALONE_SKIPS = {"the model alone has no configuration space": 12,
               "needs ranks on other nodes, and no CAPS.FAR_KEYS": 1}
NATIVE_SKIPS = {**ALONE_SKIPS, **NO_SWITCH}
SWITCH_SKIPS = {**ALONE_SKIPS, "needs a fabric without a switch": 1,
                "every rank has a link to every other": 2}


# The same of a QEMU without a guest.
QTEST_SKIPS = {**NO_SWITCH,
               "there is no IOMMU, which would keep devices from a page": 14,
               "needs ranks on other nodes, and no CAPS.FAR_KEYS": 1,
               "needs STEP: a host that does the devices' work event by event": 85,
               "needs TRACKER: a host that makes devices with another tracker": 22,
               "needs WATCH: a host that sees each DMA write and interrupt": 12}


def conformance_elsewhere(name, program, env, skips, options=()):
    """The suite without VFIO: all of it runs but what is known to have no place there."""
    status, log = execute(name, [program, *PATIENT, *options], env=env)
    text = log.read_text(errors="replace")
    report(tap_results(name, text, status, log))
    reasons = collections.Counter(re.findall(r"# SKIP (.*)$", text, re.M))
    report([Result(f"{name}/no other test is skipped", PASS if reasons == skips else FAIL, log)])


def conformance_native_suite(stores):
    """Under sanitizers; stores may take the short way, or never do."""
    conformance_elsewhere(f"conformance-native-{stores}", BUILD / "conformance-native-sanitized",
                          {"T3_STORES": stores}, NATIVE_SKIPS)


def conformance_native_switch_suite():
    """All of it on devices that have a switch."""
    conformance_elsewhere("conformance-native-switch", BUILD / "conformance-native-sanitized",
                          {"T3_TOPOLOGY": "switch"}, SWITCH_SKIPS)


def conformance_qtest_suite():
    """With a thread for the fabric's events, which VFIO's IOMMU excludes. Of a switch its chapter alone."""
    program = qtest_copy("t3-conformance", "conformance")
    env = qtest_env(program, True)
    conformance_elsewhere("conformance-qtest", program, env, QTEST_SKIPS)
    conformance_elsewhere("conformance-qtest-switch", program, {**env, "T3_TOPOLOGY": "switch"},
                          {"needs a fabric without a switch": 1}, ["--section", "17"])


SUITES = {
    "conformance": conformance_suite,
    "conformance-native-direct": lambda: conformance_native_suite("direct"),
    "conformance-native-ordinary": lambda: conformance_native_suite("ordinary"),
    "conformance-native-switch": conformance_native_switch_suite,
    "conformance-qtest": conformance_qtest_suite,
}

if __name__ == "__main__":
    run_suite(sys.argv[1], SUITES[sys.argv[1]])
