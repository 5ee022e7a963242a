"""`mems`: reference and index, queries through a backend, matches to the output."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager

from gpualign.errors import UsageError, check_count, counted
from gpualign.mems.loop import Counts, MemsRun, batch_bases
from gpualign.params import RunOptions
from gpualign.plots.drawing import check_plot
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.run_context import Opening, RunContext
from gpualign.seeds.matches.cpu import Search
from gpualign.seeds.matches.index import MemsIndex, index_of
from gpualign.seeds.matches.params import MemsParams
from gpualign.seeds.matches.queries import Batch, QueryFiles, batches_ahead
from gpualign.seeds.matches.suffix_array import SuffixArray
from gpualign.seeds.matches.tuning import work_of
from gpualign.text.ordered_writer import part_writer
from gpualign.text.paths import is_regular
from gpualign.text.sizes import product, symbols_in_files
from gpualign.text.table_output import Kind

_COLUMNS: dict[str, Kind] = {
    "query": "text",
    "qlen": "integer",
    "strand": "text",
    "qstart": "integer",
    "qend": "integer",
    "ref": "text",
    "rstart": "integer",
    "rend": "integer",
    "length": "integer",
}
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
        if options.dask is not None:
            raise UsageError("--dotplot cannot be used with --dask")
    run = RunContext(
        "mems", options, (params.index, *queries), (params.save_index, params.dotplot), reference=reference
    )
    report = run.report
    strands = 2.0 if params.strands == "both" else 1.0
    work = work_of(product((symbols_in_files(*queries), strands)), params.min_length)
    with run.opening(work) as opening, _batches(queries, params, options, opening) as batches:
        index = index_of(reference, params, options.threads, _bytes_of(queries))
        report.stage("index")
        search = Search(index, params, options.threads)
        backend = opening.backend()
        report.stage("device")
        if backend.on_gpu:  # all that the host does is to print, into buffers of about one size
            reuse_memory()
        output = run.table(_COLUMNS, params.header) if params.table else run.output()
        with output as out, run.progress("bases", of=queries) as progress:
            counts = Counts(search, progress, options.quiet)
            headers = 0
            with part_writer(out.write, _WAITING_TEXTS, in_thread=is_regular(options.output)) as writer:
                for printed in MemsRun(search, backend, options, counts).printed(batches):
                    headers += printed.headers
                    writer.write(printed.text.data)
            if not params.table:
                check_count("strands", counts.records * search.blocks_a_record, headers)
        report.stage("matching")
    report.stage("closing")
    if counts.records == 0:
        run.warn("no query records")
    if counts.plot is not None and params.dotplot is not None:
        counts.plot.save(params.dotplot)
    report |= {"queries": counts.records, "query_bases": counts.bases, "output_bytes": out.bytes_written}
    run.finish(
        f"{counted(counts.records, 'query', 'queries')}, {counted(counts.bases, 'base')} on {run.device}",
        **_facts(index),
    )


def _batches(
    queries: tuple[str, ...], params: MemsParams, options: RunOptions, opening: Opening
) -> AbstractContextManager[Iterator[Batch]]:
    """The queries; for devices they are packed while the reference is still read and its index made."""
    files = QueryFiles(
        queries,
        params.strand_bits,
        batch_bases=lambda: batch_bases(options, opening.on_gpu()),
        deferred=opening.on_gpu,
    )
    return batches_ahead(files, opening.on_gpu, options.threads)


def _facts(index: MemsIndex) -> dict[str, int]:
    if isinstance(index, SuffixArray):
        return {"k": index.k, "w": 1, "index_entries": len(index.positions)}
    return {"k": index.params.k, "w": index.params.w, "index_entries": len(index.entries)}


def _bytes_of(queries: tuple[str, ...]) -> int:
    return sum(os.path.getsize(query) for query in queries if os.path.isfile(query))
