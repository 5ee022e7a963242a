"""The host side of the GPU kernels without a GPU: a launcher that computes on the CPU stands in for the device."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gpualign.align import pair_tasks
from gpualign.align.edit.device.filter import EditFilter
from gpualign.align.edit.filter import MAX_EDITS, distances_within
from gpualign.align.score.cpu import Candidates, align_on_cpu, align_strand
from gpualign.align.score.device import kernel as kernels
from gpualign.align.score.device import plan, tasks
from gpualign.align.score.problem import PairProblem
from gpualign.run.gpu.device import DeviceMemoryExceeded
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import encode
from gpualign.sequences.matrices import match_mismatch
from gpualign.sequences.pairs import PairBlock, PairRuns, PairSource
from tests.helpers.sequences import mutate


class Slot:
    """Arrays by key, as a slot's pinned memory."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def pinned(self, key: str, shape: object, dtype: object) -> np.ndarray:
        return self.arrays[key]

    def retire(self, key: str) -> None:
        self.arrays.pop(key, None)

    def release(self) -> None:
        self.arrays.clear()

    def wait(self) -> None:
        pass


class Launcher:
    """Scores and alignments of the CPU engine in the shape in which the device returns them."""

    def __init__(self, device: object, problem: PairProblem) -> None:
        self.problem = problem
        self.strands, self.targets = problem.queries, problem.targets
        self.used: list[str] = []

    def arithmetic(self, n: int, m: int) -> tasks.Arithmetic:
        return tasks.arithmetic(self.problem.scoring, self.problem.gap_open, self.problem.gap_extend, n, m)

    def scores(self, block: PairBlock, strand: int) -> np.ndarray:
        return align_strand(replace(self.problem, traced=False, identity=None), Candidates(block), strand).score

    def submit_lazy(
        self,
        slot: Slot,
        block: PairBlock,
        strand: int,
        order: np.ndarray | None,
        maximum: tuple[int, int],
        lines: object = None,
    ) -> None:
        self.used.append("lazy")
        assert maximum == tuple(self.problem.lengths(block).max(axis=0).tolist())
        order = np.arange(len(block)) if order is None else order
        scores = self.scores(block, strand)[order]
        slot.arrays[f"scores {strand}"] = scores
        if lines is not None:
            assert self.problem.bound is not None
            n, m = self.problem.lengths(block)[order].T
            minimum = self.problem.bound.min_score(n, m, self.problem.scoring, self.problem.gap_open)
            near = np.flatnonzero(scores >= minimum)[::-1]
            slot.arrays[f"found {strand}"] = np.stack([near, scores[near]], axis=1)

    @property
    def lanes_suit(self) -> bool:
        return self.problem.kernel == "lanes" and not self.problem.traced

    def submit_lanes(self, slot: Slot, block: PairBlock, strand: int, order: np.ndarray) -> None:
        self.used.append("lanes")
        scores = self.scores(block, strand)[order]
        slot.arrays[f"scores {strand}"] = np.where(scores > 500, -1, scores) if self.problem.mode == "local" else scores

    def scores_of_strips(self, slot: Slot, pairs: int, strand: int) -> np.ndarray:
        return slot.arrays[f"scores {strand}"]

    def submit_strips(self, slot: Slot, block: PairBlock, strand: int, kept: bool) -> None:
        self.used.append("tiled")
        slot.arrays[f"scores {strand}"] = self.scores(block, strand)

    def _traced(self, block: PairBlock, strand: int) -> tuple[np.ndarray, np.ndarray]:
        aligned = align_strand(replace(self.problem, identity=None), Candidates(block), strand)
        assert aligned.counts is not None
        assert aligned.cigar_offsets is not None
        results = np.zeros(len(block), tasks.TRACE_RESULT)
        results["score"], results["runs"] = aligned.score, np.diff(aligned.cigar_offsets)
        for column, name in enumerate(("matches", "mismatches", "openings", "gaps")):
            results[name] = aligned.counts[:, column]
        assert aligned.spans is not None
        for column, name in enumerate(("query_start", "query_end", "target_start", "target_end")):
            results[name] = aligned.spans[:, column]
        return results, aligned.cigar

    def trace_threads(self, slot, batch, block, strand, words, max_operations):
        self.used.append("rscan")
        assert int(batch.tasks["count"].sum()) == len(block)
        results, cigar = self._traced(block, strand)
        assert np.all(results["runs"] <= max_operations)
        return results, cigar

    def trace_strips(self, slot, block, strand):
        self.used.append("dscan")
        return self._traced(block, strand)

    def trace_long(self, query: int, target: int, strand: int) -> tuple[np.ndarray, np.ndarray]:
        self.used.append("parts")
        each = np.array([query], np.int32), np.array([target], np.int32)
        return self._traced(PairBlock(*each), strand)


class Kept:
    """What a filter left, as the launcher put it."""

    def __init__(self, strand: int) -> None:
        self._strand = strand

    def entries(self, slot: Slot) -> list[np.ndarray]:
        return [slot.arrays[f"found {self._strand}"]]


class HostFilter(EditFilter):
    """The edit filter of the CPU."""

    def __init__(self, device: object, problem: PairProblem) -> None:
        assert problem.edit_limits is not None
        super().__init__(device, problem.edit_limits, problem.scoring)  # type: ignore[arg-type]
        self.problem = problem

    def submit(self, slot, block, strand, sequences, widest, longest) -> None:
        limits = self.limits.of(*self.problem.sizes(block))
        assert limits.max() <= widest <= MAX_EDITS
        assert longest == self.problem.sizes(block)[0].max()
        queries, targets = self.problem.queries[strand], self.problem.targets
        slot.arrays[f"found {strand}"] = distances_within(queries, targets, block, limits, self.problem.scoring)

    def found(self, slot, strand):
        distances = slot.arrays[f"found {strand}"]
        near = np.flatnonzero(distances >= 0)
        return near, distances[near]


class LongAlignment:
    def __init__(self, launcher: Launcher, slot: Slot, query: int, target: int, strand: int, symbols: int) -> None:
        self.run = lambda: launcher.trace_long(query, target, strand)


def make_kernel(monkeypatch: pytest.MonkeyPatch, problem: PairProblem, budget: int = 1 << 30) -> kernels.PairwiseKernel:
    monkeypatch.setattr(kernels, "PairwiseLauncher", Launcher)
    monkeypatch.setattr(kernels, "KEPT", (Kept(0), Kept(1)))
    monkeypatch.setattr(kernels, "LongAlignment", LongAlignment)
    device = SimpleNamespace(budget=budget, slots=[Slot() for _ in range(8)])
    monkeypatch.setattr(kernels, "EditFilter", lambda device, limits, scoring: HostFilter(device, problem))
    return kernels.PairwiseKernel(device, problem)


def make_problem(lengths: list[int], **changes: object) -> tuple[PairProblem, PairBlock]:
    rng = random.Random(3)
    base = "".join(rng.choices("ACGT", k=max(lengths)))
    texts = [mutate(rng, base[:length], 0.3 * rng.random()) for length in lengths]
    scoring = match_mismatch(5, -4)
    sequences = encode([SequenceBatch.from_records([(str(i), text) for i, text in enumerate(texts)])], scoring)
    fields = {
        "queries": (sequences,), "targets": sequences, "scoring": scoring, "gap_open": 10, "gap_extend": 1,
        "mode": "global", "free_ends": (False,) * 4, "traced": True, "identity": None, "definition": 1,
        "table_bytes": 1 << 26,
    }  # fmt: skip
    fields.update(changes)
    if fields.pop("both", False):
        fields["queries"] = (sequences, sequences.reverse_complement(scoring))
    first, second = np.triu_indices(len(lengths), 1)
    return PairProblem(**fields), PairBlock(first.astype(np.int32), second.astype(np.int32))  # type: ignore[arg-type]


CASES = {
    "scores": {"traced": False},
    "scores of both strands": {"traced": False, "both": True},
    "alignments": {},
    "edit filter": {"identity": 0.9},
    "edit filter, both strands": {"identity": 0.9, "both": True},
    "score filter": {"identity": 0.4},
    "score filter, definition 0": {"identity": 0.6, "definition": 0},
    "nothing proved": {"identity": 0.9, "definition": 2},
    "semi-global": {"mode": "semi-global", "free_ends": (True,) * 4, "identity": 0.9, "threads": 3},
    "semi-global scores": {
        "mode": "semi-global",
        "free_ends": (True, False, True, True),
        "traced": False,
        "threads": 3,
    },
    "end gaps": {"end_gaps": ((2, 1), (0, 0), (10, 1), (4, 0)), "threads": 2},
    "end gaps, edit filter": {"end_gaps": ((2, 1),) * 4, "identity": 0.9},
    "end gaps, score filter": {"end_gaps": ((2, 1),) * 4, "identity": 0.4},
    "scores with end gaps": {"end_gaps": ((2, 1),) * 4, "traced": False},
    "local": {"mode": "local"},
    "local scores": {"mode": "local", "traced": False, "threads": 2},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("lengths", [[60, 61, 300, 320, 290, 59, 301], [700, 720, 710, 650], [40, 0, 50, 45]])
@pytest.mark.parametrize("kernel_name", ["auto", "lazy", "lanes", "tiled", "rscan", "dscan"])
def test_every_route_gives_what_the_cpu_gives(monkeypatch, case: str, lengths: list[int], kernel_name: str) -> None:
    problem, block = make_problem(lengths, **CASES[case], kernel=kernel_name)
    kernel = make_kernel(monkeypatch, problem)
    slot = Slot()
    if kernel_name == "auto":  # as the command has them
        (block,) = PairSource.triangle(problem.queries[0].lengths, include_self=False).blocks()
        assert isinstance(block, PairRuns)
    kernel.submit(slot, block)  # type: ignore[arg-type]
    got, expected = kernel.collect(slot, block), align_on_cpu(problem, block)  # type: ignore[arg-type]
    for name in ("query", "target", "minus", "score", "lengths", "spans", "counts", "cigar", "cigar_offsets"):
        a, b = getattr(got, name), getattr(expected, name)
        assert (a is None) == (b is None)
        assert a is None or np.array_equal(a, b), name


def listed(block: PairBlock) -> list[tuple[int, int]]:
    return list(zip(block.queries.tolist(), block.targets.tolist(), strict=True))


def test_tasks_of_runs_are_those_of_their_pairs() -> None:
    runs = PairRuns(np.array([0, 3, 4], np.int32), np.array([5, 2, 0], np.int32), np.array([70, 1, 64]))
    made, written = pair_tasks.run_tasks(runs, 32), pair_tasks.lazy_tasks(runs.queries, 32)
    for name in ("query", "first", "count"):
        assert made[name].tolist() == written[name].tolist()
    pairs = [(task["query"], task["target"] + i) for task in made for i in range(task["count"])]
    assert pairs == listed(runs) == [(0, 5 + i) for i in range(70)] + [(3, 2)] + [(4, i) for i in range(64)]


def test_parts_of_runs_are_those_of_their_pairs() -> None:
    lengths = np.full(9, 10, np.int64)
    for source in (PairSource.triangle(lengths, include_self=True), PairSource.rectangle(lengths, lengths[:4])):
        (runs,) = source.blocks()
        pairs = listed(runs)
        for start in range(len(pairs)):
            for stop in range(start, len(pairs) + 1):
                assert listed(runs.take(slice(start, stop))) == pairs[start:stop]
        for some in (slice(None, None, 3), np.arange(0, len(pairs), 4), np.arange(len(pairs)) % 5 == 1):
            chosen = np.arange(len(pairs))[some]
            assert listed(runs.take(some)) == [pairs[i] for i in chosen]
        part = runs.take(slice(3, 20))
        assert isinstance(part, PairRuns)
        assert listed(pickle.loads(pickle.dumps(part))) == pairs[3:20]


@pytest.mark.parametrize("definition", [0, 1])
@pytest.mark.parametrize("identity", [0.95, 0.8, 0.5])
def test_the_widest_limit_of_runs_holds_for_each_pair(definition: int, identity: float) -> None:
    rng = np.random.default_rng(7)
    for longest in (40, 200, 900):
        problem, _ = make_problem(
            rng.integers(max(1, longest - 60), longest, 12).tolist(), identity=identity, definition=definition
        )
        (runs,) = PairSource.triangle(problem.queries[0].lengths, include_self=False).blocks()
        n, m = problem.sizes(runs)
        assert problem.edit_limits is not None
        limits = problem.edit_limits.counted(n, m)
        widest = problem.edit_limits.widest(runs, problem.query_lengths, problem.target_lengths)
        # by hand: edits that leave enough matches of the shorter sequence, and under definition 0 all symbols beyond it
        shorter = np.minimum(n, m)
        most = np.floor(shorter * (1 - identity) / identity + 1e-6)
        if definition == 0:
            most = n + m - 2 * np.ceil(identity * shorter - 1e-6)
        if most.max() > MAX_EDITS:
            assert limits is widest is None
        else:
            assert limits is not None
            assert limits.tolist() == most.astype(int).tolist()
            assert widest is not None
            assert most.max() <= widest <= MAX_EDITS


def test_little_memory_makes_many_batches(monkeypatch) -> None:
    problem, block = make_problem([200] * 40, kernel="rscan")
    kernel = make_kernel(monkeypatch, problem, budget=1 << 21)
    slot = Slot()
    kernel.submit(slot, block)  # type: ignore[arg-type]
    got, expected = kernel.collect(slot, block), align_on_cpu(problem, block)  # type: ignore[arg-type]
    assert np.array_equal(got.cigar, expected.cigar)
    assert kernel.launcher.used.count("rscan") > 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("failures", [1, 2])
def test_memory_that_other_blocks_hold_is_released_before_the_cores_are_asked(monkeypatch, failures: int) -> None:
    problem, block = make_problem([200] * 12, kernel="rscan", threads=3)
    kernel = make_kernel(monkeypatch, problem)
    held = kernel._trace_slot.arrays  # type: ignore[attr-defined]
    held["of another block"] = np.zeros(1)
    tried: list[int] = []
    trace = kernel.launcher.trace_threads

    def cramped(*arguments):
        tried.append(len(held))
        if len(tried) <= failures:
            raise DeviceMemoryExceeded
        return trace(*arguments)

    monkeypatch.setattr(kernel.launcher, "trace_threads", cramped)
    slot = Slot()
    kernel.submit(slot, block)  # type: ignore[arg-type]
    got, expected = kernel.collect(slot, block), align_on_cpu(problem, block)  # type: ignore[arg-type]
    assert tried == [1, 0]
    assert np.array_equal(got.cigar, expected.cigar)
    assert np.array_equal(got.cigar_offsets, expected.cigar_offsets)


@pytest.mark.parametrize(("mode", "ends"), [("semi-global", (True,) * 4), ("local", (False,) * 4)])
def test_scores_of_other_modes_go_to_the_device_where_they_are_many(monkeypatch, mode: str, ends: tuple) -> None:
    for lengths, kernel_name, used in (
        ([50] * 130, "auto", ["lazy"]),
        ([700] * 4, "auto", ["tiled"]),
        ([700] * 4, "lazy", ["lazy"]),
    ):
        problem, block = make_problem(lengths, mode=mode, free_ends=ends, traced=False, kernel=kernel_name)
        kernel, slot = make_kernel(monkeypatch, problem), Slot()
        kernel.submit(slot, block)  # type: ignore[arg-type]
        assert len(kernel.collect(slot, block)) == len(block)  # type: ignore[arg-type]
        assert kernel.launcher.used == used  # type: ignore[attr-defined]


def test_planner_by_regime() -> None:
    def work(length: int, pairs: int) -> plan.Workload:
        each = np.full(pairs, length, np.int64)
        return plan.Workload(each, each, each**2, 2, True)

    assert not plan.scores_by_strips(work(1500, 100_000), "auto")
    assert plan.scores_by_strips(work(1500, 60), "auto")
    assert plan.scores_by_strips(work(1_000_000, 1), "auto")
    assert not plan.aligns_by_strips(work(150, 100_000), "auto")
    assert plan.aligns_by_strips(work(100, 2016), "auto")
    assert plan.aligns_by_strips(work(20_000, 10), "auto")
    assert plan.scores_by_strips(work(1500, 100_000), "tiled")


def test_strips_cover_every_column_once() -> None:
    n, m = np.array([700, 10, 1500], np.int64), np.array([1, 512, 1025], np.int64)
    each = np.arange(3, dtype=np.int32)
    strips, starts = plan.strip_tasks(each, each, n, m, tasks.STRIP_TASK, 512)
    assert strips["pair"].tolist() == [0, 1, 2, 2, 2]
    assert strips["strip"].tolist() == [0, 0, 0, 1, 2]
    words = [(length + 31) * 64 for length in (700, 10, 1500, 1500, 1500)]
    assert strips["directions_at"].tolist() == np.cumsum([0, *words[:-1]]).tolist()
    assert starts.tolist() == [0, words[0], words[0] + words[1], sum(words)]


def test_spacing_keeps_within_its_space() -> None:
    for n, m, capacity in ((4_600_000, 4_700_000, 27 << 30), (4_600_000, 4_700_000, 1 << 30), (100, 10**7, 1 << 24)):
        spacing = plan.part_spacing(n, m, capacity, 1 << 15)
        assert spacing is not None
        assert sum(plan.kept_bytes(n, m, spacing)) <= capacity
        smaller = spacing - plan.TILED_COLUMNS
        assert spacing == 1 << 15 or sum(plan.kept_bytes(n, m, smaller)) > capacity or smaller < 1 << 15
    assert plan.part_spacing(1 << 20, 1 << 20, 1 << 20, 1 << 15) is None


def test_who_aligns_which_pairs() -> None:
    def ways(length: int, memory: int, forced: str = "auto", band: int | None = None) -> str:
        each = np.array([length], np.int64)
        cells = each * each if band is None else each * band
        return str(plan.ways_to_align(plan.Workload(each, each, cells, 2, True), forced, memory)[0])

    assert ways(0, 1 << 30) == "cores"
    assert ways(5_000_000, 80 << 30) == "parts"
    assert ways(5_000_000, 80 << 30, band=20) == "threads"
    assert ways(5_000_000, 80 << 30, band=300) == "cores"
    assert ways(5_000_000, 80 << 30, "rscan") == "cores"
    assert ways(3000, 80 << 30, "tiled") == "parts"
    # as measured on an H200: one pair of 30,000 or 100,000 symbols is faster in parts; of 10,000 it is not, nor are 66
    assert [ways(length, 80 << 30) for length in (10_000, 30_000, 100_000)] == ["strips", "parts", "parts"]
    many = np.full(66, 10_000, np.int64)
    assert set(plan.ways_to_align(plan.Workload(many, many, many * many, 2, True), "auto", 80 << 30)) == {"strips"}
    assert ways(50_000, 1 << 20) == "parts"
