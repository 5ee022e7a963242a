"""``gpualign.verify``: edit distances of queries to regions of targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpualign.align.edit.cpu import VerifyResult
from gpualign.align.edit.device.kernel import STAGE
from gpualign.align.edit.tuning import KERNELS
from gpualign.errors import UsageError, counted
from gpualign.fields import takes_keywords
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, as_batch, checked_indices, packed, rows_of
from gpualign.report import OnProgress, Progress
from gpualign.run.select import Work, open_backend
from gpualign.sequences.strands import reverse_complement
from gpualign.tables.column import NameColumn, TextColumn, nullable
from gpualign.tables.drawing import Drawing
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Look, Table
from gpualign.verify.batches import Batch, Texts, choose, cigars_of, prepare
from gpualign.verify.candidates import CandidateBatch
from gpualign.verify.params import Strand, VerifyParams

#: of queries and of targets
Names = tuple[TextColumn, TextColumn]
#: candidates handed to the backend at once
_BATCH = 1 << 17


@takes_keywords(VerifyParams, without=("best", "all_pairs"))
def verify(
    queries: Sequences,
    targets: Sequences,
    candidates: ArrayLike | None = None,
    *,
    strand: Strand = "plus",
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
    **parameters: Any,
) -> Table[Row]:
    """Edit distance of queries to regions of targets, exact or within a limit (Myers 1999; docs/commands/verify.md).

    >>> hits = verify(["GATTACA", "TTTT"], ["CCGATTTACACC", "AAAA"], max_errors=1, strand="both", cigar=True)
    >>> hits["distance"].tolist(), hits["strand"].tolist(), hits["cigar"].tolist()
    ([1, 0], ['+', '-'], ['4=1D3=', '4='])
    >>> found = slice(*hits[["start", "end"]][0])
    >>> "CCGATTTACACC"[found]
    'GATTTACA'

    One query in several regions:

    >>> verify(["ACGT"], ["TTACGTTTTACTT"], [[0, 0, 0, 7], [0, 0, 7, 13]], max_errors=1)["distance"].tolist()
    [0, 1]

    Args:
        queries, targets: nucleotide sequences: a file, a batch, or strings.
        candidates: int (n, 4), rows of query, target, start, end: numbers of sequences, then a half-open region,
            clipped to its target. None: query i with the whole of target i.
        strand: "plus", "minus", or "both": the better one, plus when they are equal.
        device: "auto", "cpu", "cuda", "cuda:0,1".
        threads: host threads; 0: all cores.
        progress: called now and then with the number of candidates done, and their total number.
        parameters: fields of :class:`gpualign.verify.params.VerifyParams`.

    Returns:
        A :class:`gpualign.Table` of the candidates in order: ``query`` and ``target`` (int32, their numbers),
        ``distance`` (int32), ``start`` and ``end`` (int64, half-open on the target's forward strand), ``strand`` ("+"
        or "-"), ``cigar`` if asked for, ``query_name`` and ``target_name``. Beyond the limit all but numbers and names
        are null.

    Raises:
        UsageError: a parameter out of range, a candidate that names no sequence.
        InputError: a character that is not a nucleotide code, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = VerifyParams(strand=strand, all_pairs=True, **parameters)
    texts = Texts.of_reference(params, as_batch(queries), packed(as_batch(targets)))
    intervals = _candidates(texts, candidates)
    options = RunOptions.of_api(device, threads)
    batches: list[Batch] = []  # in flight; the backend answers in order

    def pairs() -> Iterator[Any]:
        for first in range(0, len(intervals), _BATCH):
            batches.append(prepare(params, texts, intervals.take(slice(first, first + _BATCH))))
            yield batches[-1].pairs

    bar = Progress(options, "pairs", len(intervals), progress)
    queried = TextColumn.of_bytes(texts.queries.names, texts.queries.name_offsets)
    names = queried, TextColumn.of(texts.reference.shown_names)
    look = Look(draw=_Drawer(texts) if params.cigar else None)
    parts: list[Table[Row]] = []
    lengths = np.diff(texts.queries.base_offsets).astype(float)
    cells = float(np.sum(lengths[intervals.query] * (intervals.end - intervals.begin)))
    with open_backend(options, "verify", Work.of(KERNELS, cells)) as backend:
        for result in backend.run(pairs(), STAGE):
            parts.append(Table(_columns(params, names, batches.pop(0), result), look))
            bar.update(len(parts[-1]))
    return Table.concat(parts or [Table(_none(params.cigar))])


def _candidates(texts: Texts, rows: ArrayLike | None) -> CandidateBatch:
    if rows is None:
        count, targets = len(texts.queries), len(texts.reference.names)
        if count != targets:
            both = f"{counted(count, 'query', 'queries')} but {counted(targets, 'target')}"
            raise UsageError(f"{both} (give candidates, or as many of both)")
        query = target = np.arange(count, dtype=np.int32)
        begin, end = np.zeros(count, np.int64), texts.reference.lengths
    else:
        table = rows_of("candidates", rows, 4)
        query = checked_indices(table[:, 0], len(texts.queries), "query")
        target = checked_indices(table[:, 1], len(texts.reference.names), "target")
        begin, end = np.ascontiguousarray(table[:, 2]), np.ascontiguousarray(table[:, 3])
    return CandidateBatch(query, target, begin, end)


def _columns(params: VerifyParams, names: Names, batch: Batch, result: VerifyResult) -> dict[str, Column]:
    _, pair, _ = choose(params, batch, result)
    begin = batch.pairs.begin[pair].astype(np.int64) - batch.texts.reference.contig_offsets[batch.target]
    found = result.distance[pair] >= 0
    signs = np.frombuffer(b"+-", np.uint8)[batch.pairs.strand[pair].astype(np.int64)]
    columns: dict[str, Column] = {
        "query": batch.query,
        "target": batch.target,
        "distance": nullable(result.distance[pair], found),
        "start": nullable(begin + result.start[pair], found),
        "end": nullable(begin + result.end[pair], found),
        "strand": TextColumn(signs, np.arange(len(signs) + 1), found),
    }
    if params.cigar:
        columns["cigar"] = cigars_of(params, batch, result)
    columns["query_name"] = NameColumn(names[0], batch.query.astype(np.int32))
    columns["target_name"] = NameColumn(names[1], batch.target.astype(np.int32))
    return columns


def _none(cigar: bool) -> dict[str, Column]:
    """The columns without rows."""
    numbers, intervals = np.empty(0, np.int32), np.empty(0, np.int64)
    none = np.empty(0, bool)
    columns: dict[str, Column] = {"query": numbers, "target": numbers, "distance": nullable(numbers, none)}
    columns |= {name: nullable(intervals, none) for name in ("start", "end")}
    columns |= {name: TextColumn.of([]) for name in (["strand", "cigar"] if cigar else ["strand"])}
    return columns | {name: NameColumn(TextColumn.of([]), numbers) for name in ("query_name", "target_name")}


@dataclass(frozen=True)
class _Drawer:
    """From a row to its alignment."""

    texts: Texts

    def __call__(self, row: Row) -> Drawing | None:
        if row.cigar is None:
            return None
        minus = row.strand == "-"
        query, offset = self.texts.queries.sequence(row.query), int(self.texts.reference.contig_offsets[row.target])
        return Drawing(
            query=reverse_complement(query) if minus else query,
            target=self.texts.reference.sequence(offset + row.start, offset + row.end),
            cigar=row.cigar,
            query_name=f"query {self.texts.queries.name(row.query)}",
            target_name=f"target {self.texts.reference.names[row.target]}",
            query_start=len(query) if minus else 0,
            target_start=row.start,
            minus=minus,
        )
