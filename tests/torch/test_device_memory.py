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
ELEMENTS = 6 * MIB  # of float32: a piece of 16 MiB, and a rest
held = []


def leave(rank, ranks, directory, free):
    """Take all of the device's memory but `free` MiB."""
    device = t3.Device.of_rank(rank)
    with pytest.raises(t3.Error) as refused:
        while True:
            held.append(device.buffer(MIB))
    assert refused.value.errno == errno.ENOSPC
    while free and held:
        held.pop().close()
        free -= 1


def reduces(rank, ranks, directory):
    """How the sum went. Then the same for a message that is no multiple of a piece."""
    for count in (ELEMENTS, ELEMENTS // 2 + 12345):
        data = torch.arange(count, dtype=torch.float32) % 1000 + rank
        dist.all_reduce(data)
        assert torch.equal(data, 4 * (torch.arange(count, dtype=torch.float32) % 1000) + 6)
    return t3.torch.counts()["all_reduce"]


@pytest.mark.parametrize("free", [24, 4])
def test_pieces_are_halved_where_a_device_has_little_memory(ranks, free):
    ranks.run(join)
    ranks.run(leave, free)
    assert ranks.run(reduces) == [{"device": 2}] * ranks.ranks
    ranks.run(long_ones)


def test_gloo_reduces_where_no_piece_fits(ranks):
    ranks.run(join)
    ranks.run(leave, 0)
    assert ranks.run(reduces) == [{"gloo": 2}] * ranks.ranks
