# SPDX-License-Identifier: MIT
"""What the recorder writes is what `t3 sim --workload` reads."""

import json
import os
import pathlib
import re
import subprocess

import pytest
import torch
from ranks import apart

import t3.torch
from t3.torch import adapter, recording

T3 = pathlib.Path(os.environ.get("T3_BUILD", ".build")) / "t3"
SECONDS = 120


@pytest.fixture
def sim(tmp_path):
    """The answer to a list of operations, or to a file."""
    if not T3.exists():
        pytest.skip(f"{T3} is not built")

    def run(operations, path=tmp_path / "step.json"):
        if operations:
            recording.write(path, {**recording.Recording().workload(), "operations": operations})
        done = subprocess.run([T3, "sim", "--json", "--workload", path], capture_output=True,
                              text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def call(**kind):
    return {"pass": "forward", "count": 1, **kind}


def names():
    """All collectives that groups and torch's operators have."""
    source = pathlib.Path(adapter.__file__).read_text(encoding="ascii")
    found = re.findall(r'submit\(\s*"(\w+)"', source)
    assert len(found) > 12, found
    return sorted({*found, "send", "recv", "matmul_all_reduce", "matmul_reduce_scatter",
                   *(name for name, _ in (*recording.OF_TORCH.values(),
                                          *recording.OF_FUNCTIONS.values()))})


def test_sim_knows_each_collective_by_its_name(sim):
    every = [call(collective={"name": name, "bytes": 4096, "ranks": 4, "dtype": "float32"})
             for name in names()]
    found = sim(every)
    left_out = {note.split(":")[0] for note in found["semantics"]["left_out"]}
    timed = {one["name"] for one in found["step"]["operations"]}
    assert timed | {name for name in names() if name in left_out} == set(names())
    assert "all_reduce" in timed and "broadcast" in left_out


def has_ones(dtype):
    """Types of quantized values and of some bits have no plain tensors."""
    try:
        return bool(torch.ones(2, dtype=dtype).numel())
    except (RuntimeError, NotImplementedError):
        return False


@pytest.mark.filterwarnings("ignore")  # of types that are new
def test_sim_knows_each_type_of_torch(sim):
    types = {recording.name_of(one) for one in vars(torch).values()
             if isinstance(one, torch.dtype) and has_ones(one)}
    every = [call(gemm={"m": 8, "n": 8, "k": 8, "batch": 1, "dtype": name}) for name in types]
    assert {"float32", "bfloat16", "bool"} <= types
    found = sim(every)["step"]["operations"]
    assert len(found) == len({"float16", "bfloat16", "float32", "float64"} & types)


def one_layer(path):
    with t3.torch.profile(path):
        torch.nn.Linear(64, 32)(torch.ones(16, 64)).sum().backward()


def test_a_recorded_step_has_a_time(sim, tmp_path):
    path = tmp_path / "own.json"
    apart(one_layer, path)
    found = sim(None, path)["step"]
    assert [(one["m"], one["n"], one["k"]) for one in found["operations"] if "m" in one] == [
        (16, 32, 64), (32, 64, 16)]
    assert found["configs"]["t3"]["step_ps"] == pytest.approx(
        sum(one["ps"]["t3"] for one in found["operations"]))
