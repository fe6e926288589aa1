# SPDX-License-Identifier: MIT
"""Collectives of a group by its devices: plans of libt3, which run again and again.

A long message goes in pieces, each an epoch of a plan. A piece costs a wake-up of all ranks, so it
should be large. Its plan takes memory of the devices, which other groups need, too. All ranks keep
the same plans, as all make the same calls in one order.
"""

from __future__ import annotations

import dataclasses
import errno
import time
from collections import OrderedDict
from typing import Any, Callable, NamedTuple

import torch

import t3
from t3 import _waits, errors
from t3._library import ffi, lib, string
from t3._names import Collective, Dtype, Feature, Progress
from t3.dtypes import SIZES
from t3.torch.errors import Aborted, NoRoom, NoWay
from t3.torch.product import Product

PIECE = 1 << 23  # bytes of the largest plan, of all ranks' parts
PIECE_LEAST = 1 << 20  # and of one for a long message where the devices lack memory
TILE_MAX = 1 << 20  # elements of a tile
PLANS = 6
PLANS_BYTES = 2 * PIECE  # of all plans that a group keeps: a message may need two
# Element types of the devices. The second is what a device needs for a reduction of it.
REDUCED = {torch.float32: (Dtype.F32, Feature(0)), torch.float16: (Dtype.F16, Feature(0)),
           torch.bfloat16: (Dtype.BF16, Feature(0)), torch.int32: (Dtype.I32, Feature(0)),
           torch.float64: (Dtype.F64, Feature.TYPES), torch.int64: (Dtype.I64, Feature.TYPES),
           torch.uint8: (Dtype.U8, Feature.BYTES | Feature.BYTE_OPS),
           torch.int8: (Dtype.I8, Feature.BYTES | Feature.BYTE_OPS)}
if hasattr(torch, "uint32"):  # since 2.3
    REDUCED.update({torch.uint32: (Dtype.U32, Feature.TYPES),
                    torch.uint64: (Dtype.U64, Feature.TYPES)})
OPS = {"add": Feature(0), "min": Feature.MINMAX, "max": Feature.MINMAX, "mul": Feature.PRODUCT,
       "and": Feature.BITWISE, "or": Feature.BITWISE, "xor": Feature.BITWISE}
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)
WHOLE = (Collective.ALL_REDUCE, Collective.BROADCAST)
NARROW = (torch.float16, torch.bfloat16)


class About(NamedTuple):
    """What all ranks must know of a plan alike."""

    what: Collective
    kind: Dtype
    shape: int | tuple[int, int]  # elements, or rows and columns, of the whole
    op: str
    root: int
    in_rank_order: bool
    tile: int | tuple[int, int]
    widens: bool = False

    @property
    def size(self) -> int:
        """Bytes of the whole."""
        count = self.shape if isinstance(self.shape, int) else self.shape[0] * self.shape[1]
        return count * SIZES[self.kind]


@dataclasses.dataclass(frozen=True)
class Transfer:
    """A collective on memory. `count` elements of `size` bytes are a part, or the whole."""

    what: Collective
    kind: Dtype
    size: int
    count: int
    source: int  # addresses
    target: torch.Tensor | None  # bytes
    op: str = "add"
    root: int = 0
    in_rank_order: bool = False  # of a reduction: then its bits depend on the elements alone
    widens: bool = False  # the sum is made in float32 and rounded once

    def about(self, count: int) -> About:
        """The plan for a piece of so many elements of the whole."""
        is_reduction = self.what in (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER)
        return About(self.what, self.kind, count, self.op if is_reduction else "add", self.root,
                     self.in_rank_order, 0, self.widens)


class Kept(NamedTuple):
    """A plan with what does not change from epoch to epoch."""

    plan: t3.Plan
    pointer: Any
    space: Any
    chunks: list[tuple[int, int, int]]  # (chunk, first, count) that this rank puts


def reduces(features: Feature, dtype: torch.dtype, op: str) -> bool:
    """Whether a device with these features reduces elements of the type."""
    if dtype not in REDUCED or dtype.is_floating_point and op in ("and", "or", "xor"):
        return False
    needed = REDUCED[dtype][1] | OPS[op]
    return features & needed == needed


class Devices:
    """The devices of a group, one for each rank. It belongs to one thread at a time."""

    name = "device"

    def __init__(self, comm: t3.Comm, timeout: float, algorithm: str, features: Feature,
                 plans: int = PLANS, piece: int = PIECE, widens: bool = False) -> None:
        """`features` are those that the devices of all ranks have.

        With widens each sum of a narrow type is rounded once. Errors: t3.Error: two ranks have no
        link, or a device cannot.
        """
        if widens:
            comm.set_widening(True)
        self._widens = widens
        self.rank, self.ranks = comm.rank, comm.ranks
        self._features = features
        self._comm, self._timeout, self._algorithm = comm, timeout, algorithm
        self._plans: OrderedDict[About, Kept] = OrderedDict()
        self._plans_max, self._piece = plans, piece
        self._has_no_link = False
        self.aborted = False
        self._is_broken = False

    # --- what Collectives calls

    def reduces(self, dtype: torch.dtype, op: str) -> bool:
        return reduces(self._features, dtype, op)

    def all_reduce(self, source: torch.Tensor, target: torch.Tensor | None, op: str,
                   in_rank_order: bool = False) -> None:
        self._reduce(Collective.ALL_REDUCE, source, source.numel(), target, op, in_rank_order)

    def reduce_scatter(self, source: torch.Tensor, target: torch.Tensor, op: str,
                       in_rank_order: bool = False) -> None:
        self._reduce(Collective.REDUCE_SCATTER, source, target.numel(), target, op, in_rank_order)

    def _reduce(self, what: Collective, source: torch.Tensor, count: int,
                target: torch.Tensor | None, op: str, in_rank_order: bool) -> None:
        """What does not round has the same bits in each order."""
        rounds = source.dtype.is_floating_point and op in ("add", "mul")
        self._run(Transfer(what, REDUCED[source.dtype][0], source.element_size(), count,
                           source.data_ptr(), bytes_of(target), op,
                           in_rank_order=in_rank_order and rounds,
                           widens=(self._widens and rounds and not in_rank_order
                                   and source.dtype in NARROW)))

    def all_gather(self, source: torch.Tensor, target: torch.Tensor) -> None:
        self._move(Collective.ALL_GATHER, source, source.numel(), target)

    def all_to_all(self, source: torch.Tensor, target: torch.Tensor) -> None:
        self._move(Collective.ALL_TO_ALL, source, source.numel() // self.ranks, target)

    def broadcast(self, data: torch.Tensor, root: int) -> None:
        self._move(Collective.BROADCAST, data, data.numel(),
                   None if self.rank == root else data, root)

    def barrier(self) -> None:
        self.all_reduce(torch.zeros(1, dtype=torch.int32), None, "add")

    def close(self, linger: float) -> None:
        """End all. A healthy group waits up to `linger` seconds until no rank needs this one."""
        for kept in self._plans.values():
            kept.plan.close()
        self._plans.clear()
        if linger and not self._is_broken:
            try:
                self._comm.barrier(linger)
            except (OSError, ValueError):
                pass  # the others have gone, or have work of their own: neither harms
        self._comm.close()

    # --- pieces

    def _move(self, what: Collective, source: torch.Tensor, count: int,
              target: torch.Tensor | None, root: int = 0) -> None:
        """Of bytes: as words where a part is whole words, which are cheaper to move."""
        size = count * source.element_size()
        element, kind = (1, Dtype.U8) if size % 4 else (4, Dtype.I32)
        self._run(Transfer(what, kind, element, size // element, source.data_ptr(),
                           bytes_of(target), "add", root))

    def _run(self, job: Transfer) -> None:
        """All plans are there before the first piece goes: then nothing lacks a way any more."""
        if not job.count:
            return
        end = time.monotonic_ns() + int(self._timeout * 1e9)
        piece, kept, last = self._pieces(job, end)
        for first in range(0, job.count, piece):
            count = min(piece, job.count - first)
            self._epoch(kept if count == piece else last, job, first, count, end)

    def _pieces(self, job: Transfer, end: int) -> tuple[int, Kept, Kept]:
        """Elements of a part, or of the whole, that go at once; plans for them and for the rest.

        Where the devices have no memory for these, pieces are halved for good, at all ranks alike.
        """
        parts = 1 if job.what in WHOLE else self.ranks
        while True:
            piece = min(job.count, max(1, self._piece // job.size // parts))
            rest = job.count % piece
            try:
                kept = self._plan(job.about(piece * parts), end)
                last = self._plan(job.about(rest * parts), end) if rest else kept
                if not kept.plan.closed:
                    return piece, kept, last
            except NoRoom:
                pass
            if self._piece <= PIECE_LEAST:
                raise NoRoom("there is no memory for its plans")
            self._piece //= 2

    def _epoch(self, kept: Kept, job: Transfer, first: int, count: int, end: int) -> None:
        self._start(kept, end)
        self._put(kept, job, first)
        self._wait(kept, end)
        self._take(kept, job, first, count)

    def _put(self, kept: Kept, job: Transfer, first: int) -> None:
        for chunk, at, count in kept.chunks:
            if job.what in WHOLE:
                place = first + at
            elif job.what == Collective.ALL_GATHER:
                place = first
            else:
                place = chunk * job.count + first
            self._check(kept, lib.t3_plan_put(
                kept.pointer, at, ffi.cast("void *", job.source + place * job.size), count),
                "put")

    def _take(self, kept: Kept, job: Transfer, first: int, count: int) -> None:
        """Copy the result to its place: of the parts, elements first to first + count."""
        if job.target is not None:
            parts = job.target.view(-1, job.count * job.size)
            self._result(kept, parts[:, first * job.size:(first + count) * job.size])

    def _result(self, kept: Kept, target: torch.Tensor) -> None:
        """Copy the result to target, which has a row of bytes for each part."""
        data, size = ffi.new("void **"), ffi.new("uint64_t *")
        self._check(kept, lib.t3_plan_result(kept.pointer, data, size), "result")
        result = torch.frombuffer(ffi.buffer(data[0], size[0]), dtype=torch.uint8)
        target.copy_(result.view(target.shape))

    # --- products that are summed while they are made

    def reduce_product(self, product: Product, target: torch.Tensor, is_scattered: bool,
                       in_rank_order: bool = False) -> None:
        """The sum of all ranks' products, or with is_scattered this rank's part of it, to target.

        Each block is put as soon as it is made. Then the device adds it and sends it on.
        """
        if not product.row_bytes or not product.part:
            return
        fits = PIECE // (product.row_bytes * self.ranks)
        rows = min(product.part, max(1, fits // product.block) * product.block)
        end = time.monotonic_ns() + int(self._timeout * 1e9)
        sizes = {min(rows, product.part - at) for at in range(0, product.part, rows)}
        plans = {count: self._plan(self._of_product(product, count, is_scattered, in_rank_order),
                                   end) for count in sorted(sizes, reverse=True)}
        if any(kept.plan.closed for kept in plans.values()):
            raise NoRoom("there is no memory for two plans")
        parts = target.view(torch.uint8).view(-1, product.part * product.row_bytes)
        for first in range(0, product.part, rows):
            count = min(rows, product.part - first)
            kept = plans[count]
            self._start(kept, end)
            self._produce(kept, product, first, count)
            self._wait(kept, end)
            self._result(kept, parts[:, first * product.row_bytes:
                                     (first + count) * product.row_bytes])

    def _of_product(self, product: Product, count: int, is_scattered: bool,
                    in_rank_order: bool) -> About:
        """Of count rows of each part. A block is a tile, so it travels when it was put."""
        what = Collective.REDUCE_SCATTER if is_scattered else Collective.ALL_REDUCE
        return About(what, REDUCED[product.dtype][0], (count * self.ranks, product.columns), "add",
                     0, in_rank_order, (min(product.block, count), min(product.columns, TILE_MAX)))

    def _produce(self, kept: Kept, product: Product, first: int, count: int) -> None:
        """Rows first to first + count of each part, in the order that overlaps."""
        for _, at, elements in kept.chunks:
            begin, rows = at // product.columns, elements // product.columns
            for part in range(begin // count, (begin + rows) // count):
                made_at = part * product.part + first
                for row, block in product.blocks(made_at, count):
                    place = (part * count + row - made_at) * product.columns
                    self._check(kept, lib.t3_plan_put(
                        kept.pointer, place, ffi.cast("void *", block.data_ptr()),
                        block.numel()), "put")

    # --- plans

    def _plan(self, about: About, end: int) -> Kept:
        kept = self._plans.get(about)
        if kept is None:
            while self._plans and (len(self._plans) >= self._plans_max
                                   or sum(other.size for other in self._plans) + about.size
                                   > PLANS_BYTES):
                self._plans.popitem(last=False)[1].plan.close()
            kept = self._plans[about] = self._make(about, end)
        self._plans.move_to_end(about)
        return kept

    def _make(self, about: About, end: int) -> Kept:
        """All ranks get the same error. A link that one plan lacks, the next one lacks, too."""
        if self._has_no_link:
            raise NoWay("there is no link between two of its devices")
        try:
            return self._try_make(about, end)
        except t3.Error as error:
            if error.errno == errno.EHOSTUNREACH:
                self._has_no_link = True
                raise NoWay(str(error)) from error
            if error.errno not in NO_ROOM:
                self._is_broken = True
                raise
        for kept in self._plans.values():
            kept.plan.close()
        self._plans.clear()
        try:
            return self._try_make(about, end)
        except t3.Error as error:
            if error.errno in NO_ROOM:
                raise NoRoom(str(error)) from error
            self._is_broken = True
            raise

    def _try_make(self, about: About, end: int) -> Kept:
        self._look()
        plan = self._comm.plan(about.what.name, about.shape, about.kind, seconds_to(end),
                               op=about.op, root=about.root, tile=about.tile,
                               algorithm=self.algorithm(about.in_rank_order),
                               deterministic=about.in_rank_order, widen=about.widens)
        pointer = plan._live().pointer
        chunks = [(chunk, *plan.chunk(chunk)) for chunk in plan.order()]
        return Kept(plan, pointer, lib.t3_plan_space(pointer),
                    [chunk for chunk in chunks if chunk[2]])

    def algorithm(self, in_rank_order: bool) -> str:
        """A hierarchical sum adds node by node, so it has no order of ranks."""
        if in_rank_order and self._algorithm == "hierarchical":
            return "auto"
        return self._algorithm

    # --- an epoch

    def _start(self, kept: Kept, end: int) -> None:
        result = lib.t3_plan_start(kept.pointer, 0)
        if result == -errno.ETIMEDOUT:
            result = self._await(kept, lib.t3_plan_ready, lambda part: lib.t3_wait_armed(
                kept.space, lib.t3_plan_epoch(kept.pointer), part), end)
        self._check(kept, result, "start")

    def _wait(self, kept: Kept, end: int) -> None:
        result = lib.t3_plan_wait(kept.pointer, 0)
        if result == -errno.ETIMEDOUT:
            result = self._await(kept, lib.t3_plan_wait, lambda part: lib.t3_wait(
                kept.space, lib.t3_plan_epoch(kept.pointer), 0, Progress.DELIVERED, part), end)
        self._check(kept, result, "wait")

    def _await(self, kept: Kept, call: Callable[[Any, int], int], look: Callable[[int], int],
               end: int) -> int:
        """In slices, so that an abort and Ctrl-C end it. The plan's own call says who is late."""
        while True:
            part = min(end, time.monotonic_ns() + _waits.SLICE_NS)
            try:
                self._look()
                result = look(part)
            except BaseException:
                self._is_broken = True
                raise
            if result != -errno.ETIMEDOUT or part >= end:
                return int(call(kept.pointer, end))

    def _look(self) -> None:
        if self.aborted:
            raise Aborted("the group was aborted")

    def _check(self, kept: Kept, result: int, what: str) -> None:
        if not result:
            return
        self._is_broken = True
        fault = kept.plan.space.fault if result == -errno.EIO else None
        raise errors.make(result, string(lib.t3_plan_error(kept.pointer)), what, fault)


def bytes_of(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.view(torch.uint8)


def seconds_to(end: int) -> float:
    return max(0.001, (end - time.monotonic_ns()) / 1e9)
