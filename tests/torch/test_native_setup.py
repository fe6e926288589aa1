# SPDX-License-Identifier: MIT
"""What a wrong set-up gets, and what launchers say, in one process."""

import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

import t3.torch
from t3 import Feature
from t3.torch import device, launcher, opening, reduction, versions
from t3.torch.group import common_features, wants_widening


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


def test_what_is_set_stays_and_without_a_launcher_no_rank_is_set():
    for given in ({}, {"RANK": "1"}, {"RANK": "1", "T3_RANK": "2", "T3_RANKS": "4"},
                  {"T3_RANK": "2"}, {"USE_LIBUV": "1"}):
        found = dict(given)
        launcher.complete(found)
        assert found == {"USE_LIBUV": "0", **given}


def test_widening_is_asked_for_by_the_environment():
    assert not wants_widening({}, "ring") and not wants_widening({"T3_TORCH_WIDEN": "0"}, "ring")
    assert wants_widening({"T3_TORCH_WIDEN": "1"}, "auto")
    assert wants_widening({"T3_TORCH_WIDEN": "1"}, "direct")
    with pytest.raises(RuntimeError, match="T3_TORCH_WIDEN is 0 or 1; it is 'yes'"):
        wants_widening({"T3_TORCH_WIDEN": "yes"}, "auto")
    for algorithm in ("ring", "hierarchical"):
        with pytest.raises(RuntimeError, match=f"is auto or direct; it is '{algorithm}'"):
            wants_widening({"T3_TORCH_WIDEN": "1"}, algorithm)


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


def way_of(features, dtype, op):
    return reduction.choose(lambda kind, device_op: device.reduces(features, kind, device_op),
                            dtype, op)[:3]


OLD = Feature.STAGING | Feature.MINMAX | Feature.BYTES
ALL = OLD | Feature.TYPES | Feature.BYTE_OPS | Feature.BITWISE | Feature.PRODUCT


@pytest.mark.parametrize("dtype, op, all_have, old_have", [
    (torch.float32, "AVG", ("device", torch.float32, "add"), ("device", torch.float32, "add")),
    (torch.float64, "SUM", ("device", torch.float64, "add"), ("combined", torch.float64, "")),
    (torch.int64, "MIN", ("device", torch.int64, "min"), ("combined", torch.int64, "")),
    (torch.bfloat16, "PRODUCT", ("device", torch.bfloat16, "mul"),
     ("combined", torch.bfloat16, "")),
    (torch.int8, "MIN", ("device", torch.int8, "min"), ("converted", torch.int32, "min")),
    (torch.int8, "PRODUCT", ("device", torch.int8, "mul"), ("combined", torch.int8, "")),
    (torch.uint8, "BAND", ("device", torch.uint8, "and"), ("combined", torch.uint8, "")),
    (torch.int16, "SUM", ("converted", torch.int32, "add"), ("converted", torch.int32, "add")),
    (torch.int16, "BXOR", ("device", torch.uint8, "xor"), ("combined", torch.int16, "")),
    (torch.int64, "BOR", ("device", torch.int64, "or"), ("combined", torch.int64, "")),
    (torch.bool, "SUM", ("device", torch.uint8, "or"), ("converted", torch.int32, "max")),
    (torch.bool, "PRODUCT", ("device", torch.uint8, "and"), ("converted", torch.int32, "min")),
    (torch.bool, "BXOR", ("device", torch.uint8, "xor"), ("combined", torch.bool, "")),
    (torch.complex64, "AVG", ("device", torch.float32, "add"), ("device", torch.float32, "add")),
    (torch.complex128, "SUM", ("device", torch.float64, "add"),
     ("combined", torch.complex128, "")),
    (torch.complex64, "PRODUCT", ("combined", torch.complex64, ""),
     ("combined", torch.complex64, "")),
])
def test_a_reduction_goes_by_what_the_device_has(dtype, op, all_have, old_have):
    assert way_of(ALL, dtype, op) == all_have
    assert way_of(OLD, dtype, op) == old_have


def test_each_missing_feature_has_another_way():
    assert way_of(ALL & ~Feature.TYPES, torch.int64, "SUM") == ("combined", torch.int64, "")
    assert way_of(ALL & ~Feature.BYTE_OPS, torch.uint8, "BAND") == ("converted", torch.int32, "and")
    assert way_of(ALL & ~Feature.BITWISE, torch.bool, "BOR") == ("device", torch.uint8, "max")
    assert way_of(ALL & ~Feature.BITWISE, torch.int32, "BAND") == ("combined", torch.int32, "")
    assert way_of(ALL & ~Feature.PRODUCT, torch.float32, "PRODUCT") == ("combined", torch.float32,
                                                                        "")
    assert way_of(ALL & ~Feature.MINMAX, torch.float32, "MAX") == ("combined", torch.float32, "")


def test_a_group_does_what_all_its_devices_can():
    assert common_features(["device 0x7", "device 0x6", "device 0xe"], 0) == 6
    assert common_features(["none", "none"], 1) is None
    with pytest.raises(RuntimeError, match="^T3 says so$"):
        common_features(["device 0x7", "T3 says so"], 0)
    with pytest.raises(RuntimeError, match="none at rank 1 and not at rank 0"):
        common_features(["device 0x7", "none"], 0)


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
