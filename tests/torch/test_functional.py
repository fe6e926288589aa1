# SPDX-License-Identifier: MIT
"""Functional collectives of torch 2, whose results are new tensors, as DTensor calls them."""

import json

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, join

import t3.torch

functional = pytest.importorskip("torch.distributed._functional_collectives",
                                 reason="torch 1.13 has no functional collectives")
if not hasattr(torch.ops._c10d_functional, "all_reduce"):
    pytest.skip("this torch has others", allow_module_level=True)

COUNT = 8


@pytest.fixture(scope="module", autouse=True)
def joined(crew):
    crew.run(join)


def calls(rank, ranks, group):
    """(name in counts(), the call, what it gives) of each collective."""
    data = torch.arange(float(COUNT)) + rank
    every = [torch.arange(float(COUNT)) + peer for peer in range(ranks)]
    total, whole, part = sum(every), torch.cat(every), slice(rank * 2, rank * 2 + 2)
    pair, parts = [data, 2 * data], COUNT // ranks
    return [
        ("all_reduce", functional.all_reduce(data, "sum", group), total),
        ("all_reduce", functional.all_reduce(data, "max", group), every[-1]),
        ("all_gather_into_tensor", functional.all_gather_tensor(data, 0, group), whole),
        ("reduce_scatter_tensor", functional.reduce_scatter_tensor(data, "sum", 0, group),
         total[part]),
        ("all_to_all_single", functional.all_to_all_single(data, None, None, group),
         torch.cat([one.view(ranks, parts)[rank] for one in every])),
        ("broadcast", functional.broadcast(data, 1, group), every[1]),
        ("all_reduce_coalesced", functional.all_reduce_coalesced(pair, "sum", group),
         [total, 2 * total]),
        ("all_gather_into_tensor_coalesced",
         functional.all_gather_into_tensor_coalesced(pair, group), [whole, 2 * whole]),
        ("reduce_scatter_tensor_coalesced",
         functional.reduce_scatter_tensor_coalesced(pair, "sum", [0, 0], group),
         [total[part], 2 * total[part]])]


def each_one(rank, ranks, _directory):
    for name, got, right in calls(rank, ranks, dist.group.WORLD):
        for one, other in zip(got if isinstance(got, list) else [got],
                              right if isinstance(right, list) else [right]):
            assert torch.equal(one + 0, other), name


def test_each_functional_collective_gives_its_result(crew):
    crew.run(each_one)


def recorded(rank, ranks, directory):
    path = directory / "functional.json"
    names = []

    def step():
        for name, got, _ in calls(rank, ranks, dist.group.WORLD):
            for one in got if isinstance(got, list) else [got]:
                functional.wait_tensor(one)
            names.append(name)

    with t3.torch.profile(path):
        step()
    dist.barrier()
    operations = json.loads(path.read_text())["operations"]
    return names, [(*one["collective"].values(), one["count"]) for one in operations
                   if "collective" in one], [one for one in operations if "left_out" in one]


def test_each_functional_collective_is_recorded_once(crew):
    names, found, left_out = crew.run(recorded)[0]
    size, whole = COUNT * 4, COUNT * 4 * RANKS
    sizes = {"all_gather_into_tensor": whole, "all_gather_into_tensor_coalesced": 2 * whole,
             "all_reduce_coalesced": 2 * size, "reduce_scatter_tensor_coalesced": 2 * size}
    assert found == [(name, sizes.get(name, size), RANKS, "float32", names.count(name))
                     for name in dict.fromkeys(names)]
    assert not left_out


def product_and_sum(_rank, _ranks, directory, backend):
    group = dist.new_group(backend=backend)
    path = directory / f"product-{backend}.json"
    left, right = torch.ones(8, 3), torch.ones(3, 4)
    with t3.torch.profile(path):
        functional.all_reduce(left @ right, "sum", group) + 0
    dist.barrier()
    return [(one["gemm"]["k"], one["collective"], one["summed"])
            for one in json.loads(path.read_text())["operations"] if "gemm" in one]


@pytest.mark.parametrize("backend", ("t3", "gloo"))
def test_a_product_that_a_functional_collective_sums_is_recorded_so(crew, backend):
    assert crew.run(product_and_sum, backend)[0] == [
        (3, {"name": "all_reduce", "bytes": 8 * 4 * 4, "ranks": RANKS, "dtype": "float32"},
         "afterwards")]


def without_values(_rank, ranks, directory):
    path = directory / "meta.json"
    with t3.torch.profile(path):
        made = functional.all_gather_tensor(torch.empty(4096, 8192, device="meta"), 0,
                                            dist.group.WORLD)
        assert made.shape == (4096 * ranks, 8192)
    dist.barrier()
    return [one["collective"] for one in json.loads(path.read_text())["operations"]]


def test_a_functional_collective_on_meta_is_recorded_and_not_made(crew):
    assert crew.run(without_values)[0] == [
        {"name": "all_gather_into_tensor", "bytes": 4096 * 8192 * 4 * RANKS, "ranks": RANKS,
         "dtype": "float32"}]


def waited_for_late(rank, ranks, _directory):
    """Each tensor waits for the work by itself, also when many others have been waited for."""
    given = [functional.all_reduce_coalesced([torch.ones(2), torch.ones(3)], "sum",
                                             dist.group.WORLD) for _ in range(20)]
    for first, _ in given:
        assert (first + 0).tolist() == [ranks] * 2
    for _, second in given:
        assert (second + 0).tolist() == [ranks] * 3


def test_tensors_of_one_call_are_waited_for_one_by_one(crew):
    crew.run(waited_for_late)
