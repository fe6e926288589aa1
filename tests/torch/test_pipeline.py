# SPDX-License-Identifier: MIT
"""torch's pipelines on the backend t3, against one process: each rank has a stage of a model."""

import inspect

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, join

import t3.torch

pipelining = pytest.importorskip("torch.distributed.pipelining",
                                 reason="torch 1.13 has no torch.distributed.pipelining")

FEATURES, ROWS, PARTS = 8, 24, 6  # a batch of 24 rows in 6 parts, more than there are stages
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def joined(crew):
    crew.run(join)


def model():
    torch.manual_seed(5)
    return [torch.nn.Sequential(torch.nn.Linear(FEATURES, FEATURES), torch.nn.Tanh())
            for _ in range(RANKS)]


def batch(step):
    made = torch.Generator().manual_seed(step)
    return torch.randn(ROWS, FEATURES, generator=made), torch.randn(ROWS, FEATURES, generator=made)


def loss_of(output, target):
    return (output - target).square().mean()


def in_one_process(steps):
    """Losses of each part, and the stages after all steps. Gradients of the parts are averaged."""
    stages = model()
    net = torch.nn.Sequential(*stages)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        data, target = batch(step)
        parts = [loss_of(net(one), other)
                 for one, other in zip(data.chunk(PARTS), target.chunk(PARTS))]
        (sum(parts) / PARTS).backward()
        optimizer.step()
        losses += [part.item() for part in parts]
    return losses, stages


def piped(rank, ranks, _directory, schedule, steps):
    right, stages = in_one_process(steps)
    stage = pipelining.PipelineStage(model()[rank], rank, ranks, torch.device("cpu"))
    kind = getattr(pipelining, schedule)
    # 2.6 adds the gradients of the parts. Later ones may be told so.
    adds = {"scale_grads": False} if "scale_grads" in inspect.signature(kind).parameters else {}
    pipeline = kind(stage, PARTS, loss_fn=loss_of, **adds)
    optimizer = torch.optim.SGD(stage.submod.parameters(), lr=0.2, momentum=0.9)
    t3.torch.reset_counts()
    found = []
    for step in range(steps):
        optimizer.zero_grad()
        data, target = batch(step)
        losses = []
        if rank == 0:
            pipeline.step(data)
        elif rank == ranks - 1:
            pipeline.step(target=target, losses=losses)
        else:
            pipeline.step()
        for parameter in stage.submod.parameters():
            parameter.grad /= PARTS
        optimizer.step()
        found += [loss.item() for loss in losses]
    counts = t3.torch.counts()
    if rank == ranks - 1:
        assert found == pytest.approx(right, rel=1e-4)
    for got, other in zip(stage.submod.parameters(), stages[rank].parameters()):
        assert torch.allclose(got, other, rtol=1e-4, atol=1e-6)
    dist.barrier()
    return counts


@pytest.mark.parametrize("schedule", ("ScheduleGPipe", "Schedule1F1B"))
def test_stages_learn_as_one_process_does(crew, schedule):
    counts = crew.run(piped, schedule, 4)
    assert all("send" in found and "recv" in found for found in counts), counts
