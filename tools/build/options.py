#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Variables of make: their values and defaults, and what is said of a wrong one.

usage: options.py     (RANKS NODES TOPOLOGY SHAPE TILE DTYPE WRITE ITERS SEED from the environment)

Called itself, it checks the options of `make run`. It prints one sentence for the first wrong one,
with what is allowed, and exits 2. make.py uses the rest of it for each target.
"""

import argparse
import difflib
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Defaults of what a target reads, by name.
DEFAULTS = {
    "T3_JOBS": "2", "RANKS": "4", "NODES": "1", "TOPOLOGY": "ring", "SHAPE": "256x256x256", "TILE": "32x32", "DTYPE": "f32",
    "WRITE": "store", "ITERS": "4", "SEED": "1", "SHARE": ".", "MUTANTS": "300", "COUNT": "2000",
    "SOAK_SECONDS": "600", "SOAK_SEED": "", "SOAK_MIGRATE": "60", "SOAK_SCALE": "4", "SOAK_ROUNDS": "1000",
    "SOAK_CLIENTS": "10000", "SOAK_HOGS": "600", "FUZZ_SECONDS": "900", "FUZZ_CC": "clang"}
# Those that make try, make gdb and others take from the command line alone: an environment may use
# such a name otherwise.
TYPED = ("TEST", "CMD", "RANKS", "VM_OPTIONS", "KERNEL", "SIDE", "GDB_COMMANDS", "GDB", "CORE")
# Directories that an installation knows. DESTDIR goes before each and is not known to it.
INSTALLED = ("PREFIX", "BINDIR", "LIBDIR", "INCLUDEDIR", "DATADIR", "MANDIR")
DIRECTORIES = ("DESTDIR", *INSTALLED)

# Of make's own rules, GNU's conventions and Kbuild: a user or a package's build may give them to any tree.
USUAL = set("""AR ARFLAGS AS ASFLAGS CC CCFLAGS CFLAGS CPP CPPFLAGS CXX CXXFLAGS GDB INSTALL LD LDFLAGS
    LDLIBS LLVM MAKE MAKEFLAGS NM OBJCOPY PKG_CONFIG SHELL STRIP V VERBOSE W""".split())
READERS = ("*.py", "*.sh", "*.mk", "t3-vm")

# Goals that know another processor than this machine's.
CROSSED_GOALS = ("run shell try check check-all build deps qemu kernel module lib tools initramfs "
                 "tests-image unit guest conformance check-matrix clean distclean help").split()

MOST = 2**64 - 1  # of a seed
ELEMENTS = 67108864  # of the output
TILES = 1048576


class Parser(argparse.ArgumentParser):
    """A wrong option ends the program with a sentence, and without the usage."""

    def error(self, message):
        print("t3:", re.sub(r"^argument --\w+: ", "", message), file=sys.stderr)
        sys.exit(2)


def numbers(count, low, high, rule):
    """A type of argument: so many whole numbers with an x between them."""
    def parse(text):
        # A sign or a leading zero is refused, which other programs would take for something else.
        if re.fullmatch("x".join(["(0|[1-9][0-9]{0,19})"] * count), text, re.ASCII):
            values = [int(word) for word in text.split("x")]
            if all(low <= value <= high for value in values):
                return values[0] if count == 1 else values
        raise argparse.ArgumentTypeError(f"{rule}; got '{text}'")
    return parse


def one_of(words, rule):
    def parse(text):
        if text in words:
            return text
        raise argparse.ArgumentTypeError(f"{rule}; got '{text}'")
    return parse


TYPES = {
    "RANKS": numbers(1, 2, 32, "RANKS must be a whole number from 2 to 32"),
    "NODES": numbers(1, 1, 32, "NODES must be a whole number that divides RANKS"),
    "TOPOLOGY": one_of(("ring", "full", "switch"), "TOPOLOGY must be ring, full or switch"),
    "DTYPE": one_of(("i32", "f32", "f16", "bf16"), "DTYPE must be one of i32, f32, f16, bf16"),
    "WRITE": one_of(("store", "doorbell", "gemm"), "WRITE must be store, doorbell or gemm"),
    "ITERS": numbers(1, 1, 100000, "ITERS must be a whole number from 1 to 100000"),
    "SEED": numbers(1, 0, MOST, f"SEED must be a whole number from 0 to {MOST}"),
    "SHAPE": numbers(3, 1, 65536, "SHAPE must be MxNxK, each 1 to 65536, as in 256x256x256"),
    "TILE": numbers(2, 1, 1024, "TILE must be ROWSxCOLS, each 1 to 1024, as in 32x32"),
}


def tiles(given):
    """How many tiles the output of all ranks is cut into."""
    (rows, columns), (m, n, _) = given.TILE, given.SHAPE
    m //= given.RANKS
    return -(-m // min(rows, m)) * -(-n // min(columns, n)) * given.RANKS


def check_run(environment):
    """The options of `make run`."""
    parser = Parser(usage=__doc__, add_help=False)
    for name, kind in TYPES.items():
        parser.add_argument(f"--{name}", type=kind)
    text = {name: environment.get(name, "") for name in TYPES}
    given = parser.parse_args([f"--{name}={value}" for name, value in text.items()])
    m, n, k = given.SHAPE
    if given.RANKS % given.NODES:
        parser.error(f"NODES must be a whole number that divides RANKS={given.RANKS}; got '{given.NODES}'")
    if m % given.RANKS or k % given.RANKS:
        parser.error(f"SHAPE MxNxK needs M and K divisible by RANKS={given.RANKS}; got '{text['SHAPE']}'")
    if m * n > ELEMENTS:
        parser.error(f"SHAPE MxNxK needs M times N at most {ELEMENTS} elements; got '{text['SHAPE']}'")
    if tiles(given) > TILES:
        parser.error(f"TILE must cut the output into at most {TILES} tiles; "
                     f"'{text['TILE']}' makes {tiles(given)} of '{text['SHAPE']}'")


# --- what make was given -----------------------------------------------------

def read_flags(flags):
    """(letters of make's own options, their long forms, {variable: value as it was typed}) of MAKEFLAGS."""
    own, _, rest = f" {flags} ".partition(" -- ")
    typed = {}
    for word in re.findall(r"(?:\\.|[^\s\\])+", rest):
        name, _, value = re.sub(r"\\(.)", r"\1", word).replace("$$", "$").partition("=")
        typed[name.rstrip(":?+")] = value
    words = own.split()
    letters = words.pop(0) if words and not words[0].startswith("-") else ""
    return letters, words, typed


def known_names(help_text):
    return USUAL | {*DEFAULTS, *TYPED, *DIRECTORIES, "T3_BUILD", "T3_CACHE", "T3_KERNEL", "TRY_PROGRAMS", "T3_PACKAGES",
                    *re.findall(r"\b([A-Z][A-Z0-9_]*)=", help_text)}


def names_of_tree():
    """Names that scripts take from the environment."""
    for folder in ("tools", "tests"):
        for pattern in READERS:
            for path in (ROOT / folder).rglob(pattern):
                yield from re.findall(r"\bT3_[A-Z0-9_]+\b", path.read_text(errors="replace"))


def refuse_unread(typed, help_text):
    """A misspelt variable, such as RANK=8, is refused with the nearest right name."""
    known = known_names(help_text)
    for name in typed:
        if name in known or name.startswith("T3_") and name in set(names_of_tree()):
            continue
        near = difflib.get_close_matches(name.upper(), sorted(known - USUAL | {"CC", "CFLAGS"}), 1, 0.6)
        refuse(f"nothing here reads the variable '{name}'" + (f"; did you mean {near[0]}" if near else "") +
               "? `make help` lists what may be set")


def refuse(sentence):
    print(f"t3: {sentence}", file=sys.stderr)
    sys.exit(2)


def selectors(environment, typed, goals):
    """ARCH, ACCEL and KERNEL, and those as T3_ARCH, T3_ACCEL and T3_KERNEL; the command line decides."""
    parser = Parser(add_help=False)
    parser.add_argument("--ARCH", type=one_of(("amd64", "arm64"), "ARCH must be amd64, which is the default, or arm64"))
    parser.add_argument("--ACCEL", type=one_of(("tcg", "kvm", "auto"), "ACCEL must be tcg, kvm or auto"))
    parser.add_argument("--KERNEL", type=kernel)
    text = {"ARCH": typed.get("ARCH") or environment.get("T3_ARCH") or "amd64",
            "ACCEL": typed.get("ACCEL") or environment.get("T3_ACCEL") or "tcg", "KERNEL": ""}
    # make try and make gdb have a KERNEL of their own (try.py).
    if typed.get("KERNEL", "debian") != "debian" and not set(goals) <= {"try", "gdb"}:
        text["KERNEL"] = typed["KERNEL"]
    given = parser.parse_args([f"--{name}={value}" for name, value in text.items()])
    if given.ARCH != "amd64":
        if given.KERNEL:
            parser.error("KERNEL selects one of Debian's kernels for amd64; "
                         f"ARCH={given.ARCH} has a kernel of its own: leave KERNEL out")
        for goal in goals:
            if goal not in CROSSED_GOALS and "/" not in goal:
                parser.error(f"ARCH={given.ARCH} is for {' '.join(CROSSED_GOALS)}; got '{goal}'")
    usual = environment.get("T3_KERNEL") or "kernel"
    return {"T3_ARCH": given.ARCH, "T3_ACCEL": given.ACCEL,
            "T3_KERNEL": given.KERNEL or (usual if given.ARCH == "amd64" else f"kernel-{given.ARCH}")}


def kernel(text):
    if text == "debug":
        raise argparse.ArgumentTypeError("KERNEL=debug is for make try and make gdb; its suites are make check-debug")
    if text and not re.fullmatch(r"[0-9]+(\.[0-9]+){0,2}(\+[a-z0-9.]+)?|newest", text, re.ASCII):
        raise argparse.ArgumentTypeError("KERNEL must be the beginning of a version, as in 7.3 or 6.12.117, "
                                         f"or newest, debian or debug; got '{text}'")
    return text


def folders(environment, arch):
    """T3_BUILD and T3_CACHE. Neither make, ninja nor a shell takes a strange name apart from several."""
    build, cache = environment.get("T3_BUILD") or ".build", environment.get("T3_CACHE") or f"{ROOT}/.cache"
    if re.search(r"[][\s\"'`$#:%&;|<>()*?,\\]", f"{ROOT}{build}{cache}"):
        refuse("the path of the tree, T3_BUILD or T3_CACHE has a blank or another character that make or a shell takes "
               f"for something else: '{ROOT}', '{build}', '{cache}'. Allowed are letters, digits and "
               "/ . _ - + = @ ~; move the tree, or set T3_BUILD and T3_CACHE")
    if arch != "amd64":
        build = re.sub(f"/{arch}$", "", build) + f"/{arch}"
    return {"T3_BUILD": os.path.abspath(build), "T3_CACHE": cache}


def variables(environment, typed, goals):
    """The environment of all steps: make's, with what was typed, selected, and the defaults."""
    found = {**DEFAULTS, **environment, **{name: value for name, value in typed.items() if name.isidentifier()}}
    found.update(selectors(environment, typed, goals))
    found.update(folders(found, found["T3_ARCH"]))
    # An environment may have a QEMU that is a program.
    asked = typed.get("QEMU") or re.match("([0-9].*)?", environment.get("QEMU", ""))[0]
    found["T3_QEMU"] = asked or environment.get("T3_QEMU", "")
    found.pop("T3_GUEST", None)
    if not re.match("kernel(-|$)", found["T3_KERNEL"]):
        found["T3_GUEST"] = f"{found['T3_BUILD']}/linux-{found['T3_KERNEL']}"
    for name in TYPED:
        found[f"T3_TRY_{name}"] = typed.get(name, "")
    found["T3_MPI4PY"] = found.get("MPI4PY") or found.get("T3_MPI4PY", "")
    found.setdefault("PREFIX", "/usr/local")
    for name, default in (("BINDIR", "PREFIX bin"), ("LIBDIR", "PREFIX lib"), ("INCLUDEDIR", "PREFIX include"),
                          ("DATADIR", "PREFIX share"), ("MANDIR", "DATADIR man")):
        parent, folder = default.split()
        found.setdefault(name, f"{found[parent]}/{folder}")
    return found


if __name__ == "__main__":
    check_run(os.environ)
