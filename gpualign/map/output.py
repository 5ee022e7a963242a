"""What `map` writes of mapped batches: SAM or BAM records or PAF lines, and the reads that align and that do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, check_count, shown_inputs
from gpualign.index.minimizers import MinimizerIndex
from gpualign.io.alignment import parse_read_group, with_comment_tags
from gpualign.io.alignment_output import AlignmentLayout, open_alignments
from gpualign.io.bgzf import CPU_CODEC, BgzfCodec, BgzfWriter
from gpualign.io.held_records import HeldRecords, Observer
from gpualign.io.output_file import Sink
from gpualign.io.record_sorter import RecordBatch
from gpualign.map.alt import with_alt_records
from gpualign.map.fastq_output import open_reads_output
from gpualign.map.inputs import MapFiles, RecordOptions
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments
from gpualign.params import RunOptions
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference
from gpualign.streaming.timeline import STEPS

#: the length has one byte there, and counts a closing zero
_LONGEST_BAM_NAME = 254
_SECONDARY = np.uint16(0x100)


class BgzfBlocks(NamedTuple):
    """Records that are compressed already: uint8, whole blocks."""

    blocks: NDArray[np.uint8]


class MappedText(NamedTuple):
    """Bytes of a batch for each output: records, and FASTQ of unmapped and of mapped reads."""

    records: bytes | NDArray[np.uint8] | RecordBatch | BgzfBlocks
    unmapped_reads: bytes | NDArray[np.uint8] = b""
    mapped_reads: bytes | NDArray[np.uint8] = b""


@dataclass(frozen=True)
class RecordsJob:
    """What is to be written of a batch.

    Attributes:
        batch: comments are tags, or left out.
        wanted: uint8 (n,), 1 for the reads whose records are written; None: all.
        options: of the records, as native functions take them.
        invalid_tags: fields of comments that should be tags and are none.
        unmapped_reads, mapped_reads: as :class:`MappedText` has them.
    """

    batch: SequenceBatch
    alignments: Alignments
    wanted: NDArray[np.uint8] | None
    options: Mapping[str, Any]
    invalid_tags: int = 0
    unmapped_reads: bytes | NDArray[np.uint8] = b""
    mapped_reads: bytes | NDArray[np.uint8] = b""

    @property
    def count(self) -> int:
        """Records that are written."""
        alignments = self.alignments
        if self.wanted is None and self.options["secondary_records"]:
            return len(alignments.flag)
        written = np.ones(len(alignments.flag), bool)
        if not self.options["secondary_records"]:
            written = alignments.flag & _SECONDARY == 0
        if self.wanted is not None:
            written &= np.repeat(self.wanted.astype(bool), np.diff(alignments.record_offsets))
        return int(np.count_nonzero(written))


class RecordFormatter:
    """Records of mapped batches. Pickles with the index and makes its native views anew.

    Args:
        pairs: None: the reads are not pairs.
        layout: of the output, with its format decided.
        tagged: comments of the reads are SAM tags already, as those of BAM files are.
        marking: what is taken of held records to find duplicates.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        params: MapParams,
        pairs: PairModel | None,
        files: MapFiles,
        options: RecordOptions,
        layout: AlignmentLayout,
        tagged: bool,
        marking: Callable[[NDArray[np.uint8]], Any] | None = None,
    ) -> None:
        self.index, self.params, self.pairs, self.files = index, params, pairs, files
        self.options, self.layout, self.tagged, self.marking = options, layout, tagged, marking
        self._reference = (index.reference.native, *index.reference.shown_name_bytes)
        self._read_group = "" if options.read_group is None else parse_read_group(options.read_group)[1]

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordFormatter, (
            *(self.index, self.params, self.pairs),
            *(self.files, self.options, self.layout, self.tagged, self.marking),
        )

    def finished(self, batch: SequenceBatch, alignments: Alignments) -> Alignments:
        """The records that are reported."""
        options = self.options
        with_alt = self.index.alt is not None
        if with_alt:
            alignments = with_alt_records(self.index, batch, alignments, self.params)
        low = options.min_score and bool(((alignments.score < options.min_score) & (alignments.contig >= 0)).any())
        # mates that were mapped one by one do not know of each other yet
        if not (low or with_alt or options.five_prime or (batch.mates is not None and self.pairs is None)):
            return alignments
        changed = _native.change_records(alignments.native, batch.mates, options.min_score, options.five_prime)
        return Alignments(*changed)

    def __call__(
        self, batch: SequenceBatch, alignments: Alignments, lane_group: str | None = None
    ) -> tuple[MappedText, int]:
        """The text, and the number of fields of comments that should be tags and are none.

        Args:
            lane_group: ID of the read group of these reads; None: that of all.
        """
        job = self.job(batch, alignments, lane_group)
        return self.text(job, self.records(job)), job.invalid_tags

    def job(self, batch: SequenceBatch, alignments: Alignments, lane_group: str | None = None) -> RecordsJob:
        """What is to be written of a batch; the arguments are those of a call.

        Raises:
            InputError: a name is longer than BAM holds.
        """
        files, options = self.files, self.options
        alignments = alignments.with_read_flags(batch.flags)
        with_tags, invalid = self._with_tags(batch)
        if self.layout.records == "bam":
            self._check_names(batch)
        group = self._read_group if lane_group is None else lane_group
        job = RecordsJob(with_tags, alignments, None, options.native(group, self.index.alt), invalid)
        if not (options.no_unmapped or files.write_reads):
            return job
        placed = mapped_templates(batch, alignments)
        unmapped = _native.format_fastx(batch.native, 1 - placed, True) if files.unmapped_reads else b""
        mapped = _native.format_fastx(batch.native, placed, True) if files.mapped_reads else b""
        wanted = placed if options.no_unmapped else None
        return replace(job, wanted=wanted, unmapped_reads=unmapped, mapped_reads=mapped)

    def text(self, job: RecordsJob, records: NDArray[np.uint8] | BgzfBlocks) -> MappedText:
        """A batch's bytes with its records, however they were written."""
        if self.layout.held:
            assert isinstance(records, np.ndarray)
            marks = None if self.marking is None else self.marking(records)
            return MappedText(RecordBatch.of(records, self.layout.sort, marks), job.unmapped_reads, job.mapped_reads)
        return MappedText(records, job.unmapped_reads, job.mapped_reads)

    def _with_tags(self, batch: SequenceBatch) -> tuple[SequenceBatch, int]:
        """The batch with tags for comments, and the number of their fields that are none."""
        if self.tagged:
            return batch, 0
        if self.options.copy_comments:
            return with_comment_tags(batch, not self.options.groups, self.options.header_groups)
        return replace(batch, comments=None, comment_offsets=None), 0

    @STEPS.at("format")
    def records(self, job: RecordsJob) -> NDArray[np.uint8]:
        """The records of the reads that are wanted."""
        batch, alignments, form = job.batch, job.alignments, self.layout.records
        if form == "paf":
            cs = self.options.tags.native["cs"]
            text = _native.format_paf(*self._reference, batch.native, alignments.native, self.options.eqx, cs)
            check_count("records", int(np.count_nonzero(alignments.contig >= 0)), _native.count_newlines(text))
            return text
        by_lines = form == "bam" and not self.binary_tags(job)
        reads, found, options = batch.native, alignments.native, dict(job.options)
        binary = form == "bam" and not by_lines
        records, count = _native.format_records(*self._reference, reads, found, job.wanted, options, binary)
        check_count("records", job.count, count)
        if by_lines:
            records, count = _native.bam_records(records, *self._reference[1:])
            check_count("records", job.count, count)
        return records

    def for_device(self, job: RecordsJob) -> bool:
        """Whether a device can write the records: all but those of PAF, with ALT contigs, and with comments in BAM."""
        if self.layout.records == "paf" or self.index.alt is not None:
            return False
        return self.layout.records == "sam" or self.binary_tags(job)

    def better_on_device(self, job: RecordsJob) -> bool:
        """The same but for long reads that it would not deflate: to copy them there takes a CPU thread as long."""
        return self.for_device(job) and (self.layout.deflates_batches or not self.params.long_reads)

    def binary_tags(self, job: RecordsJob) -> bool:
        """Whether all tags of a batch are known as values: comments are text, and so is pa."""
        return job.batch.comments is None and self.index.alt is None

    def _check_names(self, batch: SequenceBatch) -> None:
        too_long = np.flatnonzero(np.diff(batch.name_offsets) > _LONGEST_BAM_NAME)
        if len(too_long):
            name, files = batch.name(int(too_long[0])), shown_inputs(self.files.files)
            raise InputError(
                f"{files}: a read's name has {len(name):,} characters, BAM, CRAM and sorted output hold "
                f"{_LONGEST_BAM_NAME}: {name[:40]}… (shorten it, or write SAM)"
            )


def mapped_templates(batch: SequenceBatch, alignments: Alignments) -> NDArray[np.uint8]:
    """uint8 (n,): 1 for reads that align or whose mate does, so that pairs are never torn apart."""
    placed = (alignments.contig[alignments.primary] >= 0).astype(np.uint8)
    if batch.mates is not None:
        first = np.flatnonzero(batch.mates == 1)
        placed[first] |= placed[first + 1]
        placed[first + 1] = placed[first]
    return placed


class MapOutputs:
    """All files of a run; each whole or absent."""

    def __init__(
        self,
        files: MapFiles,
        options: RunOptions,
        layout: AlignmentLayout,
        reference: Reference,
        observer: Observer | None = None,
        codec: BgzfCodec = CPU_CODEC,
    ) -> None:
        with ExitStack() as stack:
            alignments = open_alignments(options.output, layout, reference, options.threads, observer, codec)
            self._alignments = stack.enter_context(alignments)
            self._sinks: list[Sink] = []
            for path in (files.unmapped_reads, files.mapped_reads):
                self._sinks.append(stack.enter_context(open_reads_output(path, options.threads)))
            self._stack = stack.pop_all()

    def write(self, text: MappedText) -> None:
        records, *reads = text
        if isinstance(records, RecordBatch):
            assert isinstance(self._alignments, HeldRecords)
            self._alignments.add(records)
        elif isinstance(records, BgzfBlocks):
            assert isinstance(self._alignments, BgzfWriter)
            self._alignments.write_blocks(records.blocks.data)
        elif len(records):
            self._alignments.write(memoryview(records))  # type: ignore[arg-type]
        for sink, part in zip(self._sinks, reads, strict=True):
            if len(part):
                sink.write(memoryview(part))  # type: ignore[arg-type]

    def __enter__(self) -> MapOutputs:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)
