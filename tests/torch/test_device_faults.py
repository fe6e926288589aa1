# SPDX-License-Identifier: MIT
"""Faults of links below torch: lost packets change no sum, and a link that is down is named.

They are injected by `t3 inject`, so these tests need devices.
"""

import subprocess

import pytest
import torch
import torch.distributed as dist
from ranks import join

import t3
import t3.torch

ELEMENTS = 40_000  # of float32: many packets for each link


def inject(words):
    subprocess.run(["t3", "inject", words], check=True)


def injected(ranks):
    """Faults that have taken effect, at all devices."""
    total = 0
    for rank in range(ranks):
        with t3.Device.of_rank(rank) as device:
            total += device.counters()["injected"]
    return total


def sums(rank, ranks, directory):
    """Three sums in the order of the ranks, and two moves."""
    torch.use_deterministic_algorithms(True)
    made = []
    for turn in range(3):
        data = torch.rand(ELEMENTS, generator=torch.Generator().manual_seed(10 * turn + rank))
        dist.all_reduce(data)
        made.append(data)
    parts = [torch.empty(ELEMENTS) for _ in range(ranks)]
    dist.all_gather(parts, made[0] + rank)
    mixed = torch.empty(ELEMENTS)
    dist.all_to_all_single(mixed, made[1] * (rank + 1))
    return [one.numpy().tobytes() for one in (*made, *parts, mixed)]


@pytest.mark.parametrize("kind", ["drop", "drop-response", "duplicate", "corrupt", "reorder"])
def test_packets_that_are_lost_or_broken_change_no_bit(ranks, kind):
    ranks.run(join)
    right = ranks.run(sums)
    before = injected(ranks.ranks)
    for rank in range(ranks.ranks):
        inject(f"{kind} rank={rank} peer={(rank + 1) % ranks.ranks} nth=2 count=3")
    assert ranks.run(sums) == right
    assert injected(ranks.ranks) >= before + ranks.ranks


def reduces_until_an_error(rank, ranks, directory):
    for _ in range(2):
        try:
            dist.all_reduce(torch.ones(ELEMENTS))
        except RuntimeError as error:
            return str(error), error.peer
    return None


def test_a_link_that_is_down_ends_the_sum_at_all_ranks_and_is_named(ranks):
    ranks.run(join)
    ranks.run(sums)
    inject("link-down rank=1 peer=2")
    try:
        errors = ranks.run(reduces_until_an_error)
    finally:
        inject("link-up rank=1 peer=2")
    assert all(errors), errors
    for rank, (text, _) in enumerate(errors):
        assert f"all_reduce in group 0, rank {rank} of 4" in text
    # Ranks that the link does not concern learn whose it is.
    assert any("rank 1 faulted: link" in text for text, _ in errors), errors
    ranks.run(again)


def again(rank, ranks, directory):
    """After a new beginning the devices are as good as ever."""
    dist.destroy_process_group()
    join(rank, ranks, directory, name="again")
    data = torch.full((ELEMENTS,), float(rank))
    dist.all_reduce(data)
    assert data.tolist() == [6.0] * ELEMENTS
    assert set(t3.torch.counts()["all_reduce"]) == {"device"}
