# SPDX-License-Identifier: MIT
"""A trace of torch's own observer says what t3.torch.profile() says of the same program."""

import collections
import gzip
import json

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, join
from torch import nn

import t3.torch
from t3 import traces

OBSERVER = getattr(torch.profiler, "ExecutionTraceObserver",
                   getattr(torch.profiler, "ExecutionGraphObserver", None))


@pytest.fixture(scope="module", autouse=True)
def joined(crew):
    crew.run(join)


def both(step, directory, rank=0):
    """The recorder's workload, and that of the observer's trace."""
    step()
    step()  # what first steps do besides, as of DDP, is in neither
    recorded, trace = directory / f"recorded-{rank}.json", directory / f"trace-{rank}.json"
    with t3.torch.profile(recorded, rank=rank):
        step()
    observer = OBSERVER()
    observer.register_callback(str(trace))
    observer.start()
    step()
    observer.stop()
    observer.unregister_callback()
    return json.loads(recorded.read_text()), traces.convert([str(trace)], rank, RANKS)


def counts(workload, kind, *others):
    """Calls by pass and what they are, whatever else belongs to them."""
    found = collections.Counter()
    for one in workload["operations"]:
        if kind in one and not any(other in one for other in others):
            found[one["pass"], json.dumps(one[kind])] += one["count"]
    return found


def assert_same(pairs, *kinds):
    for recorded, traced in pairs:
        for kind in kinds:
            assert counts(traced, kind) == counts(recorded, kind), kind
            assert counts(traced, kind)


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.whole, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.norm, self.inner, self.back = (nn.LayerNorm(size), nn.Linear(size, 4 * size, bias=False),
                                            nn.Linear(4 * size, size))

    def forward(self, data):
        query, key, value = self.whole(self.norm(data)).view(2, 5, 3, 2, -1).permute(2, 0, 3, 1, 4)
        mask = torch.ones(5, 5).tril() == 0
        scores = (query @ key.transpose(2, 3)).masked_fill(mask, float("-inf")).softmax(-1)
        data = data + self.out((scores @ value).transpose(1, 2).reshape(2, 5, -1))
        return data + self.back(nn.functional.gelu(self.inner(data)))


def training(rank, _ranks, directory):
    torch.manual_seed(1)
    table, net, head = nn.Embedding(11, 8), nn.Sequential(Attention(8), Attention(8)), nn.Linear(8, 11)
    optimizer = torch.optim.Adam([*table.parameters(), *net.parameters(), *head.parameters()])
    words = torch.arange(10).view(2, 5)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(head(net(table(words))).view(10, 11), words.view(10)).backward()
        optimizer.step()

    return both(step, directory, rank)


def test_a_transformers_training_has_the_recorders_products(crew):
    assert_same(crew.run(training), "gemm")


def test_other_operations_move_nearly_the_recorders_bytes(crew):
    for pair in crew.run(training):
        recorded, traced = (sum(one["memory"]["bytes"] * one["count"] for one in workload["operations"]
                                if "memory" in one) for workload in pair)
        assert traced == pytest.approx(recorded, rel=0.02)


def shapes(rank, _ranks, directory):
    left, batch = torch.ones(3, 4, dtype=torch.float64), torch.ones(2, 3, 4)

    def step():
        left @ torch.ones(4, dtype=torch.float64)
        torch.addmv(torch.ones(3), batch[0], torch.ones(4))
        torch.baddbmm(torch.ones(2, 3, 5), batch, torch.ones(2, 4, 5))
        torch.addbmm(torch.ones(3, 5), batch, torch.ones(2, 4, 5))
        torch.einsum("bij,bjk->bik", batch, torch.ones(2, 4, 5))
        torch.ones(0, 4) @ torch.ones(4, 2)
        batch.to(torch.bfloat16) @ torch.ones(4, 7, dtype=torch.bfloat16)
        torch.ones(2, 1, 3, 4) @ torch.ones(3, 4, 2)
        torch.conv1d(torch.ones(1, 2, 9), torch.ones(3, 2, 3))
        with torch.inference_mode():
            nn.functional.linear(batch, torch.ones(6, 4))

    return both(step, directory, rank)


def test_each_kind_of_product_is_the_recorders(crew):
    assert_same(crew.run(shapes), "gemm", "left_out")


def meta(rank, _ranks, directory):
    size = {"device": "meta", "dtype": torch.bfloat16}
    net = nn.Sequential(nn.Linear(64, 256, **size), nn.ReLU(), nn.Linear(256, 64, **size))

    def step():
        net(torch.empty(8, 64, **size)).sum().backward()

    return both(step, directory, rank)


def test_a_step_without_values_has_the_recorders_products(crew):
    assert_same(crew.run(meta), "gemm")


def exchanges(rank, ranks, directory):
    group = dist.new_group(backend="gloo")  # backend t3 is one of Python, which no observer sees
    part, whole = torch.ones(10), torch.ones(10 * ranks)
    rows, halves = [torch.ones(10) for _ in range(ranks)], torch.ones(6).to(torch.float64)

    def step():
        dist.all_reduce(part, group=group)
        dist.all_reduce(halves, async_op=True, group=group).wait()
        dist.reduce(part, 1, group=group)
        dist.broadcast(part, 2, group=group)
        dist.all_gather(rows, part, group=group)
        dist.barrier(group=group)
        kept = torch.ones(6, 8) @ torch.ones(8, 10)
        dist.all_reduce(kept, group=group)
        changed = torch.ones(6, 8) @ torch.ones(8, 10)
        changed.mul_(2)
        dist.all_reduce(changed, group=group)
        half = torch.ones(6, 8) @ torch.ones(8, 12)
        dist.all_reduce(half.view(-1)[:36], group=group)
        dist.all_reduce((torch.ones(2, 8) @ torch.ones(8, 3)).view(-1), group=group)
        if rank % 2:
            dist.send(part, rank - 1, group=group)
        else:
            dist.recv(whole[:10], rank + 1, group=group)

    return both(step, directory, rank)


def test_collectives_and_the_products_that_they_sum_are_the_recorders(crew):
    found = crew.run(exchanges)
    assert_same(found, "gemm", "collective", "summed")
    assert sum(counts(found[0][1], "summed").values()) == 2


def data_parallel(rank, _ranks, directory):
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 24), nn.Linear(24, 4)),
                                              process_group=dist.new_group(backend="gloo"))
    return both(lambda: net(torch.ones(5, 8)).sum().backward(), directory, rank)


def test_ddp_has_the_recorders_products_and_gradients(crew):
    assert_same(crew.run(data_parallel), "gemm", "collective")


def test_a_trace_may_be_packed(crew, tmp_path):
    crew.run(training)
    source = crew.directory / "trace-0.json"
    packed = tmp_path / "trace.json.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    assert traces.convert([str(packed)]) == traces.convert([str(source)])
