# SPDX-License-Identifier: MIT
"""Which way a reduction of a type goes, and reductions by torch on the processor."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import torch

from t3.torch import counts

Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

DEVICE_OPS = {"SUM": "add", "AVG": "add", "MIN": "min", "MAX": "max"}
# Each value of these is one of int32, and a sum of 32 of them is, too. Back in the narrow type a
# sum wraps, as torch's own does.
CONVERTED = {torch.uint8: torch.int32, torch.int8: torch.int32, torch.int16: torch.int32,
             torch.bool: torch.int32}
BOOL_OPS = {"SUM": "max", "MAX": "max", "BOR": "max", "PRODUCT": "min", "MIN": "min",
            "BAND": "min"}
STEPS: dict[str, Step] = {
    "SUM": torch.add, "AVG": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum,
    "MAX": torch.maximum, "BAND": torch.bitwise_and, "BOR": torch.bitwise_or,
    "BXOR": torch.bitwise_xor}
BOOL_STEPS: dict[str, Step] = {
    "SUM": torch.logical_or, "MAX": torch.logical_or, "BOR": torch.logical_or,
    "PRODUCT": torch.logical_and, "MIN": torch.logical_and, "BAND": torch.logical_and,
    "BXOR": torch.logical_xor}
NARROW = (torch.float16, torch.bfloat16)


class Way(NamedTuple):
    """How a reduction is done: by the device in a type, or else by combine()."""

    name: str            # of counts
    dtype: torch.dtype   # that travels
    device_op: str       # "" where torch reduces


def name_of(op: Any) -> str:
    """SUM and so on. torch's op is an enumeration, or an object with one."""
    return str(getattr(op, "op", op).name)


def check(dtype: torch.dtype, op: str) -> None:
    """Refuse what has no meaning, before anything travels: all ranks refuse alike."""
    if op not in STEPS:
        raise ValueError(f"the op {op} is none of the backend t3, which has "
                         f"{', '.join(STEPS)}")
    is_whole = not (dtype.is_floating_point or dtype.is_complex)
    if op in ("BAND", "BOR", "BXOR") and not is_whole:
        raise ValueError(f"{op} needs integers or bool, and the tensor has {dtype}")
    if op in ("MIN", "MAX") and dtype.is_complex:
        raise ValueError(f"{op} has no meaning for {dtype}")
    if op == "AVG" and dtype == torch.bool:
        raise ValueError("AVG has no meaning for torch.bool")


def choose(reduces: Callable[[torch.dtype, str], bool], dtype: torch.dtype, op: str) -> Way:
    """reduces(type, device's op) says what the device does."""
    device_op = DEVICE_OPS.get(op, "")
    if dtype != torch.bool and device_op and reduces(dtype, device_op):
        return Way(counts.DEVICE, dtype, device_op)
    if dtype == torch.bool:
        device_op = BOOL_OPS.get(op, "")
    wider = CONVERTED.get(dtype)
    if wider is not None and device_op and reduces(wider, device_op):
        return Way(counts.CONVERTED, wider, device_op)
    return Way(counts.COMBINED, dtype, "")


def combine(rows: torch.Tensor, op: str) -> torch.Tensor:
    """Reduce rows, which are of rank 0, 1 and so on, in that order, rounding after each step."""
    dtype = rows.dtype
    step = (BOOL_STEPS if dtype == torch.bool else STEPS)[op]
    total = rows[0]
    for row in rows[1:]:
        # A sum or product of two of a narrow type, rounded once, is what the type's own would be.
        total = (step(total.float(), row.float()).to(dtype) if dtype in NARROW
                 else step(total, row))
    return total


def finish(total: torch.Tensor, op: str, ranks: int) -> torch.Tensor:
    """The average of a sum. Integers are cut towards zero."""
    if op != "AVG":
        return total
    if total.dtype.is_floating_point or total.dtype.is_complex:
        return total.div_(ranks)
    return total.div_(ranks, rounding_mode="trunc")
