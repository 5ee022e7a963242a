"""Reads of any accepted format, told apart by content: text or columns, to be parsed by whoever wants columns."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, check_count, shown_input
from gpualign.io.alignment import AlignmentReads, dropped_tags
from gpualign.io.bam_reads import BamReads
from gpualign.io.bgzf import BgzfCodec
from gpualign.io.blocks import TextOfPieces
from gpualign.io.chunks import read_chunks
from gpualign.io.fastq_text import FastqText
from gpualign.io.fastx import Chunk, LongRecord, SequenceAlphabet
from gpualign.io.files import InputFile
from gpualign.io.mate_names import pair_neighbours
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
#: SAM's flag
_PAIRED = 0x1
#: what a decompressed stream begins with
_BAM_MAGIC = b"BAM\x01"
_CRAM_MAGIC = b"CRAM"
_SAM_TAGS = (b"@HD\t", b"@SQ\t", b"@RG\t", b"@PG\t", b"@CO\t")


def read_file(
    file: InputFile,
    chunk_bytes: int,
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
    elif not far and file.size > _HELD:
        source = Stored(file)
    else:
        source = InPieces(file) if file.in_pieces else Streamed(file, lend=lend)
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


class Records(Protocol):
    """Records of one file: a chunk of them, or columns."""

    def columns(self) -> SequenceBatch:
        """
        Raises:
            InputError: one is malformed.
        """


@dataclass(frozen=True)
class Reads:
    """Reads of one file, or the mates of as many pairs in two files: text, or columns.

    Attributes:
        sides: the records of each file.
        paths: of the files, for messages.
        check_names: the two mates of a pair must have one name (but for /1 and /2).
        all_dots: all names end in .1 or .2, which are mates' numbers.
        neighbours: of one file: neighbours of one name are pairs.
        single: of one file: none may be one of a pair.
        read_group: ID of their own read group, if they have one.
    """

    sides: tuple[Records, ...]
    paths: tuple[str, ...] = ()
    check_names: bool = True
    all_dots: bool = False
    neighbours: bool = False
    single: bool = False
    read_group: str | None = None

    @property
    def paired(self) -> bool:
        """Whether they come from two files."""
        return len(self.sides) == 2

    @property
    def texts(self) -> tuple[FastqText, ...]:
        """The sides where devices can parse them; none otherwise."""
        texts = tuple(side for side in self.sides if isinstance(side, FastqText))
        return texts if len(texts) == len(self.sides) else ()

    @property
    def text_bytes(self) -> int:
        """Bytes of their chunks."""
        return sum(getattr(side, "text_bytes", 0) for side in self.sides)

    def columns(self) -> SequenceBatch:
        """The reads, mates as neighbours.

        Raises:
            InputError: a record is malformed, names differ, or one is of a pair where there should be none.
        """
        batches = [side.columns() for side in self.sides]
        if self.paired:
            return self._joined(*batches)
        (batch,) = batches
        if self.neighbours:
            return pair_neighbours(batch, self.paths[0], self.all_dots)
        if self.single and batch.flags is not None and (batch.flags & _PAIRED).any():
            name = batch.name(int(np.argmax(batch.flags & _PAIRED)))
            raise InputError(f"'{name}' is one of a pair, and the first read is not (give -p)", self.paths[0])
        return batch

    def parsed(self) -> Reads:
        """The same as columns."""
        return Reads((self.columns(),), self.paths, read_group=self.read_group)

    def counted(self) -> Reads:
        """Chunks as text whose records are counted, where devices can parse that."""
        chunks = [] if self.neighbours else [side for side in self.sides if isinstance(side, Chunk)]
        with STEPS.at("parse"):
            found = (FastqText.of(replace(chunk, data=chunk.data.inflated(chunk.path))) for chunk in chunks)
            texts = tuple(text for text in found if text is not None)
        return replace(self, sides=texts) if len(texts) == len(self.sides) else self

    def _joined(self, first: SequenceBatch, second: SequenceBatch) -> SequenceBatch:
        try:
            arrays = _native.join_pairs(first.native, second.native, self.check_names, self.all_dots)
        except ValueError as error:
            raise InputError(str(error), " and ".join(map(shown_input, self.paths))) from None
        joined = SequenceBatch(*arrays)
        check_count("reads of pairs", 2 * len(first), len(joined))
        if first.flags is None or second.flags is None:
            return joined
        return replace(joined, flags=np.stack((first.flags, second.flags), axis=1).reshape(-1))


class ReadSource:
    """The reads of one file.

    Args:
        reference_path: FASTA for CRAM.
        keep_read_groups: as for :class:`AlignmentReads`.
        comments: keep what follows the names of FASTA and FASTQ records.
        threads: that inflate bgzf or decode CRAM.
        far: the text is parsed on other machines: bgzf goes there as it is. Here whoever parses plain text reads it.
        interleaved: where pairs are not cut apart.
        opened: as for :class:`InputFile`.

    Attributes:
        inflaters: threads that inflate one stream of gzip. One thread alone takes a third of the time that each of
            several takes for as much: they pay where its text is waited for.
        lend: memory for text that is neither stored nor in blocks.
        alphabet: of the sequences of FASTA and FASTQ.
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
        far: bool = False,
        interleaved: bool = False,
        opened: Any = None,
    ) -> None:
        self.path, self._comments = path, comments
        self._far, self._interleaved = far, interleaved
        self.inflaters = 1
        self.lend: Lend = nothing_lent
        self.alphabet: SequenceAlphabet = "nucleotide"
        self.header: dict[str, Any] | None = None
        self.paired = False
        self._alignments: AlignmentReads | BamReads | None = None
        self._opened = contextlib.ExitStack()
        self._file = InputFile(path, threads, opened)
        self._opened.callback(self._file.close)
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

            cram = self._opened.enter_context(contextlib.closing(CramInput(self._file, reference_path, threads)))
            return BamReads(cram, dropped_tags(keep_read_groups))
        return self._opened.enter_context(contextlib.closing(AlignmentReads(self._file, keep_read_groups)))

    def chunks(self, batch_bases: int) -> Iterator[Chunk]:
        """The chunks of a FASTA or FASTQ file."""
        how = self._far, self._interleaved, self.inflaters, self.lend
        for chunk in read_file(self._file, batch_bases * _BYTES_PER_BASE, *how):
            yield replace(chunk, comments=self._comments, alphabet=self.alphabet)

    def reads(self, batch_bases: int) -> Iterator[Records]:
        """The records of a file in input order, most of them still to be parsed."""
        yield from self.chunks(batch_bases) if self._alignments is None else self._alignments.items(batch_bases)

    def items(self, batch_bases: int) -> Iterator[Chunk | SequenceBatch | LongRecord]:
        """As :meth:`reads`, for who has uses of a chunk besides parsing it. FASTA records that do not fit a batch come
        as :class:`LongRecord`.
        """
        size = batch_bases * _BYTES_PER_BASE
        if self._alignments is not None:
            yield from (records.columns() for records in self._alignments.items(batch_bases))
            return
        source: Source
        if self._far and self._file.regular and self._file.bgzf and self._file.magic.startswith(b"@"):
            source = Packed(self._file)  # no long records in FASTQ
        else:
            stored = not self._far and self._file.size > _HELD
            source = Stored(self._file) if stored else Streamed(self._file)
        yield from read_chunks(source, size, long_records=True)

    def read_ahead(self, size: int) -> None:
        """As :meth:`InputFile.read_ahead`."""
        self._file.read_ahead(size)

    def inflate_by(self, codec: BgzfCodec) -> None:
        """As :meth:`InputFile.inflate_by`."""
        self._file.inflate_by(codec)

    def close(self) -> None:
        self._opened.close()

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
