# SPDX-License-Identifier: MIT
"""Which way a reduction of a type goes, and reductions by torch on the processor."""

from __future__ import annotations

from typing import Any, Callable, Iterator, NamedTuple

import torch

from t3.torch import counts

Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

DEVICE_OPS = {"SUM": "add", "AVG": "add", "MIN": "min", "MAX": "max", "PRODUCT": "mul",
              "BAND": "and", "BOR": "or", "BXOR": "xor"}
# As bytes of 0 and 1, by operations that give the same. The second one is for devices without bits.
BOOL_OPS = {"SUM": ("or", "max"), "MAX": ("or", "max"), "BOR": ("or", "max"),
            "PRODUCT": ("and", "min"), "MIN": ("and", "min"), "BAND": ("and", "min"),
            "BXOR": ("xor",)}
# Each value of these is one of int32. Back in the narrow type a sum or product wraps, as torch's
# own does.
NARROW_WHOLES = [torch.uint8, torch.int8, torch.int16, torch.bool]
if hasattr(torch, "uint16"):  # since 2.3
    NARROW_WHOLES.append(torch.uint16)
PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}
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
    dtype: torch.dtype   # that travels: the tensor's bytes, or its values
    device_op: str       # "" where torch reduces

    @property
    def is_converted(self) -> bool:
        return self.name == counts.CONVERTED


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
    for way in ways(dtype, op):
        if reduces(way.dtype, way.device_op):
            return way
    return Way(counts.COMBINED, dtype, "")


def ways(dtype: torch.dtype, op: str) -> Iterator[Way]:
    """Those by a device, the best one first."""
    ops = BOOL_OPS.get(op, ()) if dtype == torch.bool else (DEVICE_OPS[op],)
    for device_op in ops:
        if dtype == torch.bool:
            yield Way(counts.DEVICE, torch.uint8, device_op)
        elif dtype in PARTS:
            if device_op == "add":
                yield Way(counts.DEVICE, PARTS[dtype], device_op)
            return
        else:
            yield Way(counts.DEVICE, dtype, device_op)
            if device_op in ("and", "or", "xor"):
                yield Way(counts.DEVICE, torch.uint8, device_op)
    for device_op in ops if dtype in NARROW_WHOLES else ():
        yield Way(counts.CONVERTED, torch.int32, device_op)


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
