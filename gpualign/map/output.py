"""What `map` writes of mapped batches: SAM or BAM records or PAF lines, and the reads that align and that do not."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, check_count, shown_inputs
from gpualign.index.minimizers import MinimizerIndex
from gpualign.io.alignment import parse_read_group, with_comment_tags
from gpualign.io.alignment_output import AlignmentLayout, open_alignments
from gpualign.io.files import Sink
from gpualign.map.fastq_output import open_reads_output
from gpualign.map.inputs import MapFiles, RecordOptions
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments
from gpualign.params import RunOptions
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.reference import Reference

#: the length has one byte there, and counts a closing zero
_LONGEST_BAM_NAME = 254


class MappedText(NamedTuple):
    """Bytes of a batch for each output: records, and FASTQ of unmapped and of mapped reads."""

    records: bytes | NDArray[np.uint8]
    unmapped_reads: bytes = b""
    mapped_reads: bytes = b""


class RecordFormatter:
    """Records of mapped batches. Pickles with the index and makes its native views anew.

    Args:
        pairs: None: the reads are no pairs.
        form: of the records, as :attr:`AlignmentLayout.records`.
        tagged: comments of the reads are SAM tags already, as those of BAM files are.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        params: MapParams,
        pairs: PairModel | None,
        files: MapFiles,
        options: RecordOptions,
        form: str,
        tagged: bool,
    ) -> None:
        self.index, self.params, self.pairs, self.files = index, params, pairs, files
        self.options, self.form, self.tagged = options, form, tagged
        names, offsets = join_bytes([name.encode() for name in index.reference.shown_names])
        self._reference = (index.reference.native, names, offsets)
        self._read_group = parse_read_group(options.read_group)[1] if options.read_group else ""

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordFormatter, (
            *(self.index, self.params, self.pairs),
            *(self.files, self.options, self.form, self.tagged),
        )

    def __call__(self, batch: SequenceBatch, alignments: Alignments) -> tuple[MappedText, int]:
        """The text, and the number of comments that should be tags and are none."""
        files, options = self.files, self.options
        alignments = alignments.with_read_flags(batch.flags)
        with_tags, invalid = self._with_tags(batch)
        if not (options.no_unmapped or files.write_reads):
            return MappedText(self._records(with_tags, alignments, None)), invalid
        placed = mapped_templates(batch, alignments)
        unmapped = _native.format_fastx(batch.native, 1 - placed, True) if files.unmapped_reads else b""
        mapped = _native.format_fastx(batch.native, placed, True) if files.mapped_reads else b""
        wanted = placed if options.no_unmapped else None
        return MappedText(self._records(with_tags, alignments, wanted), unmapped, mapped), invalid

    def _with_tags(self, batch: SequenceBatch) -> tuple[SequenceBatch, int]:
        """The batch with tags for comments, and the number of comments that are none."""
        if self.tagged:
            return batch, 0
        if self.options.copy_comments:
            return with_comment_tags(batch, self.options.read_group is not None)
        return replace(batch, comments=None, comment_offsets=None), 0

    def _records(
        self, batch: SequenceBatch, alignments: Alignments, wanted: NDArray[np.uint8] | None
    ) -> NDArray[np.uint8]:
        """Records of the reads that are wanted; None: of all."""
        options = self.options
        if self.form == "paf":
            text = _native.format_paf(*self._reference, batch.native, alignments.native, options.eqx)
            lines = _native.count_newlines(text)
            expected = int(np.count_nonzero(alignments.contig >= 0))
        else:
            text, lines = _native.format_sam(
                *self._reference,
                batch.native,
                alignments.native,
                wanted,
                options.eqx,
                options.soft_supplementary,
                options.secondary_sequence,
                self._read_group,
            )
            expected = len(alignments.flag)
            if wanted is not None:
                expected = int(np.dot(np.diff(alignments.record_offsets), wanted))
        check_count("records", expected, lines)
        if self.form != "bam":
            return np.asarray(text)
        self._check_names(batch)
        _, *contigs = self._reference
        records, count = _native.bam_records(text, *contigs)
        check_count("records", expected, count)
        return np.asarray(records)

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
    ) -> None:
        with ExitStack() as stack:
            self._sinks: list[Sink] = [
                stack.enter_context(open_alignments(options.output, layout, reference, options.threads))
            ]
            for path in (files.unmapped_reads, files.mapped_reads):
                self._sinks.append(stack.enter_context(open_reads_output(path, options.threads)))
            self._stack = stack.pop_all()

    def write(self, text: MappedText) -> None:
        for sink, part in zip(self._sinks, text, strict=True):
            if len(part):
                sink.write(memoryview(part))  # type: ignore[arg-type]

    def __enter__(self) -> MapOutputs:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)
