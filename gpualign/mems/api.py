"""``gpualign.find_mems``: maximal exact matches."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.opening import open_backend
from gpualign.io.in_memory import Sequences, as_batch, batches_of, letters_in, packed, run_options
from gpualign.mems.base_run import Counts
from gpualign.mems.params import MemsParams
from gpualign.mems.run import open_index, run_of
from gpualign.mems.search import MemsIndex, Search, index_for
from gpualign.mems.tuning import work_of
from gpualign.params import RunOptions
from gpualign.report import Progress

#: a match: numbers of the sequences, half-open places on their forward strands, the query's strand, bases
MEMS_DTYPE = np.dtype(
    [("query", "i8"), ("strand", "U1"), ("query_start", "i8"), ("ref", "i4"), ("ref_start", "i8"), ("length", "i8")]
)
_BATCH = 1 << 22  # bases
#: a table's line as numbers: query qlen strand qstart qend ref rstart rend length
_COLUMNS = 9
_STRANDS = bytes.maketrans(b"+-", b"01")


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
        InputError: a letter that is no nucleotide code, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = MemsParams(
        min_length=min_length,
        kind=kind,
        strands=strands,
        max_occ=max_occ,
        only_acgt=True,
        table=True,
        header=False,
    )
    options = run_options(device, threads)
    search = Search(_numbered(_index(reference, params, options)), params, options.threads)
    counts = Counts(search, Progress(options, "bases"))
    parts = [np.empty(0, MEMS_DTYPE)]
    work = work_of(letters_in(queries), min_length)
    with open_backend(options, "mems", work) as backend:
        for printed in run_of(search, backend, options, counts).printed(batches_of(queries, _BATCH)):
            parts.append(_rows(printed.text.tobytes()))
    return np.concatenate(parts)


def _index(reference: Sequences, params: MemsParams, options: RunOptions) -> MemsIndex:
    if isinstance(reference, str | os.PathLike):
        return open_index(os.fspath(reference), params, options)
    return index_for(packed(as_batch(reference)), params, options.threads)


def _numbered(index: MemsIndex) -> MemsIndex:
    """The same with numbers for names, so that a line of the table is a row of numbers."""
    names = [str(number) for number in range(len(index.reference.names))]
    return replace(index, reference=replace(index.reference, names=names))


def _rows(lines: bytes) -> NDArray[Any]:
    numbers = np.array(lines.translate(_STRANDS).split(), np.int64).reshape(-1, _COLUMNS).T
    rows = np.empty(numbers.shape[1], MEMS_DTYPE)
    rows["query"], rows["ref"], rows["length"] = numbers[0], numbers[5], numbers[8]
    rows["strand"] = np.where(numbers[2] == 1, "-", "+")
    rows["query_start"], rows["ref_start"] = numbers[3] - 1, numbers[6] - 1
    return rows
