"""`mems`: reference and index, queries through a backend, matches to the output."""

from __future__ import annotations

import os

import numpy as np

from gpualign.engine.malloc_tuning import reuse_memory
from gpualign.engine.opening import Opening
from gpualign.engine.stage import Backend
from gpualign.errors import InputError, UsageError, check_count, counted
from gpualign.index.file import is_index, load_index, save_index
from gpualign.index.minimizers import MinimizerIndex, build_index
from gpualign.index.sorted_positions import SortedPositions
from gpualign.io.files import is_regular, open_output
from gpualign.io.ordered_writer import part_writer
from gpualign.io.paths import check_paths
from gpualign.io.references import read_reference
from gpualign.io.sizes import letters_of, product
from gpualign.mems.base_run import Counts, Run
from gpualign.mems.cluster_run import ClusterRun
from gpualign.mems.cpu_run import ProcessorsRun
from gpualign.mems.device_run import DevicesRun
from gpualign.mems.params import MemsParams, choose_index
from gpualign.mems.queries import QueryFiles, batches_ahead
from gpualign.mems.search import MemsIndex, Search, index_for
from gpualign.mems.tuning import work_of
from gpualign.params import RunOptions
from gpualign.plots.drawing import check_plot
from gpualign.report import Progress, Report, warn

_TABLE_HEADER = b"query\tqlen\tstrand\tqstart\tqend\tref\trstart\trend\tlength\n"
#: sorting a reference's positions costs less than to look queries up in a saved index that have more than this share of
#: its length
_WORTH_SORTING = 1 / 64
#: texts that wait to be written
_WAITING_TEXTS = 2


def run_mems(reference: str, queries: tuple[str, ...], params: MemsParams, options: RunOptions) -> None:
    """Write the matches between a reference and queries.

    Args:
        reference: path of a FASTA, GenBank or EMBL file or of a saved index.
        queries: paths of FASTA, FASTQ or BAM files, "-" for standard input.

    Raises:
        InputError: a file that cannot be read or is invalid.
        UsageError: a saved index that was built for longer matches; two inputs from standard input; a picture that
            cannot be drawn.
        DeviceError: a GPU was asked for and cannot be used.
    """
    if (reference, *queries).count("-") > 1:
        raise UsageError("only one input can be standard input")
    if params.dotplot is not None:
        check_plot(params.dotplot)
        if options.cluster is not None:
            raise UsageError("--dotplot does not go with --cluster")
    check_paths((reference, params.index, *queries), (options.output, options.json, params.save_index, params.dotplot))
    report = Report("mems", options)
    strands = 2.0 if params.strands == "both" else 1.0
    work = work_of(product((letters_of(*queries), strands)), params.min_length)
    with (
        Opening(options, "mems", work) as opening,
        batches_ahead(_query_files(queries, params, options, opening)) as batches,
    ):
        index = open_index(reference, params, options, _bytes_of(queries))
        report.stage("index")
        search = Search(index, params, options.threads)
        backend = opening.backend()
        report.stage("device")
        if backend.on_gpu:  # all that the host does is to print, into buffers of about one size
            reuse_memory()
        with open_output(options.output, options.threads) as out, Progress(options, "bases") as progress:
            if params.table and params.header:
                out.write(_TABLE_HEADER)
            counts = Counts(search, progress, options.quiet)
            headers = 0
            with part_writer(out.write, _WAITING_TEXTS, beside=is_regular(options.output)) as writer:
                for printed in run_of(search, backend, options, counts).printed(batches):
                    headers += printed.headers
                    writer.write(printed.text.data)
            if not params.table:
                check_count("strands", counts.records * search.blocks_a_record, headers)
        report.stage("matching")
        report.fields |= backend.report()
    report.stage("closing")
    if counts.records == 0 and not options.quiet:
        warn("mems", "no query records")
    if counts.plot is not None and params.dotplot is not None:
        counts.plot.save(params.dotplot)
    report.fields |= {"queries": counts.records, "query_bases": counts.bases, "output_bytes": out.bytes_written}
    report.fields |= _facts(index)
    report.finish(f"{counted(counts.records, 'query', 'queries')}, {counted(counts.bases, 'base')} on {backend.name}")


def _query_files(queries: tuple[str, ...], params: MemsParams, options: RunOptions, opening: Opening) -> QueryFiles:
    return QueryFiles(
        queries,
        params.strand_bits,
        batch_bases=lambda: _kind_of_run(options, opening.on_gpu()).batch_bases(options),
        # threads here may still parse when a file is closed; what goes to a cluster is packed by then
        by_parser=lambda query: options.cluster is not None and opening.workers_see(query),
    )


def _kind_of_run(options: RunOptions, on_gpu: bool) -> type[Run]:
    return ClusterRun if options.cluster is not None else DevicesRun if on_gpu else ProcessorsRun


def run_of(search: Search, backend: Backend, options: RunOptions, counts: Counts) -> Run:
    """The run that suits the backend."""
    return _kind_of_run(options, backend.on_gpu)(search, backend, options, counts)


def _facts(index: MemsIndex) -> dict[str, int]:
    if isinstance(index, SortedPositions):
        return {"k": index.k, "w": 1, "index_entries": len(index.positions)}
    return {"k": index.params.k, "w": index.params.w, "index_entries": len(index.entries)}


def _bytes_of(queries: tuple[str, ...]) -> int:
    return sum(os.path.getsize(query) for query in queries if os.path.isfile(query))


def open_index(reference: str, params: MemsParams, options: RunOptions, query_bytes: int = 0) -> MemsIndex:
    """The reference's index: loaded, or built and perhaps saved; or, where that is better for queries of so many bytes,
    its sorted positions.
    """
    if params.index is not None or is_index(reference):
        index = load_index(params.index or reference, options.threads)
        longest = index.params.w + index.params.k - 1
        if longest > params.min_length:
            raise UsageError(
                f"the index holds every match of {longest} bases or more, not of {params.min_length} "
                f"(use -l {longest}, or build one for shorter matches)"
            )
        if params.index is not None:
            _check_same_reference(index, reference)
    else:
        packed = read_reference(reference)
        if params.save_index is None:
            return index_for(packed, params, options.threads)
        index = build_index(packed, choose_index(params.min_length, packed.bases), options.threads)
    if params.save_index is not None:
        save_index(index, params.save_index)
    if params.by_sorted_positions and query_bytes > _WORTH_SORTING * index.reference.bases:
        return index_for(index.reference, params, options.threads)
    return index


def _check_same_reference(index: MinimizerIndex, reference: str) -> None:
    packed = load_index(reference).reference if is_index(reference) else read_reference(reference)
    same = packed.names == index.reference.names and all(
        np.array_equal(getattr(packed, name), getattr(index.reference, name))
        for name in ("contig_offsets", "words", "run_starts", "run_ends", "run_letters")
    )
    if not same:
        raise InputError("the saved index is of another reference (build it again)", reference)
