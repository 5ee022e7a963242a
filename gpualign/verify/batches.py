"""Windows and strands of candidates before verification, and the better strand and ranks after it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign._native import NameIndex
from gpualign.align.edit.cpu import MODES, VerifyPairs, VerifyResult
from gpualign.errors import check_count
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.identity import edits_within
from gpualign.sequences.reference import Reference
from gpualign.streaming.timeline import STEPS
from gpualign.tables.column import TextColumn
from gpualign.verify.candidates import CandidateBatch, LineCandidates, RecordCandidates
from gpualign.verify.params import NO_LIMIT, VerifyParams

#: --strand, as the native code numbers it (gpualign/native/align/edit/windows.hpp)
_STRANDS = {"plus": 0, "minus": 1, "both": 2, "given": 3}


@dataclass(frozen=True)
class Texts:
    """The sequences that candidates name.

    Attributes:
        queries: all queries.
        limits: int32 (queries,), most errors of each.
        reference: packed targets.
        target_names, target_name_offsets: uint8 text and int64 (targets + 1,) offsets of their names.
        resident: the same for all batches.
    """

    queries: SequenceBatch
    limits: NDArray[np.int32]
    reference: Reference
    target_names: NDArray[np.uint8]
    target_name_offsets: NDArray[np.int64]
    resident: bool = True

    @classmethod
    def of_reference(cls, params: VerifyParams, queries: SequenceBatch, reference: Reference) -> Texts:
        names, offsets = join_bytes([name.encode("latin-1") for name in reference.names])
        return cls(queries, limits_of(params, queries.lengths), reference, names, offsets)

    @cached_property
    def native(self) -> _native.NamedTexts:
        """The native view."""
        queries = self.queries
        return _native.NamedTexts(queries.bases, queries.base_offsets, self.limits, self.reference.contig_offsets)

    def __reduce__(self) -> tuple[Any, ...]:
        # without the native view, which each process makes for itself
        return Texts, tuple(getattr(self, entry.name) for entry in fields(self))


@dataclass(frozen=True)
class Batch:
    """Candidates made ready for a backend.

    Attributes:
        texts: what they name.
        query, target: int32 (n,), of each candidate.
        first: int64 (n + 1,), its first pair, of which those on both strands have two; empty where all have one.
        pairs: for the backend.
        clipped: how many reached beyond their target.
        cells: query length times window, of all pairs.
    """

    texts: Texts
    query: NDArray[np.int32]
    target: NDArray[np.int32]
    first: NDArray[np.int64]
    pairs: VerifyPairs
    clipped: int
    cells: int


@dataclass(frozen=True)
class Lines:
    """A batch's output.

    Attributes:
        text: uint8, lines.
        candidates, written, hits, clipped, cells: counts; cells are query length times window, over both strands.
    """

    text: NDArray[np.uint8]
    candidates: int
    written: int
    hits: int
    clipped: int
    cells: int


def limits_of(params: VerifyParams, lengths: NDArray[np.int64]) -> NDArray[np.int32]:
    """int32 (n,): most errors of queries of these lengths."""
    if params.max_errors is not None and params.max_errors >= 0:
        return np.full(len(lengths), params.max_errors, np.int32)
    if params.max_errors is not None or params.error_rate is None:
        return np.full(len(lengths), NO_LIMIT, np.int32)
    return edits_within(params.error_rate, lengths).astype(np.int32)


def prepare(params: VerifyParams, texts: Texts, candidates: CandidateBatch) -> Batch:
    """The pairs of some candidates: clipped regions, the queries that occur, and the strands to try."""
    c = candidates
    windows = _native.windows_of(c.query, c.target, c.begin, c.end, texts.native, _STRANDS[params.strand])
    return _batch(params, texts, windows)


def prepare_chunk(
    params: VerifyParams,
    texts: Texts,
    chunk: LineCandidates | RecordCandidates,
    queries: NameIndex,
    targets: NameIndex,
) -> Batch:
    """The pairs of a chunk of candidates, whose names are looked up in ``queries`` and ``targets``.

    Raises:
        InputError: one is malformed, or a name is not known.
    """
    return _batch(params, texts, chunk.windows(queries, targets, texts.native, _STRANDS[params.strand]))


def _batch(params: VerifyParams, texts: Texts, windows: Any) -> Batch:
    """Convert the native windows of candidates."""
    query, target, first, local, begin, end, strand, bases, offsets, limits, clipped, cells = windows
    pairs = VerifyPairs(
        reference=texts.reference,
        bases=bases,
        offsets=offsets,
        limits=limits,
        query=local,
        begin=begin,
        end=end,
        strand=strand,
        mode=MODES[params.mode],
        resident=texts.resident,
    )
    return Batch(texts, query, target, first, pairs, clipped, cells)


def choose(
    params: VerifyParams, batch: Batch, result: VerifyResult
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """int64 (kept,) candidates in the order of output, and the pair of each: the better strand, forward when equal; and
    how many candidates have a hit.
    """
    kept, pair, hits = _native.choose_pairs(result.distance, batch.first, len(batch.query), params.all_pairs)
    if params.best is not None and not params.all_pairs:
        chosen = _best(params.best, _runs(batch.query)[kept], result.distance[pair])
        kept, pair = kept[chosen], pair[chosen]
    return kept, pair, hits


def _runs(query: NDArray[np.int32]) -> NDArray[np.int64]:
    """The number of each candidate's run of candidates of one query."""
    return np.cumsum(np.concatenate([[0], query[1:] != query[:-1]])[: len(query)])


def _best(maximum: int, run: NDArray[np.int64], distance: NDArray[np.int32]) -> NDArray[np.int64]:
    """The ``maximum`` nearest of each run, nearest first, else in their order."""
    order = np.lexsort((np.arange(len(run)), distance, run))
    ordered = run[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    return order[np.arange(len(order)) - starts < maximum]


def cigars_of(params: VerifyParams, batch: Batch, result: VerifyResult) -> TextColumn:
    """The alignments of the candidates that :func:`choose` keeps; None beyond the limit."""
    text, offsets = _native.verify_cigars(**_found(batch, result, *choose(params, batch, result)[:2]))
    return TextColumn(np.frombuffer(text, np.uint8), offsets, np.diff(offsets) > 0)


def _found(batch: Batch, result: VerifyResult, kept: NDArray[np.int64], pair: NDArray[np.int64]) -> dict[str, Any]:
    """Chosen pairs as the native functions take them."""
    return {
        "reference": batch.texts.reference.native,
        "bases": batch.texts.queries.bases,
        "offsets": batch.texts.queries.base_offsets,
        "query": batch.query[kept],
        "begin": batch.pairs.begin[pair],
        "strand": batch.pairs.strand[pair],
        "distance": result.distance[pair],
        "start": result.start[pair],
        "end": result.end[pair],
    }


@STEPS.at("format")
def write_lines(params: VerifyParams, batch: Batch, result: VerifyResult) -> Lines:
    """Choose and format."""
    kept, pair, hits = choose(params, batch, result)
    texts = batch.texts
    text = _native.verify_lines(
        **_found(batch, result, kept, pair),
        target=batch.target[kept],
        query_names=texts.queries.names,
        query_name_offsets=texts.queries.name_offsets,
        target_names=texts.target_names,
        target_name_offsets=texts.target_name_offsets,
        cigar=params.cigar,
    )
    check_count("pairs", len(kept), _native.count_newlines(text))
    return Lines(text, len(batch.query), len(kept), hits, batch.clipped, batch.cells)


def paired_batch(params: VerifyParams, queries: SequenceBatch, targets: SequenceBatch) -> Batch:
    """Queries and targets one by one: each against the whole of its target."""
    names = [""] * len(targets)  # the writer takes them from the batch
    reference = Reference.packed(names, targets.base_offsets, (targets.bases,))
    number = np.arange(len(queries), dtype=np.int32)
    candidates = CandidateBatch(number, number, np.zeros(len(queries), np.int64), targets.lengths)
    limits = limits_of(params, queries.lengths)
    texts = Texts(queries, limits, reference, targets.names, targets.name_offsets, resident=False)
    return prepare(params, texts, candidates)
