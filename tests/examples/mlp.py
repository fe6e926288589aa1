#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""mlp.c in Python: a tensor-parallel multi-layer perceptron, forward and backward.

    t3 launch -n 4 -- python3 mlp.py [STEPS]

Each rank has columns of the first matrix of weights and rows of the second, so both outputs are sums
over the ranks: y in the forward pass, dx in the backward pass. "plain" makes an output and then calls
a collective; "fused" puts rows as they are made, and the devices add them meanwhile. Both must have
the same bits, and be what one process gets in double precision.
"""

import os
import sys
import time
from contextlib import ExitStack

import numpy as np

import t3

TOKENS, HIDDEN, ROWS, RATE, WITHIN = 64, 64, 4, 0.002, 1e-5
INNER = 4 * HIDDEN
RANK, RANKS = int(os.environ.get("T3_RANK", "-1")), int(os.environ.get("T3_RANKS", "0"))


def data():
    """x, the target and both matrices, the same on all ranks."""
    random = np.random.default_rng(1)
    return (random.uniform(-1, 1, (TOKENS, HIDDEN)), random.uniform(-1, 1, (TOKENS, HIDDEN)),
            random.uniform(-1, 1, (HIDDEN, INNER)) / 8, random.uniform(-1, 1, (INNER, HIDDEN)) / 16)


def train(steps, part, add):
    """x and the losses after `steps` with a part of INNER. add(rows) gives the sum over all parts of
    the matrix that rows(first, count) makes."""
    x, target, w1, w2 = data()
    w1, w2 = w1[:, part].copy(), w2[part].copy()
    losses = []
    for _ in range(steps):
        a = np.maximum(x @ w1, 0)
        dy = add(lambda first, count, a=a: a[first:first + count] @ w2) - target
        losses.append(float((dy * dy).sum() / 2))
        da = (dy @ w2.T) * (a > 0)
        dx = add(lambda first, count, da=da: da[first:first + count] @ w1.T)
        w1 -= RATE * x.T @ da
        w2 -= RATE * a.T @ dy
        x = x - RATE * dx
    return x, losses


def plain(comm):
    def add(rows):
        return comm.all_reduce(rows(0, TOKENS).astype("f4").ravel()).reshape(TOKENS, HIDDEN).astype("f8")
    return add


def fused(plan):
    def add(rows):
        plan.start(timeout=60)
        for chunk in plan.order():
            first, count = (number // HIDDEN for number in plan.chunk(chunk))
            for row in range(first, first + count, ROWS):
                made = rows(row, min(ROWS, first + count - row))
                plan.put(row * HIDDEN, made.astype("f4").ravel())  # it travels meanwhile
        return plan.wait(timeout=60).astype("f8")
    return add


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    if RANK < 0 or RANKS < 2 or INNER % RANKS or steps < 1:
        sys.exit("usage: t3 launch -n RANKS -- mlp.py [STEPS]; RANKS is 2, 4, 8, 16 or 32")
    inner = INNER // RANKS
    own = slice(RANK * inner, (RANK + 1) * inner)
    one, _ = train(steps, slice(0, INNER), lambda rows: rows(0, TOKENS))
    with ExitStack() as stack:
        device = stack.enter_context(t3.Device.of_rank(RANK))
        comm = stack.enter_context(t3.Comm.from_environment(device))
        plan = stack.enter_context(comm.plan("all_reduce", (TOKENS, HIDDEN), tile=(ROWS, HIDDEN)))
        results = []
        for name, add in (("plain", plain(comm)), ("fused", fused(plan))):
            comm.barrier(timeout=60)
            begun = time.monotonic()
            x, losses = train(steps, own, add)
            results.append(x)
            if RANK == 0:
                print(f"{name}: loss {losses[0]:.4f}, then {losses[-1]:.4f}, "
                      f"in {time.monotonic() - begun:.3f} s", flush=True)
        good = np.abs(results[0] - one).max() < WITHIN and (results[0] == results[1]).all()
        print(f"rank {RANK}: {'right:' if good else 'WRONG: not'} within {WITHIN:.0e} of one process, "
              "and both ways have the same bits", flush=True)
        comm.barrier(timeout=60)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
