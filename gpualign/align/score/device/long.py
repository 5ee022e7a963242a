"""Alignments of long pairs: the host side of ``cuda/pairwise_long.cu``.

TiledDScan goes over the whole table and keeps some rows and columns. Then the parts between them that the traceback
enters are computed again, with directions, from their kept upper and left borders. Which parts they are is known only
with the path, and a part alone keeps few warps busy: so a round computes many at a time, up the diagonal from where the
path stands, and the path goes through them until it comes to a part that is not there, with which the next round
begins. Of two genomes of 5 Mbp 25 GB are kept, and less than 1 % of the cells is computed twice. Where memory is less,
parts are larger, and are split in the same manner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpualign.align import pair_tasks
from gpualign.align.score.device import plan, tasks
from gpualign.align.score.device.launch import THREADS, PairwiseLauncher, Traced
from gpualign.align.score.tuning import PAIRWISE
from gpualign.run.abi import filled, struct
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import DeviceMemoryExceeded

PART_WALK, DP_TILE = struct("PartWalk"), struct("DpTile")
#: no operation yet (Path in cuda/device/align/score/trace_scan.cuh)
_NO_OPERATION = 3
#: Operation and the state `ended` of cuda/algo/align/score/nw.hpp
_INSERTION, _DELETION, _ENDED = 1, 2, 3
#: a path may pass on either side of a corner that is nearer than this part of a part
_NEAR_CORNER = 8
#: bytes of a border's cell: H' and E' or F'
_CELL = 8


@dataclass(frozen=True)
class TablePart:
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

    part: TablePart
    rows: int
    columns: int
    spacing: int

    def part_up_to(self, i: int, j: int) -> TablePart:
        """The tile between the kept borders and the cell after i symbols of the pair's query and j of its target."""
        part, spacing = self.part, self.spacing
        row, column = i - part.first_row, j - part.first_column
        above, before = (row - 1) // spacing, (column - 1) // spacing
        top = self.rows + (above - 1) * (part.m + 1) * _CELL if above else part.top
        left = self.columns + (before - 1) * part.n * _CELL if before else part.left
        return TablePart(
            part.first_row + above * spacing,
            part.first_column + before * spacing,
            row - above * spacing,
            column - before * spacing,
            top + before * spacing * _CELL,
            left + above * spacing * _CELL,
        )

    def parts_ahead(self, i: int, j: int, most: int) -> list[TablePart]:
        """The part up to that cell and whole ones up the diagonal from it, ``most`` or up to the border; where the
        diagonal is near a corner those on both sides of it.
        """
        part, spacing = self.part, self.spacing
        last_row, last_column = part.first_row + part.n, part.first_column + part.m
        found = [self.part_up_to(i, j)]

        def add(i: int, j: int) -> TablePart:
            row, column = ((at - 1) // spacing * spacing for at in (i - part.first_row, j - part.first_column))
            whole = self.part_up_to(
                min(part.first_row + row + spacing, last_row), min(part.first_column + column + spacing, last_column)
            )
            if whole not in found[-3:]:
                found.append(whole)
            return whole

        here = found[0]
        while len(found) < most:
            up, back = i - here.first_row, j - here.first_column
            if abs(up - back) < spacing // _NEAR_CORNER:
                if here.first_row > part.first_row:
                    add(here.first_row, here.first_column + 1)
                if here.first_column > part.first_column:
                    add(here.first_row + 1, here.first_column)
            i, j = i - min(up, back), j - min(up, back)
            if i == part.first_row or j == part.first_column:
                break
            here = add(i, j)
        return found[:most]


class LongAlignment:
    """A pair in flight in a slot.

    Args:
        query, target: neither is empty.
        part_symbols: rows and columns of the parts that are computed again, with directions; a multiple of a strip's.
            A table no larger is one part.
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
        self._problem = problem
        self._words = launcher.arithmetic(self._n, self._m, wide=True)
        borders_and_runs = (_CELL + 4) * (self._n + self._m)
        self._memory = slot.device.available + slot.held - borders_and_runs
        # the borders between a part's strips are a thirtieth of its directions
        self._ring_bytes = int(self._memory * (1 - 1.04 * PAIRWISE.part_share - PAIRWISE.kept_share))
        self._direction_bytes = int(self._memory * PAIRWISE.part_share)
        self._symbols = plan.affordable_symbols(part_symbols, self._memory)
        self._walk = np.zeros(1, PART_WALK)

    def run(self) -> Traced:
        """The pair's alignment. Waits for the device, once a part.

        Raises:
            DeviceMemoryExceeded: not even a few borders fit.
        """
        self.slot.device_array("runs", 4 * (self._n + self._m + 1))
        whole = self._whole()
        if self._problem.from_corners:
            self._begin(self._n, self._m)
            self._go_back_through(whole, 0)
        else:
            self._go_back_from_end(whole)
        result = self._walk["result"].copy()
        runs = self.slot.download("runs", int(result["runs"][0]), np.uint32)
        self.slot.wait()
        return result, runs[::-1].copy()

    def _begin(self, i: int, j: int) -> None:
        """The walk, from the cell after i symbols of the query and j of the target."""
        problem = self._problem
        free = problem.free_end_bits
        query_end, target_end = (end if free & bit else full for end, full, bit in ((i, self._n, 2), (j, self._m, 8)))
        rest = query_end - i + target_end - j  # a gap at one of the ends
        operation = _NO_OPERATION if rest == 0 else _DELETION if target_end > j else _INSERTION
        self._walk[0] = filled("PartWalk", i=i, j=j, operation=operation, length=rest)
        result = self._walk["result"]
        result["query_end"], result["target_end"], result["openings"], result["gaps"] = (
            query_end,
            target_end,
            rest > 0,
            rest,
        )
        self.slot.upload("walk", self._walk.view(np.uint8))

    def _go_back_from_end(self, whole: TablePart) -> None:
        """The scores of the whole table say where the alignment ends; from there back to its start."""
        kept = self._keep(whole, 0)
        self._fetch_end()
        self.slot.wait()
        score, i, j = self._end()
        if j > self._m:  # a local alignment of nothing
            score = i = j = 0
        self._score = score
        self._begin(i, j)
        if i == 0 or j == 0:
            self._walk_through([])
        self._follow(kept, 0)

    def _goes_on(self, part: TablePart) -> bool:
        """Whether the walk is inside a part."""
        i, j, state = (int(self._walk[name][0]) for name in ("i", "j", "state"))
        return i > part.first_row and j > part.first_column and state != _ENDED

    def _whole(self) -> TablePart:
        words = self._words
        costs = self._problem.costs_at_ends
        borders = []
        for symbols, (first, further) in ((self._m, costs[2]), (self._n, costs[0])):
            border = np.zeros((symbols + 1, 2), np.int64)
            border[1:, 0] = np.arange(1, symbols + 1) * (words.shift - further) - first + further
            border += words.bias
            border[:, 1] = border[:, 0] - words.opening
            borders.append(border.astype(np.int32))
        top, left = self.slot.upload("top", borders[0]), self.slot.upload("left", borders[1][1:])
        return TablePart(0, 0, self._n, self._m, int(top), int(left))

    def _go_back_through(self, part: TablePart, depth: int) -> None:
        """From where the walk stands, the part's last cell, to its upper or left border."""
        if plan.direction_bytes(part.n, part.m) <= plan.direction_bytes(self._symbols, self._symbols):
            self._trace([part])
        else:
            self._follow(self._keep(part, depth), depth)

    def _follow(self, kept: KeptBorders, depth: int) -> None:
        """From where the walk stands to the upper or left border of a part of which borders were kept."""
        most = self._direction_bytes // plan.direction_bytes(kept.spacing, kept.spacing)
        while self._goes_on(kept.part):
            i, j = int(self._walk["i"][0]), int(self._walk["j"][0])
            if most > 0:
                self._trace(kept.parts_ahead(i, j, min(most, PAIRWISE.round_parts)))
            else:
                self._go_back_through(kept.part_up_to(i, j), depth + 1)

    def _keep(self, part: TablePart, depth: int) -> KeptBorders:
        """Enqueue the scores of a part, and keep borders."""
        budget = int(self._memory * PAIRWISE.kept_share / 2**depth)
        spacing = plan.part_spacing(part.n, part.m, budget, self._symbols)
        if spacing is None and max(part.n, part.m) <= self._symbols:  # one part, of which only the end is wanted
            spacing = -(-self._symbols // plan.TILED_COLUMNS) * plan.TILED_COLUMNS + plan.TILED_COLUMNS
        if spacing is None:
            raise DeviceMemoryExceeded(f"{part.n} x {part.m} symbols leave no memory for borders")
        row_bytes, column_bytes = plan.kept_bytes(part.n, part.m, spacing)
        rows = self.slot.device_array(f"kept rows {depth}", row_bytes)
        columns = self.slot.device_array(f"kept columns {depth}", column_bytes)
        kept = KeptBorders(part, int(rows), int(columns), spacing)
        if depth == 0:
            self._ring_bytes -= row_bytes + column_bytes
        problem = self._problem
        cheap_ends = depth == 0 and any(problem.cheap_ends)
        ends = "part_local" if problem.mode == "local" else "part_ends" if cheap_ends else "part_borders"
        self._launch(ends, part, kept)
        if depth == 0 and problem.from_corners:
            self._fetch_end()
        return kept

    def _trace(self, parts: list[TablePart]) -> None:
        """The parts' directions, and the traceback through them."""
        records, strips, borders, words = [], 0, 0, 0
        for part in parts:
            at = {"first_strip": strips, "borders_at": borders, "directions_at": words}
            records.append(self._record(KeptBorders(part, 0, 0, 0), **at))
            of_part = -(-part.m // plan.DSCAN_COLUMNS)
            strips, borders = strips + of_part, borders + of_part * part.n
            words += plan.direction_bytes(part.n, part.m) // 4
        corners = self._problem.from_corners
        local = self._problem.mode == "local"
        name, shared = self.launcher.strip_kernel("part_localdirections" if local else "part_directions", self._words)
        function, blocks = self.launcher.function(name, shared)
        whole = corners and (parts[0].n, parts[0].m) == (self._n, self._m)
        self.slot.launch(
            function,
            min(blocks, -(-strips * pair_tasks.WARP // THREADS)),
            THREADS,
            self.slot.upload("parts", np.array(records, DP_TILE).view(np.uint8)),
            np.int32(len(parts)),
            np.int32(strips),
            self.launcher.scheme(self._words),
            self.slot.clear("ticket", 4),
            self.slot.device_array("part borders", _CELL * borders),
            self.slot.clear("progress", 4 * strips),
            self.slot.device_array("directions", 4 * words),
            self.slot.device_array("part end" if whole else "part ends", tasks.ALIGNMENT_END.itemsize * len(parts)),
            shared=shared,
        )
        if whole:
            self._fetch_end()
        self._walk_through(parts)

    def _walk_through(self, parts: list[TablePart]) -> None:
        walk, _ = self.launcher.function("part_walk", 0)
        self.slot.launch(
            walk,
            1,
            pair_tasks.WARP,
            self.slot.device_array("parts", 0),
            np.int32(len(parts)),
            self.slot.device_array("directions", 0),
            self.slot.device_array("walk", 0),
            self.slot.device_array("runs", 0),
            self.launcher.matching,
            np.uint32(self._problem.free_end_bits),
        )
        downloaded = self.slot.download("walk", PART_WALK.itemsize, np.uint8)
        self.slot.wait()
        self._walk = downloaded.copy().view(PART_WALK)
        if self._problem.from_corners:
            self._score = self._end()[0]
        self._walk["result"]["score"] = self._score

    def _fetch_end(self) -> None:
        self.slot.download("part end", tasks.ALIGNMENT_END.itemsize, np.uint8)

    def _end(self) -> tuple[int, int, int]:
        """Score, i and j of the alignment's end that was fetched."""
        fetched = self.slot.pinned("part end", tasks.ALIGNMENT_END.itemsize, np.uint8)
        score, i, j = fetched.view(tasks.ALIGNMENT_END)[0].tolist()
        return score, i, j

    def _launch(self, kernel: str, part: TablePart, kept: KeptBorders) -> None:
        """The scores of a part."""
        name, shared = self.launcher.strip_kernel(kernel, self._words)
        function, blocks = self.launcher.function(name, shared)
        strips = -(-part.m // plan.TILED_COLUMNS)
        blocks, ring = plan.ring_of(blocks, part.n, strips, self._ring_bytes)
        self.slot.launch(
            function,
            blocks,
            THREADS,
            self._record(kept),
            self.launcher.scheme(self._words),
            self.slot.clear("ticket", 4),
            self.slot.device_array("strip borders", _CELL * part.n * ring),
            np.int32(ring),
            self.slot.clear("progress", 4 * (strips + 1)),
            # the best end stays while parts are computed again
            self.slot.device_array("part end", tasks.ALIGNMENT_END.itemsize),
            shared=shared,
        )

    def _record(self, kept: KeptBorders, **of_directions: int) -> np.void:
        part = kept.part
        return filled(
            "DpTile",
            query=self._query + part.first_row,
            target=self._target + part.first_column,
            rows=kept.rows,
            columns=kept.columns,
            row_spacing=kept.spacing,
            strip_spacing=kept.spacing // plan.TILED_COLUMNS,
            **{name: getattr(part, name) for name in ("top", "left", "n", "m", "first_row", "first_column")},
            **of_directions,
        )
