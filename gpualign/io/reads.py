"""Reads of any accepted format as work items, told apart by content."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import InputError, shown_input
from gpualign.io.alignment import AlignmentReads, dropped_tags
from gpualign.io.bam_reads import BamChunk, BamReads
from gpualign.io.bgzf import BgzfCodec
from gpualign.io.blocks import TextOfPieces
from gpualign.io.chunks import read_chunks
from gpualign.io.fastx import Chunk, LongRecord, parse
from gpualign.io.files import InputFile
from gpualign.io.packed_chunks import Packed
from gpualign.io.sources import InPieces, Source, Stored, Streamed
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.lent import Lend, nothing_lent
from gpualign.streaming.prefetch import Prefetch
from gpualign.streaming.timeline import STEPS

#: FASTQ text bytes per base, about; batches are asked for in bases
_BYTES_PER_BASE = 2
#: bytes of a file up to which one reader reads it; not all files say their size (those of the kernel)
_HELD = 1 << 16
#: chunks that are cut before they are asked for: whoever reads two files takes several of one at a time
_CHUNKS_AHEAD = 4
#: parts that are inflated ahead of them, and bytes of a part: many, as the thread waits for the interpreter's lock then
_PARTS_AHEAD, _PART_BYTES = 4, 1 << 23
#: what a decompressed stream begins with
_BAM_MAGIC = b"BAM\x01"
_CRAM_MAGIC = b"CRAM"
_SAM_TAGS = (b"@HD\t", b"@SQ\t", b"@RG\t", b"@PG\t", b"@CO\t")


def read_file(
    file: InputFile,
    chunk_bytes: int,
    by_parser: bool,
    far: bool = False,
    interleaved: bool = False,
    inflaters: int = 1,
    lend: Lend = nothing_lent,
) -> Iterator[Chunk]:
    """The chunks of a FASTA or FASTQ file; arguments as for :class:`ReadSource`."""
    if file.regular and not (file.plain or file.bgzf):
        yield from _inflated_ahead(file, chunk_bytes, inflaters, lend)
        return
    source: Source
    if far and file.regular and file.bgzf:
        source = Packed(file, interleaved)
    elif by_parser and file.size > _HELD:
        source = Stored(file)
    else:
        source = InPieces(file) if by_parser and file.in_pieces else Streamed(file, lend=lend)
    yield from read_chunks(source, chunk_bytes)


def _inflated_ahead(file: InputFile, chunk_bytes: int, inflaters: int, lend: Lend) -> Iterator[Chunk]:
    """The chunks of a compressed file. One thread, or several, do nothing but inflate it, and another cuts its text:
    both files of pairs are read at the same time, each as fast as these inflate.
    """
    several = inflaters > 1 and file.one_stream
    inflated = file.inflated(inflaters) if several else _parts(file, min(_PART_BYTES, chunk_bytes))
    with contextlib.closing(Prefetch(inflated, _PARTS_AHEAD)) as parts:
        chunks = read_chunks(Streamed(TextOfPieces(file.path, parts), lend=lend), chunk_bytes)
        with contextlib.closing(Prefetch(chunks, _CHUNKS_AHEAD)) as ahead:
            yield from ahead


def _parts(file: InputFile, size: int) -> Iterator[NDArray[np.uint8]]:
    """A file's text in parts of ``size``, in the same memory again and again: a part is read while those ahead of it
    are made, and none after these before its reader asks for the next one.
    """
    for memory in itertools.cycle(np.empty((1 + _PARTS_AHEAD, size), np.uint8)):
        if not (count := file.readinto(memory.data)):
            return
        yield memory[:count]


class ReadSource:
    """The reads of one file.

    Args:
        reference_path: FASTA for CRAM.
        keep_read_groups: as for :class:`AlignmentReads`.
        comments: keep what follows the names of FASTA and FASTQ records.
        threads: that inflate bgzf or decode CRAM.
        by_parser: the text is read or joined where it is parsed.
        far: which is on other machines: bgzf goes there as it is.
        interleaved: where pairs are not cut apart.
        opened: as for :class:`InputFile`.

    Attributes:
        inflaters: threads that inflate one stream of gzip. One thread alone takes a third of the time that each of
            several takes for as much: they pay where its text is waited for.
        lend: memory for text that is neither stored nor in blocks.
        header: the header of a SAM, BAM or CRAM input as pysam's dictionary, or None.
        paired: a SAM, BAM or CRAM input says that its first read is one of a pair.

    Raises:
        InputError: the file cannot be opened or is in no known format.
    """

    def __init__(
        self,
        path: str,
        reference_path: str | None = None,
        keep_read_groups: bool = True,
        comments: bool = False,
        threads: int = 1,
        by_parser: bool = False,
        far: bool = False,
        interleaved: bool = False,
        opened: Any = None,
    ) -> None:
        self.path, self._comments, self._by_parser = path, comments, by_parser
        self._far, self._interleaved = far, interleaved
        self.inflaters = 1
        self.lend: Lend = nothing_lent
        self.header: dict[str, Any] | None = None
        self.paired = False
        self._alignments: AlignmentReads | BamReads | None = None
        self._cram: Any = None
        self._file = InputFile(path, threads, opened)
        if self._file.magic.startswith((_BAM_MAGIC, _CRAM_MAGIC, *_SAM_TAGS)):
            try:
                self._alignments = self._open_alignments(reference_path, keep_read_groups, threads)
            except BaseException:
                self.close()
                raise
            self.header = self._alignments.header
            self.paired = self._alignments.paired

    def _open_alignments(
        self, reference_path: str | None, keep_read_groups: bool, threads: int
    ) -> AlignmentReads | BamReads:
        if self._file.magic.startswith(_BAM_MAGIC):
            return BamReads(self._file, dropped_tags(keep_read_groups))
        if self._file.magic.startswith(_CRAM_MAGIC):
            from gpualign.io.cram_input import CramInput  # and what runs samtools

            self._cram = CramInput(self._file, reference_path, threads)
            return BamReads(self._cram, dropped_tags(keep_read_groups))
        return AlignmentReads(self._file, keep_read_groups)

    @overload
    def items(self, batch_bases: int) -> Iterator[Chunk | SequenceBatch]: ...

    @overload
    def items(self, batch_bases: int, long_records: Literal[True]) -> Iterator[Chunk | SequenceBatch | LongRecord]: ...

    def items(
        self, batch_bases: int, long_records: bool = False
    ) -> Iterator[Chunk | SequenceBatch] | Iterator[Chunk | SequenceBatch | LongRecord]:
        """Chunks still to be parsed, or parsed batches, in input order; with ``long_records`` FASTA records that do
        not fit a batch come as :class:`LongRecord`.
        """
        if self._alignments is not None:
            yield from map(to_batch, self._alignments.items(batch_bases))
        elif long_records:
            source: Source
            if self._far and self._file.regular and self._file.bgzf and self._file.magic.startswith(b"@"):
                source = Packed(self._file)  # no long records in FASTQ
            else:
                stored = self._by_parser and self._file.size > _HELD
                source = Stored(self._file) if stored else Streamed(self._file)
            yield from read_chunks(source, batch_bases * _BYTES_PER_BASE, long_records=True)
        else:
            how = self._by_parser, self._far, self._interleaved, self.inflaters, self.lend
            for chunk in read_file(self._file, batch_bases * _BYTES_PER_BASE, *how):
                yield replace(chunk, comments=self._comments)

    def reads(self, batch_bases: int) -> Iterator[Chunk | BamChunk | SequenceBatch]:
        """As :meth:`items`, with BAM still to be parsed, too."""
        yield from self._alignments.items(batch_bases) if self._alignments is not None else self.items(batch_bases)

    def read_ahead(self, size: int) -> None:
        """As :meth:`InputFile.read_ahead`."""
        self._file.read_ahead(size)

    def inflate_by(self, codec: BgzfCodec) -> None:
        """As :meth:`InputFile.inflate_by`."""
        self._file.inflate_by(codec)

    def close(self) -> None:
        if isinstance(self._alignments, AlignmentReads):
            self._alignments.close()
        if self._cram is not None:
            self._cram.close()
        self._file.close()

    def __enter__(self) -> ReadSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def joined_header(sources: Sequence[ReadSource], keep_read_groups: bool = True) -> dict[str, Any] | None:
    """The header of files that are read one after the other: the first one's, with the read groups and programs that
    it lacks; None of FASTA and FASTQ.

    Args:
        keep_read_groups: as for :class:`ReadSource`.

    Raises:
        InputError: they are of both kinds, or their read groups contradict each other.
    """
    first, *others = sources
    header = None if first.header is None else dict(first.header)
    for source in others:
        if (source.header is None) != (header is None):
            raise InputError(f"not of the kind of {shown_input(first.path)}: FASTA and FASTQ, or BAM", source.path)
        if header is None or source.header is None:
            continue
        groups = {group["ID"]: group for group in header.get("RG", [])}
        for group in source.header.get("RG", []) if keep_read_groups else []:
            if groups.setdefault(group["ID"], group) != group:
                raise InputError(f"its read group '{group['ID']}' differs from the one before (give -R)", source.path)
        programs = {program["ID"]: program for program in (*source.header.get("PG", []), *header.get("PG", []))}
        header |= {"RG": list(groups.values()), "PG": list(programs.values())}
    return header


@STEPS.at("parse")
def to_batch(item: Chunk | BamChunk | SequenceBatch) -> SequenceBatch:
    """Parse a chunk; a batch stays as it is."""
    if isinstance(item, BamChunk):
        return item.parsed()
    return parse(item, comments=item.comments) if isinstance(item, Chunk) else item
