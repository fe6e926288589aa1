# SPDX-License-Identifier: MIT
"""A GPT of 100 000 parameters on real text, tensor-parallel and data-parallel."""

import gpt
import pytest
import torch
import torch.distributed as dist
from ranks import apart, join

import t3.torch

# A VM emulates each processor: there few steps have the same calls.
STEPS, BITS_IN_VM, LEARNS_IN_VM = 20, 2, 3
WITHIN = 2e-3  # of a loss: what other orders of the same sums make in 20 steps


@pytest.fixture(scope="module", autouse=True)
def joined(crew):
    crew.run(join)


@pytest.fixture
def options(has_device):
    def parsed(tensor, data, in_vm, *more):
        steps = in_vm if has_device else STEPS
        return gpt.parsed(["--tensor", str(tensor), "--data", str(data), "--steps", str(steps),
                           *more])

    return parsed


def trained(_rank, _ranks, _directory, given):
    losses = gpt.train(given)
    dist.barrier()
    return losses, t3.torch.counts()


@pytest.mark.parametrize("tensor, data", [(4, 1), (2, 2)])
def test_a_gpt_has_the_bits_of_sums_in_rank_order(crew, options, tensor, data):
    given = options(tensor, data, BITS_IN_VM, "--deterministic")
    right = apart(gpt.train, given)
    for losses, _ in crew.run(trained, given):
        assert losses == right


def test_a_gpt_learns_as_one_process_does(crew, options, has_device):
    right = apart(gpt.train, options(1, 1, LEARNS_IN_VM))
    assert right[-1] < (0.9 if has_device else 0.8) * right[0]
    for tensor, data in ((4, 1), (2, 2)):
        for losses, counts in crew.run(trained, options(tensor, data, LEARNS_IN_VM)):
            assert losses == pytest.approx(right, rel=WITHIN)
            assert set(counts["matmul_all_reduce"]) == {"device" if has_device else "gloo"}


def test_the_gpt_has_100_000_parameters_and_a_text_of_debian():
    model = gpt.Gpt(gpt.Batches(4, 1).letters, lambda kind: gpt.AllParts(kind, 1))
    assert 90_000 < sum(one.numel() for one in model.parameters()) < 115_000
    assert b"GNU GENERAL PUBLIC LICENSE" in gpt.TEXT.read_bytes()
    assert torch.isfinite(gpt.loss_of(model, gpt.Batches(4, 1).of(1, 0)))
