#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""all_reduce and reduce_scatter_tensor of backend t3 beside gloo, by the clock of the wall.

    t3 launch -n 4 -- python3 speed.py [--most 64M] [--seconds 2]

Both backends take turns in each row, call by call, so that what else the machine does is the same
for both. A figure is the median of the calls, of the slowest rank, in microseconds. gloo of torch
1.13 has no reduce-scatter: there the program that does without is an all_reduce, of which each rank
keeps its part. The table is one of Markdown. The line after it says where the time of a small call
goes: in torch with the adapter, in t3.torch's own Python, and in libt3, which waits for other ranks.
"""

import argparse
import datetime
import statistics
import time

import torch
import torch.distributed as dist

import t3.torch
from t3.torch import device

LEAST, FACTOR = 1 << 10, 4
CALLS = 5, 50  # of a row and a backend, at least and at most
UNITS = {"K": 10, "M": 20}


def size_of(text):
    return int(text.rstrip("KM")) << UNITS.get(text[-1], 0)


def name_of(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def all_reduce(group):
    return lambda data: dist.all_reduce(data, group=group)


def reduce_scatter(group, ranks):
    return lambda data: dist.reduce_scatter_tensor(torch.empty(data.numel() // ranks), data,
                                                   group=group)


def reduce_and_keep(group, rank, ranks):
    def call(data):
        dist.all_reduce(data, group=group)
        return data.chunk(ranks)[rank].clone()

    return call


def seconds_of(call, data, meet):
    """Of the slowest rank. All begin together."""
    data.fill_(1.0)
    dist.barrier(group=meet)
    begin = time.perf_counter()
    call(data)
    took = torch.tensor(time.perf_counter() - begin, dtype=torch.float64)
    dist.all_reduce(took, dist.ReduceOp.MAX, group=meet)
    return took.item()


def row(calls, size, limit, meet):
    """The median of each call, in microseconds. The ranks agree on how many there are."""
    data = torch.empty(size // 4)
    times = [[] for _ in calls]
    for call in calls:  # makes plans and buffers
        seconds_of(call, data, meet)
    for turn in range(CALLS[1]):
        for call, took in zip(calls, times):
            took.append(seconds_of(call, data, meet))
        if turn + 1 >= CALLS[0] and sum(map(sum, times)) > limit:
            break
    return [1e6 * statistics.median(took) for took in times]


class Watch:
    """The functions of an object, and the seconds in them."""

    def __init__(self, watched):
        self._watched, self.seconds = watched, 0.0

    def __getattr__(self, name):
        return self.timed(getattr(self._watched, name))

    def timed(self, call):
        def watched(*args):
            begin = time.perf_counter()
            try:
                return call(*args)
            finally:
                self.seconds += time.perf_counter() - begin
        return watched


def parts_of(call, meet):
    """Medians of this rank in microseconds: a call of LEAST bytes, in devices' code, in libt3."""
    ours, library = Watch(None), Watch(device.lib)
    run, device.lib = device.Devices._run, library
    device.Devices._run = ours.timed(run)
    data, rows = torch.empty(LEAST // 4), []
    for _ in range(CALLS[1]):
        ours.seconds = library.seconds = 0.0
        data.fill_(1.0)
        dist.barrier(group=meet)
        begin = time.perf_counter()
        call(data)
        rows.append((time.perf_counter() - begin, ours.seconds, library.seconds))
    device.Devices._run, device.lib = run, library._watched
    return [1e6 * statistics.median(column) for column in zip(*rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--most", type=size_of, default="64M", help="bytes, with K or M")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a row")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("t3", timeout=datetime.timedelta(seconds=120))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    gloo = dist.new_group(backend="gloo")
    calls = [all_reduce(None), all_reduce(gloo), reduce_scatter(None, ranks),
             reduce_and_keep(gloo, rank, ranks)]
    if rank == 0:
        print("| bytes | all_reduce t3 | gloo | x | reduce_scatter t3 | gloo | x |")
        print("|---|---|---|---|---|---|---|", flush=True)
    size = LEAST
    while size <= options.most:
        ours, theirs, scattered, kept = row(calls, size, options.seconds, gloo)
        if rank == 0:
            print(f"| {name_of(size)} | {ours:.0f} | {theirs:.0f} | {theirs / ours:.2f} | "
                  f"{scattered:.0f} | {kept:.0f} | {kept / scattered:.2f} |", flush=True)
        size *= FACTOR
    whole, ours, library = parts_of(calls[0], gloo)
    if rank == 0:
        print(f"# all_reduce of {name_of(LEAST)} at rank 0, us: torch {whole - ours:.0f}, "
              f"t3.torch {ours - library:.0f}, libt3 {library:.0f}")
        print(f"# {t3.torch.counts()['all_reduce']}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
