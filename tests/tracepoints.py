#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The driver's events in perf and trace-cmd, which read them by libtraceevent; TAP on stdout.

usage: tracepoints.py [NAME...]           (default: all tests)
       tracepoints.py --record FOLDER     (in a VM: the events of PROGRAM)
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "libt3"))

from api import BUILD, ROOT, require, run_tests, same  # noqa: E402

TRACEFS = pathlib.Path("/sys/kernel/tracing")
PLACE = BUILD / "tracepoints"
SOURCE = ROOT / "tests/tracepoints.c"
SECONDS = 300
# This program makes most of the events. A reset of the function by debugfs makes one more.
PROGRAM = "/run/t3/tests/test_trace"
RESET = "/sys/kernel/debug/accel/{}/reset"
OPTIONS = ["--ranks", "2", "--device-opts", "guest-inject=on", "--append", "iomem=relaxed"]


def execute(*command):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, errors="replace", timeout=SECONDS, check=False)
    require(done.returncode == 0, f"{command[0]}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


# --- in the VM ---------------------------------------------------------------

def read_raw():
    """The pages in the buffers of all processors."""
    data = b""
    for path in TRACEFS.glob("per_cpu/cpu*/trace_pipe_raw"):
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            while page := os.read(pipe, 4096):
                data += page
        except BlockingIOError:
            pass
        os.close(pipe)
    return data


def record(folder):
    """Run PROGRAM and a reset with all events on; keep the events as the kernel prints them, and raw."""
    (TRACEFS / "buffer_size_kb").write_text("4096")
    (TRACEFS / "events/t3/enable").write_text("1")
    subprocess.run([PROGRAM], check=True)
    device = next(pathlib.Path("/sys/bus/pci/drivers/t3").glob("*:*")).name
    pathlib.Path(RESET.format(device)).write_text("function\n")
    (TRACEFS / "tracing_on").write_text("0")
    (folder / "printed").write_text((TRACEFS / "trace").read_text())
    (folder / "raw").write_bytes(read_raw())
    shutil.copyfile(TRACEFS / "events/header_page", folder / "header_page")
    (folder / "formats").mkdir()
    for path in (TRACEFS / "events/t3").glob("*/format"):
        (folder / "formats" / path.parent.name).write_text(path.read_text())


# --- on the host -------------------------------------------------------------

def events(lines):
    """[(name, fields)] of lines that have an event each."""
    return [match.groups() for line in lines if (match := re.search(r"\b(t3_\w+): +(.*?) *$", line))]


def make_record():
    """Once, for all tests."""
    if (PLACE / "printed").exists():
        return
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    execute(ROOT / "tools/vm/t3-vm", "run", "--name", "tracepoints", "--root", "host", "--rwdir", PLACE,
            *OPTIONS, "--", "python3", __file__, "--record", PLACE)
    flags = execute("pkg-config", "--cflags", "--libs", "libtraceevent")[0].split()
    execute("cc", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o", PLACE / "read", SOURCE, *flags)


def read_back():
    """(stdout's lines, stderr) of the program that reads by libtraceevent."""
    make_record()
    formats = sorted((PLACE / "formats").iterdir())
    said, warned = execute(PLACE / "read", PLACE / "header_page", PLACE / "raw", *formats)
    return said.splitlines(), warned


def libtraceevent_parses_the_format_of_each_event():
    """One that it cannot parse spoils a recording of all: perf complains each time."""
    lines, warned = read_back()
    declared = set(re.findall(r"(?:TRACE_EVENT\(|DEFINE_EVENT\(\w+, )(t3_\w+)",
                              (ROOT / "driver/t3_trace.h").read_text()))
    same({path.name for path in (PLACE / "formats").iterdir()}, declared, "events")
    same([line for line in lines if line.startswith("bad ")], [], "events that it cannot parse")
    require(not warned, warned)


def libtraceevent_prints_what_the_kernel_prints():
    printed = events((PLACE / "printed").read_text().splitlines())
    require(len({name for name, _ in printed}) > 15, f"few events: {printed}")
    require("t3_reset" in dict(printed), "no reset")
    same(events(read_back()[0]), printed, "events")


TESTS = [libtraceevent_parses_the_format_of_each_event, libtraceevent_prints_what_the_kernel_prints]


def main():
    if sys.argv[1:2] == ["--record"]:
        record(pathlib.Path(sys.argv[2]))
        return 0
    shutil.rmtree(PLACE, ignore_errors=True)
    return run_tests([test for test in TESTS if test.__name__ in (sys.argv[1:] or test.__name__)])


if __name__ == "__main__":
    sys.exit(main())
