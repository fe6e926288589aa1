# SPDX-License-Identifier: MIT
"""Buffers of device or host memory, and NumPy arrays of them that copy nothing."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Sequence, Union

from t3 import dtypes, errors
from t3._library import ffi, lib
from t3._names import Dtype
from t3._resource import Handle, Resource

if TYPE_CHECKING:
    import numpy as np

    from t3.device import Device

Shape = Union[int, Sequence[int]]


def view_of(handle: Handle, pointer: Any, size: int) -> Any:
    """An object with the buffer protocol over memory that `handle` keeps mapped."""
    made = ffi.buffer(pointer, size)
    handle.retain()
    # At the interpreter's end the memory goes with the process, and arrays may outlive this module.
    weakref.finalize(made, handle.release).atexit = False
    return made


class Buffer(Resource):
    """Memory of a device, or of the machine (host=True), as Device.buffer() makes it.

    array(), memoryview() and numpy.asarray(buffer) look at the memory itself. close() ends the
    buffer for its user. The memory goes when the last array, space and job of it has gone, so an
    array stays valid as long as somebody holds it; ``exports`` counts the users. Reads and writes
    are plain: nothing is tracked, and the order with jobs of the device is the program's.
    Several threads may use a buffer at once.
    """

    def __init__(self, device: Device, size: int, host: bool = False) -> None:
        create = lib.t3_buffer_create_host if host else lib.t3_buffer_create
        self._make(device, f"buffer of {size} bytes", create, size)

    @classmethod
    def of_dma_buf(cls, device: Device, fd: int) -> Buffer:
        """Make a buffer of a dma-buf descriptor, which stays the caller's."""
        made = cls.__new__(cls)
        made._make(device, "import of a dma-buf", lib.t3_buffer_import, fd)
        return made

    def _make(self, device: Device, what: str, create: Any, argument: int) -> None:
        out = ffi.new("struct t3_buffer **")
        result = device._call(create, argument, out)
        if result:
            raise errors.make(result, what=what)
        self._own(Handle(out[0], lib.t3_buffer_destroy, (device._live(),)))

    @property
    def size(self) -> int:
        """Bytes, a multiple of the page size."""
        return int(self._call(lib.t3_buffer_size))

    @property
    def gem_handle(self) -> int:
        """For ioctls of the device's descriptor. The buffer owns it."""
        return int(self._call(lib.t3_buffer_handle))

    @property
    def exports(self) -> int:
        """How many arrays, spaces and the like use the buffer, beside this object."""
        return self._live().users - 1

    def export(self) -> int:
        """A dma-buf descriptor for other processes and devices. Close it with os.close()."""
        out = ffi.new("int *")
        result = self._call(lib.t3_buffer_export, out)
        if result:
            raise errors.make(result, what="export of a buffer")
        return int(out[0])

    def _memory(self) -> Any:
        out = ffi.new("void **")
        result = self._call(lib.t3_buffer_map, out)
        if result:
            raise errors.make(result, what="map of a buffer")
        return view_of(self._live(), out[0], self.size)

    def memoryview(self) -> memoryview:
        """The memory as writable bytes."""
        return memoryview(self._memory())

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": (self.size,), "typestr": "|u1", "data": self._memory()}

    def array(self, dtype: dtypes.DtypeLike = "uint8", shape: Shape | None = None,
              offset: int = 0) -> np.ndarray[Any, Any]:
        """The memory as an array of this type and shape, from byte `offset` on.

        Without a shape it has all whole elements to the end. ValueError: outside the buffer.
        """
        kind = dtypes.dtype_of(dtype)
        if offset < 0 or offset > self.size:
            raise ValueError(f"offset {offset} is outside the buffer of {self.size} bytes")
        whole = (self.size - offset) // dtypes.SIZES[kind]
        sizes = (whole,) if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
        count = 1
        for size in sizes:
            if size < 0:
                raise ValueError(f"a shape has no negative sizes; got {sizes}")
            count *= size
        if count > whole:
            raise ValueError(f"{count} elements of {kind.name.lower()} at byte {offset} are more "
                             f"than the {whole} that the buffer has")
        return array_of(self._memory(), kind, count, offset).reshape(sizes)


def array_of(memory: Any, kind: Dtype, count: int, offset: int = 0) -> Any:
    """`count` elements of an object with the buffer protocol."""
    size = count * dtypes.SIZES[kind]
    return dtypes.numpy().frombuffer(memory, "u1", size, offset).view(dtypes.numpy_dtype(kind))
