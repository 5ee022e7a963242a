"""Text of a BGZF file for remote workers, which inflate it; here only the blocks in which chunks end are inflated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.sequences.offsets import offsets_of
from gpualign.streaming.timeline import STEPS
from gpualign.text.bgzf import block_groups, content_of
from gpualign.text.files import InputFile, damage
from gpualign.text.streams import Damaged
from gpualign.text.text import Streamed, Text, lines_before

_READ_BYTES = 1 << 20


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
        except Damaged as error:
            raise InputError(damage(error), path) from error
        return (content[self.begin : self.begin + self.size],)

    def inflated(self, path: str) -> PackedText:
        return replace(self, content=self.joined(path))

    def first_line(self, path: str) -> int:
        with InputFile(path) as file:
            return lines_before(file, self.before)

    def part(self, begin: int, end: int) -> PackedText:
        """A part, with the blocks that hold it."""
        blocks = np.frombuffer(self.blocks, np.uint8)
        ends, text_ends = map(offsets_of, _native.bgzf_block_sizes(blocks))
        start = self.begin + begin
        first = int(np.searchsorted(text_ends, start, "right")) - 1
        last = int(np.searchsorted(text_ends, self.begin + end, "left"))
        held = blocks[ends[first] : ends[max(first, last)]]
        return PackedText(held, start - int(text_ends[first]), end - begin, self.before + begin, self.local)


class Packed:
    """A source of text in BGZF blocks. Other gzip members after the blocks are inflated here.

    Args:
        paired: split no pair of an interleaved file.

    Raises:
        InputError: the file is truncated.
    """

    line: int | None = None
    at_end = broken = False

    def __init__(self, file: InputFile, paired: bool = False) -> None:
        self.path, self.paired = file.path, paired
        self._held = PackedText(np.zeros(0, np.uint8), 0, 0, 0)
        self._read = self._groups(file)

    def hold(self, size: int) -> int:
        groups, held = [np.frombuffer(self._held.blocks, np.uint8)], len(self._held)
        self.at_end = False
        while held < size and not self.at_end:
            if (group := next(self._read, None)) is not None:
                groups.append(group)
                try:
                    held += int(_native.bgzf_block_sizes(group)[1].sum())
                except ValueError as error:
                    raise InputError(damage(Damaged(str(error))), self.path) from None
            else:
                self.at_end = True
        if len(groups) > 1:
            self._held = PackedText(np.concatenate(groups), self._held.begin, held, self._held.before)
        return min(held, size)

    def text(self, begin: int, end: int) -> NDArray[np.uint8]:
        return self._held.part(begin, end).joined(self.path)

    def take(self, size: int) -> PackedText:
        """The text with its blocks; the next text begins with the block in which this one ends."""
        taken, self._held = self._held.part(0, size), self._held.part(size, len(self._held))
        return taken

    def streamed(self, stack: ExitStack) -> Streamed:
        file = stack.enter_context(InputFile(self.path))
        return Streamed(file, line=lines_before(file, self._held.before))

    def _groups(self, file: InputFile) -> Iterator[NDArray[np.uint8]]:
        with file.explained():
            self.broken = (yield from block_groups(file.raw(), lambda: _READ_BYTES)) is not None
