# SPDX-License-Identifier: MIT
"""Devices whose memory others have taken: pieces are halved until they fit, and sums stay right."""

import errno

import pytest
import torch
import torch.distributed as dist
from ranks import join
from test_collectives import long_ones

import t3
import t3.torch

MIB = 1 << 20
ELEMENTS = 5 * MIB  # of float32: two pieces of 8 MiB, and a rest
held = []


def leave(rank, ranks, directory, free, short):
    """At the ranks `short`, take all of the device's memory but `free` MiB."""
    if rank not in short:
        return
    device = t3.Device.of_rank(rank)
    with pytest.raises(t3.Error) as refused:
        while True:
            held.append(device.buffer(MIB))
    assert refused.value.errno == errno.ENOSPC
    for _ in range(free):
        held.pop().close()


def reduces(rank, ranks, directory):
    """How two sums went. The second message is no multiple of a piece."""
    for count in (ELEMENTS, ELEMENTS // 2 + 12345):
        data = torch.arange(count, dtype=torch.float32) % 1000 + rank
        dist.all_reduce(data)
        assert torch.equal(data, 4 * (torch.arange(count, dtype=torch.float32) % 1000) + 6)
    return t3.torch.counts()["all_reduce"]


@pytest.mark.parametrize("short", [(0, 1, 2, 3), (2,)])
def test_pieces_are_halved_where_a_device_has_little_memory(ranks, short):
    ranks.run(join)
    ranks.run(leave, 4, short)
    assert ranks.run(reduces) == [{"device": 2}] * ranks.ranks
    ranks.run(long_ones)


@pytest.mark.parametrize("short", [(0, 1, 2, 3), (2,)])
def test_gloo_reduces_where_no_piece_fits(ranks, short):
    ranks.run(join)
    ranks.run(leave, 0, short)
    assert ranks.run(reduces) == [{"gloo": 2}] * ranks.ranks
