"""The best targets of each query so far, while the database is scanned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.align.score.score_tile import TileScores
from gpualign.pairwise.database.params import DatabaseParams
from gpualign.pairwise.database.statistics import ScoreStatistics
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.columns import Columns
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.offsets import offsets_of

#: residues of targets for which the least score of an E-value is worked out: the E-values of those between differ from
#: theirs by much less than the slack
_LENGTHS = np.unique(np.concatenate([np.arange(64), 64 * 1.05 ** np.arange(140)]).astype(np.int64))
_SLACK = 10.0


@dataclass(frozen=True)
class Scored(Columns):
    """Some pairs: int32 (p,) query, int64 (p,) number of the target in the database, int32 (p,) score, int64 (p,) the
    target's residues.
    """

    query: NDArray[np.int32]
    target: NDArray[np.int64]
    score: NDArray[np.int32]
    length: NDArray[np.int64]


NOTHING = Scored(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))


class DatabaseHits:
    """Keeps of every query the pairs that may still be hits, and their targets' sequences.

    Args:
        query_lengths: int64 (queries,).
        minimum: the lowest score of a hit, in the scoring's units; None: any.
    """

    def __init__(
        self,
        params: DatabaseParams,
        statistics: ScoreStatistics | None,
        query_lengths: NDArray[np.int64],
        minimum: int | None,
    ) -> None:
        self.params, self.statistics, self._query_lengths = params, statistics, query_lengths
        low = np.iinfo(np.int32).min
        self._least = np.full(len(query_lengths), low if minimum is None else minimum, np.int64)
        self._parts: list[Scored] = [NOTHING]
        self._expected = 0
        self._by_length: NDArray[np.int64] | None = None  # (queries, lengths), the least scores
        self._targets: dict[int, tuple[str, NDArray[np.uint8]]] = {}

    def expect(self, residues: int) -> None:
        """The scores that are offered from now on are of a database of at least ``residues`` residues."""
        limit = self.params.evalue
        if limit is None or residues < 2 * self._expected:
            return
        assert self.statistics is not None
        self._expected = residues
        least = self.statistics.least_scores(_SLACK * limit, self._query_lengths, _LENGTHS, residues)
        self._by_length = np.maximum(least, self._least[:, None])

    def offer(self, first_query: int, first_target: int, found: TileScores, lengths: NDArray[np.int64]) -> None:
        """A tile's scores.

        Args:
            first_query: of the tile.
            first_target: number of the part's first target in the database.
            lengths: int64 (part's targets,), residues.
        """
        bins = np.searchsorted(_LENGTHS, lengths[found.targets], side="right") - 1
        for query, scores in enumerate(found.scores, first_query):
            least = self._least[query] if self._by_length is None else self._by_length[query][bins]
            columns = np.flatnonzero(scores >= least)
            if self.params.top is not None and len(columns) > 4 * self.params.top:
                reached = scores[columns]
                columns = columns[reached >= np.partition(reached, -self.params.top)[-self.params.top]]
            if len(columns):
                targets = found.targets[columns]
                queries = np.full(len(columns), query, np.int32)
                self._parts.append(Scored(queries, first_target + targets, scores[columns], lengths[targets]))

    def settle(self, batch: SequenceBatch, codes: EncodedSequences, first: int, residues: int) -> None:
        """At the end of a part of the database: drop who cannot be a hit any more, keep the sequences of the others.

        Args:
            batch, codes: the part.
            first: number of its first target.
            residues: of the database up to here; an E-value only grows with it.
        """
        pairs = self._best(residues)
        self._parts = [pairs]
        kept = np.unique(pairs.target).tolist()
        fresh = {n: (batch.name(n - first), codes.sequence(n - first).copy()) for n in kept if n >= first}
        self._targets = {n: self._targets[n] for n in kept if n < first} | fresh

    def _best(self, residues: int) -> Scored:
        pairs = Scored.join(self._parts)
        if self.params.evalue is not None:
            pairs = pairs.take(self.evalues(pairs, residues) <= self.params.evalue)
        order = np.lexsort((pairs.target, -pairs.score.astype(np.int64), pairs.query))
        top = self.params.top
        if top is None:
            return pairs.take(order)
        starts = np.searchsorted(pairs.query[order], np.arange(len(self._query_lengths) + 1))
        rank = np.arange(len(order)) - starts[pairs.query[order]]
        chosen = rank < top
        if self.params.top_ties:  # a query's N-th score, and all that are as high
            nth = np.minimum(starts[:-1] + top, starts[1:]) - 1
            scores = pairs.score[order]
            chosen = scores >= scores[nth[pairs.query[order]]]
        best = pairs.take(order[chosen])
        # a later target needs more than the last one of a full list
        counts = np.bincount(best.query, minlength=len(self._query_lengths))
        last = offsets_of(counts)[1:] - 1
        full = counts >= top
        lowest = best.score[last[full]].astype(np.int64)
        self._least[full] = np.maximum(self._least[full], lowest if self.params.top_ties else lowest + 1)
        if self._by_length is not None:
            self._by_length = np.maximum(self._by_length, self._least[:, None])
        return best

    def evalues(self, pairs: Scored, residues: int) -> NDArray[np.float64]:
        """float64 (p,), in a database of ``residues`` residues."""
        assert self.statistics is not None
        return self.statistics.evalues(pairs.score, self._query_lengths[pairs.query], pairs.length, residues)

    def finish(self, residues: int) -> tuple[Scored, EncodedSequences]:
        """The hits of each query, best first, their ``target`` numbered within the sequences that come with them."""
        pairs = self._best(residues)
        numbers = np.unique(pairs.target)
        named = [self._targets[n] for n in numbers.tolist()]
        codes = np.concatenate([codes for _, codes in named]) if named else np.zeros(0, np.uint8)
        lengths = np.array([len(codes) for _, codes in named], np.int64)
        sequences = EncodedSequences([name for name, _ in named], codes, offsets_of(lengths))
        place = np.searchsorted(numbers, pairs.target)
        return Scored(pairs.query, place, pairs.score, pairs.length), sequences
