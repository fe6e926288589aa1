#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Run the tests of t3.torch, here and in VMs; TAP on stdout.

usage: run.py [here|vm|old|switch|part|nodes|upstream|speed...] [PYTEST-OPTION...]  (as -k groups;
needs make build python)

Here T3_TORCH_DEVICE is none: gloo moves the data, and no device is needed. In a VM with four
devices, whose root is this machine's userland, devices do. T3_TORCH_ROOT is the folder of another
userland for it, as debootstrap makes it: one with a newer torch.

The tests are the same, but for test_native_*.py, which run here alone, and test_device_*.py, which
run in the VM alone. Some of them run on old devices in a full fabric, too, which lack types and
operations, and some on devices that a switch joins. `nodes` compares the losses of gpt.py over two nodes with those of one process.
`upstream` has torch's own tests with 2 and 4 ranks, and `part` some of them. `speed` prints
speed.py's table. Without an argument all but these two run, and the tutorials of the backend's
pages.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build")).resolve()
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules
VM_SECONDS = 1700
UPSTREAM_SECONDS = 3300
NEEDED = ("torch", "cffi", "numpy", "pytest")
USERLAND = os.environ.get("T3_TORCH_ROOT", "host")
VM_OPTIONS = ("--ranks", "4", "--name", "torch", "--root", USERLAND, "--memory", "3G")
FAULTS = ("--device-opts", "guest-inject=on")

FILES = sorted(ROOT.glob("tests/torch/test_*.py"))
HERE = [path for path in FILES if not path.stem.startswith("test_device_")]
IN_VM = [path for path in FILES if not path.stem.startswith("test_native_")]
# The capabilities of SPEC.md 4 that devices may lack, and the tests to which that matters. These
# devices have a link between each two besides, for the tests of widening.
OLD = ("--device-opts", "without-caps=0xf000", "--topology", "full")
OF_OLD = ("test_collectives.py", "test_widening.py")
OF_OLD_OPTIONS = ("-k", "each_type or counts or whole_range or processor or widen")
SWITCH = ("--topology", "switch")
ON_SWITCH = ("test_collectives.py", "test_groups.py", "test_layers.py", "test_parallel.py")
GPT_STEPS = 3
GPT = (ROOT / "tests/torch/gpt.py", "--tensor", "2", "--data", "2", "--deterministic",
       "--every", "1", "--steps", GPT_STEPS)
NO_TESTS = 5  # pytest's status when -k leaves none


def pytest(files, options):
    return [PYTHON, "-m", "pytest", "-q", "--color=no", "--no-header", "-p", "no:cacheprovider",
            "-c", ROOT / "tests/torch/pytest.ini", "--rootdir", ROOT / "tests/torch", *options,
            *files]


def missing():
    """The first module that is not installed, or nothing."""
    if USERLAND != "host":
        return ""
    for name in NEEDED:
        if subprocess.run([PYTHON, "-c", f"import importlib.util, sys; "
                           f"sys.exit(not importlib.util.find_spec('{name}'))"],
                          check=False).returncode:
            return name
    return ""


def here(options):
    env = {**os.environ, "LD_LIBRARY_PATH": str(BUILD), "PYTHONPATH": f"{BUILD}/python",
           "T3_TORCH_DEVICE": "none", "T3_BUILD": str(BUILD)}
    return subprocess.run(pytest(HERE, options), cwd=ROOT, env=env, check=False).returncode


def in_vm(*words, options=(), env=(), seconds=VM_SECONDS):
    command = [ROOT / "tools/vm/t3-vm", "run", *VM_OPTIONS, *options, "--timeout", seconds, "--",
               "env", f"PYTHONPATH={BUILD}/python", *env, *words]
    return subprocess.run([str(word) for word in command], cwd=ROOT, check=False).returncode


def vm(options):
    return in_vm(*pytest(IN_VM, options), options=FAULTS)


def old(options):
    files = [ROOT / "tests/torch" / name for name in OF_OLD]
    return in_vm(*pytest(files, [*OF_OLD_OPTIONS, *options]), options=OLD,
                 env=["T3_TORCH_OLD=1"])


def switch(options):
    files = [ROOT / "tests/torch" / name for name in ON_SWITCH]
    return in_vm(*pytest(files, options), options=SWITCH, env=["T3_TORCH_SWITCH=1"])


def losses(*command):
    """The lines of gpt.py with a step's loss, and its bits."""
    done = subprocess.run([str(word) for word in (ROOT / "tools/vm/t3-vm", *command, PYTHON, *GPT)],
                          cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return [line[line.index("step "):] for line in done.stdout.splitlines() if "step " in line]


def nodes(_options):
    userland = ("--root", USERLAND, "--memory", "3G", "--timeout", str(VM_SECONDS), "--",
                "env", f"PYTHONPATH={BUILD}/python")
    right = losses("run", "--name", "torch-one", "--no-devices", *userland)
    made = losses("cluster", "--name", "torch-nodes", "--ranks", "2", *userland,
                  "t3", "launch", "--nodes", "-n", "2", "--")
    is_right = len(right) == GPT_STEPS and made == right
    verdict = "ok" if is_right else "not ok"
    print(f"1..1\n{verdict} 1 - nodes:the_losses_have_the_bits_of_one_process")
    if not is_right:
        print(f"# two nodes: {made}\n# one process: {right}")
    return 0 if is_right else 1


def part(_options):
    return in_vm(PYTHON, ROOT / "tests/torch/upstream.py", "--ranks", "4", "--part")


def upstream(options):
    return in_vm(PYTHON, ROOT / "tests/torch/upstream.py", "--ranks", "2,4", *options,
                 seconds=UPSTREAM_SECONDS)


def speed(options):
    return in_vm("t3", "launch", "-n", "4", "--", PYTHON, ROOT / "tests/torch/speed.py", *options)


def tutorial(_options):
    return subprocess.run([ROOT / "tests/tutorial.py", "torch"], check=False).returncode


PLACES = {"here": here, "vm": vm, "old": old, "switch": switch, "part": part, "nodes": nodes,
          "upstream": upstream, "speed": speed}
ALL = (here, vm, old, switch, part, nodes, tutorial)


def main():
    if lacks := missing():
        print(f"# skipped: {PYTHON} has no {lacks}: install python3-{lacks}")
        return 77
    places = [PLACES[word] for word in sys.argv[1:] if word in PLACES]
    options = [word for word in sys.argv[1:] if word not in PLACES]
    steps = places or ((here, vm, old, switch) if options else ALL)
    codes = [step(options) for step in steps]
    return next((code for code in codes if code not in (0, NO_TESTS)), 0)


if __name__ == "__main__":
    sys.exit(main())
