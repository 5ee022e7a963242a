"""Between candidates and output lines: windows and strands on the way in, the better strand and ranks after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import check_count
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.identity import edits_within
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.reference import Reference
from gpualign.streaming.clock import STEPS
from gpualign.tables.column import TextColumn
from gpualign.verify.candidates import Candidates
from gpualign.verify.cpu import MODES, VerifyPairs, VerifyResult
from gpualign.verify.params import NO_LIMIT, VerifyParams

_BOTH = 2
_STRANDS = {"plus": 0, "minus": 1, "both": _BOTH}


@dataclass(frozen=True)
class Texts:
    """The sequences that candidates name.

    Attributes:
        queries: all queries.
        reference: packed targets.
        target_names, target_name_offsets: uint8 text and int64 (targets + 1,) offsets of their names.
        resident: the same for all batches.
    """

    queries: SequenceBatch
    reference: Reference
    target_names: NDArray[np.uint8]
    target_name_offsets: NDArray[np.int64]
    resident: bool = True

    @classmethod
    def of_reference(cls, queries: SequenceBatch, reference: Reference) -> Texts:
        names, offsets = join_bytes([name.encode("latin-1") for name in reference.names])
        return cls(queries, reference, names, offsets)


@dataclass(frozen=True)
class Batch:
    """Candidates made ready for a backend.

    Attributes:
        texts: what they name.
        query, target: int32 (n,), of each candidate.
        first: int64 (n,), its first pair; candidates on both strands have two.
        both: bool (n,).
        pairs: for the backend.
        clipped: how many reached beyond their target.
    """

    texts: Texts
    query: NDArray[np.int32]
    target: NDArray[np.int32]
    first: NDArray[np.int64]
    both: NDArray[np.bool_]
    pairs: VerifyPairs
    clipped: int


@dataclass(frozen=True)
class Lines:
    """A batch's output.

    Attributes:
        text: lines.
        candidates, written, hits, clipped, cells: counts; cells are query length times window, over both strands.
    """

    text: bytes
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


def prepare(params: VerifyParams, texts: Texts, candidates: Candidates) -> Batch:
    """Clip and widen the regions, settle the strands, gather the queries that occur."""
    queries = texts.queries
    local, _, bases, offsets = _native.gather_queries(candidates.query, queries.bases, queries.base_offsets)
    lengths = np.diff(offsets)
    limits = limits_of(params, lengths)
    begin, end = candidates.begin, candidates.end
    target_start = texts.reference.contig_offsets[candidates.target]
    target_length = texts.reference.contig_offsets[candidates.target + 1] - target_start
    clipped = 0
    if candidates.widen:
        margin = np.minimum(limits, lengths)[local]
        begin, end = begin - candidates.before - margin, end + candidates.after + margin
    else:
        clipped = int((end > target_length).sum())
    begin = np.minimum(np.maximum(begin, 0), target_length)
    end = np.minimum(np.maximum(end, begin), target_length)
    if params.strand == "given":
        strand = candidates.strand
    else:
        strand = np.full(len(candidates), _STRANDS[params.strand], np.uint8)
    both = strand == _BOTH
    window_begin, window_end = (target_start + begin).astype(np.uint32), (target_start + end).astype(np.uint32)
    first = np.arange(len(candidates))
    if both.any():
        copies = 1 + both.astype(np.int64)
        first = offsets_of(copies)[:-1]
        strand = np.repeat(np.where(both, 0, strand).astype(np.uint8), copies)
        strand[first[both] + 1] = 1
        local = np.repeat(local, copies)
        window_begin, window_end = np.repeat(window_begin, copies), np.repeat(window_end, copies)
    pairs = VerifyPairs(
        reference=texts.reference,
        bases=bases,
        offsets=offsets,
        limits=limits,
        query=local,
        begin=window_begin,
        end=window_end,
        strand=strand,
        mode=MODES[params.mode],
        resident=texts.resident,
    )
    return Batch(texts, candidates.query, candidates.target, first, both, pairs, clipped)


def choose(params: VerifyParams, batch: Batch, result: VerifyResult) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64 (kept,) candidates in the order of output, and the pair of each: the better strand, forward when equal."""
    candidate, pair = np.arange(len(batch.query)), batch.first.copy()
    if batch.both.any():
        other = np.minimum(batch.first + 1, max(0, len(batch.pairs) - 1))
        forward, reverse = result.distance[batch.first], result.distance[other]
        pair += batch.both & (reverse >= 0) & ((forward < 0) | (reverse < forward))
    if params.all_pairs:
        return candidate, pair
    kept = candidate[result.distance[pair] >= 0]
    if params.best is not None:
        kept = _best(params.best, batch.query, kept, result.distance[pair])
    return kept, pair[kept]


def _best(
    maximum: int, query: NDArray[np.int32], kept: NDArray[np.int64], distance: NDArray[np.int32]
) -> NDArray[np.int64]:
    """The ``maximum`` nearest of each run of candidates of one query, nearest first, else in their order."""
    run = np.cumsum(np.concatenate([[0], query[1:] != query[:-1]])) if len(query) else query
    order = kept[np.lexsort((kept, distance[kept], run[kept]))]
    ordered = run[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    return order[np.arange(len(order)) - starts < maximum]


def cigars_of(params: VerifyParams, batch: Batch, result: VerifyResult) -> TextColumn:
    """The alignments of the candidates that :func:`choose` keeps; None beyond the limit."""
    text, offsets = _native.verify_cigars(**_found(batch, result, *choose(params, batch, result)))
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
    kept, pair = choose(params, batch, result)
    texts, pairs = batch.texts, batch.pairs
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
    lengths = np.diff(pairs.offsets)[pairs.query]
    cells = int((lengths * (pairs.end - pairs.begin).astype(np.int64)).sum())
    hits = int((result.distance[pair] >= 0).sum())
    return Lines(text, len(batch.query), len(kept), hits, batch.clipped, cells)


def paired_batch(params: VerifyParams, queries: SequenceBatch, targets: SequenceBatch) -> Batch:
    """Queries and targets one by one: each against the whole of its target."""
    packer = _native.ReferencePacker()
    packer.append(targets.bases)
    names = [""] * len(targets)  # the writer takes them from the batch
    reference = Reference(names, targets.base_offsets, *packer.finish())
    number = np.arange(len(queries), dtype=np.int32)
    candidates = Candidates.of_regions(number, number, np.zeros(len(queries), np.int64), targets.lengths)
    texts = Texts(queries, reference, targets.names, targets.name_offsets, resident=False)
    return prepare(params, texts, candidates)
