# SPDX-License-Identifier: MIT
"""torch's operators of a product and a collective in one, against the two. torch 2.6 has them."""

import json

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, join

import t3.torch

pytest.importorskip("torch.distributed._symmetric_memory",
                    reason="torch 1.13 has no symmetric memory")
functional = pytest.importorskip("torch.distributed._functional_collectives")
FUSED = torch.ops.symm_mem
INNER, COLUMNS = 12, 20
BOUNDS = ((torch.float32, 1e-5), (torch.float64, 1e-13), (torch.bfloat16, 0.04))


@pytest.fixture(scope="module", autouse=True)
def joined(crew):
    crew.run(join)


def name_of(group):
    return group.group_name if group.group_name else "0"


def made(seed, *shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def near(got, right, bound):
    assert got.shape == right.shape and got.dtype == right.dtype
    distance = (got.double() - right.double()).abs().max()
    assert distance <= bound * max(1, right.double().abs().max()), distance


def summed(rank, _ranks, _directory, shape, dim, op, dtype, bound, backend=None):
    """Against a product, and then its reduce-scatter."""
    group = dist.new_group(backend=backend) if backend else dist.group.WORLD
    left = made(rank, *shape, INNER, dtype=dtype)
    right = made(9 + rank, INNER, COLUMNS, dtype=dtype)
    got = FUSED.fused_matmul_reduce_scatter(left, right, op, dim, name_of(group))
    wanted = functional.reduce_scatter_tensor(left @ right, op, dim, dist.group.WORLD) + 0
    near(got, wanted, bound)
    assert got.is_contiguous()


@pytest.mark.parametrize("dtype, bound", BOUNDS)
def test_a_product_is_summed_and_scattered(crew, dtype, bound):
    crew.run(summed, (8,), 0, "sum", dtype, bound)


@pytest.mark.parametrize("shape, dim", [((8, 3), 0), ((3, 8), 1), ((2, 4, 3), -3), ((5,), 1),
                                        ((2, 3), 2), ((256,), 0)])
def test_a_product_is_scattered_along_any_dimension(crew, shape, dim):
    crew.run(summed, shape, dim, "sum", torch.float32, 1e-5)
    crew.run(summed, shape, dim, "avg", torch.float32, 1e-5)


def test_the_group_may_be_of_another_backend(crew):
    crew.run(summed, (8,), 0, "sum", torch.float32, 1e-5, "gloo")
    crew.run(gathered, (3, 5), 0, 2, torch.float32, 1e-5, "gloo")


def gathered(rank, _ranks, _directory, shape, dim, factors, dtype, bound, backend=None):
    """Against an all-gather, and then its products."""
    group = dist.new_group(backend=backend) if backend else dist.group.WORLD
    part = made(rank, *shape, INNER, dtype=dtype)
    inner = INNER * RANKS if dim in (-1, len(shape)) else INNER
    every = [made(9 + number, inner, COLUMNS + number, dtype=dtype) for number in range(factors)]
    whole, products = FUSED.fused_all_gather_matmul(part, every, dim, name_of(group))
    wanted = functional.all_gather_tensor(part, dim, dist.group.WORLD) + 0
    assert torch.equal(whole, wanted)
    assert len(products) == factors
    for got, right in zip(products, every):
        near(got, wanted @ right, bound)


@pytest.mark.parametrize("dtype, bound", BOUNDS)
def test_gathered_rows_are_multiplied(crew, dtype, bound):
    crew.run(gathered, (8,), 0, 2, dtype, bound)


@pytest.mark.parametrize("shape, dim, factors", [((3, 5), 0, 1), ((3, 5), 1, 3), ((7,), -2, 1),
                                                 ((4,), 1, 2), ((1, 2), 0, 1), ((3,), 0, 0)])
def test_rows_are_gathered_along_any_dimension(crew, shape, dim, factors):
    crew.run(gathered, shape, dim, factors, torch.float32, 1e-5)


def counted(_rank, _ranks, directory):
    name = name_of(dist.group.WORLD)
    left, right = torch.ones(8, INNER), torch.ones(INNER, COLUMNS)

    def step():
        FUSED.fused_matmul_reduce_scatter(left, right, "sum", 0, name)
        FUSED.fused_all_gather_matmul(left, [right], 0, name)

    t3.torch.reset_counts()
    step()
    counts = t3.torch.counts()
    files = []
    for kind in ("cpu", "meta"):
        left, right = left.to(kind), right.to(kind)
        path = directory / f"fused-{kind}.json"
        with t3.torch.profile(path):
            step()
        dist.barrier()
        files.append(json.loads(path.read_text())["operations"])
    return counts, files


def test_fused_operators_are_counted_and_recorded(crew, has_device):
    counts, files = crew.run(counted)[0]
    way = "device" if has_device else "gloo"
    assert counts == {"matmul_reduce_scatter": {way: 1}, "all_gather_into_tensor": {way: 4}}
    shape = {"n": COLUMNS, "k": INNER, "batch": 1, "dtype": "float32"}
    common = {"ranks": RANKS, "dtype": "float32"}
    for found in files:
        assert found == [
            {"gemm": {"m": 8, **shape}, "summed": "while made", "pass": "forward", "count": 1,
             "collective": {"name": "matmul_reduce_scatter", "bytes": 8 * COLUMNS * 4, **common}},
            {"collective": {"name": "all_gather_into_tensor", "bytes": 8 * INNER * 4 * RANKS,
                            **common}, "pass": "forward", "count": 1},
            {"gemm": {"m": 8 * RANKS, **shape}, "pass": "forward", "count": 1}]


def in_rank_order(rank, ranks, _directory):
    """The same bits at each call: the products of the ranks, added in their order."""
    torch.use_deterministic_algorithms(True)
    try:
        left, right = made(rank, 64, 512).bfloat16(), made(9, 512, 40).bfloat16()
        once, twice = (FUSED.fused_matmul_reduce_scatter(left, right, "sum", 0,
                                                         name_of(dist.group.WORLD))
                       for _ in range(2))
        total = None
        for peer in range(ranks):
            one = t3.torch.product.Product(made(peer, 64, 512).bfloat16(), right, ranks,
                                           torch.bfloat16).whole().view(64, 40)
            total = one if total is None else (total.float() + one.float()).bfloat16()
        assert torch.equal(once, twice)
        assert torch.equal(once, total.chunk(ranks)[rank])
    finally:
        torch.use_deterministic_algorithms(False)


def test_deterministic_sums_are_in_the_order_of_ranks(crew):
    crew.run(in_rank_order)


def refused(_rank, _ranks, _directory):
    name, texts = name_of(dist.group.WORLD), []
    left, right = torch.ones(8, INNER), torch.ones(INNER, COLUMNS)
    for call in (
            lambda: FUSED.fused_matmul_reduce_scatter(left, right, "max", 0, name),
            lambda: FUSED.fused_matmul_reduce_scatter(left[:7], right, "sum", 0, name),
            lambda: FUSED.fused_matmul_reduce_scatter(left, right.t(), "sum", 0, name),
            lambda: FUSED.fused_matmul_reduce_scatter(left, right.double(), "sum", 0, name),
            lambda: FUSED.fused_matmul_reduce_scatter(left, right, "sum", 2, name),
            lambda: FUSED.fused_all_gather_matmul(left, [right], 3, name)):
        with pytest.raises((ValueError, IndexError)) as caught:
            call()
        texts.append(str(caught.value))
    dist.barrier()
    return texts


def test_wrong_arguments_are_refused_and_the_group_goes_on(crew):
    texts = crew.run(refused)[0]
    assert "sums or averages; reduce_op is 'max'" in texts[0]
    assert "dimension 0 of (7, 20) is scattered over 4 ranks" in texts[1]
    assert "a tensor of (8, 12) has no product with one of (20, 12)" in texts[2]
    assert "types torch.float32 and torch.float64" in texts[3]
    assert "has no dimension 2" in texts[4] and "has no dimension 3" in texts[5]
