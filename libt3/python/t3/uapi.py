# SPDX-License-Identifier: MIT
"""The driver's ioctls, for tests of the driver: nothing but what t3_accel.h says.

All numbers of the header are here by their C names, and its enumerations as classes (Op, FaultKind,
SpaceState). Both are made from the header, so a new ioctl needs no change here::

    made = uapi.ioctl(fd, "bo_create", size=4096)
    space = uapi.ioctl(fd, "space_create", bo_handle=made.handle, max_tiles=1).space
"""

from __future__ import annotations

import fcntl
import mmap as _mmap
import os
from typing import Any, Protocol, Union

from t3 import _abi
from t3._names import *  # noqa: F401,F403
from t3._names import (DRM_T3_PAGE_SIZE, DRM_T3_REFUSAL_SIGNED, DRM_T3_REFUSAL_VALUE, IOCTLS)

_ffi: Any = _abi.ffi
SIZE_SHIFT, SIZE_MASK = 16, 0x3fff  # of an ioctl's number


class HasFileno(Protocol):
    def fileno(self) -> int: ...


File = Union[int, HasFileno]


def struct(kind: str, **fields: Any) -> Any:
    """A zeroed `struct kind` with these fields; those of a nested struct as a dict.

    The result has the struct's fields as attributes. It is memory for address().
    """
    made = _ffi.new(f"struct {kind} *")
    _set(made, fields)
    return made


def _set(made: Any, fields: dict[str, Any]) -> None:
    known = [name for name, _ in _ffi.typeof(made).item.fields]
    for name, value in fields.items():
        if name not in known:
            raise TypeError(f"{_ffi.typeof(made).item.cname} has no field {name!r}; it has "
                            f"{', '.join(known)}")
        if isinstance(value, _ffi.CData) and _ffi.typeof(value).kind == "pointer":
            value = value[0]
        setattr(made, name, value)


def sizeof(kind: str) -> int:
    """Bytes of `struct kind`."""
    return int(_ffi.sizeof(f"struct {kind}"))


def array(kind: str, structs: list[Any]) -> Any:
    """An array of structs, of struct() or dicts."""
    return _ffi.new(f"struct {kind}[]", [one[0] if isinstance(one, _ffi.CData) else one
                                         for one in structs])


def address(memory: Any) -> int:
    """A pointer for a __u64 field. Keep `memory`, a struct, an array or a buffer, alive."""
    if not isinstance(memory, _ffi.CData):
        memory = _ffi.from_buffer(memory)
    return int(_ffi.cast("uintptr_t", memory))


def request(name: str, size: int | None = None) -> int:
    """The number of an ioctl, for an argument of another size if one is given."""
    number = _known(name)[0]
    if size is None:
        return number
    if not 0 <= size <= SIZE_MASK:
        raise ValueError(f"an ioctl's argument has 0 to {SIZE_MASK} bytes, not {size}")
    return number & ~(SIZE_MASK << SIZE_SHIFT) | size << SIZE_SHIFT


def _known(name: str) -> tuple[int, str]:
    try:
        return IOCTLS[name]
    except KeyError:
        raise ValueError(f"there is no ioctl {name!r}; there are {', '.join(IOCTLS)}") from None


def ioctl(file: File, name: str, *, argument_size: int | None = None, tail: bytes = b"",
          **fields: Any) -> Any:
    """Call an ioctl by its name in t3_accel.h in lower case, and return its struct.

    Fields that are not given are zero. `argument_size` says in the request that the argument is
    shorter or longer than the struct; `tail` are the bytes behind the struct, else zeros. An error
    raises Refused, an OSError. A call that a signal interrupts is made again.
    """
    _, kind = _known(name)
    whole = _ffi.sizeof(kind)
    memory = _ffi.new("uint64_t[]", (max(whole, argument_size or 0, whole + len(tail)) + 7) // 8)
    made = _ffi.cast(f"{kind} *", memory)
    _set(made, fields)
    _ffi.buffer(memory)[whole:whole + len(tail)] = tail
    call(file, request(name, argument_size), _ffi.buffer(memory), name)
    result = _ffi.new(f"{kind} *")
    _ffi.memmove(result, made, whole)
    return result


class Refused(OSError):
    """An ioctl failed. The attributes are those of struct drm_t3_refusal: the field that was
    refused. They are empty where the driver names none, and `value` and `index` may be None.
    """

    ioctl: str = ""
    struct: str = ""
    field: str = ""
    index: int | None = None
    value: int | None = None
    allowed: str = ""


def _refused(file: File, number: int, error: int, name: str) -> Refused:
    """With what the driver says of this thread's ioctl that has just failed."""
    told = _ffi.new("struct drm_t3_refusal *")
    text = f"{name}: {os.strerror(error)}"
    try:
        fcntl.ioctl(file, request("refusal"), _ffi.buffer(told), True)
    except OSError:  # an older driver, or no T3 device
        return Refused(error, text)
    if told.error != error or told.request != number & 0xffffffff:
        return Refused(error, text)
    kind, field, allowed = (_ffi.string(part).decode() for part in (
        told.struct_name, told.field, told.allowed))
    sign = told.what & DRM_T3_REFUSAL_SIGNED and told.value >> 63
    value = int(told.value) - (1 << 64 if sign else 0) if told.what & DRM_T3_REFUSAL_VALUE else None
    if kind:
        text += f": {kind}.{field}{'' if value is None else f' is {value}'}; allowed: {allowed}"
    made = Refused(error, text)
    made.ioctl, made.struct, made.field, made.allowed = name, kind, field, allowed
    made.index = None if told.index == 0xffffffff else int(told.index)
    made.value = value
    return made


def call(file: File, number: int, memory: Any, name: str = "ioctl") -> None:
    """An ioctl with any number and writable memory."""
    while True:
        try:
            # True: the call writes into this memory, and Python's lock is released.
            fcntl.ioctl(file, number, memory, True)
            return
        except InterruptedError:
            continue
        except OSError as error:
            raise _refused(file, number, error.errno or 0, name) from None


def mmap(file: File, offset: int, size: int = DRM_T3_PAGE_SIZE,
         writable: bool = True) -> _mmap.mmap:
    """Map what an ioctl gave an offset for."""
    fd = file if isinstance(file, int) else file.fileno()
    access = _mmap.PROT_READ | (_mmap.PROT_WRITE if writable else 0)
    return _mmap.mmap(fd, size, _mmap.MAP_SHARED, access, offset=offset)


def event_area(mapping: _mmap.mmap) -> Any:
    """The struct drm_t3_event_area in a mapping of a space's event offset."""
    return _ffi.from_buffer("struct drm_t3_event_area *", mapping)
