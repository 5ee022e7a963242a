"""Lengths of longest common subsequences of all pairs, computed as distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.matrix.backends import backend_of_distances, delivered, matrix_of
from gpualign.align.matrix.cpu import Report
from gpualign.align.matrix.params import DistanceParams
from gpualign.align.matrix.problem import Distances
from gpualign.align.matrix.results import NearestPairs, Result, SparsePairs
from gpualign.align.matrix.scores import ScoreSelection
from gpualign.align.matrix.symbols import SymbolSet
from gpualign.params import RunOptions


def lcs_scores(
    selection: ScoreSelection,
    queries: SymbolSet,
    targets: SymbolSet | None,
    out: Any,
    options: RunOptions,
    progress: Report | None,
    dtype: Any = None,
) -> Result:
    """Lengths of common subsequences out of distances: LCS = (n + m - distance) / 2."""
    problem = Distances.of(DistanceParams(mode="indel"), queries, targets)
    shape = len(problem.queries), len(problem.targets)
    values = matrix_of(shape)
    backend_of_distances(problem, options, progress).matrix(values)
    np.subtract(problem.queries.lengths[:, None], values, out=values, casting="unsafe")
    values += problem.targets.lengths.astype(np.int32)
    values //= 2
    minimum = -1.0 if selection.min_score is None else selection.min_score
    if selection.nearest is not None:
        return _nearest(values, selection.nearest, problem.with_itself, minimum)
    if selection.sparse:
        return _pairs_from(values, problem.with_itself, minimum)
    return delivered(values, out, dtype)


def _nearest(lengths: NDArray[np.int32], maximum: int, with_itself: bool, minimum: float) -> NearestPairs:
    """The longest of each row, of equal ones the first target; those below ``minimum`` are left out."""
    target, value = np.full((2, len(lengths), maximum), -1, np.int32)
    if with_itself:
        np.fill_diagonal(lengths, -1)
    kept = min(maximum, lengths.shape[1])
    order = np.argsort(-lengths, axis=1, kind="stable")[:, :kept]
    best = np.take_along_axis(lengths, order, 1)
    there = best >= max(minimum, 0.0)
    target[:, :kept], value[:, :kept] = np.where(there, order, -1), np.where(there, best, -1)
    return NearestPairs(target, value)


def _pairs_from(lengths: NDArray[np.int32], with_itself: bool, minimum: float) -> SparsePairs:
    """The pairs that reach ``minimum``; of a set with itself each pair once."""
    near = lengths >= minimum
    query, target = np.nonzero(np.triu(near, 1) if with_itself else near)
    return SparsePairs(query.astype(np.int32), target.astype(np.int32), lengths[query, target])
