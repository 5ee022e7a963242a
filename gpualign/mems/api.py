"""``gpualign.find_mems``: maximal exact matches."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.fields import takes_keywords
from gpualign.mems.loop import Counts, Job, MemsRun
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, as_batch, batches_of, is_path, packed, path_of, symbols_in
from gpualign.report import OnProgress, Progress
from gpualign.run.select import open_backend
from gpualign.seeds.matches.cpu import Search
from gpualign.seeds.matches.index import MemsIndex, index_for, index_of
from gpualign.seeds.matches.params import Kind, MemsParams, Strands
from gpualign.seeds.matches.tuning import work_of
from gpualign.tables.column import NameColumn, SignColumn, TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Table

_BATCH = 1 << 22  # bases


@takes_keywords()
def find_mems(
    reference: Sequences,
    queries: Sequences,
    min_length: int = MemsParams.min_length,
    *,
    kind: Kind = MemsParams.kind,
    strands: Strands = MemsParams.strands,
    max_occ: int | None = MemsParams.max_occ,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
) -> Table[Row]:
    """Find every maximal exact match of at least ``min_length`` bases (docs/commands/mems.md).

    >>> rows = find_mems(["TTGATTACATT"], ["CCGATTACACC", "TGTAATC"], 5, strands="both")
    >>> rows.tolist()
    [(0, '+', 2, 0, 2, 7, '0', '0'), (1, '-', 0, 0, 2, 7, '1', '0')]

    Args:
        reference: nucleotide sequences, or a file of them or of a saved index.
        queries: nucleotide sequences, or a file of reads in any format.
        min_length: bases, at least 1.
        kind: "mumreference": the matching string occurs once in the reference; "mum": once in the strand of the query
            as well; "maxmatch": all matches.
        strands: "forward", "reverse" or "both" strands of the queries.
        max_occ: leave out matches of strings that occur more often than this in the reference; None: keep all.
        device, threads, progress: as for :func:`gpualign.verify`; bases of queries are counted.

    Returns:
        A :class:`gpualign.Table`, in the order of query, strand, start on that strand, reference: ``query`` (its
        number), ``strand``, ``query_start`` (0-based, on the query's forward strand), ``ref`` (number),
        ``ref_start``, ``length``, ``query_name`` and ``ref_name``. Anything but A, C, G and T matches nothing.

    Raises:
        UsageError: a parameter out of range, an index for longer matches.
        InputError: a character that is not a nucleotide code, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = MemsParams(
        min_length=min_length,
        kind=kind,
        strands=strands,
        max_occ=max_occ,
        only_acgt=True,
    )
    options = RunOptions.of_api(device, threads)
    search = Search(_index(reference, params, options), params, options.threads)
    counts = Counts(search, Progress(options, "bases", call=progress))
    work = work_of(symbols_in(queries), min_length)
    with open_backend(options, "mems", work) as backend:
        contigs = TextColumn.of(search.index.reference.shown_names)
        run = MemsRun(search, backend, options, counts, partial(_rows, search, contigs))
        parts = [rows for rows, _ in run.finished(batches_of(queries, _BATCH))]
    return Table.concat([_NO_MATCHES, *parts])


def _index(reference: Sequences, params: MemsParams, options: RunOptions) -> MemsIndex:
    if is_path(reference):
        return index_of(path_of(reference), params, options.threads)
    return index_for(packed(as_batch(reference)), params, options.threads)


def _rows(search: Search, contigs: TextColumn, job: Job) -> Table[Row]:
    """Matches by record, strand and positions in these."""
    record, reverse, left = search.located(job.piece.source, job.columns)
    references = job.columns.references.astype(np.int64)
    offsets = search.index.reference.contig_offsets
    contig = np.searchsorted(offsets, references, "right") - 1
    return _table(
        query=job.records_before + record,
        minus=reverse,
        query_start=left,
        ref=contig.astype(np.int32),
        ref_start=references - offsets[contig],
        length=job.columns.lengths.astype(np.int64),
        names=(
            NameColumn.of(TextColumn.of_bytes(job.piece.source.names, job.piece.source.name_offsets), record),
            NameColumn(contigs, contig.astype(np.int32)),
        ),
    )


def _table(
    minus: NDArray[np.bool_], query: NDArray[np.int64], names: tuple[NameColumn, NameColumn], **columns: NDArray[Any]
) -> Table[Row]:
    """Numbers of the sequences, half-open positions on their forward strands, the query's strand, bases, names."""
    named = {"query_name": names[0], "ref_name": names[1]}
    return Table({"query": query, "strand": SignColumn.of_strands(minus), **columns, **named})


_NONE = np.empty(0, np.int64)
_NO_MATCHES = _table(
    query=_NONE,
    minus=np.empty(0, bool),
    query_start=_NONE,
    ref=np.empty(0, np.int32),
    ref_start=_NONE,
    length=_NONE,
    names=(NameColumn(TextColumn.of([]), np.empty(0, np.int32)),) * 2,
)
