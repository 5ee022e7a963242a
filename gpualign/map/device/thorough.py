"""The second kernel of short reads, ``cuda/map_thorough.cu``, for templates that want more than a look at their seeds:
reads that do not align end to end, or not well, mates that are not found, and reads too long for the first one.

How many there are only the device knows: memory is for the usual number, and grows where that does not suffice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.gpu.abi import filled, struct
from gpualign.index.minimizers import MinimizerIndex
from gpualign.map.chaining import LONG_READ_HITS, LONG_READS
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.chains import ARENA_COUNTERS, COUNTERS, ArenaSizes, Array, chain_batch_of, used_items
from gpualign.map.params import MapParams

#: items of each arena that a batch begins with, by its bases and by its reads, one in fifty of which is mapped so
_ARENA_ITEMS: Mapping[str, tuple[float, float]] = {
    "hashes": (0.15, 30),
    "seeds": (0.0, 2),
    "anchors": (0.0, 200),
    "candidates": (0.0, 20),
    "chains": (0.0, 1),
    "points": (0.0, 2),
    "tasks": (0.0, 3),
    "runs": (0.0, 1),
    "cigars": (0.0, 30),
    "alignments": (0.0, 1),
    "ranked": (0.0, 2),
    "outputs": (0.0, 0),
    "output_cigars": (0.0, 0),
}
#: more is done by the CPU: of a dynamic program's memory, and of windows
_MAX_BAND = 1 << 30
_MAX_HITS = 1 << 17
#: windows next to a mate's loci, of a short one on both sides of what is found there, too
_MATE_WINDOWS = 32
#: loci of a read that there is space for besides those of its seeds
_MORE_LOCI = 256
#: counters after those of the arenas, and of the long reads' arenas and turns
_NEXT, _WANTED_LOCI, _WANTED_HITS = range(ARENA_COUNTERS + COUNTERS, ARENA_COUNTERS + COUNTERS + 3)
THOROUGH_COUNTERS = _WANTED_HITS + 1


@dataclass(frozen=True)
class Capacity:
    """What a batch has space for: items of arenas, loci and hits of a read."""

    chains: Mapping[str, int]
    long_chains: Mapping[str, int]
    loci: int
    hits: int


@dataclass(frozen=True)
class TeamShape:
    """What maps a template: so many groups of lanes."""

    groups: int
    lanes: int


class Thorough:
    """What the kernel is launched with.

    Args:
        limits: int32: edits allowed by a read's length.
    """

    def __init__(self, index: MinimizerIndex, params: MapParams, team: TeamShape) -> None:
        self._index, self._params, self._team = index, params, team
        self._arenas, self._long_arenas = ArenaSizes(_ARENA_ITEMS), ArenaSizes()
        depth = int(_native.MAP_DEPTH)
        self._hits = power_of_two(min(_MAX_HITS, max(_MATE_WINDOWS, depth * params.seeding.max_hits)))
        self._loci = power_of_two(depth * params.seeding.max_candidates + _MORE_LOCI)
        k, scores = index.params.k, params.scoring.native
        self._rules = [
            np.frombuffer(_native.short_read_chaining(k, w, scores), struct("ChainRules"))[0]
            for w in (index.params.w, 1)
        ]
        chaining = LONG_READS.native(LONG_READ_HITS)
        names = struct("ChainRules").names or ()
        self._long_rules = filled(
            "ChainRules",
            **{name: value for name, value in chaining.items() if name in names},
            k=k,
            w=index.params.w,
            scores=self._rules[0]["scores"],
        )

    def longest(self, item: MapBatch) -> int:
        """Bases of the longest read that may be aligned whole."""
        return item.longest[2] if self._params.end_to_end else item.longest[1]

    def any_long(self, item: MapBatch) -> bool:
        """Whether reads are mapped as long ones."""
        return not self._params.end_to_end and item.longest[2] > int(_native.LONGEST_WHOLE)

    def team_bytes(self, item: MapBatch) -> tuple[int, int]:
        """Memory of a team, and of it for each group's dynamic programs."""
        longest = -(-self.longest(item) // 64) * 64
        limit = int(self._params.limits(np.array([longest]))[0])
        nbytes, band = _native.thorough_workspace(
            longest, limit, self._hits, self._loci, self._team.groups, self._team.lanes, _MAX_BAND
        )
        return int(nbytes), int(band)

    def launch(
        self, item: MapBatch, batch: np.void, block: int, array: Array, counters: int, workspace: int
    ) -> tuple[np.void, Capacity]:
        """``ThoroughLaunch`` of cuda/abi/thorough.hpp, and what there is space for.

        Args:
            batch: the first kernel's ``MapBatch``.
            array: (name, bytes) -> address of an array of the batch.
            counters: address of uint32 (THOROUGH_COUNTERS,), all 0.
            workspace: address of the teams' memory.
        """
        reads, bases = len(item.batch), len(item.batch.bases)
        nbytes, band = self.team_bytes(item)
        capacity, long_capacity = self._arenas.items(bases, reads), self._long_arenas.items(bases, reads)

        both = np.empty(2, struct("ChainBatch"))
        both[:] = chain_batch_of(item, block, self._rules[0], 0, capacity, array, counters)
        both["rules"][1] = self._rules[1]
        both["state"][1] = array("dense state", reads * struct("ChainRead").itemsize)
        long_chains = filled("ChainBatch")
        if self.any_long(item):
            long_chains = chain_batch_of(
                item,
                block,
                self._long_rules,
                0,
                long_capacity,
                lambda name, size: array(f"long {name}", size),
                counters + 4 * ARENA_COUNTERS,
                int(_native.LONGEST_WHOLE) + 1,
            )
        launch = filled(
            "ThoroughLaunch",
            batch=batch,
            chains=both,
            long_chains=long_chains,
            workspace=workspace,
            workspace_bytes=nbytes,
            band_bytes=band,
            next=counters + 4 * _NEXT,
            wanted_loci=counters + 4 * _WANTED_LOCI,
            wanted_hits=counters + 4 * _WANTED_HITS,
            longest=-(-self.longest(item) // 64) * 64,
            max_hits=self._hits,
            max_loci=self._loci,
            full=self._params.seeding.full,
        )
        return launch, Capacity(capacity, long_capacity, self._loci, self._hits)

    @staticmethod
    def long_launch(launch: np.void, counters: int) -> np.void:
        """``ChainLaunch`` for the reads that are mapped as long ones."""
        turns = counters + 4 * 2 * ARENA_COUNTERS
        return filled("ChainLaunch", target=launch["batch"]["target"], batch=launch["long_chains"], next=turns)

    def lacking(self, counters: NDArray[np.uint32], given: Capacity) -> bool:
        """Whether a batch had too little room; the next time it has more."""
        lacking = self._arenas.lacking(used_items(counters), given.chains)
        lacking += self._long_arenas.lacking(used_items(counters[ARENA_COUNTERS:]), given.long_chains)
        wanted_loci, wanted_hits = int(counters[_WANTED_LOCI]), int(counters[_WANTED_HITS])
        if wanted_loci > given.loci:
            self._loci = max(self._loci, power_of_two(wanted_loci))
        if wanted_hits > given.hits:
            self._hits = max(self._hits, power_of_two(wanted_hits))
        return bool(lacking) or wanted_loci > given.loci or wanted_hits > given.hits


def all_templates(item: MapBatch) -> NDArray[np.uint32]:
    """uint32: how many templates are mapped thoroughly, and which, where all are."""
    return np.concatenate([[item.templates], np.arange(item.templates)]).astype(np.uint32)


def power_of_two(n: int) -> int:
    """The smallest one that is at least n."""
    return 1 << max(0, n - 1).bit_length()
