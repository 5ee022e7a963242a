"""`map`: reads to SAM, BAM, CRAM and PAF."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

from gpualign import _native
from gpualign.engine.malloc_tuning import reuse_memory
from gpualign.engine.opening import Opening
from gpualign.engine.select import for_kernels
from gpualign.errors import UsageError, counted, shown_inputs
from gpualign.index.file import is_index, save_index
from gpualign.index.minimizers import MinimizerIndex
from gpualign.index.run import open_index
from gpualign.io.alignment import bam_header, parse_read_group, sam_header
from gpualign.io.alignment_output import AlignmentLayout, sequence_tags
from gpualign.io.fastx import Chunk
from gpualign.io.files import open_output
from gpualign.io.mates import PairedParts, interleaved_batches, paired_parts, single_items
from gpualign.io.paths import check_paths
from gpualign.io.reads import ReadSource, joined_header
from gpualign.map.cpu import map_batch
from gpualign.map.device.kernel import runs_on_gpu
from gpualign.map.full import check_seeds, choose_seeds, first_lengths, shortest_piece
from gpualign.map.inputs import MapFiles, RecordOptions
from gpualign.map.output import MapOutputs, MappedText, RecordFormatter
from gpualign.map.pairs import PairModel, estimate_pairs
from gpualign.map.params import NO_LONG_PAIRS, MapParams
from gpualign.map.report_page import report_page
from gpualign.map.stage import Mapping
from gpualign.map.statistics import MapStatistics
from gpualign.map.tuning import work_of
from gpualign.params import RunOptions
from gpualign.report import Progress, Report, warn
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference

#: how much larger batches for GPUs are: there are fewer slow reads at their ends, at which a device waits, for each
_DEVICE_BATCH = 2
Reads = Chunk | PairedParts | SequenceBatch
#: threads that parse each file of pairs, which must be side by side before they are mapped
_PARSERS = 4


def run_map(
    files: MapFiles,
    params: MapParams,
    options: RunOptions,
    layout: AlignmentLayout | None = None,
    records: RecordOptions | None = None,
) -> None:
    """Map reads or read pairs and write SAM, BAM, CRAM or PAF.

    Raises:
        UsageError, InputError, DeviceError, GpualignError: as the classes say.
    """
    if params.long_reads and (files.mates is not None or files.interleaved):
        raise UsageError(NO_LONG_PAIRS)
    options = _with_device(params, options)
    layout, records = (layout or AlignmentLayout()).of(options.output), records or RecordOptions()
    report = Report("map", options)
    check_paths((files.reference, *files.files), (options.output, options.json, *files.written))
    with ExitStack() as stack:
        opening = stack.enter_context(Opening(options, "map", work_of(files.read_files, files.mate_files)))
        source = _Source(files, records, stack, options, opening)
        index, reads = _index(files, params, source, options)
        if files.save_index is not None:
            save_index(index, files.save_index)
        report.stage("index")
        backend = opening.backend()
        if backend.on_gpu:  # batch after batch wants buffers of the same sizes
            reuse_memory(one_heap=True)
        report.stage("device")
        batch_bases = options.batch_size * (_DEVICE_BATCH if backend.on_gpu else 1)
        reads = source.items(batch_bases, options.threads) if reads is None else reads
        pairs, items = _pairs(index, reads, source.paired, params, options)
        report.stage("insert sizes")
        header = _header(index.reference, files.reference, records, layout, source.header)
        mapping = Mapping(RecordFormatter(index, params, pairs, files, records, layout.records, source.tagged))
        statistics = MapStatistics()
        with (
            MapOutputs(files, options, layout, index.reference) as out,
            Progress(options, "read") as progress,
            closing(backend.run(items, mapping.stage)) as mapped,  # before the devices, on which its threads wait
        ):
            out.write(MappedText(header))
            for text, of_batch in mapped:
                out.write(text)
                statistics = statistics + of_batch
                progress.update(of_batch.reads)
        report.stage("mapping")
    if not options.quiet:
        _warn(files, params.seeding.full, statistics)
    report |= backend.report() | statistics.report()
    report |= {"sample": _sample(files, records), "k": index.params.k, "w": index.params.w}
    report |= {"gpu_items": statistics.on_gpu, "cpu_items": statistics.reads - statistics.on_gpu}
    report |= {"peak_vram_mb": max((device["peak_vram_mb"] for device in report.fields.get("devices", ())), default=0)}
    if pairs is not None:
        report |= {"insert_size": pairs.reported}
    report.finish(statistics.summary(pairs))
    if files.report_page is not None:
        with open_output(files.report_page) as page:
            page.write(report_page(report.fields).encode())


def _with_device(params: MapParams, options: RunOptions) -> RunOptions:
    """The options with the CPU for the device where the GPU has no kernel for these parameters."""
    what = "long reads, --all and more than 16 secondary places are mapped"
    return for_kernels(options, "map", runs_on_gpu(params), what)


def _header(
    reference: Reference, path: str, records: RecordOptions, layout: AlignmentLayout, source: dict[str, Any] | None
) -> bytes:
    if layout.format == "paf":
        return b""
    group = parse_read_group(records.read_group)[0] if records.read_group else None
    tags = sequence_tags(reference, path) if layout.format == "cram" else None
    text = sam_header(reference, records.command_line, group, source, layout.sort, tags)
    return bam_header(text, reference) if layout.records == "bam" else text


class _Source:
    """The reads of a run, lane by lane one file or two, open as long as ``stack``."""

    def __init__(
        self, files: MapFiles, records: RecordOptions, stack: ExitStack, options: RunOptions, opening: Opening
    ) -> None:
        def open_reads(path: str) -> ReadSource:
            comments = records.copy_comments or files.write_reads
            by_parser = opening.workers_see(path)
            source = ReadSource(
                path,
                _fasta(files.reference),
                records.read_group is None,
                comments,
                options.threads,
                by_parser=by_parser,
            )
            return stack.enter_context(closing(source))

        self.first = [open_reads(path) for path in files.read_files]
        self.second = [open_reads(path) for path in files.mate_files]
        self.check_names = files.check_names
        self.header = joined_header(self.first, records.read_group is None)
        self.tagged = self.header is not None
        self.paired = bool(self.second) or files.interleaved or any(source.paired for source in self.first)

    def items(self, batch_bases: int, threads: int) -> Iterator[Reads]:
        threads = min(threads, _PARSERS)
        if self.second:
            for first, second in zip(self.first, self.second, strict=True):
                yield from paired_parts(first, second, batch_bases, self.check_names, threads)
        elif self.paired:
            for source in self.first:
                yield from interleaved_batches(source, batch_bases, threads)
        else:
            for source in self.first:
                yield from single_items(source, batch_bases)


def _index(
    files: MapFiles, params: MapParams, source: _Source, options: RunOptions
) -> tuple[MinimizerIndex, Iterator[Reads] | None]:
    """The index, and all reads where the first ones had to be looked at for it."""
    given = (params.seeding.k, params.seeding.w)
    if not params.seeding.full:
        return open_index(files.reference, *given, options.threads, options=options), None
    lengths, reads = first_lengths(source.items(options.batch_size, options.threads))
    piece = shortest_piece(params, lengths)
    seeds = given if is_index(files.reference) else choose_seeds(params, piece)
    index = open_index(files.reference, *seeds, options.threads, options=options)
    check_seeds(params, index.params, piece)
    return index, reads


def _pairs(
    index: MinimizerIndex, batches: Iterator[Any], paired: bool, params: MapParams, options: RunOptions
) -> tuple[PairModel | None, Iterator[Reads]]:
    """How pairs should lie (None: there are no pairs) and the items to map."""
    if not paired:
        return None, batches
    if params.long_reads:
        raise UsageError(NO_LONG_PAIRS)
    pairing = params.pairing
    if (model := pairing.given) is not None:
        return model, batches
    model, batches = estimate_pairs(
        batches, lambda batch: map_batch(index, batch, params), pairing.default, options.threads
    )
    if model is None:
        model = pairing.default
        if not options.quiet:
            warn(
                "map", f"too few pairs to estimate insert sizes: taking {model.min} to {model.max} (give --insert-size)"
            )
    return model, batches


def _sample(files: MapFiles, records: RecordOptions) -> str:
    """The read group's sample, or the reads' file without folder and extensions."""
    if records.read_group:
        for entry in parse_read_group(records.read_group)[0].split("\t"):
            if entry.startswith("SM:"):
                return entry[3:]
    first = files.read_files[0]
    return "stdin" if first == "-" else os.path.basename(first).split(".")[0]


def _warn(files: MapFiles, full: bool, statistics: MapStatistics) -> None:
    if statistics.reads == 0:
        warn("map", f"no reads in {shown_inputs(files.read_files)}: the output holds the header alone")
    if statistics.long_reads:
        warn(
            "map",
            f"{counted(statistics.long_reads, 'read')} of more than {_native.LONGEST_WHOLE:,} bases mapped by chaining "
            "with the scores of short reads (-x hifi and -x ont have those of long ones)",
        )
    if full and statistics.long_reads:
        warn(
            "map",
            f"not every place was looked for of {counted(statistics.long_reads, 'read')} of more than "
            f"{_native.LONGEST_WHOLE:,} bases",
        )
    if statistics.invalid_comments:
        warn(
            "map", f"not copied: {counted(statistics.invalid_comments, 'comment')} that should be SAM tags (XX:T:value)"
        )


def _fasta(reference: str) -> str | None:
    """The reference as htslib may use it to decode CRAM."""
    return None if reference == "-" or is_index(reference) else reference
