"""Launches of the kernels of ``cuda/pairwise.cu``: sequences that stay on a device, scores, alignments."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align import pair_tasks
from gpualign.align.score.device import plan, query_lanes, tasks
from gpualign.align.score.problem import PairProblem
from gpualign.align.score.score_tile import ScoreTile
from gpualign.align.score.tuning import FEW_MODULE, LANES_MODULE, PAIRWISE, few_defines, pairwise_defines
from gpualign.run.abi import filled
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.kernel import FoundList
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.pairs import PairBlock

THREADS = 64
_WARPS_PER_BLOCK = THREADS // pair_tasks.WARP
#: modules of kernels by how their names begin, where that is not cuda/pairwise.cu
_MODULE_OF = {
    "borders": "pairwise_ends",
    "anywhere": "pairwise_ends",
    "part": "pairwise_long",
    "strips": "pairwise_strips",
    "few": FEW_MODULE,
}
#: largest alphabet whose profile is held as words, and the columns of a strip then
_FEW_SYMBOLS, _FEW_COLUMNS = 8, 32
#: symbols that kernels may look beyond the last one
_LOOKED_AHEAD = 64

#: of each strand what the score filter left: number and score of each pair
KEPT = tuple(FoundList(f"found {strand}", (np.int32, 2)) for strand in range(2))
#: (TRACE_RESULT of each pair, paths joined from start to end as BAM words)
Traced = tuple[NDArray[np.void], NDArray[np.uint32]]


class PairwiseLauncher:
    """The kernels over one device's copy of a problem."""

    def __init__(self, device: Device, problem: PairProblem) -> None:
        self.device, self.problem = device, problem
        self.matching = filled("Matching", identical=problem.scoring.identical, bases=problem.scoring.bases)
        if problem.traced:
            self._load_for_traceback()

    def _load_for_traceback(self) -> None:
        """A driver loads a function when it is first used, and may wait for all kernels that run: better before any."""
        gaps = self.gaps
        symbols = ("nucleotides", "symbols")
        names = []
        if self.problem.from_corners:
            names = [f"{kernel}_{gaps}{width}" for kernel in ("sweep", "trace") for width in ("", "_wide")]
        names += [f"{self.strips(kept=True)}_{gaps}_{kind}" for kind in symbols]
        for name in (*names, "strips_walk", "gather_runs", "keep_scores"):
            self.function(name, 0)

    # -- what stays on the device

    @cached_property
    def strands(self) -> list[np.void]:
        """DeviceSequences of each strand of the queries."""
        return [self._sequences(strand) for strand in self.problem.queries]

    @cached_property
    def targets(self) -> np.void:
        """DeviceSequences."""
        return self._sequences(self.problem.targets)

    def _sequences(self, sequences: EncodedSequences) -> np.void:
        """The addresses of a set's codes and offsets (DeviceSequences), copied once a device."""

        def copy() -> DeviceArrays:
            codes = np.concatenate([sequences.codes, np.zeros(_LOOKED_AHEAD, sequences.codes.dtype)])
            return DeviceArrays(self.device, codes, sequences.offsets)

        resident = self.device.resident("sequences", copy, sequences)
        codes, offsets = resident.addresses
        return filled("DeviceSequences", codes=codes, offsets=offsets)

    @cached_property
    def scores(self) -> int:
        """The address of the scoring's table, copied once a device."""
        scoring = self.problem.scoring
        resident = self.device.resident("scores", lambda: DeviceArrays(self.device, scoring.scores), scoring)
        return resident.addresses[0]

    def scheme(self, words: tasks.Arithmetic) -> np.void:
        """Scores and gaps (LazyScheme)."""
        problem = self.problem
        return filled(
            "LazyScheme",
            scores=self.scores,
            symbols=len(problem.scoring),
            shift=words.shift,
            opening=words.opening,
            bias=words.bias,
            extend=problem.gap_extend,
            cheap_ends=sum(cheap << bit for bit, cheap in enumerate(problem.cheap_ends)),
            free_ends=problem.free_end_bits,
            ends=tuple(problem.costs_at_ends),
        )

    def function(self, name: str, shared: int) -> tuple[Any, int]:
        """A kernel and how many of its blocks the device holds at a time."""
        module = _MODULE_OF.get(name.split("_")[0], "pairwise")
        if module == FEW_MODULE:
            opening = self.problem.gap_open - self.problem.gap_extend
            defines = few_defines(opening, self.problem.mode == "local")
        else:
            defines = pairwise_defines(self.gaps == "affine")
        function = self.device.function(module, name, defines, shared)
        return function, self.device.blocks_at_once(function, THREADS, shared)

    def arithmetic(self, n: int, m: int, wide: bool = False) -> tasks.Arithmetic:
        """The words that tables of up to n x m need, or 32-bit words."""
        problem, ends = self.problem, self.problem.cheap_ends
        cheap_start = any(ends) if wide else ends[0] or ends[2]
        return tasks.arithmetic(
            problem.scoring, problem.gap_open, problem.gap_extend, n, m, problem.mode == "local", cheap_start, wide
        )

    def strips(self, kept: bool) -> str:
        """Prefix of the kernel's name, with directions ``kept`` or without."""
        problem = self.problem
        ends = "corners" if problem.from_corners else "anywhere" if problem.mode == "local" else "borders"
        return f"strips_{ends}{'' if kept else 'scores'}"

    @property
    def gaps(self) -> str:
        problem = self.problem
        return "affine" if problem.gap_open > problem.gap_extend or problem.mode == "local" else "linear"

    # -- LazyRScan

    def submit_lazy(
        self,
        slot: Slot,
        block: PairBlock,
        strand: int,
        order: NDArray[np.int64] | None,
        maximum: tuple[int, int],
        lines: tuple[float, float, float, float] | None = None,
    ) -> None:
        """Enqueue the scores of a block, in ``order``, into the array "scores STRAND".

        Args:
            maximum: symbols of the block's longest query and target.
            lines: ``IdentityBound.score_lines``; only pairs that reach it leave the device, in :data:`KEPT`.
        """
        longest, columns = maximum
        words = self.arithmetic(longest, columns)
        queries, targets = block.queries, block.targets
        if order is not None:
            queries, targets = queries[order], targets[order]
        name, shared, scheme = self.lazy_kernel(words)
        function, blocks = self.function(name, shared)
        work = pair_tasks.lazy_tasks(queries, pair_tasks.WARP * words.lanes)
        blocks = min(blocks, -(-len(work) // _WARPS_PER_BLOCK))
        suffix = f" {strand}"
        slot.launch(
            function,
            blocks,
            THREADS,
            slot.upload("tasks" + suffix, work.view(np.uint8)),
            np.int32(len(work)),
            slot.clear("ticket" + suffix, 4),
            scheme,
            self.strands[strand],
            self.targets,
            slot.upload("targets" + suffix, targets),
            slot.device_array("column", blocks * _WARPS_PER_BLOCK * 2 * longest * pair_tasks.WARP * 4),
            np.int32(longest),
            slot.device_array("scores" + suffix, 4 * len(block)),
            shared=shared,
        )
        if lines is None:
            slot.download("scores" + suffix, len(block), np.int32)
            return
        keep, _ = self.function("keep_scores", 0)
        slot.launch(
            keep,
            -(-len(work) // _WARPS_PER_BLOCK),
            THREADS,
            slot.device_array("tasks" + suffix, 0),
            self.strands[strand],
            self.targets,
            slot.device_array("targets" + suffix, 0),
            slot.device_array("scores" + suffix, 0),
            filled("ScoreLines", **dict(zip("pqrs", lines, strict=True))),
            *KEPT[strand].space(slot, len(block)),
            np.int32(len(work)),
        )
        KEPT[strand].download(slot)

    def lazy_kernel(self, words: tasks.Arithmetic) -> tuple[str, int, np.void]:
        """Kernel name, its shared bytes a block and its scheme."""
        scoring = self.problem.scoring
        local = self.problem.mode == "local"
        ends = "lazy" if self.problem.from_corners else "anywhere" if local else "borders"
        if words.lanes == 1:
            name, shared = f"{ends}_{self.gaps}_wide", 4 * len(scoring) ** 2
        elif len(scoring) > _FEW_SYMBOLS:
            name, shared = f"{ends}_{self.gaps}_symbols", len(scoring) * 16 * 2 * THREADS
        else:
            name, shared = f"few_{ends}", len(scoring) * _FEW_COLUMNS * 4 * THREADS
            if not local:  # in words without signs, the lowest value being 0
                words = replace(words, bias=words.bias + (1 << 15))
        return name, shared, self.scheme(words)

    # -- queries over the lanes of groups

    @cached_property
    def lanes_suit(self) -> bool:
        """Whether the problem's scores can be had from these kernels."""
        problem = self.problem
        wanted = problem.kernel in ("auto", "lanes") and not problem.traced and self.gaps == "affine"
        if problem.kernel == "auto" and problem.from_corners and len(problem.scoring) <= 8:
            return False  # LazyRScan has 32 columns of nucleotides in registers, and is faster
        in_hardware = int(self.device.info.architecture.removeprefix("sm_")) >= 90  # DPX
        return wanted and in_hardware and query_lanes.suits(problem) and query_lanes.can_be_had(problem)

    def submit_lanes(self, slot: Slot, block: PairBlock, strand: int, order: NDArray[np.int64]) -> None:
        """Enqueue the scores of a block, in ``order`` (by query and length), into the array "scores STRAND"; a local
        score of -1 is one that half a word does not hold.
        """
        problem = self.problem
        queries, targets = block.queries[order], block.targets[order]
        n, m = problem.query_lengths[queries], problem.target_lengths[targets]
        launches = query_lanes.launches(queries, n, m, self.device.processors)
        sequences = self.strands[strand], self.targets
        self._launch_lanes(slot, launches, sequences, targets, f" {strand}", (len(block), 0))
        slot.download(f"scores {strand}", len(block), np.int32)

    def submit_tile(self, slot: Slot, tile: ScoreTile, order: NDArray[np.int64]) -> None:
        """Score a tile and its targets in ``order`` (by length, none empty), into an array of that shape."""
        n, targets = self.problem.query_lengths[tile.first : tile.last], tile.targets
        launches = query_lanes.tile_launches(n, targets.lengths[order].astype(np.int32), self.device.processors)
        queries = self.strands[0].copy()
        queries["offsets"] += tile.first * targets.offsets.itemsize
        codes = slot.upload_once("target codes", targets.codes, targets)
        offsets = slot.upload_once("target offsets", targets.offsets, targets)
        sequences = queries, filled("DeviceSequences", codes=codes, offsets=offsets)
        self._launch_lanes(slot, launches, sequences, order.astype(np.int32), " 0", (len(n) * len(order), len(order)))
        slot.download("scores 0", (len(n), len(order)), np.int32)

    def _launch_lanes(
        self,
        slot: Slot,
        launches: list[query_lanes.LaneLaunch],
        sequences: tuple[np.void, np.void],
        targets: NDArray[np.int32],
        suffix: str,
        pairs_and_stride: tuple[int, int],
    ) -> None:
        """``targets``: of the pairs that tasks name; a query's scores begin a stride after the last query's."""
        problem = self.problem
        pairs, stride = pairs_and_stride
        local = problem.mode == "local"
        opening = problem.gap_open - (0 if local else problem.gap_extend)
        words = tasks.Arithmetic(
            2, 0 if local else query_lanes.margin(problem), 0 if local else problem.gap_extend, opening, True
        )
        on_device = slot.upload("targets" + suffix, targets)
        scores = slot.device_array("scores" + suffix, 4 * pairs)
        maximum = max(min(2 * self.device.processors, len(work.tasks)) * work.columns for work in launches)
        rows = slot.device_array("column", max(4, maximum * (8 if local else 16)))
        for number, work in enumerate(launches):
            name = f"{suffix} {number}"
            shared = query_lanes.shared_bytes(work.shape, len(problem.scoring))
            kernel, defines = "lanes_tiled" if work.columns else "lanes", query_lanes.defines_of(problem, work.shape)
            slot.launch(
                self.device.function(LANES_MODULE, kernel, defines, shared),
                min(2 * self.device.processors, len(work.tasks)),
                query_lanes.LANE_THREADS,
                slot.upload("tasks" + name, work.tasks.view(np.uint8)),
                np.int32(len(work.tasks)),
                slot.clear("ticket" + name, 4),
                self.scheme(words),
                *sequences,
                on_device,
                rows,
                np.int64(work.columns),
                np.int32(problem.scoring.highest if local else query_lanes.NEVER),
                np.int32(stride),
                scores,
                shared=shared,
            )

    # -- TiledDScan and DScan

    def strip_kernel(self, kernel: str, words: tasks.Arithmetic) -> tuple[str, int]:
        """The name of a kernel of that kind for the problem's scores and gaps, and its shared bytes a block."""
        scoring = self.problem.scoring
        nucleotides = scoring.name == "match/mismatch" and tasks.halves_hold(words, self.problem.gap_extend)
        return f"{kernel}_{self.gaps}_{'nucleotides' if nucleotides else 'symbols'}", 4 * len(scoring) ** 2

    def submit_strips(self, slot: Slot, block: PairBlock, strand: int, kept: bool) -> NDArray[np.int64]:
        """Enqueue scores by strips into the array "scores STRAND", with ``kept`` the directions into "directions";
        returns int64 (p + 1,) where each pair's directions begin, in words.
        """
        problem = self.problem
        n, m = problem.lengths(block).T
        words = self.arithmetic(int(n.max()), int(m.max()), wide=True)
        columns = plan.DSCAN_COLUMNS if kept else plan.TILED_COLUMNS
        work, starts = plan.strip_tasks(block.queries, block.targets, n, m, tasks.STRIP_TASK, columns)
        name, shared = self.strip_kernel(self.strips(kept), words)
        function, blocks = self.function(name, shared)
        rows = int(n.max())
        share = 0.5 * (1 - PAIRWISE.border_share) if kept else PAIRWISE.ring_share
        blocks, ring = plan.ring_of(blocks, rows, len(work), int(self.device.budget * share))
        suffix = f" {strand}"
        slot.launch(
            function,
            blocks,
            THREADS,
            slot.upload("strips" + suffix, work.view(np.uint8)),
            np.int32(len(work)),
            slot.clear("ticket" + suffix, 4),
            self.scheme(words),
            self.strands[strand],
            self.targets,
            slot.device_array("strip borders", 8 * rows * ring),
            np.int32(ring),
            np.int32(rows),
            slot.clear("progress" + suffix, 4 * (len(work) + len(block))),
            slot.device_array("directions", 4 * int(starts[-1]) if kept else 4, zeroed=True),  # windows go beyond
            slot.device_array("scores" + suffix, tasks.ALIGNMENT_END.itemsize * len(block)),
            shared=shared,
        )
        if not kept:
            slot.download("scores" + suffix, len(block) * tasks.ALIGNMENT_END.itemsize, np.uint8)
        return starts

    def scores_of_strips(self, slot: Slot, pairs: int, strand: int) -> NDArray[np.int32]:
        """Scores of :meth:`submit_strips` without ``kept``, int32 (pairs,)."""
        found = slot.pinned(f"scores {strand}", pairs * tasks.ALIGNMENT_END.itemsize, np.uint8)
        ends = found.view(tasks.ALIGNMENT_END)
        return np.where(ends["j"] > self.problem.target_lengths.max(), 0, ends["score"]).astype(np.int32)

    def trace_strips(self, slot: Slot, block: PairBlock, strand: int) -> Traced:
        """DScan: full tables with directions, and the traceback. Waits for the device."""
        starts = self.submit_strips(slot, block, strand, kept=True)
        n, m = self.problem.lengths(block).T
        runs_at = offsets_of(n + m + 1)
        walk, _ = self.function("strips_walk", 0)
        slot.launch(
            walk,
            -(-len(block) // _WARPS_PER_BLOCK),
            THREADS,
            self.strands[strand],
            self.targets,
            self._pair_list(slot, block),
            slot.device_array(f"scores {strand}", 4),
            slot.device_array("directions", 4),
            slot.upload("directions at", starts),
            slot.device_array("trace results", tasks.TRACE_RESULT.itemsize * len(block)),
            slot.device_array("runs", 4 * int(runs_at[-1])),
            slot.upload("runs at", runs_at),
            np.int32(len(block)),
            self.matching,
            np.uint32(self.problem.free_end_bits),
        )
        return self._gather(slot, len(block))

    # -- RScan

    def trace_threads(
        self,
        slot: Slot,
        batch: tasks.TraceBatch,
        block: PairBlock,
        strand: int,
        words: tasks.Arithmetic,
        max_operations: NDArray[np.int64],
    ) -> Traced:
        """RScan: the sweep that keeps borders, and the walk over tiles. Waits for the device."""
        count, symbols = len(batch.tasks), len(self.problem.scoring)
        name = self.gaps + ("" if words.lanes == 2 else "_wide")
        shared = symbols * tasks.TRACE_COLUMNS * 2 * THREADS if words.lanes == 2 else 4 * symbols**2
        runs_at = offsets_of(max_operations)
        task_list = slot.upload("trace tasks", batch.tasks.view(np.uint8))
        gapped = bool(words.opening)
        borders = [
            slot.device_array("column h", 4 * batch.column_words),
            slot.device_array("column e", 4 * batch.column_words if gapped else 4),
            slot.device_array("rows h", 4 * batch.kept_words),
            slot.device_array("rows f", 4 * batch.kept_words if gapped else 4),
        ]
        sequences = (self.scheme(words), self.strands[strand], self.targets, self._pair_list(slot, block))
        sweep, blocks = self.function(f"sweep_{name}", shared)
        ticket = slot.clear("trace ticket", 4)
        blocks = min(blocks, -(-count // _WARPS_PER_BLOCK))
        slot.launch(sweep, blocks, THREADS, task_list, np.int32(count), ticket, *sequences, *borders, shared=shared)
        trace, _ = self.function(f"trace_{name}", 0)
        slot.launch(
            trace,
            -(-count * words.lanes * pair_tasks.WARP // THREADS),
            THREADS,
            task_list,
            *sequences,
            *borders,
            slot.device_array("trace results", tasks.TRACE_RESULT.itemsize * len(block)),
            slot.device_array("runs", 4 * int(runs_at[-1])),
            slot.upload("runs at", runs_at),
            np.int32(count),
            self.matching,
        )
        return self._gather(slot, len(block))

    def _pair_list(self, slot: Slot, block: PairBlock) -> np.void:
        queries, targets = slot.upload("pair queries", block.queries), slot.upload("pair targets", block.targets)
        return filled("PairList", query=int(queries), target=int(targets))

    def _gather(self, slot: Slot, pairs: int) -> Traced:
        """Results of the walk, and the paths joined on the device so that only what is used is copied."""
        downloaded = slot.download("trace results", (pairs, tasks.TRACE_RESULT.itemsize), np.uint8)
        slot.wait()
        results = downloaded.copy().view(tasks.TRACE_RESULT).reshape(-1)
        joined_at = offsets_of(results["runs"])
        total = int(joined_at[-1])
        gather, _ = self.function("gather_runs", 0)
        slot.launch(
            gather,
            -(-pairs * pair_tasks.WARP // 256),
            256,
            slot.device_array("runs", 4),
            slot.device_array("runs at", 8),
            slot.upload("joined at", joined_at),
            np.int32(pairs),
            slot.device_array("joined", 4 * max(total, 1)),
        )
        joined = slot.download("joined", total, np.uint32)
        slot.wait()
        return results, joined.copy()
