# SPDX-License-Identifier: MIT
"""A matrix product that is summed over the ranks while it is made: its rows come in blocks."""

from __future__ import annotations

from typing import Iterator

import torch

from t3.torch import recording

BLOCKS = 4  # of a rank's part of the rows
BLOCK_BYTES = 1 << 18  # of a block, at most


class Product:
    """left @ right, of one rank. The sum over the ranks has the same rows and columns.

    The rows are cut in a part for each rank. Where they do not divide, zeros follow them. A part is
    cut in blocks, and a block is made by one call, wherever it goes: the bits of a product may
    depend on its shape.
    """

    def __init__(self, left: torch.Tensor, right: torch.Tensor, ranks: int,
                 sum_dtype: torch.dtype) -> None:
        """left is rows x inner, right inner x columns. Blocks have the type of the sum."""
        self.rows, self.columns, self.dtype = left.shape[0], right.shape[1], sum_dtype
        self.part = -(-self.rows // ranks)
        self.ranks = ranks
        self.row_bytes = self.columns * torch.empty(0, dtype=sum_dtype).element_size()
        self.block = max(1, min(-(-self.part // BLOCKS), BLOCK_BYTES // max(1, self.row_bytes)))
        lacks = self.part * ranks - self.rows
        self._left = torch.nn.functional.pad(left, (0, 0, 0, lacks)) if lacks else left
        self._right = right.to(sum_dtype)

    def blocks(self, first: int, count: int) -> Iterator[tuple[int, torch.Tensor]]:
        """(row, rows) of the blocks from row first on. A block has no gaps."""
        for row in range(first, first + count, self.block):
            left = self._left[row:min(row + self.block, first + count)].to(self.dtype)
            yield row, times(left, self._right)

    def whole(self) -> torch.Tensor:
        """All parts at once, flat."""
        made = torch.empty((self.part * self.ranks, self.columns), dtype=self.dtype)
        for part in range(self.ranks):
            for row, block in self.blocks(part * self.part, self.part):
                made[row:row + block.shape[0]] = block
        return made.view(-1)


def times(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left @ right. Not each torch multiplies float16 on a processor: that is made in float32."""
    if left.dtype == torch.float16:
        if recorder := recording.active():
            recorder.product(left, right, left.dtype)
        with recording.hidden():
            return (left.float() @ right.float()).to(left.dtype)
    return left @ right
