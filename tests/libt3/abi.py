#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What programs have compiled in of libt3 and of the ioctls, against the last release; TAP.

usage: abi.py              (compares libt3.abi with the headers and the built library)
       abi.py --release    (writes libt3.abi: at a release, from then on it holds)

Functions, structs and numbers may be added, and some structs may grow. What programs use may not
change. Each line of libt3.abi is one fact: a word, a name, and what belongs to it.
"""

import re
import subprocess
import sys

from api import BUILD, ROOT, Wrong, functions, public_headers, require, run_tests

STORED = ROOT / "tests/libt3/libt3.abi"
VERSION = (ROOT / "tools/packaging/VERSION").read_text(encoding="utf-8").strip()
PLACE = BUILD / "abi"
UAPI = ROOT / "uapi/t3_accel.h"
FLAGS = ["-std=gnu11", f"-I{ROOT}/uapi", f"-I{ROOT}/libt3"]

# Structs that callers do not make themselves, or whose size they tell: fields come at the end.
MAY_GROW = re.compile(r"drm_t3_\w+|t3_device_entry|t3_import_info")
# Unions of such structs: a member may grow in its place.
UNIONS = re.compile(r"drm_t3_any_command\.\w+")
# Numbers that grow with what they count.
COUNTS = re.compile(r"(?!DRM_T3_OP_)\w+_(COUNT|MINOR|MAX)")
IOCTL_SIZE = 0x3fff << 16
HEAD = """\
# SPDX-License-Identifier: MIT
# What programs have compiled in of libt3 and of the driver's ioctls since release {version}.
# tests/libt3/abi.py compares this with the tree; abi.py --release writes it at a release.
"""


def execute(*command, text=None, status=0):
    done = subprocess.run([str(part) for part in command], input=text, capture_output=True,
                          text=True, check=False, timeout=120)
    require(done.returncode == status or status is None, f"{command}: {done.stderr}")
    return done


# --- what there is now -------------------------------------------------------

def function_facts():
    listed = execute("nm", "-D", "--defined-only", "--with-symbol-versions", BUILD / "libt3.so").stdout
    versions = dict(re.findall(r" [A-Z] (\w+)@@(\w+)$", listed, re.M))
    for name, found in functions().items():
        types = [re.sub(r"\b\w+$", "", part).strip() if not re.fullmatch(r"void|\.\.\.", part)
                 else part for part in found.arguments]
        yield ("function", name), f"{versions.get(name, 'hidden')} {found.result} ({', '.join(types)})"


def fields_of(body):
    """The names of a struct's or union's fields: the last word of each, without its array."""
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    for part in body.split(";"):
        for item in part.split(","):
            if match := re.search(r"(\w+)\s*(\[[^;]*\])?\s*$", item):
                yield match[1]


def struct_lines():
    """C that prints the facts of each struct of the headers."""
    for header in (*public_headers(), UAPI):
        text = header.read_text(encoding="utf-8")
        for kind, name, body in re.findall(r"^(struct|union) (\w+) \{\n(.*?)^\}", text, re.M | re.S):
            yield f'printf("struct {name} %zu\\n", sizeof({kind} {name}));'
            for field in fields_of(body):
                yield (f'printf("field {name}.{field} %zu %zu\\n", offsetof({kind} {name}, {field}),'
                       f' sizeof((({kind} {name} *)0)->{field}));')


def numbers():
    """Names that may be numbers: a compiler decides."""
    for header in (*public_headers(), UAPI):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
        yield from re.findall(r"^#define ((?:DRM_)?(?:IOCTL_)?T3_\w+)[ \t]+\S", text, re.M)
        for body in re.findall(r"^enum \w+ \{(.*?)\}", text, re.M | re.S):
            yield from re.findall(r"^\s*((?:DRM_)?T3_\w+)", body, re.M)


def number_lines():
    for name in dict.fromkeys(numbers()):
        yield f'printf("number {name} %#llx\\n", ({name}) * 1ull);'


def compiled(lines):
    """What the lines print. A line that does not compile alone is no number, and is left out."""
    lines = list(lines)
    while True:
        source = "#include <stddef.h>\n#include <stdio.h>\n#include <t3_coll.h>\n"
        source += "#include <t3_producer.h>\nint main(void)\n{\n" + "\n".join(lines) + "\n}\n"
        program = PLACE / "facts"
        cflags = execute("pkg-config", "--cflags", "libdrm").stdout.split()
        done = execute("gcc", "-x", "c", *FLAGS, *cflags, "-o", program, "-", text=source, status=None)
        if done.returncode == 0:
            return execute(program).stdout.splitlines()
        wrong = {int(line) - 7 for line in re.findall(r"^<stdin>:(\d+):\d+: error", done.stderr, re.M)}
        require(wrong and all(0 <= line < len(lines) and "number" in lines[line] for line in wrong),
                done.stderr)
        lines = [line for number, line in enumerate(lines) if number not in wrong]


def facts_now():
    PLACE.mkdir(parents=True, exist_ok=True)
    facts = dict(function_facts())
    for line in compiled([*struct_lines(), *number_lines()]):
        kind, name, rest = line.split(" ", 2)
        facts[kind, name] = rest
    return facts


# --- what the last release had -----------------------------------------------

def parse(text):
    lines = [line.split(" ", 2) for line in text.splitlines() if line and line[0] != "#"]
    require(lines and all(len(line) == 3 for line in lines), f"{STORED.name}: not WORD NAME REST")
    facts = {(kind, name): rest for kind, name, rest in lines}
    return facts.pop(("release", "of")), facts


def written(facts):
    lines = [f"{kind} {name} {rest}" for (kind, name), rest in facts.items()]
    return HEAD.format(version=VERSION) + f"release of {VERSION}\n" + "\n".join(lines) + "\n"


def is_padding(name):
    return re.search(r"\.(pad\w*|reserved\w*)$", name)


def has_grown_in_place(name, old, new):
    if not UNIONS.fullmatch(name):
        return False
    (old_place, old_size), (place, size) = old.split(), new.split()
    return place == old_place and int(size) > int(old_size)


def number_is_kept(name, old, new):
    if name.startswith("DRM_IOCTL_"):
        # The request has its struct's size inside. A struct that grows is another line.
        return int(old, 16) & ~IOCTL_SIZE == int(new, 16) & ~IOCTL_SIZE
    return bool(COUNTS.fullmatch(name)) and int(new, 16) >= int(old, 16)


def complaint(key, old, new, release):
    """A sentence on a fact that has changed in a way that breaks programs, or None."""
    kind, name = key
    if kind == "function":
        if new is None:
            return (f"function {name} is gone, and programs that were linked with libt3 {release} "
                    "call it: keep it, or give the library another soname")
        return (f"function {name} is now '{new}', and was '{old}' in {release}: programs would "
                "call it wrongly; keep it, and give the new one another name")
    if kind == "struct":
        if new is not None and MAY_GROW.fullmatch(name) and int(new) > int(old):
            return None
        return (f"struct {name} has {new or 'no more'} bytes, and had {old} in {release}: programs "
                "have the old size compiled in; make a struct with another name")
    if kind == "field":
        if is_padding(name) if new is None else has_grown_in_place(name, old, new):
            return None
        return (f"field {name} is at {new or 'no place'} (offset, bytes), and was at {old} in "
                f"{release}: programs have the old place compiled in; add fields at the end")
    if new is not None and number_is_kept(name, old, new):
        return None
    return (f"{name} is {new or 'gone'}, and was {old} in {release}: programs have the old number "
            "compiled in; give the new one another name")


def complaints(release, before, now):
    for key, old in before.items():
        new = now.get(key)
        if new != old and (text := complaint(key, old, new, release)):
            yield text


# --- the tests ---------------------------------------------------------------

def nothing_of_the_last_release_has_changed():
    release, before = parse(STORED.read_text(encoding="utf-8"))
    wrong = list(complaints(release, before, facts_now()))
    require(not wrong, "\n".join(wrong))


def dump_has_all_kinds_of_facts():
    """Otherwise an empty list would pass."""
    _, before = parse(STORED.read_text(encoding="utf-8"))
    least = {"function": 100, "struct": 40, "field": 200, "number": 150}
    for kind, count in least.items():
        found = sum(1 for key in before if key[0] == kind)
        require(found >= count, f"{STORED.name} has {found} lines of '{kind}', not {count} or more")


# (what the tree would have, word and name, its new value or None, a part of the sentence or "")
CHANGES = [
    ("a function less", ("function", "t3_arm"), None, "t3_arm is gone"),
    ("another argument", ("function", "t3_arm"), "T3_0 void (int)", "call it wrongly"),
    ("a larger struct that programs fill", ("struct", "t3_gemm_desc"), "136", "had 128"),
    ("a smaller struct of an ioctl", ("struct", "drm_t3_query"), "8", "had 16"),
    ("a larger struct of an ioctl", ("struct", "drm_t3_query"), "24", ""),
    ("a struct less", ("struct", "drm_t3_query"), None, "no more bytes"),
    ("a field elsewhere", ("field", "drm_t3_query.data"), "0 8", "was at 8 8"),
    ("a field less", ("field", "drm_t3_query.data"), None, "no place"),
    ("a larger member of a union", ("field", "drm_t3_any_command.copy"), "0 72", ""),
    ("a smaller member of a union", ("field", "drm_t3_any_command.copy"), "0 56", "was at 0 64"),
    ("a larger field of a struct", ("field", "drm_t3_query.data"), "8 16", "was at 8 8"),
    ("a pad that is used now", ("field", "t3_plan_desc.pad"), None, ""),
    ("another number", ("number", "DRM_T3_F32"), "0x77", "the old number"),
    ("another maximum's operation", ("number", "DRM_T3_OP_MAX"), "0x7", "the old number"),
    ("a number less", ("number", "DRM_T3_F32"), None, "is gone"),
    ("one ioctl more", ("number", "DRM_T3_IOCTL_COUNT"), "0x40", ""),
    ("one ioctl less", ("number", "DRM_T3_IOCTL_COUNT"), "0x1", "the old number"),
    ("an ioctl with a larger struct", ("number", "DRM_IOCTL_T3_QUERY"), "0xc0186440", ""),
    ("an ioctl of another number", ("number", "DRM_IOCTL_T3_QUERY"), "0xc0106477", "old number"),
]


def each_incompatible_change_is_a_sentence():
    release, before = parse(STORED.read_text(encoding="utf-8"))
    require(not list(complaints(release, before, before)), "it complains of no change")
    for what, key, value, sentence in CHANGES:
        require(key in before, f"{what}: {STORED.name} has no {key}")
        now = {**before, key: value}
        if value is None:
            del now[key]
        found = list(complaints(release, before, now))
        require(len(found) == bool(sentence) and all(sentence in text for text in found),
                f"{what}: {found}")


def what_is_added_is_compatible():
    release, before = parse(STORED.read_text(encoding="utf-8"))
    now = {**before, ("function", "t3_more"): "T3_1 int (void)", ("struct", "t3_more"): "8",
           ("number", "T3_MORE"): "0x1"}
    require(not list(complaints(release, before, now)), "it complains of what was added")


TESTS = [nothing_of_the_last_release_has_changed, dump_has_all_kinds_of_facts,
         each_incompatible_change_is_a_sentence, what_is_added_is_compatible]


def main():
    if sys.argv[1:] == ["--release"]:
        STORED.write_text(written(facts_now()), encoding="utf-8")
        return 0
    if sys.argv[1:]:
        sys.exit(__doc__)
    return run_tests(TESTS)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as error:
        sys.exit(f"abi.py: {error}")
