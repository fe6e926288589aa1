# SPDX-License-Identifier: MIT
"""The driver's files as a kernel tree has them: without t3_compat.h, with the tree's own places."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPAT = "driver/t3_compat.h"
PROBE = "driver/probe.sh"
KUNIT = "CONFIG_DRM_ACCEL_T3_KUNIT_TEST"

# Where a file goes, by the beginning of its name here.
PLACES = [("uapi/t3_accel.h", "include/uapi/drm/t3_accel.h"),
          ("uapi/", "drivers/accel/t3/"),
          ("driver/sysfs-driver-t3", "Documentation/ABI/testing/sysfs-driver-t3"),
          ("driver/", "drivers/accel/t3/"),
          ("tools/series/doc/", "Documentation/accel/t3/"),
          ("tools/series/Kconfig", "drivers/accel/t3/Kconfig")]


class Problem(Exception):
    """What is wrong with the tree or the driver, in a sentence for the user."""


def place_of(name):
    """The path in the kernel's tree of one of our files."""
    for start, place in PLACES:
        if name.startswith(start):
            return place + name[len(start):]
    raise Problem(f"{name} has no place in a kernel's tree: see PLACES in tools/series/render.py")


# --- the compatibility header ------------------------------------------------

def probed_flags(tree):
    """(flags that the tree has, all flags): T3_HAVE_* by driver/probe.sh."""
    done = subprocess.run(["sh", ROOT / PROBE, tree], capture_output=True, text=True, check=True)
    if done.stdout.startswith("changed: "):
        raise Problem(f"the driver does not know the form that {tree} has given to "
                      f"{done.stdout[9:].strip()}. Add it to {PROBE} and {COMPAT}")
    names = re.findall(r"^differs (\w+)", (ROOT / PROBE).read_text(), re.M)
    return ([word[2:] for word in done.stdout.split()], [f"T3_HAVE_{name}" for name in names])


def unifdef(text, *options):
    """The text without the conditions that the options decide; their blank lines go, too."""
    done = subprocess.run(["unifdef", "-B", *options], input=text, capture_output=True, text=True,
                          check=False)
    if done.returncode not in (0, 1):
        raise Problem(f"unifdef {' '.join(options)}: {done.stderr.strip()}")
    return done.stdout


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def compat_macros(tree):
    """The macros of t3_compat.h that are left with the tree's flags, as name: value.

    They can be written out. A tree that needs functions or other names from it is too old.
    """
    have, names = probed_flags(tree)
    flags = [f"-D{name}" if name in have else f"-U{name}" for name in names]
    text = without_comments(unifdef((ROOT / COMPAT).read_text(), *flags))
    macros = {}
    for line in text.splitlines():
        match = re.fullmatch(r"#define (T3_\w+)(?: (.*))?", line)
        if match and match[1] != "T3_COMPAT_H":
            macros[match[1]] = match[2] or ""
        elif line and not re.match(r"#(include|ifndef T3_COMPAT_H|define T3_COMPAT_H|endif)", line):
            lacking = ", ".join(set(names) - set(have))
            raise Problem(f"{tree} is too old for a series: it needs more of {COMPAT} than macros "
                          f"('{line.strip()}'; without {lacking}). Name a newer tree by TREE=DIR")
    return macros


def written_out(text, macros):
    """The macros' values in their places. A line that held only an empty one goes."""
    for name, value in macros.items():
        if not value:
            text = re.sub(rf"^\s*\b{name}\b\n", "", text, flags=re.M)
        text = re.sub(rf"\b{name}\b", lambda match, value=value: value, text)
    return text


# --- one file ----------------------------------------------------------------

def replaced(name, text, old, new):
    """Each of these texts is there once: else the file has changed, and the rule must too."""
    if text.count(old) != 1:
        raise Problem(f"{name} has {text.count(old)} times, not once: {old!r}. "
                      "Adapt tools/series")
    return text.replace(old, new)


def render_uapi(name, text):
    """In a tree drm.h is beside it, also when headers_install has copied both."""
    old = re.search(r"#ifdef __KERNEL__\n.*?#endif\n", text, re.S)
    return replaced(name, text, old[0] if old else "#ifdef __KERNEL__", '#include "drm.h"\n')


def render_hw(name, text):
    """For the kernel alone, with its types."""
    text = unifdef(text, "-D__KERNEL__")
    text = re.sub(r"\buint(8|16|32|64)_t\b", r"u\1", text)
    text = re.sub(r"\(1u << (\d+)\)", r"BIT_U32(\1)", text)
    text = re.sub(r"\(1ull << (\d+)\)", r"BIT_U64(\1)", text)
    text = replaced(name, text, "#include <linux/build_bug.h>\n",
                    "#include <linux/bits.h>\n#include <linux/build_bug.h>\n")
    return replaced(name, text, "qemu-device/SPEC.md is the manual",
                    "SPEC.md of the T3 project is the manual")


def render_abi(name, text, version):
    """It comes with the next version of the tree."""
    if "KernelVersion:\t6.12" not in text:
        raise Problem(f"{name} has no 'KernelVersion:\t6.12'. Adapt tools/series")
    return text.replace("KernelVersion:\t6.12", f"KernelVersion:\t{version}")


def render_driver(text, macros, kunit):
    """A C file or header. The uapi header is one of <drm/...>, in its group and its order."""
    text = text.replace('#include "t3_compat.h"\n', "")
    text = re.sub(r'\n\n#include "t3_accel\.h"\n(?=#include ")', "\n#include <drm/t3_accel.h>\n\n",
                  text)
    text = text.replace('#include "t3_accel.h"\n\n', "#include <drm/t3_accel.h>\n\n")
    text = written_out(text, macros)
    text = text if kunit else unifdef(text, "-UT3_KUNIT").rstrip("\n") + "\n"
    return text.replace("T3_KUNIT\n#include", f"{KUNIT}\n#include").replace(
        "where KUnit is built in: see Kbuild", f"with {KUNIT}")


def render(name, tree, kunit):
    """One of our files for the tree (see tree.py); kunit: with the tests' part of it."""
    text = (ROOT / name).read_text()
    if name == "uapi/t3_accel.h":
        text = render_uapi(name, text)
    elif name == "uapi/t3_hw.h":
        text = render_hw(name, text)
    elif name == "driver/sysfs-driver-t3":
        text = render_abi(name, text, tree.next_version)
    elif name.startswith("driver/"):
        text = render_driver(text, tree.macros, kunit)
    return text
