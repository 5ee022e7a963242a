"""Launches of the kernels of ``cuda/pairwise_lanes.cu``."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpualign.align.score.device import query_lanes, tasks
from gpualign.align.score.device.launch import PairwiseLauncher
from gpualign.align.score.score_tile import ScoreTile
from gpualign.align.score.tuning import LANES_MODULE
from gpualign.run.abi import filled
from gpualign.run.gpu.buffers import Slot
from gpualign.sequences.pairs import PairBlock


class LaneLauncher:
    """Scores with queries over the lanes of groups, next to the other kernels of ``launcher``."""

    def __init__(self, launcher: PairwiseLauncher) -> None:
        self._launcher, self._problem = launcher, launcher.problem

    @cached_property
    def suits(self) -> bool:
        """Whether the problem's scores can be had from these kernels."""
        problem = self._problem
        wanted = problem.kernel in ("auto", "lanes") and not problem.traced and self._launcher.gaps == "affine"
        if problem.kernel == "auto" and problem.from_corners and len(problem.scoring) <= 8:
            return False  # LazyRScan has 32 columns of nucleotides in registers, and is faster
        in_hardware = int(self._launcher.device.info.architecture.removeprefix("sm_")) >= 90  # DPX
        return wanted and in_hardware and query_lanes.suits(problem) and query_lanes.can_be_had(problem)

    def submit_block(self, slot: Slot, block: PairBlock, strand: int, order: NDArray[np.int64]) -> None:
        """Enqueue the scores of a block, in ``order`` (by query and length), into the array "scores STRAND"; a local
        score of -1 is one that half a word does not hold.
        """
        problem = self._problem
        queries, targets = block.queries[order], block.targets[order]
        n, m = problem.query_lengths[queries], problem.target_lengths[targets]
        launches = query_lanes.launches(queries, n, m, self._launcher.processors)
        sequences = self._launcher.strands[strand], self._launcher.targets
        self._launch(slot, launches, sequences, targets, f" {strand}", (len(block), 0))
        slot.download(f"scores {strand}", len(block), np.int32)

    def submit_tile(self, slot: Slot, tile: ScoreTile, order: NDArray[np.int64]) -> None:
        """Score a tile and its targets in ``order`` (by length, none empty), into an array of that shape."""
        n, targets = self._problem.query_lengths[tile.first : tile.last], tile.targets
        launches = query_lanes.tile_launches(n, targets.lengths[order].astype(np.int32), self._launcher.processors)
        queries = self._launcher.strands[0].copy()
        queries["offsets"] += tile.first * targets.offsets.itemsize
        codes = slot.upload_once("target codes", targets.codes, targets)
        offsets = slot.upload_once("target offsets", targets.offsets, targets)
        sequences = queries, filled("DeviceSequences", codes=codes, offsets=offsets)
        self._launch(slot, launches, sequences, order.astype(np.int32), " 0", (len(n) * len(order), len(order)))
        slot.download("scores 0", (len(n), len(order)), np.int32)

    def _launch(
        self,
        slot: Slot,
        launches: list[query_lanes.LaneLaunch],
        sequences: tuple[np.void, np.void],
        targets: NDArray[np.int32],
        suffix: str,
        pairs_and_stride: tuple[int, int],
    ) -> None:
        """``targets``: those of the pairs that tasks name; a query's scores begin a stride after the last query's."""
        device, problem = self._launcher.device, self._problem
        pairs, stride = pairs_and_stride
        local = problem.mode == "local"
        opening = problem.gap_open - (0 if local else problem.gap_extend)
        words = tasks.Arithmetic(
            2, 0 if local else query_lanes.margin(problem), 0 if local else problem.gap_extend, opening, True
        )
        on_device = slot.upload("targets" + suffix, targets)
        scores = slot.device_array("scores" + suffix, 4 * pairs)
        maximum = max(min(2 * self._launcher.processors, len(work.tasks)) * work.columns for work in launches)
        rows = slot.device_array("column", max(4, maximum * (8 if local else 16)))
        for number, work in enumerate(launches):
            name = f"{suffix} {number}"
            shared = query_lanes.shared_bytes(work.shape, len(problem.scoring))
            kernel, defines = "lanes_tiled" if work.columns else "lanes", query_lanes.defines_of(problem, work.shape)
            slot.launch(
                device.function(LANES_MODULE, kernel, defines, shared),
                min(2 * self._launcher.processors, len(work.tasks)),
                query_lanes.LANE_THREADS,
                slot.upload("tasks" + name, work.tasks.view(np.uint8)),
                np.int32(len(work.tasks)),
                slot.clear("ticket" + name, 4),
                self._launcher.scheme(words),
                *sequences,
                on_device,
                rows,
                np.int64(work.columns),
                np.int32(problem.scoring.highest if local else query_lanes.NEVER),
                np.int32(stride),
                scores,
                shared=shared,
            )
