"""The best alignments by length and identity, as MUMmer's delta-filter chooses them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpualign.genomes.blocks import Blocks, Comparison
from gpualign.genomes.params import AlignParams, Filter


def filtered(comparison: Comparison, params: AlignParams) -> Comparison:
    """The alignments that are long enough, and of these the best ones if that is asked for."""
    if params.min_length:
        blocks = comparison.blocks
        lengths = np.maximum(blocks.reference_end - blocks.reference_start, blocks.query_end - blocks.query_start)
        comparison = comparison.with_blocks(blocks.take(lengths >= params.min_length))
    return comparison if params.filter is None else _with_best(comparison, params.filter)


def _with_best(comparison: Comparison, kept: Filter) -> Comparison:
    """The alignments that are best for each position of the query ("q"), of the reference ("r"), of both ("1") or of
    either ("m"), in the order of the query's names.
    """
    blocks = comparison.blocks
    by_query = best_of(blocks, by_query=True) if kept != "r" else np.zeros(len(blocks), bool)
    by_reference = best_of(blocks, by_query=False) if kept != "q" else np.zeros(len(blocks), bool)
    chosen = by_query & by_reference if kept == "1" else by_query | by_reference
    numbers = np.flatnonzero(chosen)
    order = np.argsort(comparison.query.ranks[blocks.query[numbers]], kind="stable")
    return comparison.with_blocks(blocks.take(numbers[order]))


def best_of(blocks: Blocks, by_query: bool) -> NDArray[np.bool_]:
    """bool (n,): the alignments of each sequence's best chain; of equally good ones the first."""
    sequence = blocks.query if by_query else blocks.reference
    ends = np.stack([blocks.reference_start, blocks.reference_end, blocks.query_start, blocks.query_end])
    low, high, other_low, other_high = ends[[2, 3, 0, 1]] if by_query else ends
    weight = (blocks.identity.astype(np.float64) / 100.0).astype(np.float32).astype(np.float64) ** 2
    order = np.lexsort((-_score(high - low, weight), low, sequence))
    best = np.zeros(len(blocks), bool)
    for part in np.split(order, np.flatnonzero(np.diff(sequence[order])) + 1):
        if len(part):
            chain = _chain(low[part], high[part], other_low[part], other_high[part], weight[part])
            best[part[chain]] = True
    return best


def _score(bases: NDArray[np.int64], weight: NDArray[np.float64] | float) -> NDArray[np.int64]:
    return np.asarray(np.trunc(bases * weight).astype(np.int64))


def _chain(
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    other_low: NDArray[np.int64],
    other_high: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> list[int]:
    """The chain with the highest sum of length times squared identity, overlaps counted once; of equal ones that whose
    neighbours are nearer in both sequences. Alignments are in the order of their starts, and none overlaps the one
    before the last.
    """
    n = len(low)
    score, length = np.zeros(n, np.int64), high - low
    apart, end_before_last = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    previous = np.full(n, -1, np.int64)
    for i in range(n):
        score[i] = _score(length[i : i + 1], weight[i])[0]
        if i == 0:
            continue
        overlap = np.maximum(high[:i] - low[i], 0)
        gain = np.where(
            (overlap > length[i]) | (overlap > length[:i]), -1, score[:i] + _score(length[i] - overlap, weight[i])
        )
        gain[end_before_last[:i] > low[i]] = -1
        distance = apart[:i] + _distances(low[:i], high[:i], low[i], high[i])
        distance += _distances(other_low[:i], other_high[:i], other_low[i], other_high[i])
        j = _first_best(gain, distance)
        if gain[j] > score[i]:
            score[i], apart[i], previous[i], end_before_last[i] = gain[j], distance[j], j, high[j]
    chain = []
    i = _first_best(score, apart)
    while i >= 0:
        chain.append(i)
        i = int(previous[i])
    return chain


def _first_best(score: NDArray[np.int64], distance: NDArray[np.int64]) -> int:
    """The first of the highest scores, of equal ones with the lowest distance."""
    highest = np.flatnonzero(score == score.max())
    return int(highest[np.argmin(distance[highest])])


def _distances(
    low: NDArray[np.int64], high: NDArray[np.int64], to_low: np.int64, to_high: np.int64
) -> NDArray[np.int64]:
    """From the end of the alignment that begins first to the beginning of the other, as MUMmer counts."""
    distances: NDArray[np.int64] = np.where(low < to_low, np.abs(high - to_low - 1), np.abs(to_high - low - 1))
    return distances
