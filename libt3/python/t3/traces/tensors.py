# SPDX-License-Identifier: MIT
"""The arguments of an operator, as torch's observer writes them: values, shapes, types, strides."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Hashable, Iterator, TypeGuard

from t3.traces.files import TraceError, shown

MAX_NESTED, MAX_DIMENSIONS = 16, 64

# C++'s names of element types: torch's, and the bytes of an element.
TYPES = {
    "float": ("float32", 4), "double": ("float64", 8), "c10::Half": ("float16", 2),
    "c10::BFloat16": ("bfloat16", 2), "bool": ("bool", 1), "unsigned char": ("uint8", 1),
    "signed char": ("int8", 1), "char": ("int8", 1), "short": ("int16", 2),
    "short int": ("int16", 2), "int": ("int32", 4), "long": ("int64", 8), "long int": ("int64", 8),
    "unsigned short": ("uint16", 2), "short unsigned int": ("uint16", 2),
    "unsigned int": ("uint32", 4), "unsigned long": ("uint64", 8),
    "long unsigned int": ("uint64", 8), "c10::complex<c10::Half>": ("complex32", 4),
    "c10::complex<float>": ("complex64", 8), "c10::complex<double>": ("complex128", 16),
    "c10::Float8_e4m3fn": ("float8_e4m3fn", 1), "c10::Float8_e4m3fnuz": ("float8_e4m3fnuz", 1),
    "c10::Float8_e5m2": ("float8_e5m2", 1), "c10::Float8_e5m2fnuz": ("float8_e5m2fnuz", 1),
    "c10::Float8_e8m0fnu": ("float8_e8m0fnu", 1)}
# torch's own names of them, in the attributes of collectives.
SCALARS = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16",
           "Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64",
           "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
           "Float8_e4m3fn": "float8_e4m3fn", "Float8_e5m2": "float8_e5m2",
           "Float8_e4m3fnuz": "float8_e4m3fnuz", "Float8_e5m2fnuz": "float8_e5m2fnuz"}
BYTES = {name: size for name, size in TYPES.values()}


@dataclasses.dataclass(frozen=True)
class Tensor:
    shape: tuple[int, ...]
    dtype: str  # torch's name, or C++'s in < > if it is another one
    element: int  # bytes
    memory: Hashable  # unknown: None
    is_whole: bool  # it begins where its memory does
    bytes: int  # in memory: what is expanded is there once, if strides say so

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


def tensors_in(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if not isinstance(value, (list, tuple)):
        return []
    return [tensor for one in value for tensor in tensors_in(one)]


def scalars_in(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from scalars_in(one)
    elif not isinstance(value, Tensor):
        yield value


def arguments(values: Any, shapes: Any, types: Any, strides: Any, where: str) -> list[Any]:
    """A Tensor, a list or a scalar for each."""
    for name, one in (("values", values), ("shapes", shapes), ("types", types)):
        if not isinstance(one, list):
            raise TraceError(f"{where}.{name} must be a list")
    if not len(values) == len(shapes) == len(types):
        raise TraceError(f"{where} has {len(values)} values, {len(shapes)} shapes and "
                         f"{len(types)} types")
    if not isinstance(strides, list) or len(strides) != len(values):
        strides = [None] * len(values)
    return [argument(*one, f"{where}[{place}]", 0)
            for place, one in enumerate(zip(values, shapes, types, strides))]


def argument(value: Any, shape: Any, kind: Any, stride: Any, where: str, depth: int) -> Any:
    if not isinstance(kind, str):
        raise TraceError(f"{where} has a type that is no string")
    if kind.startswith("Tensor(") and kind.endswith(")"):
        return tensor(value, shape, kind[len("Tensor("):-1], stride, where)
    if not kind.endswith("]") or not isinstance(value, list):
        return None if isinstance(value, (list, dict)) else value
    if depth == MAX_NESTED:
        raise TraceError(f"{where} has lists in lists, more than {MAX_NESTED}")
    kinds = split(kind[kind.index("[") + 1:-1] if "[" in kind else "", where)
    if not isinstance(shape, list) or not len(value) == len(kinds) == len(shape):
        raise TraceError(f"{where} is a list whose values, shapes and types are not as many")
    if not isinstance(stride, list) or len(stride) != len(value):
        stride = [None] * len(value)
    return [argument(*one, where, depth + 1) for one in zip(value, shape, kinds, stride)]


def split(kinds: str, where: str) -> list[str]:
    """At the commas that no bracket encloses."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(kinds):
        if letter in "[(<":
            depth += 1
        elif letter in "])>":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(kinds[start:at])
            start = at + 1
    if depth:
        raise TraceError(f"{where} has the type {shown(kinds)}, whose brackets do not match")
    return [*parts, kinds[start:]] if kinds else []


def tensor(value: Any, shape: Any, kind: str, stride: Any, where: str) -> Tensor | None:
    """The tensor, or None: there is no such one, as for a gradient that is not wanted."""
    if "uninitialized" in kind:
        return None
    if (not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS
            or not all(is_count(one) for one in shape)):
        raise TraceError(f"{where} has the shape {shown(str(shape))}, which is none of a tensor")
    dtype, element = TYPES.get(kind, (f"<{kind}>", 0))
    memory, is_whole, elements = None, True, math.prod(shape)
    if isinstance(value, list) and len(value) >= 5 and all(is_count(one) for one in value[:5]):
        name, storage, offset, _, size = value[:5]
        element = element or size
        # On the device meta all memory is the same.
        is_meta = "meta" in value[5:6]
        memory = ("tensor", name) if is_meta or not storage else ("storage", storage)
        is_whole = not offset
    if isinstance(stride, list) and len(stride) == len(shape):
        elements = math.prod(one for one, step in zip(shape, stride) if step) if elements else 0
    return Tensor(tuple(shape), dtype, element, memory, is_whole, elements * element)


def is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
