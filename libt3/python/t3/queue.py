# SPDX-License-Identifier: MIT
"""Queues: jobs that the device runs in order, each with a fence."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

from t3 import _waits, dtypes, errors
from t3._library import ffi, lib
from t3._names import CommandType
from t3._resource import Handle, Resource
from t3.buffer import Buffer
from t3.dtypes import DtypeLike, OpLike

if TYPE_CHECKING:
    from t3.device import Device
    from t3.space import BorrowedSpace


@dataclasses.dataclass(frozen=True)
class Operand:
    """Rows in a buffer: row i begins at byte offset + i * pitch. Pitch 0: rows without gaps."""

    buffer: Buffer
    offset: int = 0
    pitch: int = 0


def operand_of(where: Buffer | Operand) -> Operand:
    return where if isinstance(where, Operand) else Operand(where)


class Fence(Resource):
    """The end of a job: a sync_file, which poll() shows as readable when the job has ended."""

    def __init__(self, fd: int) -> None:
        self._own(Handle(fd, os.close))

    def fileno(self) -> int:
        """The descriptor. The fence owns it."""
        return int(self._live().pointer)

    def wait(self, timeout: float | None = None) -> None:
        """Wait up to `timeout` seconds for the job, and raise its error.

        Errors: TimeoutError; EIO: the device refused a command, or its space is not armed; ETIME:
        it took too long; ECANCELED: the device was closed before its end, or was reset.
        """
        end = _waits.deadline(timeout)
        result = self._call(lambda fd: _waits.in_slices(
            lambda part: lib.t3_fence_wait(fd, part), end))
        if result:
            raise errors.make(result, what="job")


class Queue(Resource):
    """Runs its jobs in order, as Device.queue() makes it. Several threads may use it at once.

    Each method submits one job and returns its Fence; close it, or use it in a `with`. The job
    holds what it uses: buffers may be closed at once. A job waits for earlier jobs that write what
    it reads, in any queue. Errors of all: ENOENT; EINVAL: an operand is outside its buffer;
    EOPNOTSUPP: memory of another kind is needed; EBUSY: 1024 jobs have not ended, or too much work.
    """

    def __init__(self, device: Device, priority: int = 0) -> None:
        out = ffi.new("struct t3_queue **")
        result = device._call(lib.t3_queue_create, priority, out)
        if result:
            raise errors.make(result, what="queue")
        self._own(Handle(out[0], lib.t3_queue_destroy, (device._live(),)))

    def copy(self, dst: Buffer | Operand, src: Buffer | Operand, row_bytes: int,
             rows: int = 1) -> Fence:
        """dst = src, `rows` rows of `row_bytes` bytes."""
        to, source = operand_of(dst), operand_of(src)
        return self._submit("struct drm_t3_copy *", CommandType.COPY, {
            "rows": rows, "row_bytes": row_bytes, "dst": self._operand(to, row_bytes, rows),
            "src": self._operand(source, row_bytes, rows)})

    def fill(self, dst: Buffer | Operand, pattern: int, row_bytes: int, rows: int = 1) -> Fence:
        """Fill rows with the 8 bytes of `pattern`, little-endian, again and again."""
        return self._submit("struct drm_t3_fill *", CommandType.FILL, {
            "rows": rows, "row_bytes": row_bytes, "pattern": pattern,
            "dst": self._operand(operand_of(dst), row_bytes, rows)})

    def update(self, dst: Buffer | Operand, src: Buffer | Operand, columns: int, rows: int = 1,
               op: OpLike = "add", dtype: DtypeLike = "float32") -> Fence:
        """dst = op(dst, src), element by element, in device memory."""
        kind = dtypes.dtype_of(dtype)
        row_bytes = columns * dtypes.SIZES[kind]
        return self._submit("struct drm_t3_update *", CommandType.UPDATE, {
            "rows": rows, "row_bytes": row_bytes, "op": dtypes.op_of(op), "dtype": kind,
            "dst": self._operand(operand_of(dst), row_bytes, rows),
            "src": self._operand(operand_of(src), row_bytes, rows)})

    def gemm(self, a: Buffer | Operand, b: Buffer | Operand, c: Buffer | Operand | BorrowedSpace,
             shape: tuple[int, int, int], dtype: DtypeLike = "float32", **order: int) -> Fence:
        """c = a @ b, with shape (rows, columns, depth), row-major.

        c is a buffer, or an armed space, to which each element of c is then one tracked store. For
        a space `c_offset` and `c_pitch` say where, in bytes. Other keywords (chunk_rows,
        first_chunk, chunks_up, raster_rows, group_rows, group_columns, tile_rows, tile_columns)
        give the order in which c is made, and do not change its bits.
        """
        rows, columns, depth = shape
        desc = ffi.new("struct t3_gemm_desc *", {
            "rows": rows, "columns": columns, "depth": depth, "dtype": dtypes.dtype_of(dtype)})
        place = {"offset": order.pop("c_offset", 0), "pitch": order.pop("c_pitch", 0)}
        operands = [operand_of(a), operand_of(b)]
        if isinstance(c, (Buffer, Operand)):
            if any(place.values()):
                raise ValueError("c_offset and c_pitch are for a space; a buffer has an Operand")
            operands.append(operand_of(c))
        else:
            desc.space = c._live().pointer
            desc.c.offset, desc.c.pitch = place["offset"], place["pitch"]
        for field, operand in zip((desc.a, desc.b, desc.c), operands):
            field.buffer = operand.buffer._live().pointer
            field.offset, field.pitch = operand.offset, operand.pitch
        for name, value in order.items():
            if name not in GEMM_ORDER:
                raise TypeError(f"gemm() has no argument {name!r}; there are "
                                f"{', '.join(GEMM_ORDER)}")
            setattr(desc, name, value)
        return self._fenced(lambda pointer, out: lib.t3_queue_gemm(pointer, desc, out), "gemm")

    @staticmethod
    def _operand(operand: Operand, row_bytes: int, rows: int) -> dict[str, int]:
        pitch = (operand.pitch or row_bytes) if rows > 1 else 0
        return {"handle": operand.buffer.gem_handle, "offset": operand.offset, "pitch": pitch}

    def _submit(self, kind: str, command: CommandType, fields: dict[str, Any]) -> Fence:
        struct = ffi.new(kind, {"head": {"type": command}, **fields})
        head = ffi.addressof(struct, "head")
        return self._fenced(lambda pointer, out: lib.t3_queue_job(
            pointer, head, ffi.sizeof(struct[0]), out), command.name.lower())

    def _fenced(self, call: Any, what: str) -> Fence:
        out = ffi.new("int *", -1)
        result = self._call(call, out)
        if result:
            raise errors.make(result, what=what)
        return Fence(out[0])


GEMM_ORDER = ("chunk_rows", "first_chunk", "chunks_up", "raster_rows", "group_rows",
              "group_columns", "tile_rows", "tile_columns")
