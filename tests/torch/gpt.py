#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A small GPT that learns a text of Debian's package base-files, over tensor and data ranks.

    t3 launch -n 4 -- python3 gpt.py --tensor 4 --steps 1000
    t3 launch -n 4 -- python3 gpt.py --tensor 2 --data 2 --deterministic --backend gloo

Each rank of a tensor group has some of the heads and of the inner features of each layer. The data
groups average gradients by DistributedDataParallel. Without a launcher one process does what the
ranks do, and adds what they add in the order of the ranks: with --deterministic the losses of both
have the same bits. Loss lines come from rank 0: step, loss, and its bits.
"""

import argparse
import contextlib
import os
import pathlib
import resource
import struct
import sys
import time

import torch
import torch.distributed as dist

import t3.torch
from t3.torch.product import Product

TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
WIDTH, HEADS, LAYERS, CONTEXT = 64, 4, 2, 32


# --- what the ranks do in one process

class Fan(torch.autograd.Function):
    """An input for each part. Its gradient is the sum of theirs in the order of the parts."""

    @staticmethod
    def forward(ctx, data, parts):
        return tuple(data.view_as(data) for _ in range(parts))

    @staticmethod
    def backward(ctx, *grads):
        return in_order(grads), None


class Sum(torch.autograd.Function):
    """The sum of all parts in their order."""

    @staticmethod
    def forward(ctx, *parts):
        ctx.count = len(parts)
        return in_order(parts)

    @staticmethod
    def backward(ctx, grad):
        return (grad,) * ctx.count


def in_order(parts):
    total = parts[0].clone()
    for part in parts[1:]:
        total = total + part
    return total


class Times(torch.autograd.Function):
    """data @ weight^T, by blocks of rows where the ranks make a product so."""

    @staticmethod
    def forward(ctx, data, weight, ranks, is_row):
        ctx.save_for_backward(data, weight)
        ctx.ranks, ctx.is_row = ranks, is_row
        return by_blocks(data, weight.t(), ranks) if is_row else data @ weight.t()

    @staticmethod
    def backward(ctx, grad):
        data, weight = ctx.saved_tensors
        of_data = grad @ weight if ctx.is_row else by_blocks(grad, weight, ctx.ranks)
        of_weight = grad.reshape(-1, grad.shape[-1]).t() @ data.reshape(-1, data.shape[-1])
        return of_data, of_weight, None, None


def by_blocks(left, right, ranks):
    flat = left.reshape(-1, left.shape[-1])
    made = Product(flat, right, ranks, left.dtype).whole()
    return made[:flat.shape[0] * right.shape[1]].view(*left.shape[:-1], right.shape[1])


def plus(data, bias):
    """In rows, so that the gradient of the bias is added in their order."""
    return (data.reshape(-1, data.shape[-1]) + bias).view_as(data)


class Part(torch.nn.Module):
    """What rank `rank` of a column-parallel or row-parallel layer has."""

    def __init__(self, inputs, outputs, rank, ranks, is_row):
        super().__init__()
        whole = torch.nn.Linear(inputs, outputs)
        cut = whole.weight.detach().chunk(ranks, 1 if is_row else 0)[rank]
        self.weight = torch.nn.Parameter(cut.clone())
        bias = whole.bias.detach()
        self.bias = torch.nn.Parameter(bias.clone() if is_row else bias.chunk(ranks)[rank].clone())
        self.ranks, self.is_row = ranks, is_row

    def forward(self, data):
        made = Times.apply(data, self.weight, self.ranks, self.is_row)
        return made if self.is_row else plus(made, self.bias)


class AllParts(torch.nn.Module):
    """All ranks of a pair of layers. Each is made from the same random numbers, as on its rank."""

    def __init__(self, kind, ranks):
        super().__init__()
        state, parts = torch.get_rng_state(), []
        for rank in range(ranks):
            torch.set_rng_state(state)
            parts.append(kind(lambda i, o, r=rank: Part(i, o, r, ranks, False),
                              lambda i, o, r=rank: Part(i, o, r, ranks, True), HEADS // ranks))
        self.parts = torch.nn.ModuleList(parts)

    def forward(self, data):
        fanned = Fan.apply(data, len(self.parts))
        total = Sum.apply(*(part(one) for part, one in zip(self.parts, fanned)))
        return plus(total, self.parts[0].last.bias)


# --- the model

class Attention(torch.nn.Module):
    def __init__(self, column, row, heads):
        super().__init__()
        self.heads = heads
        self.first, self.last = column(WIDTH, 3 * WIDTH), row(WIDTH, WIDTH)
        # No buffer: DistributedDataParallel would send it, and gloo sends no bool.
        self.later = torch.ones(CONTEXT, CONTEXT).triu(1).bool()

    def forward(self, data):
        batch, length, _ = data.shape
        # The rows of the weight belong to heads, so that each rank has whole ones.
        made = self.first(data).view(batch, length, self.heads, 3, WIDTH // HEADS)
        query, key, value = made.permute(3, 0, 2, 1, 4)
        scores = query @ key.transpose(2, 3) * (WIDTH // HEADS) ** -0.5
        chances = scores.masked_fill(self.later, float("-inf")).softmax(-1)
        return self.last((chances @ value).transpose(1, 2).reshape(batch, length, -1))


class Inner(torch.nn.Module):
    def __init__(self, column, row, _heads):
        super().__init__()
        self.first, self.last = column(WIDTH, 4 * WIDTH), row(4 * WIDTH, WIDTH)

    def forward(self, data):
        return self.last(torch.relu(self.first(data)))


class Block(torch.nn.Module):
    def __init__(self, pair):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.pairs = torch.nn.ModuleList(pair(kind) for kind in (Attention, Inner))

    def forward(self, data):
        for norm, pair in zip(self.norms, self.pairs):
            data = data + pair(norm(data))
        return data


class Gpt(torch.nn.Module):
    def __init__(self, letters, pair):
        super().__init__()
        self.letters = torch.nn.Embedding(letters, WIDTH)
        self.places = torch.nn.Embedding(CONTEXT, WIDTH)
        torch.nn.init.normal_(self.letters.weight, std=0.1)
        torch.nn.init.normal_(self.places.weight, std=0.1)
        self.blocks = torch.nn.Sequential(*(Block(pair) for _ in range(LAYERS)))
        self.norm = torch.nn.LayerNorm(WIDTH)

    def forward(self, text):
        data = self.letters(text) + self.places.weight
        return self.norm(self.blocks(data)) @ self.letters.weight.t()


# --- training

class Batches:
    """Pieces of the text. A data rank takes its part of each batch."""

    def __init__(self, size, ranks):
        text = TEXT.read_bytes()
        letters = sorted(set(text))
        self.letters, self.size, self.ranks = len(letters), size, ranks
        place = {letter: number for number, letter in enumerate(letters)}
        self.text = torch.tensor([place[letter] for letter in text])

    def of(self, step, rank):
        choice = torch.Generator().manual_seed(step)
        first = torch.randint(len(self.text) - CONTEXT, (self.size,), generator=choice)
        pieces = torch.stack([self.text[at:at + CONTEXT + 1] for at in first.tolist()])
        part = pieces.chunk(self.ranks)[rank]
        return part[:, :-1], part[:, 1:]


def loss_of(model, batch):
    made = model(batch[0])
    return torch.nn.functional.cross_entropy(made.reshape(-1, made.shape[-1]),
                                             batch[1].reshape(-1))


def groups(tensor, data):
    """This rank's tensor group, of neighbours, and its data group."""
    mine = [None, None]
    every = [[row * tensor + place for place in range(tensor)] for row in range(data)]
    for place, rows in enumerate((every, zip(*every))):
        for ranks in rows:
            made = dist.new_group(list(ranks))
            if dist.get_rank() in ranks:
                mine[place] = made
    return mine


def over_ranks(options, batches):
    """(model, the step that leaves gradients and returns the loss) of this rank."""
    tensor_group, data_group = groups(options.tensor, options.data)

    def column(inputs, outputs):
        return t3.torch.ColumnParallelLinear(inputs, outputs, group=tensor_group)

    def row(inputs, outputs):
        return t3.torch.RowParallelLinear(inputs, outputs, group=tensor_group)

    model = Gpt(batches.letters, lambda kind: kind(column, row, HEADS // options.tensor))
    place = dist.get_rank() // options.tensor
    whole = model if options.data == 1 else torch.nn.parallel.DistributedDataParallel(
        model, process_group=data_group)

    def step(number):
        loss = loss_of(whole, batches.of(number, place))
        loss.backward()
        total = loss.detach() / options.data
        if options.data > 1:
            dist.all_reduce(total, group=data_group)
        return total

    return model, step


def in_one_process(options, batches):
    """The same for all ranks together."""
    model = Gpt(batches.letters, lambda kind: AllParts(kind, options.tensor))

    def step(number):
        losses, sums = [], None
        for rank in range(options.data):
            model.zero_grad(set_to_none=True)
            loss = loss_of(model, batches.of(number, rank))
            loss.backward()
            losses.append(loss.detach() / options.data)
            grads = [one.grad / options.data if one.grad is not None else None
                     for one in model.parameters()]
            sums = grads if sums is None else [old if new is None else old + new
                                               for old, new in zip(sums, grads)]
        for one, grad in zip(model.parameters(), sums):
            one.grad = grad
        return in_order(losses)

    return model, step


def train(options, report=lambda step, loss: None):
    """The losses."""
    global WIDTH, CONTEXT
    WIDTH, CONTEXT = options.width, options.context
    batches = Batches(options.batch, options.data)
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(options.deterministic)
    make = over_ranks if dist.is_initialized() else in_one_process
    model, step = make(options, batches)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.rate)
    losses = []
    for number in range(1, options.steps + 1):
        # DistributedDataParallel makes its buckets anew in step 2.
        is_recorded = options.profile and number == min(3, options.steps)
        with t3.torch.profile(options.profile) if is_recorded else contextlib.nullcontext():
            optimizer.zero_grad(set_to_none=True)
            losses.append(step(number).item())
            optimizer.step()
        report(number, losses[-1])
    torch.use_deterministic_algorithms(False)
    return losses


def bits_of(loss):
    return struct.pack(">f", loss).hex()


def parsed(words):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backend", default="t3")
    parser.add_argument("--tensor", type=int, default=1, help="ranks of a tensor group")
    parser.add_argument("--data", type=int, default=1, help="data-parallel copies")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=4, help="pieces of the text, in all")
    parser.add_argument("--width", type=int, default=WIDTH, help="features of a letter")
    parser.add_argument("--context", type=int, default=CONTEXT, help="letters of a piece")
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--every", type=int, default=20, help="steps between two lines")
    parser.add_argument("--profile", metavar="FILE", help="a workload of t3 sim: step 3")
    parser.add_argument("--deterministic", action="store_true")
    given = parser.parse_args(words)
    if HEADS % given.tensor or given.batch % given.data or given.width % HEADS:
        parser.error(f"--tensor divides {HEADS} heads, which divide --width, and --data divides "
                     "--batch")
    return given


def main():
    options = parsed(sys.argv[1:])
    torch.set_num_threads(1)
    is_alone = "WORLD_SIZE" not in os.environ
    if not is_alone:
        dist.init_process_group(options.backend)
        if dist.get_world_size() != options.tensor * options.data:
            sys.exit(f"gpt.py: {options.tensor} x {options.data} ranks are asked for, and there "
                     f"are {dist.get_world_size()}")
    is_first = is_alone or dist.get_rank() == 0
    begin = time.monotonic()
    mibs = []  # the most memory so far, in MiB, after each tenth of the steps

    def report(step, loss):
        if step * 10 // options.steps > len(mibs):
            mibs.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
        if is_first and (step == 1 or step % options.every == 0):
            print(f"step {step}: loss {loss:.3f} {bits_of(loss)}", flush=True)

    train(options, report)
    if is_first:
        seconds = (time.monotonic() - begin) / options.steps
        print(f"# {seconds:.3f} s a step; MiB after each tenth: {mibs}", file=sys.stderr)
        print(t3.torch.counts(), file=sys.stderr)
    if not is_alone:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
