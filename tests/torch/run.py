#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Run the tests of t3.torch, here and in a VM; TAP on stdout.

usage: run.py [PYTEST-OPTION...]      (such as -k groups; needs make build and make python)

Here T3_TORCH_DEVICE is none: gloo moves the data, and no device is needed. In a VM with four
devices, whose root is this machine's userland, devices do. The tests are the same, but for
test_native_*.py, which run here alone. Without an option the tutorial of the backend's page follows.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build")).resolve()
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules
VM_SECONDS = 900
NEEDED = ("torch", "cffi", "numpy", "pytest")
VM_OPTIONS = ("--ranks", "4", "--name", "torch", "--root", "host", "--memory", "3G")

FILES = sorted(ROOT.glob("tests/torch/test_*.py"))
IN_VM = [path for path in FILES if not path.stem.startswith("test_native_")]
NO_TESTS = 5  # pytest's status when -k leaves none


def pytest(files, options):
    return [PYTHON, "-m", "pytest", "-q", "--color=no", "--no-header", "-p", "no:cacheprovider",
            "-c", ROOT / "tests/torch/pytest.ini", "--rootdir", ROOT / "tests/torch", *options,
            *files]


def missing():
    """The first module that is not installed, or nothing."""
    for name in NEEDED:
        if subprocess.run([PYTHON, "-c", f"import importlib.util, sys; "
                           f"sys.exit(not importlib.util.find_spec('{name}'))"],
                          check=False).returncode:
            return name
    return ""


def here(options):
    env = {**os.environ, "LD_LIBRARY_PATH": str(BUILD), "PYTHONPATH": f"{BUILD}/python",
           "T3_TORCH_DEVICE": "none"}
    return subprocess.run(pytest(FILES, options), cwd=ROOT, env=env, check=False).returncode


def in_vm(options):
    command = [ROOT / "tools/vm/t3-vm", "run", *VM_OPTIONS, "--timeout", VM_SECONDS, "--", "env",
               f"PYTHONPATH={BUILD}/python", *pytest(IN_VM, options)]
    return subprocess.run([str(word) for word in command], cwd=ROOT, check=False).returncode


def main():
    if lacks := missing():
        print(f"# skipped: {PYTHON} has no {lacks}: install python3-{lacks}")
        return 77
    codes = [run(sys.argv[1:]) for run in (here, in_vm)]
    if not sys.argv[1:]:
        codes.append(subprocess.run([ROOT / "tests/tutorial.py", "torch"], check=False).returncode)
    return next((code for code in codes if code not in (0, NO_TESTS)), 0)


if __name__ == "__main__":
    sys.exit(main())
