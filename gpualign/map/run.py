"""`map`: reads to SAM, BAM, CRAM and PAF."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.malloc_tuning import reuse_memory
from gpualign.engine.select import Opening, for_kernels
from gpualign.engine.work import Work
from gpualign.errors import UsageError, check_range, counted, shown_inputs
from gpualign.index.file import check_index_path, is_index, save_index
from gpualign.index.minimizers import IndexParams, MinimizerIndex
from gpualign.index.run import open_index
from gpualign.io.alignment import bam_header, parse_read_group, sam_header
from gpualign.io.alignment_output import AlignmentLayout, sequence_tags
from gpualign.io.fastx import Chunk
from gpualign.io.files import open_output
from gpualign.io.mates import PairedParts, interleaved_batches, paired_parts, single_items
from gpualign.io.paths import check_paths
from gpualign.io.reads import ReadSource, joined_header
from gpualign.map.chaining import SHORT_READS, Chaining
from gpualign.map.cpu import map_batch
from gpualign.map.device.kernel import runs_on_gpu
from gpualign.map.full import check_seeds, choose_seeds, first_lengths, shortest_piece
from gpualign.map.output import MapOutputs, MappedText, RecordFormatter
from gpualign.map.pairs import PairModel, estimate_pairs, parse_insert_size
from gpualign.map.presets import PRESETS
from gpualign.map.report_page import report_page
from gpualign.map.stage import Mapping
from gpualign.map.statistics import MapStatistics
from gpualign.params import RunOptions
from gpualign.report import Progress, Report, warn
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference

#: more places than there are
ALL_PLACES = (1 << 31) - 1
#: how much larger batches for GPUs are: there are fewer slow reads at their ends, at which a device waits, for each
_DEVICE_BATCH = 2
Reads = Chunk | PairedParts | SequenceBatch
#: threads that parse each file of pairs, which must be side by side before they are mapped
_PARSERS = 4
_NO_LONG_PAIRS = "long reads have no pairs (use the preset sr)"


@dataclass(frozen=True)
class MapParams:
    """What `map` computes.

    Attributes:
        reference: FASTA, GenBank or EMBL file, or a saved index.
        reads: FASTA, FASTQ, SAM, BAM or CRAM file; "-" is standard input. Or several, as the lanes of a sequencer give
            them: they are read one behind the other.
        mates: the file of the second ends, or as many files as there are of the first ones, or None.
        interleaved: neighbours of one name in ``reads`` are pairs. A BAM file that says so is read this way anyway.
        check_names: the two ends of a pair must have one name (but for /1 and /2).
        insert_size: MEAN[,SD[,MAX[,MIN]]] of the pairs, or None to estimate it from the first ones.
        orientation: "fr", "rf" or "ff".
        unpaired: score that places which are no proper pair must make good.
        error_rate: edits allowed in a read aligned as a whole, as a share of its length, rounded down.
        k, w: minimizer parameters; None: chosen from the reference's size, or the saved index's.
        save_index: path to save the index under, or None.
        match: score of a match; mismatch, gap_open, gap_extend, clip: penalties. A gap of length l costs
            gap_open + l * gap_extend; an end is clipped where that gains at least clip.
        most_hits: seed hits followed per read, rarest seeds first (docs/algorithms.md, "The repeat rule").
        most_candidates: places verified per read, those with most seed hits.
        end_to_end: leave a read unmapped that fits nowhere as a whole; otherwise its parts are aligned by chaining.
        full: find every place within the error limit: follow all hits, of an index dense enough for the reads at hand,
            and look all over the reference for reads that are too short for it.
        secondary: further places reported per read.
        strata: of those with at most that many edits more than the best one; None: all within the limit.
        eqx: write = and X in CIGARs instead of M.
        soft_supplementary: clip supplementary records softly, with the whole sequence, not hard.
        secondary_sequence: write the sequence and qualities of secondary records too.
        long_reads: reads are mapped by chaining and may be clipped; error_rate and most_candidates do not apply, and
            most_hits holds for each stretch of a read.
        chaining: how.
        copy_comments: comments of FASTA and FASTQ records that are SAM tags become tags of the SAM records.
        no_unmapped: leave reads without a place out, pairs where both ends have none.
        unmapped_reads, mapped_reads: paths for the reads themselves, or None; a pair counts as mapped where an end is.
        report_page: path of the report as a page for browsers, or None.
        read_group: an @RG line with ID, or None.
        command_line: for the header's @PG.
    """

    reference: str
    reads: str | tuple[str, ...]
    mates: str | tuple[str, ...] | None = None
    interleaved: bool = False
    check_names: bool = True
    insert_size: str | None = None
    orientation: str = "fr"
    unpaired: int = 17
    error_rate: float = 0.08
    k: int | None = None
    w: int | None = None
    save_index: str | None = None
    match: int = 1
    mismatch: int = 4
    gap_open: int = 6
    gap_extend: int = 1
    clip: int = 5
    most_hits: int = 1000
    most_candidates: int = 64
    end_to_end: bool = False
    full: bool = False
    secondary: int = 0
    strata: int | None = None
    eqx: bool = False
    soft_supplementary: bool = False
    secondary_sequence: bool = False
    long_reads: bool = False
    chaining: Chaining = SHORT_READS
    copy_comments: bool = False
    no_unmapped: bool = False
    unmapped_reads: str | None = None
    mapped_reads: str | None = None
    report_page: str | None = None
    read_group: str | None = None
    command_line: str = "gpualign map"

    @classmethod
    def of_preset(cls, preset: str, **explicit: Any) -> MapParams:
        """The parameters of a preset (map_presets.PRESETS) with those given on top."""
        if preset not in PRESETS:
            raise UsageError(f"unknown preset {preset} (known: {', '.join(PRESETS)})")
        return cls(**{**PRESETS[preset], **explicit})

    def __post_init__(self) -> None:
        if not 0 <= self.error_rate < 1:
            raise UsageError(f"error rate must be at least 0 and below 1, not {self.error_rate} (5 % is 0.05)")
        if self.match < 1:
            raise UsageError(f"match score must be at least 1, not {self.match}")
        for name in ("mismatch", "gap_open", "gap_extend", "clip"):
            if not 0 <= getattr(self, name) <= 100:
                raise UsageError(f"{name.replace('_', ' ')} penalty must be between 0 and 100")
        if self.match > 100 or self.gap_extend < 1:
            raise UsageError("match score must be at most 100 and the gap extension at least 1")
        check_index_path(self.save_index)
        check_range("max hits", self.most_hits, 1)
        check_range("max candidates", self.most_candidates, 1)
        check_range("the number of secondary places (-N)", self.secondary, 0)
        check_range("strata", self.strata or 0, 0)
        if (self.reference, *self.files).count("-") > 1:
            raise UsageError("only one of the reference and the reads can come from standard input")
        if self.mate_files and len(self.mate_files) != len(self.read_files):
            files = f"{counted(len(self.read_files), 'file')} of first ends, {len(self.mate_files)} of second ones"
            raise UsageError(f"each file of first ends wants one of second ends: there are {files}")
        if self.mates is not None and self.interleaved:
            raise UsageError("interleaved pairs come from one file, not two")
        PairModel(orientation=self.orientation, unpaired=self.unpaired)
        if self.insert_size is not None:
            parse_insert_size(self.insert_size, self.orientation, self.unpaired)
        if self.long_reads and (self.mates is not None or self.interleaved):
            raise UsageError(_NO_LONG_PAIRS)
        if self.long_reads and (self.full or self.end_to_end or self.strata is not None):
            raise UsageError("long reads are aligned in parts, not by edit distance: use the preset sr for that option")
        if self.k is not None or self.w is not None:
            IndexParams(1 if self.k is None else self.k, 1 if self.w is None else self.w)
        if self.read_group is not None:
            parse_read_group(self.read_group)

    def pieces(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bases that each place of reads of these lengths, within the limit, has in a row without an edit."""
        limits = np.floor(self.error_rate * lengths + 1e-9).astype(np.int64)
        return np.asarray(lengths // (limits + 1))

    def promised(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether ``full`` finds every place of reads of these lengths: not of those that are chained."""
        return ~self.chained_as_long(lengths)

    def chained_as_long(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which reads a preset of short reads maps as long ones, as they are too long to be aligned whole."""
        too_long: NDArray[np.bool_] = lengths > int(_native.LONGEST_WHOLE)
        return too_long & (not self.long_reads and not self.end_to_end)

    @property
    def read_files(self) -> tuple[str, ...]:
        """Paths of the reads, or of the first ends."""
        return (self.reads,) if isinstance(self.reads, str) else self.reads

    @property
    def mate_files(self) -> tuple[str, ...]:
        """Paths of the second ends, lane by lane."""
        return (self.mates,) if isinstance(self.mates, str) else self.mates or ()

    @property
    def files(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.read_files, *self.mate_files)

    @property
    def written(self) -> tuple[str | None, ...]:
        """Paths of what is written beside the output."""
        return (self.save_index, self.unmapped_reads, self.mapped_reads, self.report_page)

    @property
    def scores(self) -> tuple[int, int, int, int, int]:
        return (self.match, self.mismatch, self.gap_open, self.gap_extend, self.clip)


def run_map(params: MapParams, options: RunOptions, layout: AlignmentLayout | None = None) -> None:
    """Map reads or read pairs and write SAM, BAM, CRAM or PAF.

    Raises:
        UsageError, InputError, DeviceError, GpualignError: as the classes say.
    """
    options = _with_device(params, options)
    layout = (layout or AlignmentLayout()).of(options.output)
    report = Report("map", options)
    check_paths((params.reference, *params.files), (options.output, options.json, *params.written))
    with ExitStack() as stack:
        opening = stack.enter_context(Opening(options, "map", Work.of_map(params.read_files, params.mate_files)))
        source = _Source(params, stack, options, opening)
        index, reads = _index(params, source, options)
        if params.save_index is not None:
            save_index(index, params.save_index)
        report.stage("index")
        backend = opening.backend()
        if backend.on_gpu:  # batch after batch wants buffers of the same sizes
            reuse_memory(one_heap=True)
        report.stage("device")
        batch_bases = options.batch_size * (_DEVICE_BATCH if backend.on_gpu else 1)
        reads = source.items(batch_bases, options.threads) if reads is None else reads
        pairs, items = _pairs(index, reads, source.paired, params, options)
        report.stage("insert sizes")
        header = _header(index.reference, params, layout, source.header)
        mapping = Mapping(RecordFormatter(index, params, pairs, layout.records, source.tagged))
        statistics = MapStatistics()
        with (
            MapOutputs(params, options, layout, index.reference) as out,
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
        _warn(params, statistics)
    report |= backend.report() | statistics.report()
    report |= {"sample": _sample(params), "k": index.params.k, "w": index.params.w}
    report |= {"gpu_items": statistics.on_gpu, "cpu_items": statistics.reads - statistics.on_gpu}
    report |= {"peak_vram_mb": max((device["peak_vram_mb"] for device in report.fields.get("devices", ())), default=0)}
    if pairs is not None:
        report |= {"insert_size": asdict(pairs)}
    report.finish(statistics.summary(pairs))
    if params.report_page is not None:
        with open_output(params.report_page) as page:
            page.write(report_page(report.fields).encode())


def _with_device(params: MapParams, options: RunOptions) -> RunOptions:
    """The options with the CPU for the device where the GPU has no kernel for these parameters."""
    what = "long reads, --all and more than 16 secondary places are mapped"
    return for_kernels(options, "map", runs_on_gpu(params), what)


def _header(reference: Reference, params: MapParams, layout: AlignmentLayout, source: dict[str, Any] | None) -> bytes:
    if layout.format == "paf":
        return b""
    group = parse_read_group(params.read_group)[0] if params.read_group else None
    tags = sequence_tags(reference, params.reference) if layout.format == "cram" else None
    text = sam_header(reference, params.command_line, group, source, layout.sort, tags)
    return bam_header(text, reference) if layout.records == "bam" else text


class _Source:
    """The reads of a run, lane by lane one file or two, open as long as ``stack``."""

    def __init__(self, params: MapParams, stack: ExitStack, options: RunOptions, opening: Opening) -> None:
        def open_reads(path: str) -> ReadSource:
            comments = params.copy_comments or bool(params.unmapped_reads or params.mapped_reads)
            by_parser = opening.workers_see(path)
            source = ReadSource(
                path,
                _fasta(params.reference),
                params.read_group is None,
                comments,
                options.threads,
                by_parser=by_parser,
            )
            return stack.enter_context(closing(source))

        self.first = [open_reads(path) for path in params.read_files]
        self.second = [open_reads(path) for path in params.mate_files]
        self.check_names = params.check_names
        self.header = joined_header(self.first, params.read_group is None)
        self.tagged = self.header is not None
        self.paired = bool(self.second) or params.interleaved or any(source.paired for source in self.first)

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


def _index(params: MapParams, source: _Source, options: RunOptions) -> tuple[MinimizerIndex, Iterator[Reads] | None]:
    """The index, and all reads where the first ones had to be looked at for it."""
    if not params.full:
        return open_index(params.reference, params.k, params.w, options.threads), None
    lengths, reads = first_lengths(source.items(options.batch_size, options.threads))
    piece = shortest_piece(params, lengths)
    seeds = (params.k, params.w) if is_index(params.reference) else choose_seeds(params, piece)
    index = open_index(params.reference, *seeds, options.threads)
    check_seeds(params, index.params, piece)
    return index, reads


def _pairs(
    index: MinimizerIndex, batches: Iterator[Any], paired: bool, params: MapParams, options: RunOptions
) -> tuple[PairModel | None, Iterator[Reads]]:
    """How pairs should lie (None: there are no pairs) and the items to map."""
    if not paired:
        return None, batches
    if params.long_reads:
        raise UsageError(_NO_LONG_PAIRS)
    if params.insert_size is not None:
        return parse_insert_size(params.insert_size, params.orientation, params.unpaired), batches
    model, batches = estimate_pairs(
        batches, lambda batch: map_batch(index, batch, params), params.orientation, params.unpaired, options.threads
    )
    if model is None:
        model = PairModel(orientation=params.orientation, unpaired=params.unpaired)
        if not options.quiet:
            warn(
                "map", f"too few pairs to estimate insert sizes: taking {model.min} to {model.max} (give --insert-size)"
            )
    return model, batches


def _sample(params: MapParams) -> str:
    """The read group's sample, or the reads' file without folder and extensions."""
    if params.read_group:
        for entry in parse_read_group(params.read_group)[0].split("\t"):
            if entry.startswith("SM:"):
                return entry[3:]
    first = params.read_files[0]
    return "stdin" if first == "-" else os.path.basename(first).split(".")[0]


def _warn(params: MapParams, statistics: MapStatistics) -> None:
    if statistics.reads == 0:
        warn("map", f"no reads in {shown_inputs(params.read_files)}: the output holds the header alone")
    if statistics.long_reads:
        warn(
            "map",
            f"{counted(statistics.long_reads, 'read')} of more than {_native.LONGEST_WHOLE:,} bases mapped by chaining "
            "with the scores of short reads (-x hifi and -x ont have those of long ones)",
        )
    if statistics.not_guaranteed:
        warn(
            "map",
            f"not every place was looked for of {counted(statistics.not_guaranteed, 'read')} of more than "
            f"{_native.LONGEST_WHOLE:,} bases",
        )
    if statistics.invalid_comments:
        warn(
            "map", f"not copied: {counted(statistics.invalid_comments, 'comment')} that should be SAM tags (XX:T:value)"
        )


def _fasta(reference: str) -> str | None:
    """The reference as htslib may use it to decode CRAM."""
    return None if reference == "-" or is_index(reference) else reference
