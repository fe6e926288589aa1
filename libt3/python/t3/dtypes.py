# SPDX-License-Identifier: MIT
"""Types of elements: those of the device, and NumPy's for them.

======== ================ ==========================================================
device   NumPy            also accepted
======== ================ ==========================================================
I32      int32
F32      float32
F16      float16
BF16     uint16           ml_dtypes.bfloat16, which is used where it is installed
U8, I8   uint8, int8
U32      uint32
I64, U64 int64, uint64
F64      float64
======== ================ ==========================================================
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, Union

from t3._names import Dtype, Op

if TYPE_CHECKING:
    import numpy as np

DtypeLike = Union[Dtype, str, type, "np.dtype[Any]"]
OpLike = Union[Op, str]

NAMES = {"int32": Dtype.I32, "float32": Dtype.F32, "float16": Dtype.F16, "bfloat16": Dtype.BF16,
         "uint8": Dtype.U8, "int8": Dtype.I8, "uint32": Dtype.U32, "int64": Dtype.I64,
         "uint64": Dtype.U64, "float64": Dtype.F64}
SIZES = {Dtype.I32: 4, Dtype.F32: 4, Dtype.F16: 2, Dtype.BF16: 2, Dtype.U8: 1, Dtype.I8: 1,
         Dtype.U32: 4, Dtype.I64: 8, Dtype.U64: 8, Dtype.F64: 8}


def dtype_of(kind: DtypeLike) -> Dtype:
    """The device's type for a name ("f32", "float32"), a Dtype or a NumPy type."""
    if isinstance(kind, Dtype):
        return kind
    name = kind.lower() if isinstance(kind, str) else numpy().dtype(kind).name
    found = NAMES.get(name, Dtype.__members__.get(name.upper()))
    if found is None:
        hint = " (for bfloat16 in uint16 say dtype='bf16')" if name == "uint16" else ""
        raise TypeError(f"elements are {', '.join(NAMES)}; got {name}{hint}")
    return found


def op_of(op: OpLike) -> Op:
    if isinstance(op, Op):
        return op
    try:
        return Op[op.upper()]
    except KeyError:
        raise ValueError(f"an op is {', '.join(Op.__members__).lower()}; got {op!r}") from None


def numpy() -> Any:
    """NumPy, which only arrays need."""
    return importlib.import_module("numpy")


def numpy_dtype(kind: Dtype) -> Any:
    """In the machine's byte order, without a mark of it: most readers of buffers know no other."""
    np = numpy()
    if kind is Dtype.BF16:
        return bfloat16() or np.dtype("uint16")
    return np.dtype(next(name for name, value in NAMES.items() if value is kind))


def bfloat16() -> Any:
    """ml_dtypes' type, or None."""
    try:
        return numpy().dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        return None


def input_array(data: Any, kind: Dtype, what: str = "data") -> Any:
    """data as a contiguous array of this type. Values are never converted."""
    array = numpy().asarray(data)
    accepted = {numpy_dtype(kind)} | ({numpy().dtype("uint16")} if kind is Dtype.BF16 else set())
    if array.dtype not in accepted:
        raise TypeError(f"{what} has elements of {array.dtype}, and {kind.name.lower()} takes "
                        f"{' or '.join(sorted(str(one) for one in accepted))}; convert it with "
                        "astype()")
    return numpy().ascontiguousarray(array)


def output_array(array: Any, kind: Dtype, count: int, what: str = "out") -> Any:
    """array itself, if results can be written to it."""
    same = input_array(array, kind, what)
    if same is not array or not array.flags.writeable:
        raise ValueError(f"{what} must be a writable array without gaps")
    if array.size != count:
        raise ValueError(f"{what} has {array.size} elements, and the result has {count}")
    return array


def address(array: Any) -> int:
    """Of the first byte. Keep the array alive."""
    return int(array.__array_interface__["data"][0])


if sys.byteorder != "little":
    raise ImportError("T3 devices are little-endian, and this machine is not")
