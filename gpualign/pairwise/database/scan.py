"""The stage of a search: scores of some queries with an interval of the database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpualign.align.score.cpu import Candidates, align_strand
from gpualign.align.score.device.search import DatabaseKernel
from gpualign.align.score.problem import PairProblem
from gpualign.align.score.score_tile import ScoreTile, TileScores
from gpualign.run.stage import Stage
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.offsets import cut_by_size

#: pairs and cells of a tile at most, on a core (0.2 s; with a tenth of that the targets side by side differ so much in
#: length that it takes three times as long) and on a device
_CORE_TILE, _DEVICE_TILE = (1 << 17, 1 << 32), (1 << 25, 1 << 60)


def search_stage(problem: PairProblem) -> Stage[ScoreTile, TileScores]:
    """The stage over tiles; only scores of ``problem`` are computed, whose targets are each tile's."""
    return Stage(lambda tile: score_on_cpu(problem, tile), lambda device: DatabaseKernel(device, problem))


def score_on_cpu(problem: PairProblem, tile: ScoreTile) -> TileScores:
    """A tile on the calling thread."""
    scores = align_strand(replace(problem, targets=tile.targets), Candidates(tile.block), 0).score
    return TileScores(scores.reshape(tile.shape), np.arange(tile.first_target, tile.last_target))


def tiles_of(queries: NDArray[np.int64], targets: EncodedSequences, on_gpu: bool) -> Iterator[ScoreTile]:
    """All queries, of these lengths, against all targets."""
    max_pairs, max_cells = _DEVICE_TILE if on_gpu else _CORE_TILE
    if len(queries) == 0:
        return
    longest = int(queries.max()) + 1
    for first_target, last_target in cut_by_size(targets.lengths + 1, max(1, max_cells // longest)):
        residues = int(targets.offsets[last_target] - targets.offsets[first_target]) + last_target - first_target
        limit = min(max_pairs // max(1, last_target - first_target), max_cells // max(1, longest * residues))
        for first in range(0, len(queries), max(1, limit)):
            last = min(len(queries), first + max(1, limit))
            yield ScoreTile(targets, first, last, first_target, last_target)
