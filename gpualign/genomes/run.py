"""`align`: matches of each query record with the reference, joined to alignments, and what is written of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.genomes.cpu import Joiner, StrandMatches
from gpualign.align.score.tuning import KERNELS
from gpualign.errors import InputError, UsageError, counted
from gpualign.genomes import formats, plot, summary, tables, variants
from gpualign.genomes.blocks import NO_BLOCKS, Blocks, Comparison, Side, read_delta, shown_path
from gpualign.genomes.filters import filtered
from gpualign.genomes.params import AlignOutputs, AlignParams
from gpualign.params import RunOptions
from gpualign.plots.drawing import check_plot
from gpualign.reads.in_memory import batches_of
from gpualign.report import Progress
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.run.run_context import RunContext
from gpualign.run.select import Work
from gpualign.run.stage import Backend, Run, Stage
from gpualign.run.tiles import Tiles, digest
from gpualign.seeds.index.minimizers import MinimizerIndex, build_index
from gpualign.seeds.matches.cpu import Matches, MemColumns, Piece, Search, join_columns
from gpualign.seeds.matches.index import MemsIndex, index_for
from gpualign.seeds.matches.params import choose_index
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.reference import Reference
from gpualign.text.chunks import read_batches
from gpualign.text.output_file import open_output
from gpualign.text.references import read_reference
from gpualign.text.sizes import symbols_in_files

#: positions of a query that a thread searches at a time
_PIECE = 1 << 19
#: a reference whose seeds occur more than 64 times on average is searched without seeds that occur more than 16 times:
#: bacteria have up to 8, a human chromosome has 300
_MANY_OCCURRENCES, _FEW_OCCURRENCES = 64, 16


class GenomeAligner:
    """A reference, ready for query records."""

    def __init__(self, reference: Reference, params: AlignParams, threads: int) -> None:
        matching = params.matching
        minimizers = build_index(reference, choose_index(params.min_match, reference.bases), threads)
        index: MemsIndex = minimizers
        if _mean_occurrences(minimizers) > _MANY_OCCURRENCES and params.kind != "maxmatch":
            maximum = _FEW_OCCURRENCES if params.max_seed_occurrences is None else params.max_seed_occurrences
            if maximum == 0 and matching.by_suffix_array:
                index = index_for(reference, matching, threads)
            elif maximum:
                index = without_repeats(minimizers, maximum)
        self._params, self._threads = params, threads
        self._search = Search(index, matching, threads)
        self._joiner = Joiner(reference, params.joining, threads)

    def align(self, batch: SequenceBatch, first_query: int, backend: Backend) -> Blocks:
        """The alignments of a batch of records, which are numbered from ``first_query`` on."""
        joined = self._joiner.join(batch, self._matches(batch, backend), backend)
        return Blocks.of(joined, batch.lengths, first_query)

    def _matches(self, batch: SequenceBatch, backend: Backend) -> StrandMatches:
        search = self._search
        text = search.prepare(batch, deferred=backend.on_gpu)
        edges = range(0, text.text.length, _PIECE)
        pieces = (Piece(text, start, min(start + _PIECE, text.text.length)) for start in edges)
        columns = join_columns(list(backend.run(pieces, _search_stage(search))))
        if search.unique_in_query:
            columns = search.keep_unique(text, columns, self._threads)
        strands = search.blocks_a_record
        lengths = np.repeat(batch.lengths, strands)  # of strand sequences, each after a break
        begins = np.cumsum(lengths + 1) - lengths
        starts = columns.starts.astype(np.int64)
        block = np.searchsorted(begins, starts, "right") - 1
        offsets = offsets_of(np.bincount(block, minlength=len(begins)))
        return StrandMatches(search.strands, offsets, starts - begins[block], columns.references, columns.lengths)


def _mean_occurrences(index: MinimizerIndex) -> float:
    """Entries in the bucket of a mean entry."""
    counts = np.diff(index.offsets.astype(np.int64)).astype(float)
    return float((counts * counts).sum() / max(1.0, counts.sum()))


def without_repeats(index: MinimizerIndex, maximum: int) -> MinimizerIndex:
    """Without the entries of buckets that have more than ``maximum``: what is left has all occurrences of its seeds."""
    counts = (index.offsets[1:] - index.offsets[:-1]).astype(np.int64)
    kept = np.where(counts <= maximum, counts, 0)
    entries = index.entries[np.repeat(counts <= maximum, counts)]
    return replace(index, offsets=offsets_of(kept).astype(index.offsets.dtype), entries=entries)


def _search_stage(search: Search) -> Stage[Piece, MemColumns]:
    find = partial(search.find, maximum=search.max_occurrences)

    def found(piece: Piece, matches: Matches, again: Any) -> MemColumns:
        return join_columns([part.columns for part in search.all_of(matches, again) if part.columns is not None])

    def on_cpu(piece: Piece) -> MemColumns:
        return found(piece, find(piece), find)

    def on_device(piece: Piece, run: Run) -> MemColumns:
        columns = found(piece, run(lambda _: piece), search.find)
        return search.reduced(piece, columns, search.max_occurrences_left, False)

    def kernel(device: Device) -> DeviceKernel[Any, Matches]:
        from gpualign.seeds.matches.device_unique import kernel_for  # much, and only devices need it

        return kernel_for(device, search=search, printing=False)

    return Stage(on_cpu, kernel, on_device)


class _Queries:
    """Names and lengths of the query records, and their bases where they are wanted."""

    def __init__(self, keep_bases: bool) -> None:
        self.names: list[str] = []
        self.bases = 0
        self._lengths: list[Any] = [np.empty(0, np.int64)]
        self._kept: list[Any] = [np.empty(0, np.uint8)]
        self._keep = keep_bases

    def add(self, batch: SequenceBatch) -> None:
        self.names += [batch.name(i) for i in range(len(batch))]
        self.bases += len(batch.bases)
        self._lengths.append(batch.lengths)
        if self._keep:
            self._kept.append(batch.bases)

    def side(self, path: str) -> Side:
        lengths = np.concatenate(self._lengths)
        if not self._keep:
            return Side(path, self.names, lengths)
        return Side(path, self.names, lengths, np.concatenate(self._kept), offsets_of(lengths))


def reference_side(path: str, reference: Reference, keep_bases: bool) -> Side:
    if not keep_bases:
        return Side(path, reference.names, reference.lengths)
    bases = np.frombuffer(reference.sequence(0, reference.bases), np.uint8)
    return Side(path, reference.names, reference.lengths, bases, reference.contig_offsets)


def compare(
    reference: Reference,
    batches: Iterable[SequenceBatch],
    params: AlignParams,
    threads: int,
    backend: Backend,
    paths: tuple[str, str],
    keep_bases: bool,
    progress: Progress,
    resume: str | None = None,
) -> Comparison:
    """Align all query records to a reference.

    Args:
        resume: folder of finished batches, which are found again by their records and the number of the first one.
    """
    aligner = GenomeAligner(reference, params, threads)
    tiles = None
    if resume is not None:
        tiles = Tiles(resume, digest(reference, replace(params, filter=None, min_length=0)), Blocks, "align")
    queries = _Queries(keep_bases)
    parts = [NO_BLOCKS]
    for batch in filter(len, batches):
        number = 0 if tiles is None else int(digest(batch.bases, batch.base_offsets, len(queries.names))[:15], 16)
        blocks = None if tiles is None else tiles.load(number)
        if blocks is None:
            blocks = aligner.align(batch, len(queries.names), backend)
            if tiles is not None:
                tiles.keep(number, blocks)
        parts.append(blocks)
        queries.add(batch)
        progress.update(len(batch.bases))
    sides = reference_side(paths[0], reference, keep_bases), queries.side(paths[1])
    return Comparison(*sides, Blocks.join(parts))


def run_align(
    files: tuple[str, ...], params: AlignParams, outputs: AlignOutputs, options: RunOptions
) -> dict[str, Any]:
    """Align a query file to a reference, or take the alignments of a delta file, and write what is asked for.

    Returns:
        The run report's fields.

    Raises:
        UsageError: two inputs from standard input, an output that cannot be written.
        InputError: a file that cannot be read or is invalid.
        DeviceError: a GPU was asked for and cannot be used.
    """
    if files.count("-") > 1:
        raise UsageError("only one input can be standard input")
    form = formats.format_of(options.output)
    if outputs.dotplot is not None:
        check_plot(outputs.dotplot)
    keep_bases = outputs.bases or form.bases
    reference = files[0] if len(files) == 2 else None
    run = RunContext("align", options, files[-1:], outputs.files, (".sam",), reference=reference)
    work = Work.of(KERNELS, 0 if reference is None else symbols_in_files(files[1]), KERNELS.core_rate / 100)
    with run.opening(work) as opening:
        if reference is None:
            comparison = read_delta(files[0])
            if keep_bases:
                comparison = _with_bases(comparison, files[0])
        else:
            packed = read_reference(reference)
            backend = opening.backend()
            with run.progress("bases") as progress:
                comparison = compare(
                    packed,
                    batches_of(files[1], options.batch_size),
                    params,
                    options.threads,
                    backend,
                    (shown_path(reference), shown_path(files[1])),
                    keep_bases,
                    progress,
                    outputs.resume,
                )
            if not len(comparison.query.names):
                run.warn("no query records")
        whole, comparison = comparison, filtered(comparison, params)
        run.report.stage("alignment")
        _write(comparison, form, outputs, options)
        if outputs.report is not None:
            with open_output(outputs.report, options.threads) as out:
                out.write(summary.report(whole, options.threads))
        run.report.stage("output")
    blocks = comparison.blocks
    aligned = int((blocks.reference_end - blocks.reference_start).sum())
    return run.finish(
        f"{counted(len(blocks), 'alignment')}, {counted(aligned, 'base')} of the reference, on {run.device}",
        alignments=len(blocks),
        aligned_bases=aligned,
        queries=len(comparison.query.names),
        errors=int(blocks.errors.sum()),
    )


def _write(comparison: Comparison, form: formats.Format, outputs: AlignOutputs, options: RunOptions) -> None:
    with open_output(options.output, options.threads) as out:
        for text in form.write(comparison, options):
            out.write(text)
    if outputs.dotplot is not None:
        plot.draw(comparison, outputs.dotplot)
    if outputs.coords is not None:
        with open_output(outputs.coords, options.threads) as out:
            out.write(tables.coords(comparison, outputs.coords_style))
    if outputs.bed is not None:
        with open_output(outputs.bed, options.threads) as out:
            for text in variants.callable_regions(comparison):
                out.write(text)
    if not outputs.bases:
        return
    found = tables.differences_of(comparison, options.threads)
    if outputs.snps is not None:
        with open_output(outputs.snps, options.threads) as out:
            out.write(tables.snps(comparison, found, outputs.snps_style))
    if outputs.vcf is not None:
        sample = os.path.basename(comparison.query.path).split(".")[0] or "query"
        with open_output(outputs.vcf, options.threads) as out:
            for text in variants.vcf(
                comparison, variants.variants_of(comparison, found), sample, options.command_line or ""
            ):
                out.write(text)


def _with_bases(comparison: Comparison, path: str) -> Comparison:
    """A delta file's alignments with all sequences of the files that it names, in the order of these."""
    blocks = comparison.blocks
    reference, numbers = _read_side(comparison.reference, path)
    query, query_numbers = _read_side(comparison.query, path)
    blocks = replace(blocks, reference=numbers[blocks.reference], query=query_numbers[blocks.query])
    return Comparison(reference, query, blocks)


def _read_side(side: Side, path: str) -> tuple[Side, NDArray[np.int32]]:
    """The sequences of a side's file, and the number in it of each that the delta file has."""
    if not os.path.isfile(side.path):
        raise InputError(f"names {side.path}, which is not there (bases are needed)", path)
    queries = _Queries(keep_bases=True)
    for batch in read_batches(side.path):
        queries.add(batch)
    read = queries.side(side.path)
    found = {name: i for i, name in enumerate(read.names)}
    for name, length in zip(side.names, side.lengths.tolist(), strict=True):
        if name not in found:
            raise InputError(f"'{name}' is not in {side.path}, which the file names", path)
        if read.lengths[found[name]] != length:
            raise InputError(f"'{name}' has another length in {side.path}", path)
    return read, np.array([found[name] for name in side.names], np.int32)
