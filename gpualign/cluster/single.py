"""Single linkage: sequences that are near to each other, directly or through others, are one cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpualign.align.near.cpu import NearPairs
from gpualign.align.near.neighbors import Neighbors, Queries
from gpualign.cluster.sequences import ClusterInput, numbered_as_met
from gpualign.sequences.pairs import PairBlock


class SingleLinkage:
    """The components so far. No pairs are kept, and those within a component are not aligned."""

    def __init__(self, data: ClusterInput, neighbors: Neighbors) -> None:
        self._data, self._neighbors = data, neighbors
        self._targets = neighbors.targets()
        self._distinct = int(data.distinct.max(initial=-1)) + 1
        self._parent = np.arange(self._distinct)

    @property
    def index_bytes(self) -> int:
        return self._targets.bytes

    def join(self, first: int, last: int) -> NDArray[np.int32]:
        """Take the distinct sequences ``first`` ... ``last`` - 1, the next ones; returns (pairs, 2) that joined two
        components.
        """
        rows = np.arange(first, last, dtype=np.int32)
        self._targets.add(rows)
        links: list[tuple[int, int]] = []
        for block in self._neighbors.blocks(self._targets, Queries(rows, np.zeros(len(rows), np.int32), rows)):
            self._join(block, links)
        return np.array(links, np.int32).reshape(-1, 2)

    def found_again(self, first: int, last: int, links: NDArray[np.int32]) -> None:
        """Take what an earlier run has found of the next sequences."""
        self._targets.add(np.arange(first, last, dtype=np.int32))
        for one, other in links.tolist():
            self._link(one, other)

    def clusters(self) -> NDArray[np.int32]:
        """int32 (n,): of each sequence, numbered as they are met."""
        return numbered_as_met(self._roots()[self._data.distinct])[0]

    def _join(self, block: PairBlock, links: list[tuple[int, int]]) -> None:
        """Align some pairs of each query, then twice as many of those that are still apart, and so on."""
        some = 1
        while len(block := self._apart(block)):
            turn = (
                np.arange(len(block))
                - np.flatnonzero(np.diff(block.queries, prepend=-1))[
                    np.cumsum(np.diff(block.queries, prepend=-1) != 0) - 1
                ]
            )
            now = turn < some
            for hits in self._neighbors.hits(iter([NearPairs(block.take(now), "all")])):
                for query, target in zip((hits.query % self._distinct).tolist(), hits.target.tolist(), strict=True):
                    if self._link(query, target):
                        links.append((query, target))
            block = block.take(~now)
            some *= 2

    def _apart(self, block: PairBlock) -> PairBlock:
        roots = self._roots()
        return block.take(roots[block.queries % self._distinct] != roots[block.targets])

    def _roots(self) -> NDArray[np.int64]:
        while True:
            up = self._parent[self._parent]
            if np.array_equal(up, self._parent):
                return up
            self._parent = up

    def _link(self, one: int, other: int) -> bool:
        roots = []
        for at in (one, other):
            while self._parent[at] != at:
                at = int(self._parent[at])
            roots.append(at)
        if roots[0] == roots[1]:
            return False
        self._parent[max(roots)] = min(roots)
        return True
