"""Chunks of a bgzf file for workers on other machines, which inflate them; here only the blocks in which chunks end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.io.blocks import is_blank
from gpualign.io.fastx import Chunk, is_wrapped, read_chunks
from gpualign.io.fastx_format import FastxFormat, sniff
from gpualign.io.files import InputFile
from gpualign.io.mate_names import names_of
from gpualign.io.packed_text import PackedText, inflated
from gpualign.io.text import lines_before
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.clock import STEPS

_READ_BYTES = 1 << 20


def packed_chunks(file: InputFile, chunk_bytes: int, paired: bool = False) -> Iterator[Chunk]:
    """A FASTA or FASTQ file in bgzf, as :func:`gpualign.io.fastx.read_chunks` cuts it but in whole blocks. What follows
    the blocks, if anything does, is inflated here.

    Args:
        paired: no neighbours of one name that are mates are cut apart, in blocks.

    Raises:
        InputError: neither FASTA nor FASTQ, or cut short.
    """
    kind: FastxFormat | None = None
    held = _Held(file.path, paired)
    for block in _blocks(file):
        if block is None:
            break
        held.add(block)
        if kind is None:
            kind = sniff(held.text().tobytes(), file.path)
            if kind is None:
                continue
            if kind == "fastq" and is_wrapped(held.text()):
                break
        if held.size >= chunk_bytes and (chunk := held.cut(kind)) is not None:
            yield chunk
    else:
        if kind is not None and not held.is_blank():
            yield held.rest(kind)
        return
    with InputFile(file.path) as again:
        line = lines_before(again, held.before)
        yield from read_chunks(again, chunk_bytes, line=line)


def _blocks(file: InputFile) -> Iterator[NDArray[np.uint8] | None]:
    """The file's blocks; None at the end if a member of gzip of another kind comes after them."""
    stream, rest = file.raw(), b""
    while True:
        with STEPS.at("read"):
            data = stream.read(_READ_BYTES)
        if not data:
            break
        data = rest + data
        end, other = _native.whole_bgzf_blocks(data)
        array = np.frombuffer(data, np.uint8)
        begin = 0
        for stop in _native.bgzf_block_ends(array[:end], 0).tolist() if end else ():
            yield array[begin:stop]
            begin = stop
        if other:
            yield None
            return
        rest = data[end:]
    if rest.strip(b"\0"):
        raise InputError("compressed file ended early (copy or download it again)", file.path)


def _space(block: NDArray[np.uint8]) -> int:
    """Bytes of a block's text: its last four."""
    return int.from_bytes(block[-4:].tobytes(), "little")


class _Held:
    """Blocks that no chunk has yet.

    Attributes:
        before: bytes of text before what is held.
        size: bytes of what is held.
    """

    def __init__(self, path: str, paired: bool) -> None:
        self._path, self._paired = path, paired
        self._blocks: list[NDArray[np.uint8]] = []
        self._begin = 0  # of what is held, in the text of the first block
        self._looked_at, self._next_look = 1, 0  # so many blocks at the end, when there are so many
        self.before = self.size = 0

    def add(self, block: NDArray[np.uint8]) -> None:
        self._blocks.append(block)
        self.size += _space(block)

    def text(self) -> NDArray[np.uint8]:
        return self._text_from(0)[self._begin :]

    def cut(self, kind: FastxFormat) -> Chunk | None:
        """What is held up to the last border of a record; None where its last blocks have none."""
        if len(self._blocks) < self._next_look:
            return None
        first = max(0, len(self._blocks) - self._looked_at)
        skipped = self._begin if first == 0 else 0
        text = self._text_from(first)[skipped:]
        border = int(_native.last_record_border(text, kind == "fastq"))
        if self._paired:
            border = _end_of_pair(text, border, kind, first == 0)
        if border == 0:  # a long record: twice as many blocks next time, so that the work stays linear
            self._next_look = len(self._blocks) + self._looked_at
            self._looked_at *= 2
            return None
        return self._taken(kind, sum(map(_space, self._blocks[:first])) + skipped + border)

    def is_blank(self) -> bool:
        return self.size <= _READ_BYTES and is_blank(self.text())

    def rest(self, kind: FastxFormat) -> Chunk:
        return self._taken(kind, sum(map(_space, self._blocks)))

    def _text_from(self, first: int) -> NDArray[np.uint8]:
        blocks = self._blocks[first:]
        if not blocks:
            return np.zeros(0, np.uint8)
        return inflated(np.concatenate(blocks), self._path)

    def _taken(self, kind: FastxFormat, end: int) -> Chunk:
        """The chunk up to ``end`` in the text of all blocks; the block in which it ends is the next one's as well."""
        count, passed = 0, 0
        while passed + (space := _space(self._blocks[count]) if count < len(self._blocks) else 0) < end:
            passed += space
            count += 1
        used = self._blocks[: count + 1]
        data = PackedText(np.concatenate(used), self._begin, end - self._begin, self.before)
        self.before += data.size
        self.size -= data.size
        ends_in_block = end - passed < _space(self._blocks[count])
        self._blocks = self._blocks[count:] if ends_in_block else self._blocks[count + 1 :]
        self._begin = end - passed if ends_in_block else 0
        self._looked_at, self._next_look = 1, 0
        return Chunk(data, kind, self._path, None, paired=self._paired)


def _end_of_pair(text: NDArray[np.uint8], border: int, kind: FastxFormat, from_pair: bool) -> int:
    """``border``, or that before its last record where this is the first one of its name: of neighbours of one name the
    first two are a pair, then the next two. 0: that is not seen.

    Args:
        from_pair: the text begins at such a border.
    """
    borders, of_one_name = [border], 0  # from the last one backwards, and the records between the first of them
    while borders[-1]:
        borders.append(int(_native.last_record_border(text[: borders[-1] - 1], kind == "fastq")))
        if borders[-1] == 0 and not from_pair:
            return 0
        if len(borders) > 2 and not _of_one_name(text[borders[-1] : borders[-3]], kind):
            break
        of_one_name += 1
    return borders[of_one_name % 2]


def _of_one_name(two_records: NDArray[np.uint8], kind: FastxFormat) -> bool:
    """Whether they may be mates. What is wrong with them is said where all are parsed."""
    try:
        batch = SequenceBatch(*_native.parse_fastx(two_records, kind == "fastq", False, False))
    except ValueError:
        return False
    first, second = names_of(batch, 0, 2)
    return bool(_native.compare_names(first, second, True) != "two templates")
