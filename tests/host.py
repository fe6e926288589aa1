#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make check-host: the device in a QEMU for an arm64 machine, run by qemu-user; TAP on stdout. That
runs no whole machine's tests: it does not survive the forks of libqtest.

usage: host.py [NAME...]     (default: all tests)
"""

import pathlib
import re
import sys

import loop
from loop import BUILD, check, expect, run

QEMU = BUILD / "qemu/qemu-system-x86_64"
QTESTS = BUILD / "qemu/tests/qtest/t3/t3-qtest"
PROPERTIES = re.compile(r"^  ([a-z0-9-]+)=<", re.M)


def on_arm64(program, *arguments, env=None):
    return run("qemu-aarch64", "-L", BUILD / "sysroot", program, *arguments, env=env)


def is_for_arm64():
    header = pathlib.Path(QEMU).read_bytes()[:20]
    check(header[:5] == b"\x7fELF\x02" and header[18] == 183, "EM_AARCH64", header)


def knows_the_device():
    """It starts, and has all properties that SPEC.md lists of the device."""
    given = on_arm64(QEMU, "-device", "t3,help")
    expect(given, 0)
    found = set(PROPERTIES.findall(given[1]))
    spec = (loop.ROOT / "qemu-device/SPEC.md").read_text()
    row = re.search(r"^\| device properties \|(.*);[^;]*`removed`", spec, re.M)[1]
    wanted = set(re.findall(r"`([a-z-]+)`", row))
    check(len(wanted) >= 8 and wanted <= found, f"{wanted} in", found)


def knows_the_fabric():
    given = on_arm64(QEMU, "-machine", "none", "-object", "t3-fabric,id=f,ranks=99,topology=ring")
    expect(given, 1, "ranks=99 is out of range: allowed are 1 to 32")


def locks_work():
    """With threads, and so with the barriers of arm64's instructions, as far as TCG has them."""
    given = on_arm64(QTESTS, "-p", "/x86_64/t3/lock", env={"QTEST_QEMU_BINARY": str(QEMU)})
    expect(given, 0, "^ok 1 ", "^ok 3 ", r"^1\.\.3$")


TESTS = [is_for_arm64, knows_the_device, knows_the_fabric, locks_work]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
