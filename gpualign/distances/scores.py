"""Scores of all pairs: which, and rows of their matrix, on the CPU or on devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpualign.distances.params import Selection
from gpualign.distances.results import NearestPairs, SparsePairs
from gpualign.distances.symbols import SymbolSet
from gpualign.errors import InputError, UsageError
from gpualign.io.pair_inputs import inputs_of
from gpualign.pairwise.cpu import Candidates, PairProblem, align_strand
from gpualign.pairwise.params import PairwiseParams
from gpualign.pairwise.run import make_problem
from gpualign.params import RunOptions
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.matrices import UNKNOWN, Scoring
from gpualign.sequences.pairs import PairBlock
from gpualign.streaming.ordered import run_ordered

#: cells of a block on a core: tenths of a second
_BLOCK_CELLS = 2e9
#: pairs of a block
_MOST_PAIRS = 1 << 22
#: less than any score
_NEVER = -(1 << 40)
#: a block of rows of a matrix: the first of them, and int32 (rows, targets)
Rows = tuple[int, NDArray[np.int32]]


@dataclass(frozen=True, kw_only=True)
class ScoreSelection(Selection):
    """Which pairs' scores are given.

    Attributes:
        min_score: pairs below are left out, in the matrix's own units.
    """

    min_score: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sparse and self.min_score is None:
            raise UsageError("sparse needs a min score")


def score_problem(
    params: PairwiseParams, queries: SymbolSet, targets: SymbolSet | None, options: RunOptions
) -> PairProblem:
    """The problem of ``pairwise`` without its pairs.

    Raises:
        InputError: a symbol that the scoring does not know.
    """
    scoring = params.load_scoring()
    first = _encoded(queries, scoring)
    second = first if targets is None else _encoded(targets, scoring)
    return make_problem(params, options, scoring, inputs_of(first, second, None, False))


def _encoded(symbols: SymbolSet, scoring: Scoring) -> EncodedSequences:
    known = symbols.symbols < 256
    codes = scoring.codes[np.minimum(symbols.symbols, 255)]
    bad = np.flatnonzero((codes == UNKNOWN) | ~known)
    if bad.size:
        record = int(np.searchsorted(symbols.offsets, bad[0], side="right")) - 1
        raise InputError(f"sequence {record}: {scoring.name} does not score {chr(symbols.symbols[bad[0]])!r}")
    return EncodedSequences([""] * len(symbols), codes, symbols.offsets)


def score_rows_on_cpu(problem: PairProblem, threads: int) -> Iterator[Rows]:
    """Blocks of rows in order."""
    queries, targets = problem.queries[0], problem.targets
    count, columns = len(queries), len(targets)
    mean = max(1.0, float(len(queries.codes)) / max(1, count) * len(targets.codes))
    rows = int(max(1, min(_BLOCK_CELLS / mean, _MOST_PAIRS // max(1, columns), -(-count // (4 * threads)))))
    return run_ordered(range(0, count, rows), partial(_block, problem, rows), threads)


def _block(problem: PairProblem, rows: int, first: int) -> Rows:
    numbers = np.arange(first, min(first + rows, len(problem.queries[0])), dtype=np.int32)
    columns = len(problem.targets)
    block = PairBlock(np.repeat(numbers, columns), np.tile(np.arange(columns, dtype=np.int32), len(numbers)))
    return first, align_strand(problem, Candidates(block), 0).score.reshape(len(numbers), columns)


def nearest_scores(rows: Iterator[Rows], queries: int, most: int, with_itself: bool, least: float) -> NearestPairs:
    """The best of each row, of equal ones the first target; those below ``least`` are left out."""
    target, value = np.full((2, queries, most), -1, np.int32)
    for first, scores in rows:
        ranked = scores.astype(np.int64)
        if with_itself:
            ranked[np.arange(len(scores)), first + np.arange(len(scores))] = _NEVER
        kept = min(most, scores.shape[1])
        columns = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
        order = np.lexsort((columns, -ranked), axis=1)[:, :kept]
        best = np.take_along_axis(ranked, order, 1)
        there = (best >= least) & (best > _NEVER)
        target[first : first + len(scores), :kept] = np.where(there, order, -1)
        value[first : first + len(scores), :kept] = np.where(there, best, -1)
    return NearestPairs(target, value)


def scores_from(rows: Iterator[Rows], with_itself: bool, least: float) -> SparsePairs:
    """The pairs that reach ``least``; of a set with itself each pair once."""
    query, target, value = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for first, scores in rows:
        near = scores >= least
        if with_itself:
            near = np.triu(near, first + 1)
        row, column = np.nonzero(near)
        query.append((row + first).astype(np.int32))
        target.append(column.astype(np.int32))
        value.append(scores[row, column])
    return SparsePairs(np.concatenate(query), np.concatenate(target), np.concatenate(value))
