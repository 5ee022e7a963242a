"""The output of a mapped batch: SAM or BAM records or PAF lines, and FASTQ of mapped and unmapped reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, check_count, shown_inputs
from gpualign.map.alignments import Alignments, Found, Written
from gpualign.map.cpu import map_batch
from gpualign.map.inputs import Sample
from gpualign.map.pairs import PairModel
from gpualign.records.record_sorter import RecordBatch
from gpualign.records.sam_header import dropped_tags, parse_read_group
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS

#: BAM stores the length in one byte, with a closing zero
_LONGEST_BAM_NAME = 254


@dataclass(frozen=True)
class RecordFormatter:
    """Formats records of mapped batches; pickles with the index.

    A batch goes through :meth:`postprocessed`, :meth:`to_write`, :meth:`formatted` or a device, and :meth:`complete`.

    Attributes:
        pairs: the pair model; None: reads are mapped one by one.
        tagged: comments of the reads are SAM tags, as in BAM input.
        marking: held records -> what marking of duplicates needs of them.
    """

    index: MinimizerIndex
    sample: Sample
    pairs: PairModel | None
    tagged: bool
    marking: Callable[[NDArray[np.uint8]], Any] | None = None

    @property
    def _reference(self) -> tuple[_native.ReferenceArrays, NDArray[np.uint8], NDArray[np.int64]]:
        reference = self.index.reference
        return reference.native, *reference.shown_name_bytes

    def postprocessed(self, found: Found) -> Found:
        """Apply ALT contigs, the minimum score and the choice of primary records."""
        options, alignments = self.sample.records, found.alignments
        if self.index.alt is not None:
            alignments = self._with_alt_records(found, self.index.alt.index)
        low = options.min_score and bool(((alignments.score < options.min_score) & (alignments.contig >= 0)).any())
        # also sets the flags of mates that were mapped one by one
        if low or self.index.alt is not None or options.five_prime or (found.mates is not None and self.pairs is None):
            changed = _native.change_records(alignments.native, found.mates, options.min_score, options.five_prime)
            alignments = Alignments(*changed)
        return replace(found, alignments=alignments)

    def _with_alt_records(self, found: Found, alt: MinimizerIndex) -> Alignments:
        """Join the records on the primary assembly, which decides a read's locus, pairing and mapping quality, with
        those of the read on ALT contigs (gpualign/native/map/alt_records.cpp), as bwa mem does.
        """
        alone = map_batch(alt, found.columns(), self.sample.params)
        edit = self.sample.params.scoring.match + self.sample.params.scoring.mismatch
        secondary = self.sample.params.reporting.secondary
        return Alignments(*_native.join_alt_records(found.alignments.native, alone.native, edit, secondary))

    def to_write(self, found: Found, lane_group: str | None = None) -> Found:
        """Add the options of the records, the reads' tags, and the FASTQ output.

        Args:
            lane_group: ID of the read group of these reads; None: that of the run.

        Raises:
            InputError: a name is too long for BAM.
        """
        files, options, batch = self.sample.files, self.sample.records, found.batch
        group = lane_group or ("" if options.read_group is None else parse_read_group(options.read_group)[1])
        native = options.native(group, self.index.alt)
        native["bisulfite"] |= self.sample.params.meth is not None
        written = replace(found, options=native)
        if batch is not None:  # text with comments or with names too long for BAM is not parsed on a device
            tagged, invalid = self._with_tags(batch)
            alignments = found.alignments.with_read_flags(batch.flags)
            written = replace(written, reads=tagged, invalid_tags=invalid, alignments=alignments)
            if self.sample.layout.record_form == "bam":
                self._check_names(batch)
        if not (options.no_unmapped or files.write_reads):
            return written
        is_mapped = found.mapped_templates
        unmapped = _native.format_fastx(found.columns().native, 1 - is_mapped, True) if files.unmapped_reads else b""
        mapped = _native.format_fastx(found.columns().native, is_mapped, True) if files.mapped_reads else b""
        wanted = is_mapped if options.no_unmapped else None
        return replace(written, wanted=wanted, unmapped_reads=unmapped, mapped_reads=mapped)

    def for_device(self, found: Found) -> bool:
        """Whether a device can format the records: not PAF, ALT contigs, or comments in BAM."""
        if self.sample.layout.record_form == "paf" or self.index.alt is not None:
            return False
        return self.sample.layout.record_form == "sam" or self._binary_tags(found)

    def better_on_device(self, found: Found) -> bool:
        """Whether a device should format the records. Not long reads, unless it deflates them: a CPU thread takes as
        long to copy them to the device as to format them.
        """
        return self.for_device(found) and (self.sample.layout.deflates_batches or not self.sample.params.long_reads)

    @STEPS.at("format")
    def formatted(self, found: Found) -> Written:
        """The records of the wanted reads, formatted on the CPU."""
        reads, alignments, form = found.columns().native, found.alignments, self.sample.layout.record_form
        if form == "paf":
            cs = self.sample.records.tags.native["cs"]
            records = _native.format_paf(*self._reference, reads, alignments.native, self.sample.records.eqx, cs)
            count = _native.count_newlines(records)
            check_count("records", int(np.count_nonzero(alignments.contig >= 0)), count)
            return Written(records, count)
        by_lines = form == "bam" and not self._binary_tags(found)
        arrays, binary = alignments.native, form == "bam" and not by_lines
        records, count = _native.format_records(
            *self._reference, reads, arrays, found.wanted, *found.native_options, binary
        )
        check_count("records", found.wanted_records, count)
        if by_lines:
            records, count = _native.bam_records(records, *self._reference[1:])
            check_count("records", found.wanted_records, count)
        return Written(records, count)

    def complete(self, found: Found, records: Written) -> Written:
        """Add FASTQ output to a batch's formatted records, which are sorted if they are to be held."""
        written = replace(records, unmapped_reads=found.unmapped_reads, mapped_reads=found.mapped_reads)
        if not self.sample.layout.held:
            return written
        marks = None if self.marking is None else self.marking(records.records)
        held = RecordBatch.of(records.records, self.sample.layout.order, marks)
        return replace(written, records=records.records[:0], held=held)

    def _binary_tags(self, found: Found) -> bool:
        """Whether all tags of a batch are binary values; comments and pa are text."""
        return (found.batch is None or found.batch.comments is None) and self.index.alt is None

    def _with_tags(self, batch: SequenceBatch) -> tuple[SequenceBatch, int]:
        """The batch with its comments reduced to SAM tags, tab-separated, and the number of fields that are not valid
        tags or name an unknown read group.
        """
        options = self.sample.records
        if self.tagged or batch.comments is None or batch.comment_offsets is None:
            return batch, 0
        if not options.copy_comments:
            return replace(batch, comments=None, comment_offsets=None), 0
        dropped = dropped_tags(keep_read_groups=not options.groups)
        tags, offsets, invalid = _native.comment_tags(
            batch.comments, batch.comment_offsets, dropped, options.header_groups
        )
        return replace(batch, comments=tags, comment_offsets=offsets), invalid

    def _check_names(self, batch: SequenceBatch) -> None:
        too_long = np.flatnonzero(np.diff(batch.name_offsets) > _LONGEST_BAM_NAME)
        if len(too_long):
            name, files = batch.name(int(too_long[0])), shown_inputs(self.sample.files.files)
            raise InputError(
                f"{files}: a read's name has {len(name):,} characters, BAM, CRAM and sorted output hold "
                f"{_LONGEST_BAM_NAME}: {name[:40]}… (shorten it, or write SAM)"
            )
