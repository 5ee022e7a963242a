"""One sample of `map`: from its reads to its output, with a given index and open devices."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from gpualign import _native
from gpualign.errors import UsageError, counted, shown_inputs
from gpualign.index.file import is_index
from gpualign.index.minimizers import MinimizerIndex
from gpualign.io.alignment import parse_read_group, sam_header, with_lines
from gpualign.io.alignment_output import AlignmentLayout, open_alignments
from gpualign.io.bgzf import CPU_CODEC, BgzfCodec
from gpualign.io.cram import sequence_tags
from gpualign.io.files import open_together
from gpualign.io.mates import interleaved_items, paired_parts, single_items
from gpualign.io.output_file import Sink, open_output
from gpualign.io.reads import Reads, ReadSource, joined_header
from gpualign.map import tuning
from gpualign.map.found import Written
from gpualign.map.inputs import MapFiles, RecordOptions
from gpualign.map.output import RecordFormatter
from gpualign.map.pairs import Library
from gpualign.map.params import MapParams
from gpualign.map.stage import Mapping
from gpualign.map.statistics import MapStatistics
from gpualign.params import RunOptions, available_cores
from gpualign.records.methylation import open_methylation
from gpualign.records.observer import observing, warn_of_barcodes
from gpualign.sequences.reference import Reference
from gpualign.streaming.pinned import Allocate, no_pinned


@dataclass(frozen=True)
class Sample:
    """Reads and output of a sample.

    Attributes:
        layout: with its format decided (:meth:`AlignmentLayout.of`).
        options: its output, threads and batch size are used.
    """

    files: MapFiles
    records: RecordOptions
    layout: AlignmentLayout
    options: RunOptions

    def __post_init__(self) -> None:
        if self.layout.hold != (self.records.duplicates is not None):
            raise ValueError("records are held where duplicates are marked")
        if self.files.coverage is not None and not self.layout.sort:
            raise UsageError("coverage needs records in the order of coordinates (add --sort)")
        if self.files.methylation is not None and not self.layout.sort:
            raise UsageError("methylation needs records in the order of coordinates (add --sort)")
        if (self.options.output or "-", self.options.json, *self.files.written).count("-") > 1:
            raise UsageError("two outputs go to standard output (give each a file of its own)")

    @property
    def name(self) -> str:
        """The read group's sample, or the name of the reads' file without folder and extensions."""
        for line in self.records.groups:
            for entry in parse_read_group(line)[0].split("\t"):
                if entry.startswith("SM:"):
                    return entry[3:]
        first = self.files.read_files[0]
        return "stdin" if first == "-" else os.path.basename(first).split(".")[0]


class Lanes:
    """The reads of a sample, one file or two per lane, open as long as ``stack``.

    Args:
        remote: parsers are on other machines.
    """

    def __init__(self, sample: Sample, stack: ExitStack, remote: bool = False) -> None:
        files, records = sample.files, sample.records
        self._stack = stack
        self.remote = remote

        def open_reads(path: str, opened: Any = None) -> ReadSource:
            source = ReadSource(
                path,
                _fasta(files.reference),
                not records.groups,
                records.copy_comments or files.write_reads,
                sample.options.threads,
                remote=remote,
                interleaved=files.interleaved,
                opened=opened,
            )
            return stack.enter_context(closing(source))

        self.first: list[ReadSource] = []
        self.second: list[ReadSource] = []
        for paths in zip_longest(files.read_files, files.mate_files):
            opened = open_together([path for path in paths if path is not None], stack)
            for sources, path, raw in zip((self.first, self.second), paths, opened, strict=False):
                sources.append(open_reads(path, raw))
        self.check_names, self._threads = files.check_names, min(sample.options.threads, tuning.PARSERS)
        threads = min(sample.options.threads, available_cores())  # with more threads than cores one per file is faster
        inflaters = min(threads // (2 if self.second else 1), tuning.MAX_INFLATERS)
        self._inflaters = inflaters if inflaters >= tuning.MIN_INFLATERS else 1
        self._groups = [parse_read_group(line)[1] for line in records.lane_groups]
        self.header = joined_header(self.first, not records.groups)
        self.tagged = self.header is not None
        if (
            records.duplicates is not None
            and records.duplicates.barcode_tags
            and not (self.tagged or records.copy_comments)
        ):
            raise UsageError(
                "reads of FASTA and FASTQ files have no tags for --barcode-tag (-C copies them from comments)"
            )
        self.paired = bool(self.second) or files.interleaved or any(source.paired for source in self.first)

    def inflate_by(self, codec: BgzfCodec) -> None:
        """See :meth:`InputFile.inflate_by`."""
        for source in (*self.first, *self.second):
            source.file.inflate_by(codec)

    def items(self, batch_bases: int, unparsed: bool = False, allocate: Allocate = no_pinned) -> Iterator[Reads]:
        """All reads in order. The generator is closed with ``stack``, which ends the prefetching threads; left to the
        garbage collector, they would end in any thread.

        Args:
            unparsed: leave FASTQ text that devices can parse unparsed.
            allocate: allocates memory for that text.
        """
        if unparsed:
            for source in (*self.first, *self.second):
                source.inflaters, source.allocate = self._inflaters, allocate
        return self._stack.enter_context(closing(self._items(batch_bases, unparsed and not self.tagged)))

    def _items(self, batch_bases: int, unparsed: bool) -> Generator[Reads, None, None]:
        for lane in range(len(self.first)):
            reads = self._of_lane(lane, batch_bases, unparsed)
            yield from (replace(item, read_group=self._groups[lane]) for item in reads) if self._groups else reads

    def _of_lane(self, lane: int, batch_bases: int, unparsed: bool) -> Iterator[Reads]:
        first = self.first[lane]
        if self.second:
            second, as_text = self.second[lane], unparsed or self.remote
            return paired_parts(first, second, batch_bases, self.check_names, self._threads, as_text)
        if self.paired:
            return interleaved_items(first, batch_bases, self._threads, self.check_names)
        return single_items(first, batch_bases, self._threads, unparsed)


class MapOutputs:
    """The outputs of a sample; each file is whole or absent. Held records are written when this is closed.

    Args:
        codec: compresses held records.

    Attributes:
        statistics: counts of all batches written so far.
        report: the JSON report's fields on the output, complete once this is closed.

    Raises:
        GpualignError: an output cannot be written.
    """

    def __init__(self, sample: Sample, lanes: Lanes, index: MinimizerIndex, codec: BgzfCodec = CPU_CODEC) -> None:
        self._sample, self._lanes, self._index = sample, lanes, index
        files, layout, options, reference = sample.files, sample.layout, sample.options, index.reference
        header = _header_text(reference, sample, lanes.header)
        self.statistics = MapStatistics()
        with ExitStack() as stack:
            kept = sample.records.duplicates, files.coverage, files.duplicate_metrics, sample.records.command_line
            methylation = None
            if files.methylation is not None:
                methylation = open_methylation(
                    files.methylation, reference, sample.records.methylation_rules, options.threads
                )
            of_output = header, reference, options.threads
            self._observer = stack.enter_context(observing(*kept, *of_output, methylation=methylation))
            self.report = self._observer.report
            alignments = open_alignments(options.output, layout, reference, options.threads, self._observer, codec)
            self._alignments: Any = stack.enter_context(alignments)
            self._sinks: list[Sink] = [
                io.BytesIO() if path is None else stack.enter_context(open_output(path, options.threads))
                for path in (files.unmapped_reads, files.mapped_reads)
            ]
            self._alignments.write(layout.header(header, reference))
            self._stack = stack.pop_all()

    def mapping(self, params: MapParams, library: Library | None, unparsed: bool = False) -> Mapping:
        """What maps the sample's chunks and formats their records. ``unparsed``: see :class:`Mapping`."""
        sample, lanes = self._sample, self._lanes
        pairs = None if library is None else library.model
        of_sample = (sample.files, sample.records, sample.layout, lanes.tagged, self._observer.take)
        return Mapping(RecordFormatter(self._index, params, pairs, *of_sample), lanes.remote, unparsed)

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

    def __enter__(self) -> MapOutputs:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


def sample_report(sample: Sample, out: MapOutputs, library: Library | None, index: MinimizerIndex) -> dict[str, Any]:
    """The fields of the JSON report on a sample."""
    statistics = out.statistics
    fields = statistics.report() | {"sample": sample.name, "k": index.params.k, "w": index.params.w}
    fields |= statistics.conversions(index.reference.shown_names)
    fields |= {"gpu_items": statistics.on_gpu, "cpu_items": statistics.reads - statistics.on_gpu}
    return (fields if library is None else fields | library.reported) | out.report


def warn_of(out: MapOutputs, files: MapFiles, full: bool, warn: Callable[[str], None]) -> None:
    """Print warnings about the reads."""
    statistics = out.statistics
    if statistics.reads == 0:
        warn(f"no reads in {shown_inputs(files.read_files)}: the output holds the header alone")
    if statistics.long_reads:
        warn(
            f"{counted(statistics.long_reads, 'read')} of more than {_native.LONGEST_END_TO_END:,} bases mapped by "
            "chaining with the scores of short reads (-x hifi and -x ont have those of long ones)"
        )
    if full and statistics.long_reads:
        warn(
            f"{counted(statistics.long_reads, 'read')} of more than {_native.LONGEST_END_TO_END:,} bases: "
            "not all of their alignments were searched for"
        )
    if statistics.invalid_tags:
        fields = counted(statistics.invalid_tags, "field")
        warn(f"not copied: {fields} of comments, not a SAM tag (XX:T:value) or an RG that the header lacks")
    warn_of_barcodes(out.report, warn)
    if statistics.invalid_names:
        warn(
            f"{counted(statistics.invalid_names, 'read name')} with characters that SAM does not allow, written as _: "
            "different names may have become one"
        )


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


@lru_cache(1)  # one reference for all samples
def _fasta(reference: str) -> str | None:
    """The reference if it is a file that htslib can use to decode CRAM."""
    return None if not os.path.isfile(reference) or is_index(reference) else reference
