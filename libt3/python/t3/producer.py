# SPDX-License-Identifier: MIT
"""Producers: one way to write a segment, by stores or by doorbells."""

from __future__ import annotations

import errno
from typing import Any

from t3 import dtypes, errors
from t3._library import ffi, lib
from t3._names import Path
from t3._resource import Handle, Resource
from t3.segment import Segment
from t3.space import Space


class Producer(Resource):
    """Writes one mapped segment of an idle space. One thread at a time.

    It counts what it was given, so it knows which tiles are whole. Close it before the segment is
    unmapped or the space is reset.
    """

    def __init__(self, space: Space, segment: Segment, path: Path | str = Path.AUTO) -> None:
        kind = path if isinstance(path, Path) else Path[path.upper()]
        struct = segment._desc()
        desc = ffi.new("struct t3_producer_desc *", {"segment": struct, "path": kind})
        out = ffi.new("struct t3_producer **")
        result = space._call(lambda pointer: lib.t3_producer_create(
            space._device.pointer, pointer, desc, out))
        if result:
            raise errors.make(result, what=f"producer of segment {segment.index}")
        self._own(Handle(out[0], lib.t3_producer_destroy, (space._live(),)))
        self._segment = segment

    @property
    def path(self) -> Path:
        """STORE or DOORBELL, which AUTO has chosen."""
        return Path(self._call(lib.t3_producer_path))

    @property
    def bytes(self) -> int:
        """Put since begin()."""
        return int(self._call(lib.t3_producer_bytes))

    def begin(self) -> None:
        """Begin an epoch, after the last one is complete. Errors: EBUSY: data is still read."""
        self._check(self._call(lib.t3_producer_begin), "begin")

    def put(self, row: int, column: int, data: Any) -> None:
        """Put elements of one row. The order is free, and each element is put once in an epoch.

        Errors: ERANGE: outside; EOVERFLOW: more than a tile has.
        """
        self._live()
        array = self._input(data)
        self._check(self._call(lib.t3_producer_put, row, column * self._segment.element,
                               ffi.cast("void *", dtypes.address(array)), array.nbytes),
                    f"put at ({row}, {column})")

    def put_tile(self, tile: int, data: Any) -> None:
        """Put a whole tile, an array with the tile's shape. Errors: as put()."""
        self._live()
        shape, array = self._segment.tile(tile), self._input(data)
        if array.size != shape.rows * shape.columns:
            raise ValueError(f"tile {tile} has {shape.rows} x {shape.columns} elements, and the "
                             f"array {array.shape}")
        self._check(self._call(lib.t3_producer_put_tile, tile,
                               ffi.cast("void *", dtypes.address(array)),
                               shape.columns * self._segment.element), f"put of tile {tile}")

    def missing(self, start: int = 0) -> tuple[int, int] | None:
        """(tile, bytes it lacks) of the first tile from `start` on that is not whole, or None."""
        tile, lacks = ffi.new("uint64_t *", start), ffi.new("uint64_t *")
        result = self._call(lib.t3_producer_missing, tile, lacks)
        if result == -errno.ENODATA:
            return None
        self._check(result, f"tile {start}")
        return int(tile[0]), int(lacks[0])

    def _input(self, data: Any) -> Any:
        return dtypes.input_array(data, dtypes.dtype_of(self._segment.dtype))

    @staticmethod
    def _check(result: int, what: str) -> None:
        if result:
            raise errors.make(result, what=what)
