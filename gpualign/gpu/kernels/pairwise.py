"""The device side of ``pairwise``: the edit filter or the scores of a block, then alignments of what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.alignments import Alignments
from gpualign.backends.pairwise import (
    Candidates,
    PairProblem,
    align_on_cpu,
    align_strand,
    better_strand,
    candidates_within,
    edit_limits,
)
from gpualign.encoded import EncodedSequences
from gpualign.gpu.buffers import Slot
from gpualign.gpu.device import Device
from gpualign.gpu.kernels import pairwise_tasks as tasks
from gpualign.gpu.tuning import PAIRWISE
from gpualign.workflows.pair_blocks import PairBlock

_THREADS = 64
_FILTER_MARGIN = 256


class PairwiseKernel:
    """One device's part in ``pairwise``. Global alignment runs here; other modes are passed to the CPU code.

    Blocks go through two steps: ``submit`` enqueues what needs no answer (the edit filter, or the scores), ``collect``
    reads it and runs the alignments of the pairs that are left, while the next block's first step is on the device.
    """

    def __init__(self, device: Device, problem: PairProblem) -> None:
        self.device, self.problem = device, problem
        self._sets: dict[int, np.void] = {}
        self._strands = [self._resident(strand) for strand in problem.queries]
        self._targets = self._resident(problem.targets)
        self._scores = device.resident("pairwise scores", lambda: self._to_device(problem.scoring.scores))
        attributes = device.driver.device_attribute
        self._processors = device.driver.Device(device.info.index).get_attribute(attributes.MULTIPROCESSOR_COUNT)

    # -- blocks

    def submit(self, slot: Slot, item: PairBlock) -> None:
        """Enqueue the first step of a block."""
        if self._first_step(item) == "filter":
            for strand in range(len(self._strands)):
                self._submit_filter(slot, item, strand)
        elif self._first_step(item) == "scores":
            for strand in range(len(self._strands)):
                self._submit_scores(slot, item, strand)

    def collect(self, slot: Slot, item: PairBlock) -> Alignments:
        """The block's alignments, those that reach the identity."""
        step = self._first_step(item)
        if step == "cpu":
            return align_on_cpu(self.problem, item)
        results = []
        for strand in range(len(self._strands)):
            if step == "scores":
                results.append(self._collect_scores(slot, item, strand))
                continue
            candidates = self._collect_filter(slot, item, strand) if step == "filter" else Candidates(item)
            results.append(self.problem.keep(self._align(slot, candidates, strand)))
        return results[0] if len(results) == 1 else better_strand(*results)

    def split(self, item: PairBlock) -> list[PairBlock]:
        """Halves, for a device with little memory."""
        half = len(item) // 2
        return (
            [PairBlock(item.queries[s], item.targets[s]) for s in (slice(0, half), slice(half, None))]
            if half
            else [item]
        )

    def join(self, results: list[Alignments]) -> Alignments:
        """The halves' results as one."""
        return Alignments.join(*results)

    def _first_step(self, block: PairBlock) -> str:
        if self.problem.mode != "global" or len(block) == 0:
            return "cpu" if self.problem.identity is None or self.problem.mode != "semi-global" else "filter"
        if not self.problem.traced:
            lengths = self.problem.lengths(block)
            return "cpu" if lengths.min() == 0 else "scores"
        limits = edit_limits(self.problem, block)
        if limits is not None and self._filter_shared_bytes(block) <= PAIRWISE.shared_bytes:
            return "filter"
        return "align"

    # -- what stays on the device

    def _to_device(self, array: NDArray[Any]) -> Any:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        pointer = self.device.driver.mem_alloc(max(flat.nbytes, 1) + 64)  # kernels may look a few letters further
        if flat.nbytes:
            self.device.driver.memcpy_htod(pointer, flat)
        return pointer

    def _resident(self, sequences: EncodedSequences) -> np.void:
        """The addresses of a set's codes and offsets (DeviceSequences), copied once a device."""
        key = id(sequences)
        if key not in self._sets:
            codes = self.device.resident(f"codes {key}", lambda: self._to_device(sequences.codes))
            offsets = self.device.resident(f"offsets {key}", lambda: self._to_device(sequences.offsets))
            self._sets[key] = np.array([(int(codes), int(offsets))], tasks.SEQUENCES)[0]
        return self._sets[key]

    def _scheme(self, words: tasks.Arithmetic) -> np.void:
        rest = (len(self.problem.scoring), words.shift, words.opening, words.bias)
        scheme: np.void = np.array([(int(self._scores), rest)], tasks.SCHEME)[0]
        return scheme

    def _function(self, name: str, shared: int) -> tuple[Any, int]:
        """A kernel and how many of its blocks the device holds at a time."""
        function = self.device.function("pairwise", name)
        attribute = self.device.driver.function_attribute
        if shared > 48 << 10:
            function.set_attribute(attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        registers = -(-function.num_regs // 8) * 8 * _THREADS
        per_processor = min(32, 65536 // registers, PAIRWISE.shared_bytes // (shared + 1024))
        return function, max(1, per_processor) * self._processors

    # -- the edit filter

    def _filter_words(self, block: PairBlock) -> int:
        longest = int(self.problem.queries[0].lengths[block.queries].max())
        return (longest + 2 * _FILTER_MARGIN) // 64 + 6

    def _filter_shared_bytes(self, block: PairBlock) -> int:
        return self.problem.scoring.identical * self._filter_words(block) * 8 * (_THREADS // tasks.WARP)

    def _submit_filter(self, slot: Slot, block: PairBlock, strand: int) -> None:
        limits = edit_limits(self.problem, block)
        assert limits is not None
        n, m = self.problem.lengths(block).T
        width = int((np.minimum(limits, n + m) + 1).max())
        name = "edit_filter_64" if width <= 64 else "edit_filter_128" if width <= 128 else "edit_filter_256"
        shared = self._filter_shared_bytes(block)
        function, blocks = self._function(name, shared)
        work = tasks.lazy_tasks(block.queries, tasks.WARP)
        suffix = f" {strand}"
        slot.launch(
            function,
            min(blocks, -(-len(work) // 2)),
            _THREADS,
            slot.upload("tasks" + suffix, work.view(np.uint8)),
            np.int32(len(work)),
            slot.clear("ticket" + suffix, 4),
            self._strands[strand],
            self._targets,
            slot.upload("targets" + suffix, block.targets),
            slot.upload("limits" + suffix, limits),
            np.int32(self.problem.scoring.identical),
            np.int32(self._filter_words(block)),
            slot.device_array("found" + suffix, 8 * len(block)),
            slot.clear("found count" + suffix, 4),
            shared=shared,
        )
        slot.download("found count" + suffix, 1, np.uint32)

    def _collect_filter(self, slot: Slot, block: PairBlock, strand: int) -> Candidates:
        suffix = f" {strand}"
        count = int(slot.pinned("found count" + suffix, 1, np.uint32)[0])
        found = slot.download("found" + suffix, (count, 2), np.int32)
        slot.wait()
        distances = np.full(len(block), -1, np.int32)
        distances[found[:, 0]] = found[:, 1]
        return candidates_within(self.problem, block, distances)

    # -- scores

    def _submit_scores(self, slot: Slot, block: PairBlock, strand: int) -> None:
        problem = self.problem
        lengths = problem.lengths(block)
        longest, columns = (int(x) for x in lengths.max(axis=0))
        words = tasks.arithmetic(problem.scoring, problem.gap_open, problem.gap_extend, longest, columns)
        order = tasks.score_order(block.queries, lengths[:, 1])
        queries, targets = (
            (block.queries, block.targets) if order is None else (block.queries[order], block.targets[order])
        )
        name, shared = self._score_kernel(words)
        function, blocks = self._function(name, shared)
        work = tasks.lazy_tasks(queries, tasks.WARP * words.lanes)
        blocks = min(blocks, -(-len(work) // 2))
        suffix = f" {strand}"
        slot.launch(
            function,
            blocks,
            _THREADS,
            slot.upload("tasks" + suffix, work.view(np.uint8)),
            np.int32(len(work)),
            slot.clear("ticket" + suffix, 4),
            self._scheme(words),
            self._strands[strand],
            self._targets,
            slot.upload("targets" + suffix, targets),
            slot.device_array("column", blocks * (_THREADS // tasks.WARP) * 2 * longest * tasks.WARP * 4),
            np.int32(longest),
            slot.device_array("scores" + suffix, 4 * len(block)),
            shared=shared,
        )
        slot.download("scores" + suffix, len(block), np.int32)

    def _score_kernel(self, words: tasks.Arithmetic) -> tuple[str, int]:
        """Kernel name and its shared bytes a block."""
        scoring = self.problem.scoring
        gaps = "affine" if words.opening else "linear"
        if words.lanes == 1:
            return f"lazy_{gaps}_wide", 4 * len(scoring) ** 2
        if not words.opening and scoring.name == "match/mismatch":
            return "lazy_linear_nucleotides", 0
        columns = 32 if words.opening and len(scoring) <= 8 else 16
        letters = "nucleotides" if columns == 32 else "letters"
        return f"lazy_{gaps}_{letters}", len(scoring) * columns * 2 * _THREADS

    def _collect_scores(self, slot: Slot, block: PairBlock, strand: int) -> Alignments:
        lengths = self.problem.lengths(block)
        downloaded = slot.pinned(f"scores {strand}", len(block), np.int32)
        order = tasks.score_order(block.queries, lengths[:, 1])
        score = np.empty(len(block), np.int32)
        score[slice(None) if order is None else order] = downloaded
        return Alignments(block.queries, block.targets, np.full(len(block), bool(strand)), score, lengths)

    # -- alignments

    def _align(self, slot: Slot, candidates: Candidates, strand: int) -> Alignments:
        """Align the candidates, on the device where it can, the rest on the CPU."""
        problem, block = self.problem, candidates.block
        n, m = problem.lengths(block).T
        low = -n.astype(np.int32) if candidates.band_low is None else candidates.band_low
        high = m.astype(np.int32) if candidates.band_high is None else candidates.band_high
        cells = np.minimum(high.astype(np.int64) - low + 64, n) * m
        here = (n > 0) & (m > 0) & (cells <= PAIRWISE.most_cells_per_thread)
        if problem.mode != "global" or not here.any():
            return align_strand(problem, candidates, strand)
        mine = np.flatnonzero(here)
        if len(mine) == len(block):
            return self._align_here(slot, Candidates(block, low, high), strand)
        others = np.flatnonzero(~here)
        first = self._align_here(slot, Candidates(block.take(mine), low[mine], high[mine]), strand)
        second = align_strand(problem, Candidates(block.take(others), low[others], high[others]), strand)
        place = np.argsort(np.concatenate([mine, others]))
        return Alignments.join(first, second).take(place)

    def _align_here(self, slot: Slot, candidates: Candidates, strand: int) -> Alignments:
        problem, block = self.problem, candidates.block
        assert candidates.band_low is not None
        assert candidates.band_high is not None
        lengths = problem.lengths(block)
        order = np.lexsort((lengths[:, 1], lengths[:, 0]))
        n, m = lengths[order].T
        low, high = candidates.band_low[order], candidates.band_high[order]
        words = tasks.arithmetic(problem.scoring, problem.gap_open, problem.gap_extend, int(n.max()), int(m.max()))
        borders = 2 if words.opening else 1
        most_words = int(min(self.device.budget * PAIRWISE.border_share, self._room()) / 4 / borders)
        batches = tasks.trace_batches(n, m, low, high, tasks.WARP * words.lanes, most_words)
        # a gap is at least a letter, and all gaps together have no more letters than the band is wide
        most_runs = np.minimum(2 * (high.astype(np.int64) - low) + 3, n + m + 1)
        done = [
            self._run_batch(slot, batch, block.take(order[batch.start : batch.stop]), strand, words,
                            most_runs[batch.start : batch.stop])
            for batch in batches
        ]  # fmt: skip
        results = np.concatenate([result for result, _, _ in done])
        runs = np.concatenate([joined for _, joined, _ in done])
        offsets = np.zeros(len(block) + 1, np.int64)
        np.cumsum(results["runs"], out=offsets[1:])
        spans = np.zeros((len(block), 4), np.int32)
        spans[:, 1], spans[:, 3] = n, m
        counts = np.stack([results[name] for name in ("matches", "mismatches", "openings", "gaps")], axis=1)
        sorted_block = block.take(order)
        aligned = Alignments(
            sorted_block.queries,
            sorted_block.targets,
            np.full(len(block), bool(strand)),
            results["score"].copy(),
            lengths[order],
            spans,
            counts,
            runs,
            offsets,
        )
        return aligned.take(np.argsort(order))

    def _room(self) -> int:
        return max(self.device.budget - self.device.allocated, 1 << 24)

    def _run_batch(
        self,
        slot: Slot,
        batch: tasks.TraceBatch,
        block: PairBlock,
        strand: int,
        words: tasks.Arithmetic,
        most_runs: NDArray[np.int64],
    ) -> tuple[NDArray[np.void], NDArray[np.uint32], int]:
        problem, count, pairs = self.problem, len(batch.tasks), len(block)
        name = ("affine" if words.opening else "linear") + ("" if words.lanes == 2 else "_wide")
        letters = len(problem.scoring)
        shared = letters * tasks.TRACE_COLUMNS * 2 * _THREADS if words.lanes == 2 else 4 * letters**2
        runs_at = np.zeros(pairs + 1, np.int64)
        np.cumsum(most_runs, out=runs_at[1:])
        task_list = slot.upload("trace tasks", batch.tasks.view(np.uint8))
        queries, targets = slot.upload("trace queries", block.queries), slot.upload("trace targets", block.targets)
        pair_list = np.array([(int(queries), int(targets))], tasks.PAIR_LIST)[0]
        gapped = bool(words.opening)
        borders = [
            slot.device_array("column h", 4 * batch.column_words),
            slot.device_array("column e", 4 * batch.column_words if gapped else 4),
            slot.device_array("rows h", 4 * batch.kept_words),
            slot.device_array("rows f", 4 * batch.kept_words if gapped else 4),
        ]
        sequences = (self._scheme(words), self._strands[strand], self._targets, pair_list)
        sweep, blocks = self._function(f"sweep_{name}", shared)
        slot.launch(
            sweep,
            min(blocks, -(-count // 2)),
            _THREADS,
            task_list,
            np.int32(count),
            slot.clear("trace ticket", 4),
            *sequences,
            *borders,
            shared=shared,
        )
        trace, _ = self._function(f"trace_{name}", 0)
        slot.launch(
            trace,
            -(-count * words.lanes * tasks.WARP // _THREADS),
            _THREADS,
            task_list,
            *sequences,
            *borders,
            slot.device_array("trace results", tasks.TRACE_RESULT.itemsize * pairs),
            slot.device_array("runs", 4 * int(runs_at[-1])),
            slot.upload("runs at", runs_at),
            np.int32(count),
            np.int32(problem.scoring.identical),
        )
        downloaded = slot.download("trace results", (pairs, tasks.TRACE_RESULT.itemsize), np.uint8)
        slot.wait()
        results = downloaded.copy().view(tasks.TRACE_RESULT).reshape(-1)
        joined_at = np.zeros(pairs + 1, np.int64)
        np.cumsum(results["runs"], out=joined_at[1:])
        total = int(joined_at[-1])
        gather, _ = self._function("gather_runs", 0)
        slot.launch(
            gather,
            -(-pairs * tasks.WARP // 256),
            256,
            slot.device_array("runs", 4),
            slot.device_array("runs at", 8),
            slot.upload("joined at", joined_at),
            np.int32(pairs),
            slot.device_array("joined", 4 * max(total, 1)),
        )
        joined = slot.download("joined", total, np.uint32)
        slot.wait()
        return results, joined.copy(), total
