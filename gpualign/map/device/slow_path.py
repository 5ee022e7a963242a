"""The slow path of short reads, ``cuda/map_slow_path.cu``: for reads that do not align end to end, or not well, for
mates that are not found, and for reads too long for the fast path.

Only the device knows how many there are. Memory is allocated for a typical share, and grows if that is too little.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map import tuning
from gpualign.map.device.batch import KernelReads
from gpualign.map.device.chains import (
    ALIGN_COUNTERS,
    ARENA_COUNTERS,
    COUNTERS,
    DONE_COUNTERS,
    ArenaItems,
    ArenaSizes,
    Array,
    chain_batch_of,
    chain_launch,
    used_items,
)
from gpualign.map.params import MapParams
from gpualign.map.rules import affine_scores, chain_rules, intron_rules
from gpualign.run.abi import changed, filled, struct
from gpualign.seeds.index.minimizers import MinimizerIndex

#: initial capacities: bytes of a DP band, and hits of a read
_FIRST_BAND = 1 << 30
_FIRST_HITS = 1 << 17
#: limits of a band and of a read's hits: share of the device's budget, and absolute; beyond them the CPU takes over
_BAND_SHARE, _MAX_BAND = 1 / 4, 1 << 35
_HITS_SHARE, _MAX_HITS, _HIT_BYTES = 1 / 16, 1 << 28, 24
#: windows next to a mate's loci; for a short mate also on both sides of what is found there
_MATE_WINDOWS = 32
#: capacity for loci of a read besides those of its seeds
_MORE_LOCI = 256
#: kernels before the alignment of chains
_CHAINING = ("seed_slow", "chain_slow", "select_slow")
#: kernels after it
_CHOOSING = ("rescue_slow", "clip_slow", "choose_slow", "write_slow", "end_slow")
#: kernels in launch order; those of _CHAINING and rank_slow run twice
KERNELS = ("find_slow", "adapters_slow", *_CHAINING, "rank_slow", *_CHOOSING)
#: counters of a launch, after those of the arenas and work counters of its steps: work counters of aligned chains,
#: SlowPathWanted (cuda/abi/slow_path.hpp), and what earlier rounds have done
_ALIGN_COUNTERS = ARENA_COUNTERS + 2 * len(KERNELS)
_WANTED = _ALIGN_COUNTERS + 2 * ALIGN_COUNTERS
_DONE = _WANTED + 4
_LAUNCH_COUNTERS = _DONE + DONE_COUNTERS


@dataclass(frozen=True)
class Capacity:
    """Capacities of a batch: items of arenas, loci and hits per read, templates per launch, and number of launches;
    sizes in bytes; and the limits to which templates per launch, hits per read and a DP band can grow.
    """

    chains: ArenaItems
    long_chains: ArenaItems
    loci: int
    hits: int
    templates: int
    launches: int
    sizes: SlowPathSizes
    template_limit: int
    hit_limit: int
    band_limit: int

    @property
    def overflow(self) -> int:
        """Index of the counter of overflow records, after those of reads mapped as long ones and of all launches."""
        return COUNTERS + self.launches * _LAUNCH_COUNTERS

    @property
    def counters(self) -> int:
        """Number of counters."""
        return self.overflow + 1


class SlowPath:
    """Plans the launches of the slow path.

    Args:
        lanes: lanes that map a template together.
        known: a ``KnownIntrons``; None: there are none.
    """

    def __init__(self, index: MinimizerIndex, params: MapParams, lanes: int, known: np.void | None = None) -> None:
        self._index, self._params, self._lanes, self._known = index, params, lanes, known
        self._arenas, self._long_arenas = ArenaSizes(slow_path=True), ArenaSizes()
        self._band = _FIRST_BAND
        self._share = 1.0 if params.seeding.full else tuning.SLOW_SHARE
        depth = _native.MAP_DEPTH
        self._hits = power_of_two(min(_FIRST_HITS, max(_MATE_WINDOWS, depth * params.seeding.max_hits)))
        self._loci = power_of_two(depth * params.seeding.max_candidates + _MORE_LOCI)
        self._sizes = functools.cache(self._sizes_of)  # most batches have the same
        k, w, scores = index.params.k, index.params.w, affine_scores(params.scoring).tobytes()
        introns = intron_rules(params.splicing).tobytes()
        chaining = (_native.short_read_chaining(k, each, scores, introns) for each in (w, 1))
        self._rules = [np.frombuffer(rules, struct("ChainRules"))[0] for rules in chaining]
        self._long_rules = chain_rules(k, w, *params.of_long_reads)

    def any_long(self, item: KernelReads) -> bool:
        """Whether some reads are mapped as long reads."""
        return not self._params.end_to_end and item.longest[2] > _native.LONGEST_END_TO_END

    def _sizes_of(self, mates: int, longest: int, hits: int, loci: int, band: int) -> SlowPathSizes:
        limit = int(self._params.limits(np.array([longest]))[0])
        index = self._index.params
        seeds = _native.max_variant_seeds(longest, index.k, index.w, index.meth)
        sizes = _native.slow_path_bytes(mates, longest, seeds, limit, hits, loci, self._lanes, band)
        return SlowPathSizes(longest, seeds, *map(int, sizes))

    def capacity(self, item: KernelReads, budget: float) -> Capacity:
        """The capacity for a batch within a memory budget in bytes."""
        reads, bases = item.reads, item.bases
        wanted = min(item.templates, max(tuning.MIN_SLOW_TEMPLATES, int(self._share * item.templates)))
        longest = -(-(item.longest[2] if self._params.end_to_end else item.longest[1]) // 64) * 64
        sizes = self._sizes(item.mates, longest, self._hits, self._loci, self._band)
        template_limit = int(max(1, min(item.templates, tuning.SLOW_STATES_SHARE * budget // sizes.template)))
        templates = min(wanted, template_limit)
        return Capacity(
            self._arenas.items(bases, reads),
            self._long_arenas.items(bases, reads),
            self._loci,
            self._hits,
            templates,
            -(-wanted // templates),
            sizes,
            template_limit,
            int(min(_MAX_HITS, _HITS_SHARE * budget // _HIT_BYTES)),
            int(min(_MAX_BAND, _BAND_SHARE * budget)),
        )

    def long_launch(
        self, item: KernelReads, batch: np.void, array: Array, counters: int, capacity: Capacity
    ) -> np.void:
        """``ChainLaunch`` for the reads that are mapped as long reads; takes the arguments of :meth:`launches`."""
        minimum = _native.LONGEST_END_TO_END + 1

        def of_long(name: str, nbytes: int) -> int:
            return array(f"long {name}", nbytes)

        chains = chain_batch_of(
            item, batch, self._long_rules, 0, capacity.long_chains, of_long, counters, minimum, self._known
        )
        return chain_launch(batch["target"], chains, counters)

    def launches(
        self,
        item: KernelReads,
        batch: np.void,
        array: Array,
        counters: int,
        workspace: int,
        statuses: int,
        capacity: Capacity,
    ) -> Iterator[np.void]:
        """``SlowPathLaunch`` of cuda/abi/slow_path.hpp for each part of the templates.

        Args:
            batch: the first kernel's ``MapBatch``.
            array: (name, bytes) -> address of an array of the batch.
            counters: address of uint32 (capacity.counters,), all 0.
            workspace: address of the groups' workspaces.
            statuses: address of uint32 (capacity.templates,), 0 when a launch begins.
        """
        sizes, long_chains = capacity.sizes, filled("ChainBatch")
        if self.any_long(item):
            long_chains = self.long_launch(item, batch, array, counters, capacity)["batch"]
        for number in range(capacity.launches):
            own = counters + 4 * (COUNTERS + number * _LAUNCH_COUNTERS)
            chains = chain_batch_of(item, batch, self._rules[0], 0, capacity.chains, array, own, known=self._known)
            state = array("dense state", item.reads * struct("ChainRead").itemsize)
            dense = changed(chains, rules=self._rules[1], state=state)
            yield filled(
                "SlowPathLaunch",
                batch=batch,
                chains=chains.tobytes() + dense.tobytes(),
                long_chains=long_chains,
                states=array("template states", capacity.templates * sizes.template),
                statuses=statuses,
                workspace=workspace,
                state_bytes=sizes.template,
                workspace_bytes=sizes.group,
                band_bytes=sizes.band,
                max_band_bytes=capacity.band_limit,
                next=own + 4 * ARENA_COUNTERS,
                done=own + 4 * _DONE,
                wanted=own + 4 * _WANTED,
                first=number * capacity.templates,
                templates=capacity.templates,
                longest=sizes.longest,
                max_hits=capacity.hits,
                max_loci=capacity.loci,
                hit_limit=capacity.hit_limit,
                mates=item.mates,
                full=self._params.seeding.full,
                max_seeds=sizes.seeds,
            )

    @staticmethod
    def steps(launch: np.void) -> Iterator[tuple[str, np.void]]:
        """Yield (kernel, its argument) in launch order; ("", ``ChainLaunch``) stands for the alignment of chains. The
        argument is ``launch``, which changes with the next step.
        """
        counter, first = int(launch["next"]), int(launch["next"])

        def step(kernel: str) -> tuple[str, np.void]:
            nonlocal counter
            launch["next"] = counter
            counter += 4
            return kernel, launch

        yield step("find_slow")
        yield step("adapters_slow")
        for number in range(2):
            launch["round"] = number
            yield from map(step, _CHAINING)
            align = first + 4 * (_ALIGN_COUNTERS - ARENA_COUNTERS + number * ALIGN_COUNTERS)
            target, done = launch["batch"]["target"], launch["done"]
            yield "", filled("ChainLaunch", target=target, batch=launch["chains"][number], next=align, done=done)
            yield step("rank_slow")
        yield from map(step, _CHOOSING)

    @staticmethod
    def beyond(counters: NDArray[np.uint32], capacity: Capacity) -> float:
        """The templates of the slow path, as a multiple of those that were mapped; 1 if all were."""
        return max(1.0, int(counters[COUNTERS + _WANTED]) / (capacity.templates * capacity.launches))

    def lacking(self, item: KernelReads, counters: NDArray[np.uint32], capacity: Capacity) -> bool:
        """Whether a batch exceeded its capacity, which then grows. If it had more templates than expected, those that
        were mapped tell what all of them need.
        """
        lacking = bool(self._long_arenas.lacking(used_items(counters), capacity.long_chains))
        beyond = self.beyond(counters, capacity)
        for own in counters[COUNTERS : capacity.overflow].reshape(capacity.launches, _LAUNCH_COUNTERS):
            used = used_items(own)
            lacking |= bool(self._arenas.lacking(used, capacity.chains))
            templates, loci, hits, band = own[_WANTED:_DONE].tolist()
            band *= _native.WANTED_BAND_BYTES
            self._band = max(self._band, band)
            self._loci = max(self._loci, power_of_two(loci))
            self._hits = max(self._hits, power_of_two(hits))
            lacking |= loci > capacity.loci or hits > capacity.hits or band > capacity.sizes.band
            if beyond > 1:
                self._share = max(self._share, min(1.0, tuning.SLOW_PATH_MARGIN * templates / item.templates))
                more = tuning.SLOW_PATH_MARGIN * min(templates, capacity.template_limit) / capacity.templates
                self._arenas.expect({name: more * count for name, count in used.items()}, capacity.chains)
        return lacking or beyond > 1


@dataclass(frozen=True)
class SlowPathSizes:
    """Sizes for a batch: bases of its longest read to align end to end, rounded up; seeds of a read and its
    one-substitution variants; bytes of a template's state, of a group's workspace, of the DP band in it, and of a
    chain's largest DP matrix.
    """

    longest: int
    seeds: int
    template: int
    group: int
    band: int
    of_chain: int


def all_templates(item: KernelReads) -> NDArray[np.uint32]:
    """uint32: number and indices of the templates of the slow path, if that is all of them."""
    return np.concatenate([[item.templates], np.arange(item.templates)]).astype(np.uint32)


def power_of_two(n: int) -> int:
    """The smallest one that is at least n."""
    return 1 << max(0, n - 1).bit_length()
