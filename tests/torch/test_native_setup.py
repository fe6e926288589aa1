# SPDX-License-Identifier: MIT
"""What a wrong set-up gets, and what launchers say, in one process."""

import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

import t3.torch
from t3.torch import launcher, opening, reduction, versions


def test_without_torch_the_import_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", "import sys; sys.modules['torch'] = None\n"
                           "import t3.torch"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: t3.torch needs PyTorch" in done.stderr
    assert "install python3-torch" in done.stderr


def test_an_older_torch_is_refused_and_a_newer_one_warned_of():
    for text in ("1.13.0a0", "1.13.1", "2.6.0+debian", "2.14.1"):
        versions.check(text)
    with pytest.raises(ImportError, match="needs torch 1.13 or later, and this is 1.12.1"):
        versions.check("1.12.1")
    with pytest.warns(RuntimeWarning, match="written for torch 1.13 to 2.14, and this is 2.15.0"):
        versions.check("2.15.0")


@pytest.mark.parametrize("given, made", [
    ({"T3_RANK": "2", "T3_RANKS": "4", "T3_COMM_DIR": "/tmp/x"},
     {"RANK": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1"}),
    ({"T3_RANK": "2", "T3_RANKS": "4", "MASTER_ADDR": "10.61.0.1", "MASTER_PORT": "29500"},
     {"RANK": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "10.61.0.1", "MASTER_PORT": "29500"}),
    ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
      "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}),
    ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0",
      "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, {"RANK": "0", "MASTER_ADDR": "127.0.0.1"}),
    ({"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "1", "SLURM_NNODES": "1"},
     {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1"}),
])
def test_the_variables_of_launchers(given, made):
    found = dict(given)
    launcher.complete(found)
    assert made.items() <= found.items()
    assert ("MASTER_ADDR" in found) == ("MASTER_ADDR" in made)
    assert "MASTER_PORT" in made or int(found["MASTER_PORT"]) in launcher.PORTS


def test_what_is_set_stays_and_without_a_launcher_nothing_is_set():
    for given in ({}, {"RANK": "1"}, {"RANK": "1", "T3_RANK": "2", "T3_RANKS": "4"},
                  {"T3_RANK": "2"}):
        found = dict(given)
        launcher.complete(found)
        assert found == given


def test_two_jobs_have_ports_of_their_own():
    ports = set()
    for job in range(20):
        found = {"T3_RANK": "0", "T3_RANKS": "2", "T3_COMM_DIR": f"/run/t3/job{job}"}
        launcher.complete(found)
        ports.add(found["MASTER_PORT"])
    assert len(ports) >= 19


def test_the_device_of_a_rank_is_chosen_by_the_environment():
    assert opening.index_of({}) is None
    assert opening.index_of({"LOCAL_RANK": "2"}) == 2
    assert opening.index_of({"T3_TORCH_DEVICE": "auto", "LOCAL_RANK": "1"}) == 1
    assert opening.index_of({"T3_TORCH_DEVICE": "3,2,1,0", "LOCAL_RANK": "1"}) == 2
    with pytest.raises(RuntimeError, match="auto, none or a list of indexes .* it is 'first'"):
        opening.index_of({"T3_TORCH_DEVICE": "first"})
    with pytest.raises(RuntimeError, match="lists 2 devices, and this process is rank 2"):
        opening.index_of({"T3_TORCH_DEVICE": "0,1", "RANK": "2"})


def test_each_reduction_has_a_way():
    """As a device of float32 and int32 has them."""
    def reduces(dtype, op):
        return dtype in (torch.float32, torch.int32) and op in ("add", "min", "max")

    def way(dtype, op):
        return reduction.choose(reduces, dtype, op)

    assert way(torch.float32, "AVG") == ("device", torch.float32, "add")
    assert way(torch.int8, "MIN") == ("converted", torch.int32, "min")
    assert way(torch.bool, "SUM") == ("converted", torch.int32, "max")
    assert way(torch.bool, "PRODUCT") == ("converted", torch.int32, "min")
    assert way(torch.bool, "BXOR") == ("combined", torch.bool, "")
    assert way(torch.uint8, "BAND") == ("combined", torch.uint8, "")
    assert way(torch.float64, "SUM") == ("combined", torch.float64, "")
    assert way(torch.float32, "PRODUCT") == ("combined", torch.float32, "")


def test_names_of_operations_are_torchs():
    for name in reduction.STEPS:
        options = dist.AllreduceOptions()
        options.reduceOp = getattr(dist.ReduceOp, name)
        assert reduction.name_of(options.reduceOp) == name


def test_another_backends_group_is_refused(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        with pytest.raises(ValueError, match="another backend than t3"):
            t3.torch.abort()
    finally:
        dist.destroy_process_group()


def test_a_group_of_one_rank_needs_no_device(tmp_path):
    dist.init_process_group("t3", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        t3.torch.reset_counts()
        data = torch.tensor([1.5, 2.5])
        dist.all_reduce(data, dist.ReduceOp.AVG)
        dist.all_reduce(data, dist.ReduceOp.PRODUCT)
        t3.torch.monitored_barrier()
        assert data.tolist() == [1.5, 2.5]
        assert t3.torch.counts() == {"all_reduce": {"alone": 2}}
        with pytest.raises(ValueError, match="send to rank 0.*no other rank"):
            dist.distributed_c10d._get_default_group().send([data], 0, 0)
    finally:
        dist.destroy_process_group()
