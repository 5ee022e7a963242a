"""Greedy centroid clustering: each sequence in turn joins the nearest centroid, or founds a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from gpualign.cluster.cpu import ALL_MATCH, INNER_MATCH, Hits
from gpualign.cluster.near import Neighbors
from gpualign.cluster.sequences import ClusterInput
from gpualign.sequences.offsets import join_offsets, offsets_of


@dataclass(frozen=True, eq=False)
class Joined:
    """Sequences that follow each other, each in its cluster.

    Attributes:
        first: number of the first.
        cluster: int32 (n,).
        founds: uint8 (n,), 1 where it is the cluster's centroid.
        identity: float64 (n,), with the centroid.
        minus: uint8 (n,), its reverse complement is near.
        exact: uint8 (n,), as :class:`Hits` has it.
        operations, operation_offsets: CIGARs of the alignments with the centroids; of a centroid none.
    """

    first: NDArray[np.int64]
    cluster: NDArray[np.int32]
    founds: NDArray[np.uint8]
    identity: NDArray[np.float64]
    minus: NDArray[np.uint8]
    exact: NDArray[np.uint8]
    operations: NDArray[np.uint32]
    operation_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.cluster)

    @classmethod
    def join(cls, parts: Sequence[Joined]) -> Joined:
        """All sequences of the parts."""
        kinds = ("i8", "i4", "u1", "f8", "u1", "u1", "u4")
        empty = cls(*(*(np.zeros(0, kind) for kind in kinds), np.zeros(1, np.int64)))
        parts = [empty, *parts]
        columns = (np.concatenate([getattr(part, entry.name) for part in parts]) for entry in fields(cls)[1:-1])
        offsets = join_offsets([part.operation_offsets for part in parts])
        return cls(*(np.zeros(1, np.int64), *columns, offsets))


@dataclass(eq=False)
class _Best:
    """The best hit of a sequence so far."""

    identity: float
    cluster: int
    minus: bool
    exact: int
    cigar: NDArray[np.uint32]


class Greedy:
    """The clusters so far.

    Args:
        data: all sequences.
        neighbors: finds those that are near.
        first: join the first centroid that is near enough.

    Attributes:
        centroids: number of each cluster's centroid.
    """

    def __init__(self, data: ClusterInput, neighbors: Neighbors, first: bool) -> None:
        self._data, self._neighbors, self._first = data, neighbors, first
        self._targets = neighbors.targets()
        self.centroids: list[int] = []
        distinct = int(data.distinct.max(initial=-1)) + 1
        self._distinct = distinct
        self._cluster_of = np.full(distinct, -1, np.int32)  # of distinct sequences that are centroids
        self._seen = np.zeros(distinct, np.int32)  # clusters that a distinct sequence was compared with
        self._last = np.zeros(distinct, np.int64)  # where it is met for the last time
        self._last[data.distinct] = np.arange(len(data))
        self._best: dict[int, _Best] = {}  # of those that come again

    @property
    def index_bytes(self) -> int:
        return self._targets.bytes

    def join(self, first: int, last: int) -> Joined:
        """Take the sequences ``first`` ... ``last`` - 1, the next ones."""
        distinct = self._data.distinct[first:last]
        rows, first_at, row_of = np.unique(distinct, return_index=True, return_inverse=True)
        last_at = np.zeros(len(rows), np.int64)
        last_at[row_of] = np.arange(len(distinct))
        itself = (self._cluster_of[rows] >= 0) & self._neighbors.equals_itself[rows]
        best: list[_Best | None] = [self._best.get(d) for d in rows.tolist()]
        compared = np.flatnonzero(~itself)
        hits = self._neighbors.of(
            self._targets, rows[compared], self._seen[rows[compared]], np.full(len(compared), len(self.centroids)),
            "first" if self._first else "best",
        )  # fmt: skip
        row_of_distinct = np.full(self._distinct, -1, np.int32)
        row_of_distinct[rows] = np.arange(len(rows), dtype=np.int32)
        for i, row in enumerate(row_of_distinct[hits.query % self._distinct].tolist()):
            best[row] = self._better(best[row], hits, i, int(self._cluster_of[hits.target[i]]))
        self._seen[rows] = len(self.centroids)
        within = self._within(rows, first_at, last_at, itself, best, row_of_distinct)
        return self._resolved(first, distinct, row_of, rows, best, itself, within)

    def found_again(self, joined: Joined) -> None:
        """Take what an earlier run has found of the next sequences."""
        founders = int(joined.first[0]) + np.flatnonzero(joined.founds)
        self._found(founders.tolist())

    def _found(self, founders: list[int]) -> None:
        distinct = self._data.distinct[founders] if founders else np.zeros(0, np.int32)
        self._cluster_of[distinct] = np.arange(len(self.centroids), len(self.centroids) + len(founders))
        self.centroids += founders
        self._targets.add(distinct)

    def _better(self, known: _Best | None, hits: Hits, i: int, cluster: int) -> _Best:
        """The better of what is known and a hit: the higher identity, the earlier cluster, the plus strand."""
        minus = bool(hits.query[i] >= self._distinct)

        def rank(identity: float, cluster: int, minus: bool) -> tuple[float, int, bool]:
            return (0.0 if self._first else -identity, cluster, minus)

        identity = float(hits.identity[i])
        if known is not None and rank(known.identity, known.cluster, known.minus) <= rank(identity, cluster, minus):
            return known
        return _Best(identity, cluster, minus, int(hits.exact[i]), hits.cigar(i))

    def _within(
        self,
        rows: NDArray[np.int32],
        first_at: NDArray[np.int64],
        last_at: NDArray[np.int64],
        itself: NDArray[np.bool_],
        best: list[_Best | None],
        row_of_distinct: NDArray[np.int32],
    ) -> tuple[Hits, list[list[int]], NDArray[np.int64]]:
        """Hits with sequences of the same batch that may become centroids: (hits, those of each row, and of each hit
        where its target is met first).
        """
        of_row: list[list[int]] = [[] for _ in range(len(rows))]
        may_found = np.flatnonzero([known is None for known in best] & (self._cluster_of[rows] < 0))
        may_found = may_found[np.argsort(first_at[may_found])]
        if not len(may_found):
            return Hits.none(), of_row, np.zeros(0, np.int64)
        targets = self._neighbors.targets()
        targets.add(rows[may_found])
        compared = np.flatnonzero(~itself)
        before = np.searchsorted(first_at[may_found], last_at[compared]).astype(np.int32)
        hits = self._neighbors.of(targets, rows[compared], np.zeros(len(compared), np.int32), before, "all")
        for i, row in enumerate(row_of_distinct[hits.query % self._distinct].tolist()):
            of_row[row].append(i)
        return hits, of_row, first_at[row_of_distinct[hits.target]]

    def _resolved(
        self,
        first: int,
        distinct: NDArray[np.int32],
        row_of: NDArray[np.int64],
        rows: NDArray[np.int32],
        best: list[_Best | None],
        itself: NDArray[np.bool_],
        within: tuple[Hits, list[list[int]], NDArray[np.int64]],
    ) -> Joined:
        hits, of_row, met = within
        founders: list[int] = []
        founded: dict[int, int] = {}  # distinct sequence -> cluster, of this batch
        chosen: list[_Best | None] = []
        equals_itself = self._neighbors.equals_itself
        for at, row in enumerate(row_of.tolist()):
            d = int(rows[row])
            if itself[row] or (d in founded and equals_itself[d]):
                cluster = founded.get(d, int(self._cluster_of[d]))
                chosen.append(_Best(1.0, cluster, False, ALL_MATCH | INNER_MATCH, self._neighbors.whole_match(d)))
                continue
            known = best[row]
            for i in of_row[row]:
                target = int(hits.target[i])
                if target in founded and met[i] < at:
                    known = self._better(known, hits, i, founded[target])
            if known is None:
                founded[d] = len(self.centroids) + len(founders)
                founders.append(first + at)
            chosen.append(known)
        for row, d in enumerate(rows.tolist()):
            known = best[row]
            if known is not None and self._last[d] >= first + len(distinct):
                self._best[d] = known
            else:
                self._best.pop(d, None)
        joined = self._joined(first, chosen, founders)
        self._found(founders)
        return joined

    def _joined(self, first: int, chosen: list[_Best | None], founders: list[int]) -> Joined:
        numbers = iter(range(len(self.centroids), len(self.centroids) + len(founders)))
        cluster = np.array([next(numbers) if one is None else one.cluster for one in chosen], np.int32)
        cigars = [np.zeros(0, np.uint32) if one is None else one.cigar for one in chosen]
        return Joined(
            first=np.array([first], np.int64),
            cluster=cluster,
            founds=np.array([one is None for one in chosen], np.uint8),
            identity=np.array([1.0 if one is None else one.identity for one in chosen], np.float64),
            minus=np.array([one is not None and one.minus for one in chosen], np.uint8),
            exact=np.array([0 if one is None else one.exact for one in chosen], np.uint8),
            operations=np.concatenate([*cigars, np.zeros(0, np.uint32)]),
            operation_offsets=offsets_of([len(cigar) for cigar in cigars]),
        )
