# SPDX-License-Identifier: MIT
"""T3_TORCH_WIDEN=1: sums of float16 and bfloat16 that are rounded once, of four ranks."""

import contextlib
import os

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, join

import t3.torch

NARROW = (torch.bfloat16, torch.float16)
COUNT = 5000


@pytest.fixture(scope="module", autouse=True)
def joined(crew):
    crew.run(join)


@contextlib.contextmanager
def asked():
    os.environ["T3_TORCH_WIDEN"] = "1"
    try:
        yield
    finally:
        del os.environ["T3_TORCH_WIDEN"]


def values(rank, dtype):
    """Of 7 bits at nine scales: each sum of four, in any order, is exact in float32."""
    made = torch.Generator().manual_seed(rank)
    whole = torch.randint(-127, 128, (COUNT,), generator=made)
    scale = torch.randint(-8, 1, (COUNT,), generator=made)
    return (whole * torch.pow(2.0, scale)).to(dtype)


def exact(dtype):
    return sum(values(rank, dtype).float() for rank in range(RANKS))


def same(got, right):
    assert torch.equal(got.float(), right.float()), (got - right).abs().max()


def rounded_once(rank, ranks, _directory):
    with asked():
        group = dist.new_group()
    t3.torch.reset_counts()
    differ = 0
    for dtype in NARROW:
        right = exact(dtype)
        data = values(rank, dtype)
        dist.all_reduce(data, group=group)
        same(data, right.to(dtype))
        part = torch.empty(COUNT // ranks, dtype=dtype)
        dist.reduce_scatter(part, list(values(rank, dtype).chunk(ranks)), group=group)
        same(part, right.to(dtype).chunk(ranks)[rank])
        plain = values(rank, dtype)
        dist.all_reduce(plain)
        differ += (plain != right.to(dtype)).sum().item()
    for dtype in (torch.float32, torch.int32):  # these have nothing to widen
        data = torch.full((3,), rank + 1, dtype=dtype)
        dist.all_reduce(data, group=group)
        same(data, torch.full((3,), 10, dtype=dtype))
    data = values(rank, torch.bfloat16)
    dist.all_reduce(data, dist.ReduceOp.MAX, group=group)
    same(data, torch.stack([values(peer, torch.bfloat16) for peer in range(ranks)]).amax(0))
    dist.destroy_process_group(group)
    return t3.torch.counts(), differ


def in_rank_order(rank, _ranks, _directory):
    with asked():
        group = dist.new_group()
    torch.use_deterministic_algorithms(True)
    try:
        data = values(rank, torch.bfloat16)
        dist.all_reduce(data, group=group)
    finally:
        torch.use_deterministic_algorithms(False)
    right = values(0, torch.bfloat16)
    for peer in range(1, RANKS):
        right = (right.float() + values(peer, torch.bfloat16).float()).bfloat16()
    same(data, right)
    dist.destroy_process_group(group)


def refused(_rank, _ranks, _directory):
    with asked(), pytest.raises(RuntimeError, match="cannot join group .* no link") as caught:
        dist.new_group()
    data = torch.ones(3)
    dist.all_reduce(data)
    assert data.tolist() == [4.0] * 3
    return str(caught.value)


def test_a_widened_sum_is_rounded_once(crew, has_device, has_all_links):
    if not has_device or not has_all_links:
        pytest.skip("needs devices with a link between each two")
    for counts, differ in crew.run(rounded_once):
        assert set(counts["all_reduce"]) == set(counts["reduce_scatter"]) == {"device"}
        assert differ > COUNT // 10  # without it sums are rounded three times


def test_deterministic_algorithms_come_before_widening(crew, has_device, has_all_links):
    if not has_device or not has_all_links:
        pytest.skip("needs devices with a link between each two")
    crew.run(in_rank_order)


def test_a_ring_refuses_widening_and_goes_on(crew, has_device, has_all_links):
    if not has_device or has_all_links:
        pytest.skip("needs devices in a ring")
    for rank, text in enumerate(crew.run(refused)):
        assert f"rank {rank} of 4" in text
