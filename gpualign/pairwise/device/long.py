"""Alignments of long pairs: the host side of ``cuda/pairwise_long.cu``.

TiledDScan goes over the whole table and keeps some rows and columns. Then the parts between them that the traceback
enters are computed again, with directions: each from its kept upper and left border down to the cell where the path
comes in. Of two genomes of 5 Mbp 12 GB are kept where parts have 32,768 symbols, and 1 % of the cells is computed
twice. Where memory is less, parts are larger, and are split in the same manner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpualign.engine.gpu.abi import filled, struct
from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.device import DeviceMemoryExceeded
from gpualign.pairwise.device import plan, tasks
from gpualign.pairwise.device.launch import THREADS, PairwiseLauncher, Traced, ring_of
from gpualign.pairwise.tuning import PAIRWISE

PART_WALK = struct("PartWalk")
#: no operation yet (Path in cuda/device/pairwise/trace_scan.cuh)
_NO_OPERATION = 3
#: bytes of a border's cell: H' and E' or F'
_CELL = 8


@dataclass(frozen=True)
class Part:
    """A part of a pair's table, or all of it.

    Attributes:
        first_row, first_column: symbols of query and target ahead of it.
        n, m: its rows and columns.
        top: device address of the row above it, from the column on its left on.
        left: of the column on its left, from its first row on.
    """

    first_row: int
    first_column: int
    n: int
    m: int
    top: int
    left: int


@dataclass(frozen=True)
class KeptBorders:
    """Device addresses of the rows and columns that were kept of a part, ``spacing`` symbols apart."""

    part: Part
    rows: int
    columns: int
    spacing: int

    def part_up_to(self, i: int, j: int) -> Part:
        """What lies between the kept borders and the cell after i symbols of the pair's query and j of its target."""
        part, spacing = self.part, self.spacing
        row, column = i - part.first_row, j - part.first_column
        above, before = (row - 1) // spacing, (column - 1) // spacing
        top = self.rows + (above - 1) * (part.m + 1) * _CELL if above else part.top
        left = self.columns + (before - 1) * part.n * _CELL if before else part.left
        return Part(
            part.first_row + above * spacing,
            part.first_column + before * spacing,
            row - above * spacing,
            column - before * spacing,
            top + before * spacing * _CELL,
            left + above * spacing * _CELL,
        )


class LongAlignment:
    """One pair on its way through a slot.

    Args:
        query, target: neither is empty.
        part_symbols: rows and columns of the parts that are computed again, with directions; a multiple of a strip's.
    """

    def __init__(
        self, launcher: PairwiseLauncher, slot: Slot, query: int, target: int, strand: int, part_symbols: int
    ) -> None:
        self.launcher, self.slot = launcher, slot
        problem = launcher.problem
        self._n = int(problem.query_lengths[query])
        self._m = int(problem.target_lengths[target])
        sets = ((launcher.strands[strand], problem.queries[strand], query), (launcher.targets, problem.targets, target))
        self._query, self._target = (int(held["codes"]) + int(codes.offsets[at]) for held, codes, at in sets)
        scoring = problem.scoring
        self._words = tasks.wide_arithmetic(scoring, problem.gap_open, problem.gap_extend, self._n, self._m)
        borders_and_runs = (_CELL + 4) * (self._n + self._m)
        self._memory = slot.device.available + slot.held - borders_and_runs
        self._ring_bytes = int(self._memory * (1 - PAIRWISE.part_share - PAIRWISE.kept_share))
        self._symbols = plan.affordable_symbols(part_symbols, self._memory)
        self._walk = np.zeros(1, PART_WALK)

    def run(self) -> Traced:
        """The pair's alignment. Waits for the device, once a part.

        Raises:
            DeviceMemoryExceeded: not even a few borders fit.
        """
        self._walk[0] = filled("PartWalk", i=self._n, j=self._m, operation=_NO_OPERATION)
        self.slot.upload("walk", self._walk.view(np.uint8))
        self.slot.device_array("runs", 4 * (self._n + self._m + 1))
        self._go_back_through(self._whole(), 0)
        result = self._walk["result"].copy()
        runs = self.slot.download("runs", int(result["runs"][0]), np.uint32)
        self.slot.wait()
        return result, runs[::-1].copy()

    def _whole(self) -> Part:
        words = self._words
        borders = []
        for symbols in (self._m, self._n):
            border = np.full((symbols + 1, 2), words.bias - words.opening, np.int32)
            border[:, 1] -= words.opening
            border[0, 0] = words.bias
            borders.append(border)
        top, left = self.slot.upload("top", borders[0]), self.slot.upload("left", borders[1][1:])
        return Part(0, 0, self._n, self._m, int(top), int(left))

    def _go_back_through(self, part: Part, depth: int) -> None:
        """From where the walk stands, the part's last cell, to its upper or left border."""
        if plan.direction_bytes(part.n, part.m) <= plan.direction_bytes(self._symbols, self._symbols):
            self._trace(part)
            return
        kept = self._keep(part, depth)
        while self._walk["i"][0] > part.first_row and self._walk["j"][0] > part.first_column:
            self._go_back_through(kept.part_up_to(int(self._walk["i"][0]), int(self._walk["j"][0])), depth + 1)

    def _keep(self, part: Part, depth: int) -> KeptBorders:
        """Enqueue the scores of a part, and keep borders."""
        budget = int(self._memory * PAIRWISE.kept_share / 2**depth)
        spacing = plan.part_spacing(part.n, part.m, budget, self._symbols)
        if spacing is None:
            raise DeviceMemoryExceeded(f"{part.n} x {part.m} symbols leave no memory for borders")
        row_bytes, column_bytes = plan.kept_bytes(part.n, part.m, spacing)
        rows = self.slot.device_array(f"kept rows {depth}", row_bytes)
        columns = self.slot.device_array(f"kept columns {depth}", column_bytes)
        kept = KeptBorders(part, int(rows), int(columns), spacing)
        if depth == 0:
            self._ring_bytes -= row_bytes + column_bytes
        self._launch("part_borders", part, kept, plan.TILED_COLUMNS)
        if depth == 0:
            self._fetch_score()
        return kept

    def _trace(self, part: Part) -> None:
        """A part's directions, and the traceback through it."""
        self._launch("part_directions", part, KeptBorders(part, 0, 0, 0), plan.DSCAN_COLUMNS)
        if (part.n, part.m) == (self._n, self._m):
            self._fetch_score()
        walk, _ = self.launcher.function("part_walk", 0)
        self.slot.launch(
            walk,
            1,
            tasks.WARP,
            self._record(KeptBorders(part, 0, 0, 0)),
            self.slot.device_array("directions", 0),
            self.slot.device_array("walk", 0),
            self.slot.device_array("runs", 0),
            np.int32(self.launcher.problem.scoring.identical),
        )
        downloaded = self.slot.download("walk", PART_WALK.itemsize, np.uint8)
        self.slot.wait()
        self._walk = downloaded.copy().view(PART_WALK)
        self._walk["result"]["score"] = self.slot.pinned("part score", 1, np.int32)

    def _fetch_score(self) -> None:
        self.slot.download("part score", 1, np.int32)

    def _launch(self, kernel: str, part: Part, kept: KeptBorders, columns: int) -> None:
        name, shared = self.launcher.strip_kernel(kernel, self._words)
        function, blocks = self.launcher.function(name, shared)
        strips = -(-part.m // columns)
        directions = kernel == "part_directions"
        budget = _CELL * part.n * (strips + 1) if directions else self._ring_bytes
        blocks, ring = ring_of(blocks, part.n, strips, budget)
        self.slot.launch(
            function,
            blocks,
            THREADS,
            self._record(kept),
            self.launcher.scheme(self._words),
            self.slot.clear("ticket", 4),
            self.slot.device_array("strip borders", _CELL * part.n * ring),
            np.int32(ring),
            self.slot.clear("progress", 4 * strips),
            self.slot.device_array("directions", plan.direction_bytes(part.n, part.m) if directions else 0),
            self.slot.device_array("part score", 4),
            shared=shared,
        )

    def _record(self, kept: KeptBorders) -> np.void:
        part = kept.part
        return filled(
            "TablePart",
            query=self._query + part.first_row,
            target=self._target + part.first_column,
            rows=kept.rows,
            columns=kept.columns,
            row_spacing=kept.spacing,
            strip_spacing=kept.spacing // plan.TILED_COLUMNS,
            **{name: getattr(part, name) for name in ("top", "left", "n", "m", "first_row", "first_column")},
        )
