"""``gpualign.find_mems``: maximal exact matches."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.opening import open_backend
from gpualign.io.in_memory import Sequences, as_batch, batches_of, letters_in, packed, run_options
from gpualign.mems.cpu import Search
from gpualign.mems.index import MemsIndex, index_for, index_of
from gpualign.mems.loop import Counts, Job, Run
from gpualign.mems.params import MemsParams
from gpualign.mems.tuning import work_of
from gpualign.params import RunOptions
from gpualign.report import Progress

#: a match: numbers of the sequences, half-open positions on their forward strands, the query's strand, bases
MEMS_DTYPE = np.dtype(
    [("query", "i8"), ("strand", "U1"), ("query_start", "i8"), ("ref", "i4"), ("ref_start", "i8"), ("length", "i8")]
)
_BATCH = 1 << 22  # bases


def find_mems(
    reference: Sequences,
    queries: Sequences,
    min_length: int = MemsParams.min_length,
    *,
    kind: str = MemsParams.kind,
    strands: str = MemsParams.strands,
    max_occ: int | None = None,
    device: str = "auto",
    threads: int = 0,
) -> NDArray[Any]:
    """Every maximal exact match of at least ``min_length`` bases (docs/mems.md).

    >>> rows = find_mems(["TTGATTACATT"], ["CCGATTACACC", "TGTAATC"], 5, strands="both")
    >>> rows.tolist()
    [(0, '+', 2, 0, 2, 7), (1, '-', 0, 0, 2, 7)]

    Args:
        reference: nucleotide sequences, or a file of them or of a saved index.
        queries: nucleotide sequences, or a file of reads in any format.
        min_length: bases, at least 1.
        kind: "mumreference": the matching string occurs once in the reference; "mum": once in the strand of the query
            as well; "maxmatch": all matches.
        strands: "forward", "reverse" or "both" strands of the queries.
        max_occ: leave out matches of strings that occur more often than this in the reference; None: keep all.
        device, threads: as for :func:`gpualign.verify`.

    Returns:
        Structured (n,), in the order of query, strand, start on that strand, reference: ``query`` (its number),
        ``strand``, ``query_start`` (0-based, on the query's forward strand), ``ref`` (number), ``ref_start`` and
        ``length``. Letters other than A, C, G and T match nothing.

    Raises:
        UsageError: a parameter out of range, an index for longer matches.
        InputError: a symbol that is no nucleotide code, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = MemsParams(
        min_length=min_length,
        kind=kind,
        strands=strands,
        max_occ=max_occ,
        only_acgt=True,
    )
    options = run_options(device, threads)
    search = Search(_index(reference, params, options), params, options.threads)
    counts = Counts(search, Progress(options, "bases"))
    work = work_of(letters_in(queries), min_length)
    with open_backend(options, "mems", work) as backend:
        run = Run(search, backend, options, counts, partial(_rows, search))
        parts = [rows for rows, _ in run.finished(batches_of(queries, _BATCH))]
    return np.concatenate([np.empty(0, MEMS_DTYPE), *parts])


def _index(reference: Sequences, params: MemsParams, options: RunOptions) -> MemsIndex:
    if isinstance(reference, str | os.PathLike):
        return index_of(os.fspath(reference), params, options.threads)
    return index_for(packed(as_batch(reference)), params, options.threads)


def _rows(search: Search, job: Job) -> NDArray[Any]:
    """Matches by record, strand and positions in these."""
    text = job.piece.source.text
    columns = search.keep_rare(job.piece, job.columns, job.most) if job.most else job.columns
    if search.unique_in_query:
        columns = search.keep_unique(job.piece.source, columns)
    starts, references, lengths = (column.astype(np.int64) for column in columns)
    strands = search.blocks_a_record
    sizes = np.repeat(text.lengths().astype(np.int64), strands)  # of strand sequences, with a position before each
    begins = np.cumsum(sizes + 1) - sizes
    block = np.searchsorted(begins, starts, "right") - 1
    reverse = block % 2 == 1 if strands == 2 else np.full(len(block), search.params.strands == "reverse")
    left = starts - begins[block]
    offsets = search.index.reference.contig_offsets
    rows = np.empty(len(block), MEMS_DTYPE)
    rows["query"] = job.records_before + block // strands
    rows["strand"] = np.where(reverse, "-", "+")
    rows["query_start"] = np.where(reverse, sizes[block] - left - lengths, left)
    rows["ref"] = np.searchsorted(offsets, references, "right") - 1
    rows["ref_start"] = references - offsets[rows["ref"]]
    rows["length"] = lengths
    return rows
