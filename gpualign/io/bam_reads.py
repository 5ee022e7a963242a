"""The reads of BAM and CRAM: one reader cuts chunks at record borders, and any thread parses them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, counted
from gpualign.io.chunks import cuts
from gpualign.io.sources import Streamed
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS

if TYPE_CHECKING:
    from gpualign.io.cram_input import CramInput  # imports what runs samtools
    from gpualign.io.files import InputFile

#: limit of a chunk's bytes, as a caller may ask for a whole file
_MAX_BYTES = 1 << 30
#: bytes of records per base, about
_BYTES_PER_BASE = 2
_PAIRED = 0x1
_FLAG = struct.Struct("<18xH")


@dataclass(frozen=True)
class BamChunk:
    """Whole records, unparsed.

    Attributes:
        data: their bytes.
        path: the file's path, for messages.
        before: number of reads before them.
        dropped: tags to drop (:func:`dropped_tags`).
    """

    data: NDArray[np.uint8]
    path: str
    before: int
    dropped: str

    @STEPS.at("parse")
    def columns(self) -> SequenceBatch:
        """The reads.

        Raises:
            InputError: a damaged record.
        """
        try:
            fields = _native.bam_reads(self.data, self.dropped)
        except ValueError as error:
            if "has = for bases" in str(error):
                raise InputError(str(error), self.path) from None
            raise damaged(self.path, self.before, str(error)) from None
        return SequenceBatch(*fields[:-1], flags=fields[-1])


class BamReads:
    """The records of a BAM stream.

    Args:
        file: :class:`InputFile`, or CRAM that samtools turns into BAM.
        dropped: see :class:`BamChunk`.

    Attributes:
        header: pysam's dictionary.
        paired: the first record is one of a pair.

    Raises:
        InputError: its header is damaged.
    """

    def __init__(self, file: InputFile | CramInput, dropped: str) -> None:
        import pysam  # slow to import

        self.path, self._file, self._dropped, self._count = file.path, file, dropped, 0
        self._source = Streamed(self, line=None)
        try:
            self.header: dict[str, Any] = pysam.AlignmentHeader.from_text(
                read_bam_header(self._exactly)[0].decode()
            ).to_dict()
        except (ValueError, AssertionError, struct.error) as error:
            raise InputError(f"cannot be read as SAM, BAM or CRAM: {error}", file.path) from error
        first = self._source.text(0, min(self._source.hold(_FLAG.size), _FLAG.size)).tobytes()
        self.paired = len(first) == _FLAG.size and bool(_FLAG.unpack(first)[0] & _PAIRED)

    def items(self, batch_bases: int) -> Iterator[BamChunk]:
        """Chunks of about ``batch_bases`` bases.

        Raises:
            InputError: a truncated or damaged file.
        """
        for cut in cuts(self._source, self._border, min(batch_bases * _BYTES_PER_BASE, _MAX_BYTES)):
            data = self._source.take(cut).joined(self.path)
            size, reads = self._whole(data)
            if size:
                yield BamChunk(data[:size], self.path, self._count, self._dropped)
            self._count += reads
            if size < cut:
                raise damaged(self.path, self._count, "a BAM record is cut short")
        if not self._file.marked_end():
            raise damaged(self.path, self._count, "no end-of-file marker; it may be truncated")

    def _border(self, text: NDArray[np.uint8], from_record: bool) -> int:
        return self._whole(text)[0] if from_record else 0

    def _whole(self, text: NDArray[np.uint8]) -> tuple[int, int]:
        """Bytes of whole records, and their number."""
        try:
            size, reads = _native.whole_bam_records(text)
        except ValueError as error:
            raise damaged(self.path, self._count, str(error)) from None
        return size, reads

    def readinto(self, view: memoryview, /) -> int:
        try:
            return self._file.readinto(view)
        except InputError as error:
            raise damaged(self.path, self._count, error.what) from None

    def _exactly(self, size: int) -> bytes:
        if size < 0 or self._source.hold(size) < size:
            raise ValueError("its header is cut short")
        return self._source.take(size).joined(self.path).tobytes()


def read_bam_header(take: Callable[[int], bytes]) -> tuple[bytes, list[tuple[bytes, int]]]:
    """The text of a BAM header and its contigs, up to the first record. ``take``: the next bytes of the stream."""

    def integer() -> int:
        return int(struct.unpack("<i", take(4))[0])

    take(4)  # the magic
    text = take(integer())
    contigs = [(take(integer()).rstrip(b"\0"), integer()) for _ in range(integer())]
    return text.rstrip(b"\0"), contigs


def damaged(path: str, reads: int, why: str) -> InputError:
    """The error of a file that is truncated or damaged after ``reads`` reads."""
    return InputError(f"truncated or damaged after {counted(reads, 'read')}: {why}", path)
