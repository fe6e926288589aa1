# SPDX-License-Identifier: MIT
"""torch's own ways to cut a model, on the backend t3, against one process. torch 2 has them."""

import json

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, join

import t3.torch

tensors = pytest.importorskip("torch.distributed.tensor", reason="torch 1.13 has no DTensor")
parallel = pytest.importorskip("torch.distributed.tensor.parallel")
meshes = pytest.importorskip("torch.distributed.device_mesh")
fsdp = pytest.importorskip("torch.distributed.fsdp")

ROWS, FEATURES, INNER = 8, 8, 16
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def joined(crew):
    crew.run(join)


def model():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(FEATURES, INNER), torch.nn.ReLU(),
                               torch.nn.Linear(INNER, FEATURES))


def batch(seed=1):
    return torch.randn(ROWS, FEATURES, generator=torch.Generator().manual_seed(seed))


def near(one, other):
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5)


def distributed(_rank, ranks, _directory):
    mesh = meshes.init_device_mesh("cpu", (ranks,))
    shard, whole = tensors.Shard, tensors.Replicate()
    left, right = torch.arange(32.0).view(8, 4), torch.arange(24.0).view(4, 6)
    columns = tensors.distribute_tensor(left, mesh, [shard(1)])
    rows = tensors.distribute_tensor(right, mesh, [shard(0)])
    t3.torch.reset_counts()
    product = columns @ rows
    assert torch.equal(product.redistribute(mesh, [whole]).to_local() + 0, left @ right)
    assert torch.equal(product.redistribute(mesh, [shard(0)]).full_tensor() + 0, left @ right)
    assert torch.equal(columns.redistribute(mesh, [shard(0)]).full_tensor() + 0, left)
    return t3.torch.counts()


def test_dtensors_are_multiplied_summed_and_cut_anew(crew, has_device):
    found = crew.run(distributed)[0]
    assert {"all_reduce", "reduce_scatter_tensor_coalesced"} <= set(found), found
    assert {way for ways in found.values() for way in ways} == {"device" if has_device else "gloo"}


def on_two_axes(rank, ranks, _directory):
    """Two groups of two ranks along each axis."""
    mesh = meshes.init_device_mesh("cpu", (2, ranks // 2), mesh_dim_names=("copies", "parts"))
    given = torch.arange(16.0).view(4, 4)
    cut = tensors.distribute_tensor(given, mesh, [tensors.Shard(0), tensors.Shard(1)])
    assert cut.to_local().shape == (2, 2)
    assert torch.equal(cut.full_tensor() + 0, given)
    data = torch.full((3,), float(rank))
    dist.all_reduce(data, group=mesh.get_group("parts"))
    assert data.tolist() == [1.0 if rank < 2 else 5.0] * 3


def test_a_mesh_may_have_two_axes(crew):
    crew.run(on_two_axes)


def cut_layers(_rank, ranks, directory, is_scattered):
    mesh = meshes.init_device_mesh("cpu", (ranks,))
    one, net = model(), model()
    options = {"input_layouts": tensors.Shard(0)} if is_scattered else {}
    given_back = {"output_layouts": tensors.Shard(0)} if is_scattered else {}
    net = parallel.parallelize_module(net, mesh, {
        "0": parallel.ColwiseParallel(**options), "2": parallel.RowwiseParallel(**given_back)})
    data, right = batch(), one(batch())
    mine = data.chunk(ranks)[dist.get_rank()] if is_scattered else data
    wanted = right.chunk(ranks)[dist.get_rank()] if is_scattered else right
    got = net(mine)
    assert near(got, wanted)
    got.square().sum().backward()
    right.square().sum().backward()
    for part, other in zip(net.parameters(), one.parameters()):
        assert near(part.grad.full_tensor(), other.grad)
    path = directory / f"cut-{is_scattered}.json"
    with t3.torch.profile(path):
        net(mine)
    dist.barrier()
    return [(one.get("gemm"), one.get("collective", {}).get("name"))
            for one in json.loads(path.read_text())["operations"] if "memory" not in one]


@pytest.mark.parametrize("is_scattered", (False, True))
def test_tensor_parallel_layers_learn_as_one_process_does_and_are_recorded(crew, is_scattered):
    def gemm(columns, inner):
        return {"m": ROWS, "n": columns, "k": inner, "batch": 1, "dtype": "float32"}

    sums = "reduce_scatter_tensor" if is_scattered else "all_reduce"
    gather = [(None, "all_gather_into_tensor")] if is_scattered else []
    assert crew.run(cut_layers, is_scattered)[0] == [
        *gather, (gemm(INNER // RANKS, FEATURES), None), (gemm(FEATURES, INNER // RANKS), None),
        (None, sums)]


def steps_of(net, data, steps=4):
    """Losses of the ranks' mean."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = net(data).square().mean()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        losses.append(total)
    return torch.stack(losses)


def fully_sharded(rank, ranks, _directory):
    one, every = model(), [batch(peer) for peer in range(ranks)]
    right = steps_of(one, torch.cat(every))
    net = fsdp.FullyShardedDataParallel(model(), device_id=torch.device("cpu"))
    t3.torch.reset_counts()
    losses = steps_of(net, every[rank])
    counts = t3.torch.counts()
    dist.all_reduce(losses, dist.ReduceOp.AVG)
    assert near(losses, right)
    with fsdp.FullyShardedDataParallel.summon_full_params(net):
        for got, other in zip(net.parameters(), one.parameters()):
            assert near(got, other)
    return counts


def test_fully_sharded_data_parallel_learns_as_one_process_does(crew, has_device):
    found = crew.run(fully_sharded)[0]
    way = "device" if has_device else "gloo"
    assert found["reduce_scatter_tensor"] == {way: 4}, found
    assert set(found) == {"all_gather", "reduce_scatter_tensor"}
