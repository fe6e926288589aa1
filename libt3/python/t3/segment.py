# SPDX-License-Identifier: MIT
"""Segments: what the stores to a range of a space mean."""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

from t3 import errors
from t3._library import ffi, lib
from t3._names import Init
from t3.dtypes import SIZES, DtypeLike, OpLike, dtype_of, op_of


@dataclasses.dataclass(frozen=True)
class Tile:
    """A tile of a segment: its first element, and its size in rows and elements."""

    row: int
    rows: int
    column: int
    columns: int
    offset: int  # bytes from the segment's first
    bytes: int


@dataclasses.dataclass(frozen=True)
class Segment:
    """A row-major matrix at byte `offset` of a space, cut into tiles that are numbered row-major.

    Rows, columns and tiles count elements. `pitch` is the bytes from row to row, 0 for rows without
    gaps. `updates` is how often each element is updated in an epoch, 1 to 64. tile_columns 0 means
    whole rows. `op` and `init` ("identity" or "keep") do not matter to a remote segment.
    """

    index: int
    rows: int
    columns: int
    dtype: DtypeLike = "float32"
    op: OpLike = "add"
    init: Init | str = "identity"
    updates: int = 1
    offset: int = 0
    pitch: int = 0
    tile_rows: int = 1
    tile_columns: int = 0

    @property
    def element(self) -> int:
        """Bytes of an element."""
        return SIZES[dtype_of(self.dtype)]

    def _desc(self, remote: bool = False) -> Any:
        """The C struct, checked."""
        size = self.element
        init = self.init if isinstance(self.init, Init) else Init[self.init.upper()]
        desc = ffi.new("struct t3_segment_desc *", {
            "segment": self.index, "op": 0 if remote else op_of(self.op),
            "dtype": dtype_of(self.dtype), "init": 0 if remote else init, "updates": self.updates,
            "rows": self.rows, "offset": self.offset, "row_bytes": self.columns * size,
            "pitch": self.pitch or self.columns * size, "tile_rows": self.tile_rows,
            "tile_row_bytes": (self.tile_columns or self.columns) * size})
        result = lib.t3_desc_check(desc)
        if result:
            raise errors.make(result, f"{self} has a field out of range", "segment")
        return desc

    @property
    def tiles(self) -> int:
        """How many tiles it has."""
        return int(lib.t3_desc_tiles(self._desc()))

    def tile(self, number: int) -> Tile:
        """Where a tile lies. Errors: ERANGE: there is no such tile."""
        out = ffi.new("struct t3_tile *")
        result = lib.t3_desc_tile(self._desc(), number, out)
        if result:
            raise errors.make(result, f"there is no tile {number} of {self.tiles}", "tile")
        return Tile(out.row, out.rows, out.col // self.element, out.row_bytes // self.element,
                    out.offset, out.bytes)

    def locate(self, row: int, column: int) -> int:
        """The number of the tile that has this element. Errors: ERANGE: outside."""
        out = ffi.new("uint64_t *")
        result = lib.t3_desc_locate(self._desc(), row, column * self.element, out)
        if result:
            raise errors.make(result, f"({row}, {column}) is outside {self.rows} x {self.columns}",
                              "locate")
        return int(out[0])


@dataclasses.dataclass(frozen=True)
class Target:
    """Where a remote or dma segment sends to: its element (0, 0) arrives at (row, column) there.

    `imports` are numbers of Space.import_grant(); each store or tile goes to all of them.
    `block_tiles` of a dma segment are sent together.
    """

    imports: int | Sequence[int]
    op: OpLike = "add"
    segment: int = 0
    row: int = 0
    column: int = 0
    block_tiles: int = 0

    def _struct(self, element: int) -> tuple[Any, Any]:
        """The C struct, and what must live as long."""
        imports = [self.imports] if isinstance(self.imports, int) else list(self.imports)
        if not imports:
            raise ValueError("a target needs an import")
        more = ffi.new("uint32_t[]", imports[1:]) if imports[1:] else ffi.NULL
        return ffi.new("struct t3_target *", {
            "import": imports[0], "op": op_of(self.op), "segment": self.segment, "row": self.row,
            "col": self.column * element, "block_tiles": self.block_tiles,
            "import_count": len(imports) - 1, "imports": more}), more
