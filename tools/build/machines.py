#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The machines on which the suites have run: tests/machines.json, and its table for readers.

usage: machines.py render     write the table into tests/machines.md
       machines.py check      exit 1 with the reason where the table is not that of the JSON file

The file lists cells. A cell is one kernel, one QEMU, one host, one accelerator and one
architecture. It has the result of its last whole run, or null: it was never run. matrix.py
writes them; a cell that it does not know yet is added by hand, with `"result": null`.
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
MACHINES = ROOT / "tests/machines.json"
PAGE = ROOT / "tests/machines.md"
BEGIN, END = "<!-- machines: by make machines -->", "<!-- end of machines -->"

# What a whole cell has run.
SUITES = ("conformance", "guest")
ARCH = os.environ.get("T3_ARCH") or "amd64"
CROSSED = ARCH != "amd64"
KEY = ("kernel", "qemu", "host", "accel", "arch")
COUNTS = ("passed", "failed", "skipped")
TEXTS = ("kernel", "qemu", "compiler", "date", "version", "commit")


class Wrong(Exception):
    """A file that has not the form. The text says what is wrong."""


# --- what ran here -----------------------------------------------------------

def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True,
                          cwd=ROOT).stdout.strip()


def text_of(path):
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def kernel_release(guest):
    return text_of(guest / "kernel/release")


def qemu_version(build=BUILD):
    """From the name of the cache's entry, which the build folder keeps."""
    match = re.match(r"qemu-(?:\d+_)?(\d+(?:\.\d+)+)", text_of(build / "qemu/.of"))
    return match[1] if match else ""


def host():
    words = dict(line.split("=", 1) for line in text_of(pathlib.Path("/etc/os-release")).split("\n")
                 if "=" in line)
    name = words.get("NAME", "Linux").strip('"').split()[0]
    return f"{name} {words.get('VERSION_ID', '').strip(chr(34))}".strip()


def accelerator():
    """Of the VMs. `auto` and `kvm` are tried. Raises CalledProcessError where KVM is asked for and
    does not work."""
    accel = os.environ.get("T3_ACCEL") or "tcg"
    return accel if accel == "tcg" else output_of(ROOT / "tools/vm/t3-vm", "accel")


def facts(guest):
    """What a result says beside its counts. `guest` is the folder of what depends on the kernel."""
    # What a cell before this one has written is no change of the sources.
    dirty = "+" if output_of("git", "status", "--porcelain", "-uno", "--", ":!tests/machines.md",
                             ":!tests/machines.json") else ""
    return {"kernel": kernel_release(guest), "qemu": qemu_version(),
            "compiler": "gcc " + output_of("aarch64-linux-gnu-gcc" if CROSSED else "gcc",
                                           "-dumpfullversion"),
            "date": datetime.date.today().isoformat(),
            "version": text_of(ROOT / "tools/packaging/VERSION"),
            "commit": output_of("git", "rev-parse", "--short=10", "HEAD") + dirty}


def key_here(kernel, qemu):
    return {"kernel": kernel, "qemu": qemu, "host": host(), "accel": accelerator(),
            "arch": {"amd64": "x86_64"}.get(ARCH, ARCH)}


# --- the file ----------------------------------------------------------------

def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_result(name, result):
    for field in TEXTS:
        if not isinstance(result.get(field), str) or not result[field]:
            raise Wrong(f"{name}: {field} must be a text that is not empty")
    for field in COUNTS:
        if not is_count(result.get(field)):
            raise Wrong(f"{name}: {field} must be a whole number, 0 or more")
    if not result["passed"] + result["failed"]:
        raise Wrong(f"{name}: no test has run; a cell that was not run has the result null")
    if result.get("suites") != list(SUITES):
        raise Wrong(f"{name}: suites must be {list(SUITES)}: only whole cells are kept here")


def check_cells(cells, source):
    seen = set()
    for cell in cells:
        if set(cell) != {*KEY, "result"} or not all(isinstance(cell[part], str) for part in KEY):
            raise Wrong(f"{source}: a cell has the texts {', '.join(KEY)} and a result; got {cell}")
        name = f"{source}: {' '.join(cell[part] for part in KEY)}"
        if name in seen:
            raise Wrong(f"{name}: is there twice")
        seen.add(name)
        if cell["result"] is not None:
            check_result(name, cell["result"])


def load(path=MACHINES):
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise Wrong(f"{path}: is no JSON object with `cells`: {error}") from error
    return cells


def number(version):
    """To sort by: the usual kernel, which is called `debian`, comes first."""
    return [int(part) for part in re.findall(r"\d+", version)]


def order(cell):
    return (cell["arch"] != "x86_64", cell["accel"] != "tcg", number(cell["host"]),
            number(cell["qemu"]), number(cell["kernel"]), [cell[part] for part in KEY])


def merged(cells, key, result):
    """The cells with this one's new result; all others stay as they are."""
    kept = [cell for cell in cells if any(cell[part] != key[part] for part in KEY)]
    return sorted([*kept, {**key, "result": result}], key=order)


def store(path, cells):
    """Written beside it and renamed: who reads meanwhile sees the old file or the new one."""
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps({"cells": cells}, indent=1) + "\n", encoding="utf-8")
    temporary.rename(path)


# --- the table ---------------------------------------------------------------

HEAD = ("kernel", "QEMU", "machine", "accelerator", "passed", "failed", "skipped", "run")


def row(cell):
    result = cell["result"]
    kernel = {"debian": "usual"}.get(cell["kernel"], cell["kernel"])
    how = f"{cell['accel']}, {cell['arch']}"
    if result is None:
        return (kernel, cell["qemu"], cell["host"], how, "not run", "", "", "")
    kernel = re.sub(r"-(amd64|arm64)$", "", result["kernel"])
    compiler = re.sub(r"(\d+\.\d+)\.\d+$", r"\1", result["compiler"])
    return (kernel, result["qemu"], f"{cell['host']}, {compiler}", how,
            *(str(result[name]) for name in COUNTS), f"{result['date']}, {result['version']}")


def table(cells):
    lines = [HEAD, ["---"] * len(HEAD), *(row(cell) for cell in sorted(cells, key=order))]
    return "".join("|" + "|".join(f" {text} " if text else " " for text in line) + "|\n"
                   for line in lines)


def parts_of(page):
    """The text before, in and after the markers."""
    found = re.fullmatch(rf"(.*{re.escape(BEGIN)}\n)(.*)({re.escape(END)}\n.*)", page, re.S)
    if not found:
        raise Wrong(f"tests/machines.md has no lines '{BEGIN}' and '{END}'")
    return found.groups()


def render(page, cells):
    before, _, after = parts_of(page)
    return before + "\n" + table(cells) + "\n" + after


def write_table(path=MACHINES, page=PAGE):
    cells = load(path)
    check_cells(cells, path.name)
    page.write_text(render(page.read_text(encoding="utf-8"), cells), encoding="utf-8")


def check_table(path=MACHINES, page=PAGE):
    cells = load(path)
    check_cells(cells, path.name)
    text = page.read_text(encoding="utf-8")
    if text != render(text, cells):
        raise Wrong(f"tests/machines.md has not the table of {path.name}: run `make machines`")


def main(arguments):
    actions = {"render": write_table, "check": check_table}
    if len(arguments) != 1 or arguments[0] not in actions:
        print("machines.py: give it `render` or `check`", file=sys.stderr)
        return 2
    try:
        actions[arguments[0]]()
    except (Wrong, OSError) as error:
        print(f"machines.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
