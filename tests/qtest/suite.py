#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The device in a QEMU without a guest; TAP on stdout.

usage: suite.py t3 or thread     with or without a thread of the fabric's events
"""

import fcntl
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tap import BUILD, ROOT, run_suite, tap_program  # noqa: E402


def qtest_copy(program, name):
    """A program that runs QEMU, copied with it: no build replaces them in the middle of the run."""
    folder = BUILD / f"qemu/copy-{name}"
    with open(BUILD / ".lock-qemu", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "qemu-bundle").symlink_to("../qemu-bundle")  # QEMU looks for it beside itself
        for path in (BUILD / "qemu/tests/qtest/t3" / program, BUILD / "qemu/qemu-system-x86_64"):
            shutil.copy2(path, folder)
    return folder / program


def qtest_env(program, thread):
    return {"QTEST_QEMU_BINARY": str(program.parent / "qemu-system-x86_64"),
            "QTEST_QEMU_ARGS": "", "G_TEST_SRCDIR": str(ROOT), "T3_TOOL": str(BUILD / "t3"),
            **({"T3_TEST_THREAD": "1"} if thread else {})}


def qtest_suite(name):
    program = qtest_copy("t3-qtest", f"qtest-{name}")
    tap_program(f"qtest/{name}", [program, "--tap", "-k"], qtest_env(program, name == "thread"))


if __name__ == "__main__":
    run_suite(f"qtest/{sys.argv[1]}", lambda: qtest_suite(sys.argv[1]))
