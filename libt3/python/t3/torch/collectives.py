# SPDX-License-Identifier: MIT
"""torch's collectives, of what moves and reduces data: one implementation for all torch versions.

A mover (device.Devices, gloo.Gloo or Alone) works on flat tensors without gaps. Tensors of a caller
may have gaps: they are copied then, and results are copied back. Results are stored when nothing
can fail for want of a way any more, so that a call can be repeated by another mover.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from t3.torch import counts, reduction
from t3.torch.errors import NoWay
from t3.torch.product import Product

Tensors = Sequence[torch.Tensor]
Pairs = Sequence[tuple[torch.Tensor, torch.Tensor]]


class Flat:
    """A caller's tensor as a flat one without gaps, which shares its memory where it can.

    A tensor of inference mode is copied: only in that mode, which each thread has for itself, can
    it be written.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        if tensor.layout != torch.strided or tensor.device.type != "cpu":
            raise ValueError("the backend t3 takes dense tensors in memory of the processor, and "
                             f"this one is {tensor.layout} on {tensor.device}")
        self._is_inference = tensor.is_inference()
        if self._is_inference:
            self.whole = tensor
            self.data = tensor.clone(memory_format=torch.contiguous_format).view(-1)
        else:
            self.whole = tensor.data  # without autograd: that is the caller's
            plain = self.whole.resolve_conj().resolve_neg()  # these mark a view, without a copy
            self.data = plain.contiguous().view(-1)

    def store(self) -> None:
        """Write the flat values to the caller's tensor, if they are a copy."""
        if self.data.numel() and self.data.data_ptr() != self.whole.data_ptr():
            self.set(self.data)

    def set(self, values: torch.Tensor) -> None:
        with torch.inference_mode(self._is_inference):
            self.whole.copy_(values.view(self.whole.shape))


class Alone:
    """The mover of a group of one rank."""

    name = counts.ALONE

    @staticmethod
    def reduces(_dtype: torch.dtype, _op: str) -> bool:
        return False

    @staticmethod
    def all_gather(source: torch.Tensor, target: torch.Tensor) -> None:
        target.copy_(source)

    all_to_all = all_gather

    def broadcast(self, data: torch.Tensor, root: int) -> None:
        """The data is where it shall be."""

    def barrier(self) -> None:
        """Nobody else is there."""


class Collectives:
    """The collectives of a group. They block, and belong to one thread at a time."""

    def __init__(self, rank: int, ranks: int, mover: Any, spare: Callable[[], Any]) -> None:
        """spare() is the mover that is asked when the first one has no way."""
        self.rank, self.ranks = rank, ranks
        self._first, self._spare = mover, spare
        self._mover = mover
        self._way = counts.DEVICE
        self._in_rank_order = False

    def run(self, name: str, call: Callable[[], Any], in_rank_order: bool = False) -> Any:
        """call() of a method below, counted as `name`. All ranks take the spare mover alike.

        With in_rank_order each sum and product of floats is ((x0 + x1) + x2) and so on.
        """
        self._in_rank_order = in_rank_order
        self._take(self._first)
        try:
            result = call()
        except NoWay:
            self._take(self._spare())
            result = call()
        counts.count(name, self._way)
        return result

    def _take(self, mover: Any) -> None:
        self._mover, self._way = mover, mover.name

    def _note(self, way: str) -> None:
        """A call counts by the last of its ways in the order of counts.WAYS."""
        self._way = max(self._way, way, key=counts.WAYS.index)

    # --- reductions

    def all_reduce(self, tensor: torch.Tensor, op: str) -> None:
        flat = Flat(tensor)
        self._reduce(flat.data, flat.data, op)
        flat.store()

    def reduce(self, tensor: torch.Tensor, op: str, root: int) -> None:
        """T3 has no reduce: the devices of all ranks get the result, and the root takes it."""
        flat = Flat(tensor)
        self._reduce(flat.data, flat.data if self.rank == root else None, op)
        flat.store()

    def all_reduce_coalesced(self, tensors: Tensors, op: str) -> None:
        """Those of one type travel as one message."""
        for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
            flats = [Flat(tensor) for tensor in tensors if tensor.dtype == dtype]
            joined = torch.cat([flat.data for flat in flats])
            self._reduce(joined, joined, op)
            for flat, part in zip(flats, joined.split([flat.data.numel() for flat in flats])):
                flat.set(part)

    def reduce_scatter(self, output: torch.Tensor, inputs: Tensors, op: str) -> None:
        """inputs[r] is for rank r. Where they are not equally long, all go with the longest's."""
        parts = [Flat(tensor).data for tensor in inputs]
        flat = Flat(output)
        expect(len(parts) == self.ranks, f"reduce_scatter takes {self.ranks} inputs, one for each "
                                         f"rank, and gets {len(parts)}")
        expect(flat.data.numel() == parts[self.rank].numel(), "the output of reduce_scatter has "
               f"{flat.data.numel()} elements, and input {self.rank} has "
               f"{parts[self.rank].numel()}")
        longest = max(part.numel() for part in parts)
        mine = flat.data.new_empty(longest)
        self._reduce_scatter(padded(parts, longest), mine, op)
        flat.set(mine[:flat.data.numel()])

    def reduce_scatter_tensor(self, output: torch.Tensor, whole: torch.Tensor, op: str) -> None:
        target, source = Flat(output), Flat(whole).data
        expect(source.numel() == target.data.numel() * self.ranks, "reduce_scatter_tensor takes "
               f"{self.ranks} times the {target.data.numel()} elements of the output, and the "
               f"input has {source.numel()}")
        self._reduce_scatter(source, target.data, op)
        target.store()

    def reduce_scatter_tensors(self, pairs: Pairs, op: str) -> None:
        """Of (output, whole)."""
        for output, whole in pairs:
            self.reduce_scatter_tensor(output, whole, op)

    def _reduce(self, source: torch.Tensor, target: torch.Tensor | None, op: str) -> None:
        """The reduction of all ranks' source, into target where there is one."""
        way = self._choose(source.dtype, op)
        if not source.numel():
            return
        total = target
        if not way.device_op:
            total = self._combine_all(source, op)
        elif way.is_converted:
            total = source.to(way.dtype)
            self._mover.all_reduce(total, total, way.device_op)
        else:
            self._mover.all_reduce(source.view(way.dtype),
                                   None if target is None else target.view(way.dtype),
                                   way.device_op, self._in_rank_order)
        if target is not None and total is not None:
            total = reduction.finish(total, op, self.ranks)
            if total is not target:
                target.copy_(total)

    def _combine_all(self, source: torch.Tensor, op: str) -> torch.Tensor:
        """Each rank combines a part, and all gather the parts."""
        count = source.numel()
        part = -(-count // self.ranks)
        mine = self._combine(padded([source], part * self.ranks), op)
        whole = mine.new_empty(part * self.ranks)
        self._mover.all_gather(mine, whole)
        return whole[:count]

    def _combine(self, source: torch.Tensor, op: str) -> torch.Tensor:
        """This rank's part of the reduction, from the parts that all ranks have of it."""
        rows = torch.empty_like(source)
        self._mover.all_to_all(source, rows)
        return reduction.combine(rows.view(self.ranks, -1), op)

    def _reduce_scatter(self, source: torch.Tensor, target: torch.Tensor, op: str) -> None:
        way = self._choose(source.dtype, op)
        if not source.numel():
            return
        total = target
        if not way.device_op:
            total = self._combine(source, op)
        elif way.is_converted:
            total = target.new_empty(target.shape, dtype=way.dtype)
            self._mover.reduce_scatter(source.to(way.dtype), total, way.device_op)
        else:
            self._mover.reduce_scatter(source.view(way.dtype), target.view(way.dtype),
                                       way.device_op, self._in_rank_order)
        total = reduction.finish(total, op, self.ranks)
        if total is not target:
            target.copy_(total)

    def _choose(self, dtype: torch.dtype, op: str) -> reduction.Way:
        reduction.check(dtype, op)
        way = reduction.choose(self._mover.reduces, dtype, op)
        self._note(way.name)
        return way

    def reduce_product(self, target: torch.Tensor, product: Product, is_scattered: bool) -> None:
        """The sum of all ranks' products, or this rank's part of it, into flat memory.

        It is summed while it is made where the devices have the type, and else afterwards.
        """
        if self._mover.reduces(product.dtype, "add"):
            self._mover.reduce_product(product, target, is_scattered, self._in_rank_order)
        elif is_scattered:
            self._reduce_scatter(product.whole(), target, "SUM")
        else:
            self._reduce(product.whole(), target, "SUM")

    # --- moves

    def broadcast(self, tensor: torch.Tensor, root: int) -> None:
        flat = Flat(tensor)
        if flat.data.numel():
            self._mover.broadcast(flat.data, root)
            if self.rank != root:
                flat.store()

    def all_gather(self, outputs: Tensors, tensor: torch.Tensor) -> None:
        """outputs[r] is for the tensor of rank r. They need not be equally long."""
        mine = Flat(tensor).data
        flats = [Flat(output) for output in outputs]
        expect(len(flats) == self.ranks, f"all_gather takes {self.ranks} outputs, one for each "
                                         f"rank, and gets {len(flats)}")
        expect(all(flat.data.dtype == mine.dtype for flat in flats), "all_gather takes outputs of "
               f"the input's type, {mine.dtype}")
        expect(flats[self.rank].data.numel() == mine.numel(), f"output {self.rank} of all_gather "
               f"has {flats[self.rank].data.numel()} elements, and the input {mine.numel()}")
        rows = self._gather(mine, max(flat.data.numel() for flat in flats))
        for flat, row in zip(flats, rows):
            flat.set(row[:flat.data.numel()])

    def all_gather_into_tensor(self, output: torch.Tensor, tensor: torch.Tensor) -> None:
        mine, flat = Flat(tensor).data, Flat(output)
        expect(flat.data.dtype == mine.dtype, f"all_gather_into_tensor has an input of {mine.dtype}"
                                              f" and an output of {flat.data.dtype}")
        expect(flat.data.numel() == mine.numel() * self.ranks, "the output of "
               f"all_gather_into_tensor has {self.ranks} times the {mine.numel()} elements of the "
               f"input, and not {flat.data.numel()}")
        if mine.numel():
            self._mover.all_gather(mine, flat.data)
            flat.store()

    def all_gather_coalesced(self, outputs: Sequence[Tensors], tensors: Tensors) -> None:
        """outputs[r][i] is for tensor i of rank r."""
        for place, tensor in enumerate(tensors):
            self.all_gather([rows[place] for rows in outputs], tensor)

    def all_gather_into_tensors(self, pairs: Pairs) -> None:
        """Of (output, tensor)."""
        for output, tensor in pairs:
            self.all_gather_into_tensor(output, tensor)

    def gather(self, outputs: Tensors, tensor: torch.Tensor, root: int) -> None:
        """T3 has no gather: all ranks gather, and the root takes the result."""
        mine = Flat(tensor).data
        flats = [Flat(output) for output in outputs]
        if self.rank == root:
            expect(len(flats) == self.ranks, f"gather takes {self.ranks} outputs at its root, and "
                                             f"gets {len(flats)}")
            expect(all(flat.data.numel() == mine.numel() and flat.data.dtype == mine.dtype
                       for flat in flats), f"the outputs of gather have {mine.numel()} elements "
                   f"of {mine.dtype}, as the input has")
        for flat, row in zip(flats, self._gather(mine, mine.numel())):
            flat.set(row)

    def _gather(self, mine: torch.Tensor, longest: int) -> torch.Tensor:
        """A row of each rank, as long as the longest."""
        rows = mine.new_empty((self.ranks, longest))
        if longest:
            self._mover.all_gather(padded([mine], longest), rows.view(-1))
        return rows

    def scatter(self, output: torch.Tensor, inputs: Tensors, root: int) -> None:
        """T3 has no scatter: the root broadcasts all, and each rank takes its part."""
        flat = Flat(output)
        count = flat.data.numel()
        parts = [Flat(tensor).data for tensor in inputs]
        if self.rank == root:
            expect(len(parts) == self.ranks, f"scatter takes {self.ranks} inputs at its root, and "
                                             f"gets {len(parts)}")
            expect(all(part.numel() == count and part.dtype == flat.data.dtype for part in parts),
                   f"the inputs of scatter have {count} elements of {flat.data.dtype}, as the "
                   "output has")
            whole = torch.cat(parts)
        else:
            whole = flat.data.new_empty(count * self.ranks)
        if count:
            self._mover.broadcast(whole, root)
            flat.set(whole[self.rank * count:(self.rank + 1) * count])

    def all_to_all_single(self, output: torch.Tensor, tensor: torch.Tensor,
                          output_splits: Sequence[int], input_splits: Sequence[int]) -> None:
        """Splits count rows of the first dimension. Without any, all parts are equally long."""
        flat, source = Flat(output), Flat(tensor).data
        if not output_splits and not input_splits:
            expect(source.numel() == flat.data.numel() and source.numel() % self.ranks == 0,
                   f"all_to_all_single has an input of {source.numel()} elements and an output of "
                   f"{flat.data.numel()}, and {self.ranks} ranks")
            if source.numel():
                self._mover.all_to_all(source, flat.data)
                flat.store()
            return
        sent = source.split(elements(tensor, input_splits, self.ranks))
        due = elements(output, output_splits, self.ranks)
        got = self._exchange(sent, due)
        flat.set(torch.cat(got))

    def all_to_all(self, outputs: Tensors, inputs: Tensors) -> None:
        expect(len(outputs) == len(inputs) == self.ranks, f"all_to_all takes {self.ranks} inputs "
               f"and outputs, and gets {len(inputs)} and {len(outputs)}")
        flats = [Flat(output) for output in outputs]
        got = self._exchange([Flat(tensor).data for tensor in inputs],
                             [flat.data.numel() for flat in flats])
        for flat, part in zip(flats, got):
            flat.set(part)

    def _exchange(self, sent: Tensors, due: Sequence[int]) -> list[torch.Tensor]:
        """Parts of any length. The ranks tell each other the lengths first."""
        lengths = torch.tensor([part.numel() for part in sent])
        every = lengths.new_empty((self.ranks, self.ranks))
        self._mover.all_gather(lengths, every.view(-1))
        coming = every[:, self.rank].tolist()
        # All ranks see all lengths, but only this one knows what it expects.
        longest = int(every.max())
        rows = sent[0].new_empty((self.ranks, longest))
        if longest:
            self._mover.all_to_all(padded(sent, longest), rows.view(-1))
        expect(list(due) == coming, f"this rank expects {list(due)} elements of the ranks, and "
                                    f"they send {coming}")
        return [row[:count] for row, count in zip(rows, coming)]

    def barrier(self) -> None:
        self._mover.barrier()


def expect(is_right: bool, text: str) -> None:
    if not is_right:
        raise ValueError(text)


def padded(parts: Tensors, count: int) -> torch.Tensor:
    """The parts one after the other, each as long as `count`."""
    if all(part.numel() == count for part in parts):
        return torch.cat(list(parts)) if len(parts) > 1 else parts[0]
    rows = parts[0].new_zeros((len(parts), count))
    for row, part in zip(rows, parts):
        row[:part.numel()].copy_(part)
    return rows.view(-1)


def elements(tensor: torch.Tensor, splits: Sequence[int], ranks: int) -> list[int]:
    """How many elements each split of the first dimension has."""
    rows = tensor.shape[0] if tensor.dim() else 1
    width = tensor.numel() // rows if rows else 0
    if not splits:
        expect(rows % ranks == 0, f"{rows} rows are not divisible by {ranks} ranks")
        splits = [rows // ranks] * ranks
    expect(len(splits) == ranks and sum(splits) == rows, f"the splits {list(splits)} are not those "
           f"of {rows} rows to {ranks} ranks")
    return [rows_of * width for rows_of in splits]
