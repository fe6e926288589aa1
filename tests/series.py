#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The generator of `make series`, with a small tree in the place of a kernel's; TAP on stdout.

usage: series.py [NAME...]     (default: all tests)

series_tree.py (make check-series) applies the series to a real tree and builds it.
"""

import filecmp
import functools
import pathlib
import re
import subprocess
import sys

import loop
from build import folder
from kernels import FORMS, headers
from loop import ROOT, check, expect, run

sys.path.insert(0, str(ROOT / "tools/series"))
# This file has the generator's name, so that one is loaded from its path.
import importlib.util  # pylint: disable=wrong-import-position,wrong-import-order
import render  # pylint: disable=wrong-import-position
import tree as trees  # pylint: disable=wrong-import-position

SCRIPT = ROOT / "tools/series/series.py"
AUTHOR = "A Name <name@example.org>"

# A kernel's files as the generator wants them. Makefile's last line has no end, as in Linux 7.3.
KERNEL = {
    "Makefile": "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\n",
    "drivers/accel/Kconfig": 'if DRM\n\nsource "drivers/accel/rocket/Kconfig"\n'
                             'source "drivers/accel/zeta/Kconfig"\n\nendif\n',
    "drivers/accel/Makefile": "obj-$(CONFIG_DRM_ACCEL_IVPU)\t\t+= ivpu/\n"
                              "obj-$(CONFIG_DRM_ACCEL_ROCKET)\t\t+= rocket/",
    "Documentation/accel/index.rst": ".. toctree::\n\n   introduction\n   rocket/index\n",
    "MAINTAINERS": "Maintainers List\n\n3C59X\nM:\tX <x@example.org>\nS:\tOrphan\n\n"
                   "DRM ACCEL DRIVER FOR ROCKCHIP NPU\nM:\tX <x@example.org>\nS:\tSupported\n\n"
                   "DRM DRIVER FOR ZETA\nM:\tX <x@example.org>\nS:\tSupported\n\n"
                   "ZSWAP\nM:\tX <x@example.org>\nS:\tMaintained\n",
}


@functools.cache
def generator():
    spec = importlib.util.spec_from_file_location("series_generator", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kernel(place, forms=2, without=None):
    """A tree; forms: 2 for the newest forms of the interfaces, 3 for the older ones."""
    headers(place, [(form[1], form[forms]) for form in FORMS])
    for name, text in KERNEL.items():
        if name != without:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    return place


def newest_tree(place):
    """The form of DRIVER_DATE that is found by the flag is the older one."""
    place = kernel(place)
    (place / "include/drm/drm_drv.h").write_text("\tchar *desc;\n")
    return place


@functools.cache
def states():
    """(step, the files after it) of the series, in order."""
    table = generator().read_table()
    with folder() as place:
        tree = trees.Tree(newest_tree(place))
        return [(step, generator().after(table, tree, step["name"], AUTHOR))
                for step in table["step"]]


def ours(*patterns):
    return {str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern)}


# --- the table ---------------------------------------------------------------

def each_file_is_in_one_step():
    listed = [file for step, _ in states() for file in step["files"]]
    check(len(listed) == len(set(listed)), "in two steps", sorted(listed))
    wanted = ours("driver/*.[ch]", "driver/tests/*.[ch]", "uapi/*.h", "driver/sysfs-driver-t3",
                  "tools/series/doc/*.rst", "tools/series/Kconfig") - {render.COMPAT}
    check(set(listed) == wanted, "in the tree or in the table alone", set(listed) ^ wanted)


def steps_have_what_they_include():
    """A file includes only what its step or an earlier one has added."""
    found = 0
    for step, files in states():
        for path, text in files.items():
            if not path.startswith(generator().DRIVER):
                continue
            for name in re.findall(r'^#include "(.+)"$', text, re.M):
                found += 1
                target = str(pathlib.PurePosixPath(path).parent / name)
                target = re.sub(r"tests/\.\./", "", target)
                check(target in files, f"{step['name']}: {path} includes {name}")
            if "<drm/t3_accel.h>" in text:
                check("include/uapi/drm/t3_accel.h" in files, f"{path}: no t3_accel.h")
    check(found > 100, f"{found} includes")


def objects_are_those_of_kbuild():
    """The last Makefile lists what Kbuild lists; each earlier one lists what is there."""
    for step, files in states():
        text = files.get("drivers/accel/t3/Makefile", "")
        listed = re.findall(r"(t3_\w+)\.o\b(?!:| :)", re.sub(r"^(CFLAGS|#).*", "", text, flags=re.M))
        sources = [pathlib.Path(path).stem for path in files
                   if re.fullmatch(r"drivers/accel/t3/\w+\.c", path)]
        check(sorted(listed) == sorted(sources), f"{step['name']}: objects", listed)
    kbuild = re.findall(r"driver/(t3_\w+)\.o \\$|driver/(t3_\w+)\.o$", (ROOT / "Kbuild").read_text(),
                        re.M)
    check(sorted(listed) == sorted(a or b for a, b in kbuild), "Kbuild's objects", kbuild)


def exceptions_have_reasons():
    for step, _ in states():
        check(("ignore" in step) == ("why" in step), f"{step['name']}: ignore and why")


def messages_have_their_form():
    """As checkpatch and reviewers want them; nobody has signed them."""
    for step, _ in states():
        check(re.fullmatch(r"accel/t3: [A-Z].{7,60}[^.]", step["subject"]), step["subject"])
        lines = step["body"].splitlines()
        check(sum(map(bool, lines)) >= 1 and max(map(len, lines)) <= 75, step["name"], step["body"])
        check("-by:" not in step["body"], step["name"], step["body"])


# --- the files ---------------------------------------------------------------

def nothing_of_other_kernels_remains():
    """No flag, macro or name of t3_compat.h, and nothing for hosts other than a kernel."""
    words = re.compile(r"T3_HAVE_\w+|t3_compat\.h|\bT3_IMPORT_DMA_BUF\b|\bT3_DRIVER_DATE\b|"
                       r"(?<!CONFIG_DRM_ACCEL_)\bT3_KUNIT\b|__KERNEL__|\bu?int\d+_t\b|"
                       r'"t3_accel\.h"|#include <std\w+\.h>|LINUX_VERSION_CODE')
    for step, files in states():
        for path, text in files.items():
            if "t3" in path:
                found = words.search(text)
                check(not found, f"{step['name']}: {path} has", found and found[0])


def macros_are_written_out():
    """With their values of the newest kernel."""
    text = states()[-1][1]["drivers/accel/t3/t3_drv.c"]
    check('\nMODULE_IMPORT_NS("DMA_BUF");\n' in text, "the namespace", text[-300:])
    check(re.search(r'\.desc = "[^"]*",\n\t\.major = ', text), "no line for the date")


def tests_come_with_their_patch():
    """Before, no file includes a test; after, each test is included by one."""
    for step, files in states():
        included = re.findall(r'^#include "tests/(\w+\.c)"$', "\n".join(files.values()), re.M)
        there = [pathlib.Path(path).name for path in files if "/tests/" in path and path[-1] == "c"]
        check(sorted(included) == sorted(there), f"{step['name']}: tests", included)
        for path, text in files.items():
            if "t3" in path:
                check(text.endswith("\n") and not text.endswith("\n\n"), f"{path}: its end")
                check("\n\n\n" not in text, f"{path}: two blank lines")
    check(there, "no tests")


def kconfig_has_what_is_used():
    """Each symbol is there from the step on that uses it; sections have their parts."""
    for step, files in states():
        text = files.get("drivers/accel/t3/Kconfig", "")
        defined = re.findall(r"^config (\w+)$", text, re.M)
        used = set(re.findall(r"CONFIG_(DRM_ACCEL_T3\w*)",
                              "\n".join(t for path, t in files.items() if "/t3/" in path)))
        check(used <= set(defined), f"{step['name']}: symbols", used - set(defined))
        for section in text.split("\nconfig ")[1:]:
            check(re.match(r"\w+\n\t(bool|tristate) \"[^\"]+\"( if \S+)?\n"
                           r"(\t(depends on|select|default) .+\n)+\thelp\n(\t  \S.*\n|\n)+$",
                           section + "\n"), "a section of Kconfig", section)


def driver_is_reached_when_it_links():
    for step, files in states():
        before = not "drivers/accel/t3/t3_drv.c" in files
        for name, line in (("Kconfig", 'source "drivers/accel/t3/Kconfig"'),
                           ("Makefile", "obj-$(CONFIG_DRM_ACCEL_T3)\t\t+= t3/")):
            check((line not in files[f"drivers/accel/{name}"]) == before, step["name"], name)
    text = states()[-1][1]["drivers/accel/Kconfig"]
    check(text.index("rocket") < text.index("t3/") < text.index("zeta"), "not in order", text)


def maintainers_has_all_files():
    """At each step, for each file that is there: checkpatch cannot tell."""
    for step, files in states():
        text = files["MAINTAINERS"]
        entry = re.search(rf"^{trees.TITLE}\n(.*?)\n\n", text, re.M | re.S)[1]
        tags = re.findall(r"^(\w):\t", entry, re.M)
        check(tags == sorted(tags, key="MRLSWQBCPTFXNK".index), "order of the entry", entry)
        patterns = re.findall(r"^F:\t(.*)$", entry, re.M)
        check(patterns == sorted(patterns), "order of the files", entry)
        for path in files.keys() - set(trees.PARENTS):
            check(any(path.startswith(pattern) for pattern in patterns), f"{step['name']}: {path}")
        for pattern in patterns:
            check(any(path.startswith(pattern) for path in files), f"{step['name']}: {pattern}")
    titles = re.findall(r"^(.+)\nM:", text, re.M)
    check(titles == sorted(titles), "order of entries", titles)


def pages_name_what_is_there():
    """Each file of the driver is in one row of the overview; each module parameter and attribute is
    on the page for administrators."""
    overview = (ROOT / "tools/series/doc/index.rst").read_text()
    table = re.search(r"^Block .*\n=.*\n((?:.*\n)*?)=", overview, re.M)[1]
    listed = sorted(name for row in table.splitlines() for name in re.findall(r"\w+", row[15:]))
    sources = sorted(path.stem[3:] for path in (ROOT / "driver").glob("t3_*.c"))
    check(listed == sources, "files", set(listed) ^ set(sources))
    admin = (ROOT / "tools/series/doc/admin.rst").read_text()
    driver = "".join(path.read_text() for path in (ROOT / "driver").glob("t3_*.c"))
    wanted = re.findall(r"^module_param\w*\((\w+),", driver, re.M)
    wanted += re.findall(r"^static DEVICE_ATTR_RO\((\w+)\)", driver, re.M)
    check(len(wanted) > 10, "parameters and attributes", wanted)
    for name in wanted:
        check(re.search(rf"\b{name}\b", admin), f"{name} is not in admin.rst")


# --- patches -----------------------------------------------------------------

def patches_make_the_files():
    """The same bytes each time. Applied, they leave what the last step says."""
    with folder() as place:
        source = newest_tree(place / "linux")
        for name in ("one", "two"):
            expect(run(SCRIPT, source, place / name, env={"TZ": "Asia/Tokyo" if name == "two"
                                                          else "UTC"}),
                   0, rf"^{len(states())} patches for Linux 7\.3\.4 and a cover letter in ")
        names = sorted(path.name for path in (place / "one").iterdir())
        check(len(names) == len(states()) + 1 and names[0] == "0000-cover-letter.patch", names)
        same = filecmp.cmpfiles(place / "one", place / "two", names, shallow=False)
        check(same[0] == names, "other bytes in", same[1:])
        for word in ("init -q", "add -f " + " ".join(trees.PARENTS), "commit -q -m base",
                     "am -q " + " ".join(f"{place}/one/{name}" for name in names[1:])):
            subprocess.run(["git", "-c", "user.name=T", "-c", "user.email=t@localhost",
                            *word.split()], cwd=source, check=True, capture_output=True)
        for path, text in states()[-1][1].items():
            wanted = text.replace(AUTHOR, generator().last_commit()[0])
            check((source / path).read_text() == wanted, f"{path} differs")
        cover = (place / "one" / names[0]).read_text()
        check("***" not in cover and "Linux 7.3.4" in cover, "cover letter", cover[:2000])
        for name in names:
            text = (place / "one" / name).read_text()
            check(str(place) not in text and "\nSigned-off-by:" not in text, name)


def other_trees_are_refused():
    """In one sentence that says what is wrong; nothing is written."""
    with folder() as place:
        cases = [(kernel(place / "a", without="MAINTAINERS"), "has no MAINTAINERS"),
                 (kernel(place / "b", forms=3), r"is too old for a series: .*without .*ALLOC_OBJ"),
                 (kernel(place / "c"), "does not know the form .* MODULE_IMPORT_NS"),
                 (kernel(place / "d"), "has drivers/accel/t3"),
                 (place / "none", "has no drivers/accel/Kconfig")]
        (place / "c/include/linux/module.h").write_text("\n")
        (place / "d/drivers/accel/t3").mkdir()
        for source, text in cases:
            result = run(SCRIPT, source, place / "out")
            expect(result, 1, rf"^t3: .*{text}")
            check(len(result[2].splitlines()) == 1, "one sentence", result[2])
            check(not (place / "out").exists(), "written")


def make_series_takes_a_tree():
    """Into the build folder, with a link to the tree for make check-series."""
    with folder() as place:
        source = newest_tree(place / "linux")
        words = ["make", "-s", "series", f"T3_BUILD={place}/build"]
        expect(run(*words, f"TREE={source}"), 0, rf"^{len(states())} patches for Linux 7\.3\.4")
        check((place / "build/series/source").resolve() == source.resolve(), "the link")
        check((place / "build/series/patches/0001-accel-t3-Add-the-ioctl-interface.patch").exists(),
              "no patch")
        expect(run(*words, "TREE=/nowhere"), 2, "t3: TREE must be the folder of a kernel's source; "
               "there is no folder '/nowhere'")


TESTS = [each_file_is_in_one_step, steps_have_what_they_include, objects_are_those_of_kbuild,
         exceptions_have_reasons, messages_have_their_form, nothing_of_other_kernels_remains,
         macros_are_written_out, tests_come_with_their_patch, kconfig_has_what_is_used,
         driver_is_reached_when_it_links, maintainers_has_all_files, pages_name_what_is_there,
         patches_make_the_files,
         other_trees_are_refused, make_series_takes_a_tree]


if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
