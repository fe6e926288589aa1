# SPDX-License-Identifier: MIT
"""The package is typed, strictly, and installs offline."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

import t3

PACKAGE = pathlib.Path(t3.__file__).parent
USER = """
import numpy as np
import numpy.typing as npt
import t3
from t3 import uapi


def total(comm: t3.Comm, data: "npt.NDArray[np.float32]") -> float:
    try:
        with comm.plan("all_reduce", data.size, tile=512) as plan:
            plan.start(timeout=5)
            plan.put(0, data)
            return float(plan.wait(timeout=5).sum())
    except t3.PeerError as error:
        return float(error.rank or 0)


def handle(fd: int) -> int:
    return int(uapi.ioctl(fd, "bo_create", size=4096).handle)
"""


def mypy(*arguments):
    # Beside the tests of other rooms: mypy reads each import once, and keeps what it learns.
    return subprocess.run([sys.executable, "-m", "mypy", "--config-file",
                           ROOT / "libt3/python/pyproject.toml", "--cache-dir",
                           PACKAGE.parent.parent / "mypy", *arguments],
                          capture_output=True, text=True, check=False)


def test_package_and_a_program_pass_strict_types(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(USER)
    done = mypy(PACKAGE, program)
    assert done.returncode == 0, done.stdout + done.stderr
    program.write_text(USER + "\n\ndef wrong(plan: t3.Plan) -> None:\n"
                       "    plan.put('a', 'b', 'c')\n")
    assert mypy(program).returncode == 1


def test_each_public_name_has_a_docstring():
    for name in t3.__all__:
        thing = getattr(t3, name)
        assert thing.__doc__, name
        for method, value in vars(thing).items():
            if not method.startswith("_") and callable(value) and hasattr(value, "__code__"):
                assert value.__doc__, f"{name}.{method}"


def test_pip_installs_it_offline(tmp_path):
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("pip is not installed")
    pytest.importorskip("wheel")
    source = tmp_path / "libt3/python"
    shutil.copytree(ROOT / "libt3", tmp_path / "libt3")
    shutil.copytree(ROOT / "uapi", tmp_path / "uapi")
    (tmp_path / "tools/packaging").mkdir(parents=True)
    shutil.copy(ROOT / "tools/packaging/VERSION", tmp_path / "tools/packaging")
    done = subprocess.run([*pip, "install", "--no-build-isolation", "--no-deps", "--no-index",
                           "--target", tmp_path / "site", source], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site/t3/py.typed").exists()
    code = "import t3; print(t3.__file__, t3.Segment(0, 2, 2).tiles)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(tmp_path / "site")}).stdout
    assert str(tmp_path / "site") in told and told.split()[-1] == "2"
