"""Text in BGZF blocks, for transfer to another machine."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.io.bgzf import content_of
from gpualign.io.files import InputFile
from gpualign.io.text import Text, lines_before
from gpualign.streaming.timeline import STEPS


@dataclass(frozen=True)
class PackedText(Text):
    """A part of the text of whole blocks.

    Attributes:
        blocks: uint8.
        begin, size: of the part.
        before: bytes of the file's text before the part.
        local: this is the machine that read the file.
        content: the inflated text, if it is cached; not pickled.
    """

    blocks: NDArray[np.uint8] | bytes
    begin: int
    size: int
    before: int
    local: bool = True
    content: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return self.size

    def __reduce__(self) -> tuple[Any, ...]:
        """Unpickled text is not local."""
        return PackedText, (bytes(self.blocks), self.begin, self.size, self.before, False)

    @property
    def uncounted(self) -> int | None:  # type: ignore[override]
        return None if self.local else self.before

    @STEPS.at("inflate")
    def pieces(self, path: str) -> tuple[NDArray[np.uint8], ...]:
        """
        Raises:
            InputError: the blocks are damaged.
        """
        if self.content is not None:
            return (self.content,)
        try:
            content = content_of(bytes(self.blocks))
        except zlib.error as error:
            raise InputError(f"compressed data is damaged: {error}", path) from error
        return (content[self.begin : self.begin + self.size],)

    def inflated(self, path: str) -> PackedText:
        return replace(self, content=self.joined(path))

    def first_line(self, path: str) -> int:
        with InputFile(path) as file:
            return lines_before(file, self.before)

    def part(self, begin: int, end: int) -> PackedText:
        """A part, with the blocks that hold it."""
        blocks = np.frombuffer(self.blocks, np.uint8)
        ends = np.append(0, _native.bgzf_block_ends(blocks, 0)).astype(np.int64)
        sizes = blocks[ends[1:, None] - np.arange(4, 0, -1)].view("<u4")[:, 0]  # a block's last four bytes
        text_ends = np.append(0, np.cumsum(sizes, dtype=np.int64))
        start = self.begin + begin
        first = int(np.searchsorted(text_ends, start, "right")) - 1
        last = int(np.searchsorted(text_ends, self.begin + end, "left"))
        held = blocks[ends[first] : ends[max(first, last)]]
        return PackedText(held, start - int(text_ends[first]), end - begin, self.before + begin, self.local)
