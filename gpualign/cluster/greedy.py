"""Greedy centroid clustering: each sequence in turn joins the nearest centroid, or founds a cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.near.cpu import Hits, Wanted
from gpualign.align.near.neighbors import Neighbors, Queries
from gpualign.cluster.sequences import ClusterInput
from gpualign.sequences.columns import Columns


@dataclass(frozen=True, eq=False)
class Joined(Columns):
    """Sequences that follow each other, each in its cluster.

    Attributes:
        number: int64 (n,), in the order in which they are taken.
        cluster: int32 (n,).
        founds: uint8 (n,), 1 where it is the cluster's centroid.
        identity: float64 (n,), with the centroid.
        minus: uint8 (n,), its reverse complement is near.
        exact: uint8 (n,), as :class:`Hits` has it.
        operations, operation_offsets: CIGARs of the alignments with the centroids; of a centroid none.
    """

    number: NDArray[np.int64]
    cluster: NDArray[np.int32]
    founds: NDArray[np.uint8]
    identity: NDArray[np.float64]
    minus: NDArray[np.uint8]
    exact: NDArray[np.uint8]
    operations: NDArray[np.uint32]
    operation_offsets: NDArray[np.int64]

    @classmethod
    def none(cls) -> Joined:
        """No sequences."""
        kinds = ("i8", "i4", "u1", "f8", "u1", "u1", "u4")
        return cls(*(*(np.zeros(0, kind) for kind in kinds), np.zeros(1, np.int64)))


class Greedy:
    """The clusters so far.

    Args:
        data: all sequences.
        neighbors: finds those that are near.
        first: join the first centroid that is near enough.
    """

    def __init__(self, data: ClusterInput, neighbors: Neighbors, first: bool) -> None:
        self._data, self._neighbors = data, neighbors
        self._wanted: Wanted = "first" if first else "best"
        self._targets = neighbors.targets()
        self._distinct = int(data.distinct.max(initial=-1)) + 1
        self._seen = np.zeros(self._distinct, np.int32)  # targets that a distinct sequence was compared with
        self._is_target = np.zeros(self._distinct, bool)
        last = np.zeros(self._distinct, np.int64)  # where it is met for the last time
        last[data.distinct] = np.arange(len(data))
        self._clusters = _native.GreedyClusters(
            last=last, equals_itself=neighbors.equals_itself.view(np.uint8), lengths=data.sequences.lengths, first=first
        )

    def __len__(self) -> int:
        return len(self._clusters)

    @property
    def index_bytes(self) -> int:
        return self._targets.bytes

    def join(self, first: int, last: int) -> Joined:
        """Take the sequences ``first`` ... ``last`` - 1, the next ones."""
        distinct = self._data.distinct[first:last]
        rows, first_at, row_of = np.unique(distinct, return_index=True, return_inverse=True)
        last_at = np.zeros(len(rows), np.int64)
        last_at[row_of] = np.arange(len(distinct))
        is_centroid = self._clusters.clusters_of(rows) >= 0
        compared = np.flatnonzero(~(is_centroid & self._neighbors.equals_itself[rows]))
        targets = len(self._targets)
        queries = rows[compared]
        hits = self._neighbors.of(
            self._targets,
            Queries(queries, self._seen[queries], np.full(len(compared), targets, np.int32)),
            self._wanted,
            self._clusters.identities(queries),
        )
        self._clusters.compare(*hits.native)
        self._seen[rows] = targets
        # those that may become centroids, and hits with them of sequences that come later in the batch
        known = self._clusters.identities(rows)
        may_found = np.flatnonzero((known < 0) & ~is_centroid)
        may_found = may_found[np.argsort(first_at[may_found])]
        within = Hits.none()
        if len(may_found):
            new = self._neighbors.targets()
            new.add(rows[may_found])
            before = np.searchsorted(first_at[may_found], last_at[compared]).astype(np.int32)
            if self._wanted == "first":  # a centroid that is known is before all of these
                before[known[compared] >= 0] = 0
            queries_within = Queries(queries, np.zeros(len(compared), np.int32), before)
            within = self._neighbors.of(new, queries_within, "all", known[compared])
        joined = Joined(np.arange(first, last), *self._clusters.join(distinct, first, *within.native))
        self._add_targets(joined)
        return joined

    def found_again(self, joined: Joined) -> None:
        """Take what an earlier run has found of the next sequences."""
        self._clusters.found(self._add_targets(joined))

    def _add_targets(self, joined: Joined) -> NDArray[np.int32]:
        """The distinct sequences of the centroids; one that does not equal itself may be that of several clusters."""
        distinct: NDArray[np.int32] = self._data.distinct[joined.number[joined.founds == 1]]
        new = distinct[np.sort(np.unique(distinct, return_index=True)[1])]
        self._targets.add(new[~self._is_target[new]])
        self._is_target[new] = True
        return distinct
