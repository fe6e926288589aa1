# SPDX-License-Identifier: MIT
"""Where a name of t3_hw.h, or an ioctl of t3_accel.h, must stand, and does not.

The checklists of qemu-device/README.md and driver/README.md are these lists, in words. Names that the compiler makes
from T3_*_LIST need no place here.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE, TESTS = "qemu-device/core/**/*.c", "tests/unit/**/*.c tests/conformance/*.c"
REGISTERS = "tests/conformance/section_01_registers.c"
CONFORMANCE, LAYOUT, ABI = "tests/conformance/*.c", "tests/guest/common/layout.c", "uapi/t3_accel.h"

# List of names; files; what stands there, with {} for the name; what is to be written there.
PLACES = [
    ("COUNTER", CORE, "T3_COUNTER_{}", "count it"),
    ("COUNTER", ABI, "DRM_T3_COUNTER_{}", "its number for programs"),
    ("COUNTER", LAYOUT, "DRM_T3_COUNTER_{}", "VALUE() of that number"),
    ("COUNTER", "libt3/t3.h", "T3_DEVICE_{}", "its enumerator"),
    ("COUNTER", TESTS, "T3_COUNTER_{}", "a test of what it counts"),
    ("CAP", "qemu-device/core/front/regs.c", "T3_CAP_{}", "set it in CAPS"),
    ("CAP", ABI, "DRM_T3_FEATURE_{}", "its bit for programs"),
    ("CAP", "driver/t3_stats.c", "(?:DRM_T3_FEATURE|T3_CAP)_{}", "T3_FEATURES"),
    ("CAP", LAYOUT, "DRM_T3_FEATURE_{}", "VALUE() of that bit"),
    ("CAP", CONFORMANCE, "T3_CAP_{}", "a test, or what is skipped without it"),
    ("ADMIN_OPCODE", CORE, "T3_CMD_{}", "run it: front/admin.c"),
    ("ADMIN_OPCODE", CONFORMANCE, "T3_CMD_{}", "a test of section 7, 11 or 12"),
    ("REGISTER", REGISTERS, "T3_REG_{}", "its row"),
    ("FAULT", ABI, "DRM_T3_FAULT_{}", "its number for programs"),
    ("FAULT", LAYOUT, "DRM_T3_FAULT_{}", "VALUE() of that number"),
    ("NAK", ABI, "DRM_T3_NAK_{}", "its number for programs"),
    ("NAK", LAYOUT, "DRM_T3_NAK_{}", "VALUE() of that number"),
    ("INJECT", "qemu-device/core/front/inject_rule.c", "T3_INJECT_{}", "its keys"),
    ("INJECT", "qemu-device/core/front/*.c", "T3_INJECT_{}", "what it does"),
    ("IOCTL", "driver/t3_drv.c", "{}", "the table of ioctls"),
    ("IOCTL", LAYOUT, "DRM_IOCTL_T3_{}", "VALUE() of its number"),
    ("IOCTL", "tests/guest/common/rows.c", "{}", "ROW(): its flags and pads"),
    ("IOCTL", "tests/guest/test_abi.c", "{}", "ROW(): its number"),
    ("IOCTL", "libt3/man/t3.4", "DRM_IOCTL_T3_{}", "the list"),
]

# What has no such place: (list, name, files).
EXCEPTIONS = {
    ("CAP", "INJECT", ABI), ("CAP", "INJECT", LAYOUT),  # of the driver alone
    ("REGISTER", "ADMIN_COMMAND", REGISTERS),  # each write runs a command
}


def text_of(patterns):
    return "\n".join(path.read_text(encoding="utf-8")
                     for pattern in patterns.split() for path in sorted(ROOT.glob(pattern)))


def missing(header):
    """A line for each place that lacks a name."""
    names = {which: [item.name for item in items] for which, items in header.lists.items()}
    names["REGISTER"] = [item.name[len("T3_REG_"):] for item in header.constants
                         if item.name.startswith("T3_REG_") and item.name != "T3_REG_END"]
    names["IOCTL"] = re.findall(r"^#define DRM_IOCTL_T3_(\w+)", text_of(ABI), re.M)
    texts = {}
    for which, files, pattern, what in PLACES:
        text = texts.setdefault(files, text_of(files))
        for name in names[which]:
            if (which, name, files) in EXCEPTIONS or re.search(rf"\b{pattern.format(name)}\b", text):
                continue
            yield f"{files}: {pattern.format(name)} is missing: {what}"
