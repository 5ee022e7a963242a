"""Long pairs part by part, on a device of Python: its kernels compute a part's table by the definition, from the
borders that are in its memory. What is tested is which borders are kept, and which parts the traceback visits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.align.score.device import long, plan, tasks
from gpualign.align.score.problem import PairProblem
from gpualign.run.abi import filled
from gpualign.run.gpu.device import DeviceMemoryExceeded
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import encode
from gpualign.sequences.matrices import match_mismatch
from tests.reference.pairwise import replay

pytestmark = pytest.mark.usefixtures("level")

MATCH, INSERT, DELETE = 0, 1, 2
NEVER = -(1 << 40)


@dataclass
class Table:
    """H, E and F of a rectangle with its border, and the walk: ties go to the diagonal, then E, and gaps close early.

    E(i, j) is the best that ends with a gap in the query, F(i, j) with one in the target; ``opening`` what the first
    symbol of a gap costs, ``extension`` every other.
    """

    query: np.ndarray
    target: np.ndarray
    h: np.ndarray
    e: np.ndarray
    f: np.ndarray
    opening: int
    extension: int
    scores: tuple[int, int]

    def fill(self) -> None:
        n, m = len(self.query), len(self.target)
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                if j > 1:
                    self.e[i, j] = max(self.h[i, j - 1] - self.opening, self.e[i, j - 1] - self.extension)
                if i > 1:
                    self.f[i, j] = max(self.h[i - 1, j] - self.opening, self.f[i - 1, j] - self.extension)
                pair = self.scores[int(self.query[i - 1] != self.target[j - 1])]
                self.h[i, j] = max(self.h[i - 1, j - 1] + pair, self.e[i, j], self.f[i, j])

    def step(self, i: int, j: int, state: int) -> tuple[int, int, int]:
        """The operation that leads to cell (i, j), whose gap is ``state`` if not 0, and the cell ahead of it."""
        h, opened = self.h[i, j], self.h[i, j] - self.opening
        longer = (state == DELETE and self.e[i, j] - self.extension > opened) or (
            state == INSERT and self.f[i, j] - self.extension > opened
        )
        if not longer:
            pair = self.scores[int(self.query[i - 1] != self.target[j - 1])]
            diagonal = h == self.h[i - 1, j - 1] + pair
            state = MATCH if diagonal else DELETE if h == self.e[i, j] else INSERT
        return state, i - (state != DELETE), j - (state != INSERT)


class Memory:
    """A device's memory of int32 words: addresses are bytes."""

    def __init__(self) -> None:
        self.words = np.full(1 << 20, 123456789, np.int32)
        self.end = 64

    def allocate(self, nbytes: int) -> int:
        at, self.end = self.end, self.end + -(-nbytes // 16) * 16
        return at

    def at(self, address: int, count: int) -> np.ndarray:
        assert 0 < address < self.end
        assert address % 4 == 0
        return self.words[address // 4 : address // 4 + count]


class Slot:
    def __init__(self, available: int, problem: PairProblem) -> None:
        self.memory, self.problem, self.held = Memory(), problem, 0
        self.device = SimpleNamespace(available=available)
        self.arrays: dict[str, tuple[int, int]] = {}
        self.results: dict[str, np.ndarray] = {}
        self.launched: list[str] = []
        self.walked: list[tuple[np.void, Table]] = []

    def device_array(self, key: str, nbytes: int) -> int:
        if self.arrays.get(key, (0, -1))[1] < nbytes:
            self.arrays[key] = self.memory.allocate(nbytes), nbytes
        return self.arrays[key][0]

    def upload(self, key: str, array: np.ndarray) -> int:
        data = np.ascontiguousarray(array).view(np.uint8).reshape(-1).view(np.int32)
        address = self.device_array(key, data.nbytes)
        self.memory.at(address, len(data))[:] = data
        return address

    def clear(self, key: str, nbytes: int) -> int:
        return self.device_array(key, nbytes)

    def download(self, key: str, count: int, dtype: Any) -> np.ndarray:
        words = count * np.dtype(dtype).itemsize // 4
        self.results[key] = self.memory.at(self.arrays[key][0], words).copy().view(dtype)
        return self.results[key]

    def pinned(self, key: str, count: int, dtype: Any) -> np.ndarray:
        return self.results[key]

    def wait(self) -> None:
        pass

    # -- the kernels

    def launch(self, function: str, grid: int, block: int, *arguments: Any, shared: int = 0) -> None:
        self.launched.append(function)
        if function == "part_walk":
            self._walk(*arguments)
            return
        if function.startswith("part_directions"):
            self._directions(*arguments)
            return
        part, _, _, borders, ring, _, score = arguments
        table = self._table(part)
        assert borders + 8 * int(part["n"]) * int(ring) <= self.memory.end
        n, m = len(table.query), len(table.target)
        self.memory.at(score, 1)[0] = table.h[n, m]
        rows, columns = int(part["row_spacing"]), int(part["strip_spacing"]) * plan.TILED_COLUMNS
        for number, i in enumerate(range(rows, n + 1, rows)):
            below = np.maximum(table.h[i] - table.opening, table.f[i] - table.extension)
            self._border(int(part["rows"]) + 8 * number * (m + 1), m + 1)[:] = self._to_memory(table, part, i, below)
        for number, j in enumerate(range(columns, m + 1, columns)):
            right = np.maximum(table.h[:, j] - table.opening, table.e[:, j] - table.extension)
            kept = self._to_memory(table, part, j, right, column=True)
            self._border(int(part["columns"]) + 8 * number * n, n)[:] = kept[1:]

    def _directions(
        self, parts: int, count: int, strips: int, scheme: None, ticket: int, borders: int, *rest: int
    ) -> None:
        _, directions, scores = rest
        records = self.memory.at(parts, int(count) * long.DP_TILE.itemsize // 4).copy().view(long.DP_TILE)
        self.walked = [(part, self._table(part)) for part in records]
        first_strip = borders_at = directions_at = 0
        for number, (part, table) in enumerate(self.walked):
            at = [part[name] for name in ("first_strip", "borders_at", "directions_at")]
            assert at == [first_strip, borders_at, directions_at]
            of_part = -(-int(part["m"]) // plan.DSCAN_COLUMNS)
            first_strip, borders_at = first_strip + of_part, borders_at + of_part * int(part["n"])
            directions_at += plan.direction_bytes(int(part["n"]), int(part["m"])) // 4
            self.memory.at(scores, int(count))[number] = table.h[-1, -1]
        assert first_strip == strips
        assert borders + 8 * borders_at <= self.memory.end
        assert directions + 4 * directions_at <= self.memory.end

    def _border(self, address: int, cells: int) -> np.ndarray:
        return self.memory.at(address, 2 * cells).reshape(cells, 2)

    def _paid(self, part: np.void, i: Any, j: Any) -> Any:
        """What the transform of algo/align/score/nw.hpp adds at (i, j) of the part."""
        return self.problem.gap_extend * (int(part["first_row"]) + i + int(part["first_column"]) + j)

    def _to_memory(self, table: Table, part: np.void, at: int, beyond: np.ndarray, column: bool = False) -> np.ndarray:
        values = table.h[:, at] if column else table.h[at]
        along = np.arange(len(values))
        h = values + self._paid(part, along if column else at, at if column else along)
        return np.stack([h, beyond + self._paid(part, along, at + 1)], axis=1)

    def _table(self, part: np.void) -> Table:
        problem, n, m = self.problem, int(part["n"]), int(part["m"])
        query = problem.queries[0].codes[int(part["query"]) :][:n]
        target = problem.targets.codes[int(part["target"]) :][:m]
        h, e, f = (np.full((n + 1, m + 1), NEVER, np.int64) for _ in range(3))
        table = Table(query, target, h, e, f, problem.gap_open, problem.gap_extend, (5, -4))
        top, left = self._border(int(part["top"]), m + 1), self._border(int(part["left"]), n)
        along, down = np.arange(m + 1), np.arange(1, n + 1)
        h[0] = top[:, 0] - self._paid(part, 0, along)
        f[1, 1:] = top[1:, 1] - self._paid(part, 1, along[1:])
        h[1:, 0] = left[:, 0] - self._paid(part, down, 0)
        e[1:, 1] = left[:, 1] - self._paid(part, down, 1)
        table.fill()
        return table

    def _walk(self, parts: int, count: int, directions: int, walk: int, runs: int, *rest: int) -> None:
        assert rest[1] == 0
        at = self.memory.at(walk, long.PART_WALK.itemsize // 4).view(long.PART_WALK)
        out = self.memory.at(runs, 1000)
        i, j, state = int(at["i"][0]), int(at["j"][0]), (0, DELETE, INSERT)[int(at["state"][0])]
        result, operation, length = at["result"], int(at["operation"][0]), int(at["length"][0])

        def add(next_operation: int, count: int) -> None:
            nonlocal operation, length
            if next_operation != operation and length:
                out[result["runs"][0]] = length << 4 | operation
                result["runs"] += 1
                length = 0
            operation, length = next_operation, length + count

        def has(part: np.void) -> bool:
            return 0 < i - part["first_row"] <= part["n"] and 0 < j - part["first_column"] <= part["m"]

        while there := [(part, table) for part, table in self.walked if has(part)]:
            part, table = there[0]
            row, column = int(part["first_row"]), int(part["first_column"])
            state, i, j = table.step(i - row, j - column, state)
            i, j = i + row, j + column
            add(state, 1)
        if i == 0 or j == 0:
            for remaining, kind in ((j, DELETE), (i, INSERT)):
                if remaining:
                    add(kind, remaining)
            add(-1, 0)
        at["i"], at["j"], at["state"] = i, j, (0, DELETE, INSERT).index(state)
        at["operation"], at["length"] = max(operation, 0), length


class Launcher:
    def __init__(self, problem: PairProblem) -> None:
        self.problem = problem
        self.strands, self.targets = [{"codes": 0}], {"codes": 0}
        self.matching = filled("Matching", identical=problem.scoring.identical)

    def arithmetic(self, n: int, m: int, wide: bool) -> tasks.Arithmetic:
        problem = self.problem
        return tasks.arithmetic(problem.scoring, problem.gap_open, problem.gap_extend, n, m, wide=wide)

    def strip_kernel(self, kernel: str, words: tasks.Arithmetic) -> tuple[str, int]:
        return f"{kernel}_any", 0

    def function(self, name: str, shared: int) -> tuple[str, int]:
        return name, 2

    def scheme(self, words: tasks.Arithmetic) -> None:
        return None


def problem_of(query: str, target: str, opening: int, extension: int) -> PairProblem:
    scoring = match_mismatch(5, -4)
    sets = [encode([SequenceBatch.from_records([("a", text)])], scoring) for text in (query, target)]
    return PairProblem(
        (sets[0],), sets[1], scoring, opening, extension, "global", (False,) * 4,
        traced=True, identity=None, definition=1, table_bytes=1 << 20,
    )  # fmt: skip


def whole_path(problem: PairProblem) -> tuple[int, list[int]]:
    """Score and operations of the table as one, from the definition."""
    query, target = problem.queries[0].codes, problem.targets.codes
    n, m = len(query), len(target)
    h, e, f = (np.full((n + 1, m + 1), NEVER, np.int64) for _ in range(3))
    h[0, 0] = 0
    for border, cells in ((h[0], m), (h[:, 0], n)):
        border[1:] = -problem.gap_open - problem.gap_extend * np.arange(cells)
    f[1, 1:], e[1:, 1] = h[0, 1:] - problem.gap_open, h[1:, 0] - problem.gap_open
    table = Table(query, target, h, e, f, problem.gap_open, problem.gap_extend, (5, -4))
    table.fill()
    path, i, j, state = [], n, m, MATCH
    while i > 0 and j > 0:
        state, i, j = table.step(i, j, state)
        path.append(state)
    return int(h[n, m]), ([INSERT] * i + [DELETE] * j + path[::-1])


def align(problem: PairProblem, memory: int, symbols: int) -> tuple[int, list[int], list[str]]:
    slot = Slot(memory, problem)
    results, runs = long.LongAlignment(Launcher(problem), slot, 0, 0, 0, symbols).run()  # type: ignore[arg-type]
    operations = [int(run & 15) for run in runs for _ in range(run >> 4)]
    assert np.all(runs[1:] & 15 != runs[:-1] & 15)
    return int(results["score"][0]), operations, slot.launched


@pytest.fixture(autouse=True, scope="module")
def narrow_strips() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "TILED_COLUMNS", 4)
        patch.setattr(plan, "DSCAN_COLUMNS", 2)
        patch.setattr(plan, "DIRECTION_BYTES", 1)
        yield


SEQUENCE = st.text("AC", min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(SEQUENCE, SEQUENCE, st.sampled_from([(4, 4), (6, 1), (3, 2)]), st.sampled_from([12_000, 1 << 20]))
def test_the_path_is_that_of_the_whole_table(query: str, target: str, gaps: tuple[int, int], memory: int) -> None:
    problem = problem_of(query, target, *gaps)
    score, path, _ = align(problem, memory, 4)
    assert (score, path) == whole_path(problem)


def test_parts_are_split_again_where_memory_is_little() -> None:
    query, target = "ACCACAAACC" * 4, "ACCACAACCC" * 4
    problem = problem_of(query, target, 6, 1)
    _, path, kernels = align(problem, 1 << 20, 4)
    assert kernels.count("part_borders_any") == 1
    _, again, more_kernels = align(problem, 6000, 4)
    assert more_kernels.count("part_borders_any") > 1
    assert path == again == whole_path(problem)[1]


def test_parts_up_the_diagonal_are_computed_at_a_time() -> None:
    """A path that leaves the diagonal by a long gap goes on with parts of its own."""
    straight = problem_of("ACCACAAACC" * 4, "ACCACAACCC" * 4, 6, 1)
    _, path, kernels = align(straight, 1 << 20, 4)
    assert (path, kernels.count("part_walk")) == (whole_path(straight)[1], 1)
    gapped = problem_of("ACCACAAACC" * 3, "ACCACAAACC" + "CA" * 9 + "ACCACAAACC" * 2, 6, 1)
    _, path, kernels = align(gapped, 1 << 20, 4)
    assert path == whole_path(gapped)[1]
    assert 1 < kernels.count("part_walk") <= 6


def test_a_small_pair_is_one_part() -> None:
    score, path, kernels = align(problem_of("ACCA", "ACA", 6, 1), 1 << 20, 4)
    assert kernels == ["part_directions_any", "part_walk"]
    assert score == 5 * 3 - 6
    cigar = "".join(f"1{'MID'[operation]}" for operation in path)
    assert replay("ACCA", "ACA", cigar, lambda a, b: 5 if a == b else -4, 6, 1) == (score, 4, 3)


def test_no_space_for_borders_is_said() -> None:
    with pytest.raises(DeviceMemoryExceeded, match="leave no memory"):
        align(problem_of("AC" * 20, "AC" * 20, 6, 1), 12 * 80 + 100, 4)
