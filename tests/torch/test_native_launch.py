# SPDX-License-Identifier: MIT
"""Programs that mpirun starts, and that end well or badly, without devices."""

import os
import shutil
import subprocess
import sys

import pytest

SECONDS = 120
PROGRAM = """
import sys
import torch
import torch.distributed as dist
import t3.torch

dist.init_process_group("t3")
data = torch.full((3,), dist.get_rank() + 1.0)
dist.all_reduce(data)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {data.tolist()}", flush=True)
"""


@pytest.fixture
def run(tmp_path):
    """Run PROGRAM and more by mpirun on two ranks: its status, and what it has printed."""
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed (openmpi-bin)")

    def run_it(more=""):
        path = tmp_path / "program.py"
        path.write_text(PROGRAM + more)
        env = {name: value for name, value in os.environ.items()
               if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")}
        done = subprocess.run(
            ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, path],
            env={**env, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                 "OMP_NUM_THREADS": "1", "T3_TORCH_DEVICE": "none"},
            capture_output=True, text=True, timeout=SECONDS, check=False)
        return done.returncode, done.stdout, done.stderr

    return run_it


def test_mpirun_starts_ranks_and_a_program_need_not_destroy_its_group(run):
    status, text, errors = run()
    assert status == 0, errors
    assert sorted(text.splitlines()) == ["rank 0 of 2: [3.0, 3.0, 3.0]",
                                         "rank 1 of 2: [3.0, 3.0, 3.0]"]
    assert "Traceback" not in errors


def test_an_exception_of_a_rank_ends_the_job(run):
    status, _, errors = run("""
if dist.get_rank() == 1:
    raise KeyError("of rank 1")
dist.all_reduce(data)
""")
    assert status != 0
    assert "KeyError: 'of rank 1'" in errors
