# SPDX-License-Identifier: MIT
"""torch's operators of a product and a collective in one, for tensors of the processor.

torch.distributed._symmetric_memory defines them from 2.6 on, and has kernels for GPUs alone. With
those here T3 sums a product while it is made, and gathers rows while others are multiplied.
"""

from __future__ import annotations

import importlib.util
from typing import Any, Iterator, Sequence

import torch
import torch.distributed as dist

from t3.torch import recording, reduction
from t3.torch.layers import Ways
from t3.torch.product import BLOCKS, times
from t3.torch.work import plain_tensors

NAMESPACE = "symm_mem"
_library: Any = None  # the kernels are torch's as long as this is there


def register() -> None:
    """Give torch the kernels, where it has the operators. They need not be defined yet."""
    global _library  # pylint: disable=global-statement
    if _library is None and importlib.util.find_spec("torch.distributed._symmetric_memory"):
        _library = torch.library.Library(NAMESPACE, "IMPL")
        _library.impl("fused_matmul_reduce_scatter", matmul_reduce_scatter, "CPU")
        _library.impl("fused_all_gather_matmul", all_gather_matmul, "CPU")


def matmul_reduce_scatter(left: torch.Tensor, right: torch.Tensor, op: str, dim: int,
                          name: str) -> torch.Tensor:
    """This rank's part of the sum or average of left @ right, cut along a dimension of it."""
    if op not in ("sum", "avg"):
        raise ValueError(f"fused_matmul_reduce_scatter sums or averages; reduce_op is {op!r}")
    check(left.shape, dim, left.dtype, right)
    ways = Ways(dist.distributed_c10d._resolve_process_group(name), True, None)
    shape = [*left.shape[:-1], right.shape[1]]
    if shape[dim] % ways.ranks:
        raise ValueError(f"dimension {dim} of {tuple(shape)} is scattered over {ways.ranks} ranks, "
                         "and does not divide")
    dim %= left.dim()
    if dim == left.dim() - 1:  # columns: they are the rows of the product of the transposes
        made = ways.summed(right.t(), left.reshape(-1, left.shape[-1]).t()).t()
        made = made.reshape(*shape[:-1], -1)
    else:
        made = ways.summed(left.movedim(dim, 0), right).movedim(0, dim)
    return reduction.finish(made.contiguous(), op.upper(), ways.ranks)


def all_gather_matmul(shard: torch.Tensor, factors: Sequence[torch.Tensor], dim: int, name: str,
                      return_A: bool = True) -> tuple[torch.Tensor | None, list[torch.Tensor]]:
    """The rows of all ranks along a dimension, and their products with each of the factors."""
    group = dist.distributed_c10d._resolve_process_group(name)
    ranks, shape = group.size(), list(shard.shape)
    if dim in (-1, len(shape) - 1):
        shape[-1] *= ranks
    for right in factors:
        check(shape, dim, shard.dtype, right)
    dim %= len(shape)
    rows = shard.movedim(dim, 0).contiguous()
    with plain_tensors(), recording.hidden():
        if dim == len(shape) - 1:  # each product needs a part of all ranks
            whole = gathered(rows, group).movedim(0, dim)
            return whole if return_A else None, [times(whole, right) for right in factors]
        whole = rows.new_empty((ranks, *rows.shape))
        made = [rows.new_empty((*whole.shape[:-1], right.shape[1])) for right in factors]
        for first, part in gathered_pieces(rows, group):
            last = first + part.shape[1]
            whole[:, first:last] = part
            for target, right in zip(made, factors):
                target[:, first:last] = times(part, right)
    return (whole.flatten(0, 1).movedim(0, dim) if return_A else None,
            [one.flatten(0, 1).movedim(0, dim) for one in made])


def gathered_pieces(rows: torch.Tensor, group: Any) -> Iterator[tuple[int, torch.Tensor]]:
    """(first row, this piece of all ranks), each when it is there, while later ones travel."""
    length = max(1, -(-len(rows) // BLOCKS))
    calls = []
    for first in range(0, len(rows), length):
        piece = rows[first:first + length]
        whole = rows.new_empty((group.size(), *piece.shape))
        calls.append((first, whole, dist.all_gather_into_tensor(whole.view(-1), piece.view(-1),
                                                                group=group, async_op=True)))
    for first, whole, work in calls:
        if work is not None:
            work.wait()
        yield first, whole


def gathered(rows: torch.Tensor, group: Any) -> torch.Tensor:
    """All ranks' rows, one after the other."""
    pieces = [piece for _, piece in gathered_pieces(rows, group)]
    return torch.cat(pieces, 1).flatten(0, 1) if pieces else rows


def check(shape: Sequence[int], dim: int, dtype: torch.dtype, right: torch.Tensor) -> None:
    """Of a tensor of this shape and the factor that follows it."""
    if len(shape) < 2 or right.dim() != 2 or shape[-1] != right.shape[0]:
        raise ValueError(f"a tensor of {tuple(shape)} has no product with one of "
                         f"{tuple(right.shape)}: the second one is a matrix of as many rows as the "
                         "first one's last dimension has elements")
    if dtype != right.dtype:
        raise ValueError(f"the factors have the types {dtype} and {right.dtype}, and one is needed")
    if not -len(shape) <= dim < len(shape):
        raise ValueError(f"a tensor of {tuple(shape)} has no dimension {dim}")
