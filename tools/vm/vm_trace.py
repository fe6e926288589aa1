# SPDX-License-Identifier: MIT
"""What the guest's kernel reported when it failed: the line that says so and the call trace, with
file and line for modules of ours."""

import functools
import os
import re
import subprocess

from vm_base import GUEST

# A program's own fault is none: "traps: NAME[7] general protection fault ip:...".
TROUBLE = re.compile(
    r"\bBUG:|\bWARNING:|\bOops\b|[Kk]ernel panic|[Uu]nable to handle|"
    r"general protection fault[:,]|UBSAN:|rcu: INFO: .*stall|INFO: task .* blocked|"
    r"work func \S+ \[t3\] enqueued on deprecated workqueue")

STAMP = re.compile(r"^\[ *\d+\.\d+\] ?")
# "t3_probe+0x10/0x313 [t3]". "? " before it means that the address was only found on the stack.
PLACE = re.compile(r"([\w.]+)\+0x([0-9a-f]+)/0x([0-9a-f]+) \[(\w+)[^\]]*\]")
WHERE = re.compile(r"^(RIP: 0010:|pc : | *(Comm|CPU): |task:)")
TRACE_LINES = 24
MODULES = ("module", "module-stuck")  # lint has others, which run nowhere
LINES_BETWEEN = 60  # registers, code bytes and modules are between a report and its trace


# --- file and line -----------------------------------------------------------

@functools.lru_cache(maxsize=None)
def module_symbols(name):
    """(file, {function: [(size, section, address)]}) of a module that was built here."""
    files = [path for path in (GUEST / folder / f"{name}.ko" for folder in MODULES) if path.exists()]
    if not files:
        return None, {}
    text = subprocess.run(["readelf", "-SsW", files[0]], capture_output=True, text=True,
                          check=False).stdout
    sections = dict(re.findall(r"^ *\[ *(\d+)\] (\S+) ", text, re.M))
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 8 and words[3] == "FUNC" and words[6] in sections:
            found.setdefault(words[7], []).append(
                (int(words[2], 0), sections[words[6]], int(words[1], 16)))
    return files[0], found


def source_of(path, folder):
    """The path in the tree. The build sees the file in a mirror, whose path in the module is that of
    before where the tree was moved or copied. So the longest tail that the mirror has is taken."""
    name = re.sub(r"^.*/linux-headers-[^/]*/", "", re.sub(r" \(discriminator \d+\)$", "", path))
    line = name.rpartition(":")[2]
    parts = name.removesuffix(f":{line}").strip("/").split("/")
    tails = ("/".join(parts[first:]) for first in range(len(parts)))
    return next((f"{tail}:{line}" for tail in tails if os.path.lexists(folder / tail)), name)


def source_lines(match, is_return):
    """["driver/x.c:12", ...] of a place, inlined functions first."""
    file, symbols = module_symbols(match[4])
    # The kernel's size includes the padding up to the next function.
    fits = [symbol for symbol in symbols.get(match[1], []) if symbol[0] <= int(match[3], 16)]
    if not fits:
        return []
    _, section, address = max(fits)
    # A return address is that of the instruction after the call.
    address += int(match[2], 16) - (1 if is_return else 0)
    text = subprocess.run(["addr2line", "-i", "-e", file, "-j", section, hex(address)],
                          capture_output=True, text=True, check=False).stdout
    lines = [source_of(line, file.parent) for line in text.splitlines()]
    return [line for line in lines if not line.startswith("??")]


def decoded(line):
    match = PLACE.search(line)
    places = source_lines(match, not line.startswith(("RIP:", "pc :"))) if match else []
    return line + "".join(f"  {place}" for place in places)


# --- the report --------------------------------------------------------------

def trace_after(lines):
    """The lines with places, up to the end of the first call trace."""
    found, inside = [], False
    for line in lines[:LINES_BETWEEN + TRACE_LINES]:
        if inside and (line.strip() == "</TASK>" or not line.startswith(" ")):
            break
        if line.startswith(("Call Trace:", "Call trace:")):
            inside = True
        elif not inside and not WHERE.match(line):
            continue
        if line.strip() not in ("<TASK>", "") and not line.strip().startswith("? "):
            found.append(line)
    return found[:TRACE_LINES]


def trouble_lines(text):
    """All lines that report a problem."""
    return [line for line in text.splitlines() if TROUBLE.search(line)]


def report(text):
    """The first report with its trace, decoded. [] when the kernel reported nothing."""
    lines = [STAMP.sub("", line) for line in text.splitlines()]
    first = next((number for number, line in enumerate(lines) if TROUBLE.search(line)), None)
    if first is None:
        return []
    return [lines[first], *map(decoded, trace_after(lines[first + 1:]))]
