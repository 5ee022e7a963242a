"""The outputs of a sample: alignments and what goes with them, the fields of the report, and warnings."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from gpualign import _native
from gpualign.errors import counted, shown_inputs
from gpualign.map.alignments import Written
from gpualign.map.formatter import RecordFormatter
from gpualign.map.inputs import Sample
from gpualign.map.introns import Introns, kept_in_table, reported, signals_of, star_table
from gpualign.map.library import Library
from gpualign.map.meth import warn_of_library
from gpualign.map.params import left_unmapped
from gpualign.map.statistics import MapStatistics
from gpualign.reads.lanes import Lanes
from gpualign.records.alignment_output import HeldRecords, open_alignments
from gpualign.records.cram import sequence_tags
from gpualign.records.methylation import open_methylation
from gpualign.records.observer import duplicates_summary, observing, warn_of_barcodes
from gpualign.records.sam_header import parse_read_group, sam_header, with_lines
from gpualign.report import Progress
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.sequences.reference import Reference
from gpualign.text.bgzf import CPU_CODEC, BgzfCodec
from gpualign.text.output_file import Sink, open_output


class MapOutputs:
    """The outputs of a sample; each file is whole or absent. Held records are written when this is closed.

    Args:
        codec: compresses held records.

    Attributes:
        statistics: counts of all batches written so far.

    Raises:
        GpualignError: an output cannot be written.
    """

    def __init__(self, sample: Sample, lanes: Lanes, index: MinimizerIndex, codec: BgzfCodec = CPU_CODEC) -> None:
        self._sample, self._lanes, self._index = sample, lanes, index
        files, layout, output, threads = sample.files, sample.layout, sample.options.output, sample.options.threads
        records, reference, methylation = sample.records, index.reference, None
        header = _header_text(reference, sample, lanes.header)
        self.statistics = MapStatistics()
        if files.methylation is not None:
            methylation = open_methylation(files.methylation, reference, records.methylation_rules, threads)
        with ExitStack() as stack:
            observer = observing(
                sample.marking,
                files.coverage,
                files.duplicate_metrics,
                records.command_line,
                header,
                reference,
                threads,
                methylation=methylation,
            )
            self._observer = stack.enter_context(observer)
            alignments = open_alignments(output, layout, reference, threads, self._observer, codec)
            self._alignments: Any = stack.enter_context(alignments)  # a Sink, or HeldRecords
            self._sinks: list[Sink] = [
                io.BytesIO() if path is None else stack.enter_context(open_output(path, threads))
                for path in (files.unmapped_reads, files.mapped_reads)
            ]
            self._alignments.write(layout.header(header, reference))
            self._stack = stack.pop_all()

    def formatter(self, library: Library | None) -> RecordFormatter:
        """What makes the records of a mapped batch."""
        pairs, tagged = None if library is None else library.model, self._lanes.header is not None
        return RecordFormatter(self._index, self._sample, pairs, tagged, self._observer.take)

    def show_writing(self, progress: Callable[[str, int], Progress]) -> None:
        """Show how far records that were held are written; see :class:`HeldRecords`."""
        if isinstance(self._alignments, HeldRecords):
            self._alignments.progress = progress

    def write(self, written: Written, counts: MapStatistics) -> None:
        """Write the next batch."""
        if written.held is not None:
            self._alignments.add(written.held)
        elif written.deflated:
            self._alignments.write_blocks(written.records.data)
        elif len(written.records):
            self._alignments.write(written.records.data)
        for sink, reads in zip(self._sinks, (written.unmapped_reads, written.mapped_reads), strict=True):
            if len(reads):
                sink.write(memoryview(reads))  # type: ignore[arg-type]
        self.statistics = self.statistics + counts

    def summary(self, library: Library | None) -> str:
        """The run's summary, once this is closed."""
        of_library = None if library is None else library.summary
        return self.statistics.summary(of_library) + duplicates_summary(self._observer.report)

    def report_fields(self, library: Library | None) -> dict[str, Any]:
        """The fields of the JSON report on the sample, once this is closed; writes the table of introns."""
        statistics, index = self.statistics, self._index
        fields = statistics.report(self._sample.params.long_reads) | {
            "sample": self._sample.name,
            "k": index.params.k,
            "w": index.params.w,
        }
        fields |= statistics.conversions(index.reference.shown_names)
        if self._sample.params.splicing is not None:
            fields |= self._introns(index.reference)
        fields |= {"gpu_items": statistics.on_gpu, "cpu_items": statistics.reads - statistics.on_gpu}
        return (fields if library is None else fields | library.reported) | self._observer.report

    def _introns(self, reference: Reference) -> dict[str, Any]:
        """Writes STAR's tables of introns and genes, if they are asked for; returns the report's fields."""
        files, params = self._sample.files, self._sample.params
        introns, path = Introns.merged(self.statistics.introns), files.junctions_out
        signals = signals_of(introns, reference)
        if files.counts is not None and params.gene_exons is not None:
            with open_output(files.counts) as out:
                out.write(params.gene_exons.table(self.statistics.gene_counts))
        if path is not None:
            known, kept = params.annotated_introns, np.ones(len(introns), bool)
            if not params.long_reads:
                kept = kept_in_table(introns, signals, known)
            with open_output(path) as out:
                out.write(star_table(introns.some(kept), signals[kept], known, reference))
        return reported(introns, signals)

    def warn_of_reads(self, warn: Callable[[str], None]) -> None:
        """Print warnings about the reads."""
        statistics, files, params = self.statistics, self._sample.files, self._sample.params
        if statistics.reads == 0:
            warn(f"no reads in {shown_inputs(files.reads)}: the output holds the header alone")
        if statistics.long_reads:
            others = (
                "-x hifi and -x ont have those of long ones" if params.meth is None else "--meth is for short reads"
            )
            warn(
                f"{counted(statistics.long_reads, 'read')} of more than {_native.LONGEST_END_TO_END:,} bases mapped by "
                f"chaining with the scores of short reads ({others})"
            )
        if params.seeding.full and statistics.long_reads:
            warn(
                f"{counted(statistics.long_reads, 'read')} of more than {_native.LONGEST_END_TO_END:,} bases: "
                "not all of their alignments were searched for"
            )
        if statistics.too_long:
            warn(left_unmapped(statistics.too_long))
        if statistics.invalid_tags:
            fields = counted(statistics.invalid_tags, "field")
            warn(f"not copied: {fields} of comments, not a SAM tag (XX:T:value) or an RG that the header lacks")
        warn_of_barcodes(self._observer.report, warn)
        warn_of_library(params, statistics, warn)
        if statistics.invalid_names:
            warn(
                f"{counted(statistics.invalid_names, 'read name')} with characters that SAM does not allow, written as "
                "_: different names may have become one"
            )

    def __enter__(self) -> MapOutputs:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


def _header_text(reference: Reference, sample: Sample, source: dict[str, Any] | None) -> bytes:
    """The header as SAM text. ``source``: header of the reads' file."""
    layout, records = sample.layout, sample.records
    if layout.format == "paf":
        return b""
    groups = dict.fromkeys(parse_read_group(line)[0] for line in records.groups)
    tags = sequence_tags(reference, sample.files.reference) if layout.format == "cram" else None
    group, path = "\n".join(groups) or None, sample.files.reference
    text = sam_header(reference, records.command_line, group, source, layout.sort, tags, path)
    return with_lines(text, records.header_lines)
