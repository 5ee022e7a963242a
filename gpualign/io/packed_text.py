"""Text that is still in its blocks of bgzf, as it travels to another machine."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.io.bgzf import content_of
from gpualign.streaming.timeline import STEPS


@dataclass(frozen=True)
class PackedText:
    """A part of the text of whole blocks.

    Attributes:
        blocks: uint8.
        begin, size: of the part.
        before: bytes of the file's text before the part.
        at_home: the file is where it was read, under its path.
        content: the part's text where it has been inflated; it does not travel.
    """

    blocks: NDArray[np.uint8] | bytes
    begin: int
    size: int
    before: int
    at_home: bool = True
    content: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return self.size

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process may be on another machine."""
        return PackedText, (bytes(self.blocks), self.begin, self.size, self.before, False)

    @STEPS.at("inflate")
    def text(self, path: str) -> NDArray[np.uint8]:
        """uint8 (size,).

        Raises:
            InputError: the blocks are damaged; ``path``: of the file.
        """
        if self.content is not None:
            return self.content
        return inflated(self.blocks, path)[self.begin : self.begin + self.size]

    def part(self, begin: int, size: int) -> PackedText:
        """``size`` bytes of it, in the blocks that hold them."""
        blocks = np.frombuffer(self.blocks, np.uint8)
        ends = np.append(0, _native.bgzf_block_ends(blocks, 0)).astype(np.int64)
        sizes = blocks[ends[1:, None] - np.arange(4, 0, -1)].view("<u4")[:, 0]  # a block's last four bytes
        text_ends = np.append(0, np.cumsum(sizes, dtype=np.int64))
        start = self.begin + begin
        first = int(np.searchsorted(text_ends, start, "right")) - 1
        last = int(np.searchsorted(text_ends, start + size, "left"))
        held = blocks[ends[first] : ends[max(first, last)]]
        return PackedText(held, start - int(text_ends[first]), size, self.before + begin, self.at_home)


def inflated(blocks: NDArray[np.uint8] | bytes, path: str) -> NDArray[np.uint8]:
    """The text of whole blocks.

    Raises:
        InputError: they are damaged.
    """
    try:
        return content_of(bytes(blocks))
    except zlib.error as error:
        raise InputError(f"compressed data is damaged: {error}", path) from error
