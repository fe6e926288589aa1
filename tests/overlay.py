#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What QEMU's source gets before it is built: each hook says for which versions it is, and is
applied there; its devices; TAP on stdout. Builds nothing.

usage: overlay.py [NAME...]     (default: all tests)
"""

import re
import shutil
import sys

import loop
from build import CACHE, folder
from loop import BUILD, ROOT, Skip, check, expect, run

TABLE = re.compile(r'^QEMU_HOOKS="\n(.*?)^"$', re.M | re.S)


def hooks():
    """{hook: (first version, last version)}"""
    text = (ROOT / "tools/build/qemu-overlay.sh").read_text()
    return {hook: (first, last) for hook, first, last in
            (line.split() for line in TABLE.search(text)[1].splitlines())}


def overlay(script, **more):
    """Runs a script with the functions of qemu-overlay.sh."""
    return run("bash", "-c", "set -euo pipefail; . tools/build/common.sh; "
               f". tools/build/qemu-overlay.sh\n{script}", env=more)


# --- the table ---------------------------------------------------------------

def each_hook_has_versions():
    """All functions that qemu_hooks() calls for a source are in the table, and no others."""
    called = re.findall(r"^\s+(\w+) (?:\"\$1\"|>>)", overlay("declare -f qemu_hooks")[1], re.M)
    called = [name for name in called if name not in ("insert_after", "echo")]
    check(len(called) > 4 and sorted(called) == sorted(hooks()), "hooks", called)
    for hook, (first, last) in hooks().items():
        check(re.fullmatch(r"\d+\.\d+ \d+\.\d+", f"{first} {last}"), "versions", hook)


def versions_are_compared_by_number():
    for version, wanted in (("10.0", 0), ("10.1", 0), ("10.2", 0), ("9.2", 1), ("10.3", 1),
                            ("10.10", 1), ("11.1", 1), ("1.0", 1)):
        expect(overlay(f"in_versions {version} 10.0 10.2"), wanted)


# --- which are applied -------------------------------------------------------

# Hooks that say that they ran; what the real ones do is seen in the cache.
STUBS = "\n".join(f"{hook}() {{ echo applied {hook}; }}" for hook in hooks()) + """
insert_after() { :; }
QEMU_HOOKS=${TABLE:-$QEMU_HOOKS}
qemu_fitting_hooks "$SOURCE"
"""

UPSTREAM = "    full->section = section;\n"


def source(place, version, cputlb=""):
    for name, text in (("VERSION", f"{version}\n"), ("accel/tcg/cputlb.c", cputlb), ("qapi/qom.json", ""),
                       ("tests/qtest/meson.build", ""), ("hw/meson.build", "")):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return str(place)


# As the real ones, qapi_fabric's output goes to a file.
def applied(place, *facts, **more):
    result = overlay(STUBS, SOURCE=source(place, *facts), **more)
    expect(result, 0)
    text = result[1] + (place / "qapi/qom.json").read_text()
    return sorted(re.findall(r"^applied (\w+)$", text, re.M)), result[1]


def table(**ends):
    """QEMU_HOOKS with other last versions of some hooks."""
    return "\n".join(f"{hook} {first} {ends.get(hook, last)}"
                     for hook, (first, last) in hooks().items())


def hooks_of_their_versions():
    """All where their versions fit. Where one does not, the source shows that it is not needed."""
    every = sorted(hooks())
    for version in ("10.0.13", "10.2.2"):
        with folder() as place:
            names, said = applied(place, version)
            check(names == every and "does without" not in said, version, said)
    with folder() as place:
        names, said = applied(place, "10.2.2", UPSTREAM, TABLE=table(qemu_tlb_sections="10.1"))
        check(names == [name for name in every if name != "qemu_tlb_sections"], "one hook less", names)
        check("QEMU 10.2 does without the hook qemu_tlb_sections" in said, "said", said)


def unknown_versions_are_refused():
    """A newer or older QEMU ends with the hook that nobody has looked at."""
    older = {"TABLE": table(qemu_tlb_sections="10.1")}
    for version, more, hook in (("11.1.2", {}, "qapi_fabric"), ("9.2.0", {}, "qapi_fabric"),
                                ("10.2.1", older, "qemu_tlb_sections")):
        with folder() as place:
            result = overlay(STUBS, SOURCE=source(place, version), **more)
            expect(result, 1, rf"this QEMU is not supported: its version is {version.rpartition('.')[0]}, "
                   rf"the hook {hook} is for \d+\.\d+ to \d+\.\d+, and nothing shows")
            check("applied" not in result[1], "nothing is changed", result[1])


def build_takes_fitting_hooks():
    """What is unpacked gets the hooks of its version before anything else sees it."""
    script = """
        . tools/build/qemu.sh
        dpkg-source() { mkdir -p "${!#}"; }
        qemu_fitting_hooks() { echo "hooks for ${1##*/}"; }
        unpack_source "$PLACE"
        ls -A "$PLACE" """
    with folder() as place:
        expect(overlay(script, PLACE=str(place), T3_CACHE=str(place), T3_BUILD=str(place), T3_QEMU=""), 0,
               "^hooks for source$", r"^\.fetched$")


def upstream_mend_is_seen():
    """The mend of the TLB's entries is not needed where upstream has it whole."""
    for text, wanted in (("", 1), (UPSTREAM, 0), (UPSTREAM + "x = iotlb_to_section(cpu);\n", 1),
                         ("//" + UPSTREAM, 1)):
        with folder() as place:
            expect(overlay(f"qemu_tlb_sections_unneeded {source(place, '11.1.2', text)}"), wanted)


# --- what is in the cache ----------------------------------------------------

# (hook, file, the text that it leaves there)
MARKS = [("qapi_fabric", "qapi/qom.json", "'struct': 'T3FabricProperties'"),
         ("qemu_places", "hw/t3/meson.build", "t3_place"),
         ("qemu_devices", "configs/devices/x86_64-softmmu/t3.mak", "CONFIG_Q35=y"),
         ("qemu_tlb_sections", "accel/tcg/cputlb.c", "full->section = section;"),
         ("qemu_code_protection", "accel/tcg/tb-maint.c", "page_protect_code(pd, paddr)"),
         ("qemu_direct_stores", "accel/tcg/cputlb.c", "static uint64_t st_pieces(")]


def series(entry):
    """The first two numbers of its version."""
    return tuple(map(int, (entry / "source/VERSION").read_text().split(".")[:2]))


def numbers(version):
    return tuple(map(int, version.split(".")))


def key_of(version):
    """Of a cache's entry. Entries of other hooks may be there, too."""
    said = run("bash", "-c", ". tools/build/qemu.sh; qemu_key", env={"T3_QEMU": version})
    expect(said, 0, r"^[0-9a-f]{10}$")
    return said[1].strip()


def key_follows_each_hook():
    """A hook that changes makes another entry, and so do the helpers of a hook."""
    with folder() as tree:
        shutil.copytree(ROOT / "tools/build", tree / "tools/build")
        script = tree / "tools/build/qemu-overlay.sh"
        said = ["bash", "-c", f". {tree}/tools/build/qemu.sh; qemu_key"]
        text, before = script.read_text(), run(*said)
        expect(before, 0, r"^[0-9a-f]{10}$")
        for name in re.findall(r"^(\w+)\(\) [{(]$", text, re.M):
            script.write_text(re.sub(rf"^({name}\(\) [{{(])$", r"\1\n\t: changed", text, flags=re.M))
            check(run(*said)[1] != before[1], name, "the key is the same")


def cached_sources_have_them():
    """Each QEMU in the cache has what the hooks of its version leave, and nothing of others."""
    check(sorted(hook for hook, *_ in MARKS) == sorted(hooks()), "each hook is looked for")
    keys = [key_of(version) for version in ("", "10.2")]
    entries = [path.parent for key in keys for path in CACHE.glob(f"qemu-*-{key}/.complete")]
    if not entries:
        raise Skip("no QEMU of today's hooks is in the cache yet")
    for entry in entries:
        for hook, name, text in MARKS:
            first, last = map(numbers, hooks()[hook])
            path = entry / "source" / name
            found = path.exists() and text in path.read_text()
            check(found == (first <= series(entry) <= last), f"{entry.name}: {hook}", found)
    print(f"# looked at {', '.join(sorted(entry.name for entry in entries))}")


# --- its devices ---------------------------------------------------------------

def listed_devices_are_there():
    """Each device of the table in tools/vm/devices.md is one of the QEMU that is used."""
    rows = re.findall(r"^\| [^|]+ \| (`[^|]+) \|$", (ROOT / "tools/vm/devices.md").read_text(), re.M)
    wanted = set(re.findall(r"`([\w-]+)`", " ".join(rows)))
    qemu = BUILD / "qemu/qemu-system-x86_64"
    if not qemu.exists():
        raise Skip("no QEMU is built")
    said = run(qemu, "-device", "help")
    expect(said, 0)
    there = set(re.findall(r'^name "([^"]+)"', said[1], re.M))
    check(len(wanted) > 15 and wanted <= there, "not there", wanted - there)


TESTS = [each_hook_has_versions, versions_are_compared_by_number, hooks_of_their_versions,
         unknown_versions_are_refused, build_takes_fitting_hooks, upstream_mend_is_seen,
         key_follows_each_hook,
         cached_sources_have_them, listed_devices_are_there]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
