#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Run the tests of the Python package, here and in a VM; TAP on stdout.

usage: run.py [PYTEST-OPTION...]      (such as -k test_space; needs make build and make python)

test_native_*.py run here. The others run in a VM with four devices, whose root is this machine's
userland: it has Python, NumPy, cffi and pytest.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build")).resolve()
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules
VM_SECONDS = 500
NEEDED = ("cffi", "numpy", "pytest")

FILES = sorted(ROOT.glob("tests/python/test_*.py"))
NO_TESTS = 5  # pytest's status when -k leaves none
PATH = f"PYTHONPATH={BUILD}/python"


def pytest(files, options):
    return [PYTHON, "-m", "pytest", "-q", "--color=no", "--no-header", "-p", "no:cacheprovider",
            "-c", ROOT / "libt3/python/pyproject.toml", "--rootdir", ROOT / "tests/python",
            *options, *files]


def missing():
    """The first module that is not installed, or nothing."""
    for name in NEEDED:
        if subprocess.run([PYTHON, "-c", f"import {name}"], stderr=subprocess.DEVNULL,
                          check=False).returncode:
            return name
    return ""


def here(options):
    """The run collects all files, so that Python keeps them compiled: the VM is slow at that."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(BUILD), "PYTHONPATH": f"{BUILD}/python",
           "T3_NO_DEVICE": "1"}
    return subprocess.run(pytest(FILES, options), cwd=ROOT, env=env, check=False).returncode


def in_vm(options):
    files = [path for path in FILES if not path.stem.startswith("test_native_")]
    command = [ROOT / "tools/vm/t3-vm", "run", "--ranks", "4", "--name", "python", "--root", "host",
               "--timeout", VM_SECONDS, "--", "env", PATH, *pytest(files, options)]
    return subprocess.run([str(word) for word in command], cwd=ROOT, check=False).returncode


def main():
    if lacks := missing():
        print(f"# skipped: {PYTHON} has no {lacks}: install python3-{lacks}")
        return 77
    codes = [run(sys.argv[1:]) for run in (here, in_vm)]
    return next((code for code in codes if code not in (0, NO_TESTS)), 0)


if __name__ == "__main__":
    sys.exit(main())
