"""The device side of ``pairwise``: the edit filter or the scores of a block, then alignments of what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpualign.align import pair_tasks
from gpualign.align.edit.device.filter import EditFilter
from gpualign.align.score.alignments import PairAlignments
from gpualign.align.score.cpu import (
    Candidates,
    align_on_cpu,
    align_strand,
    better_strand,
    candidates_by_score,
    candidates_scored,
    candidates_within,
    score_lines,
)
from gpualign.align.score.device import plan, query_lanes, tasks
from gpualign.align.score.device.launch import KEPT, PairwiseLauncher, Traced
from gpualign.align.score.device.long import LongAlignment
from gpualign.align.score.problem import PairProblem
from gpualign.align.score.tuning import PAIRWISE
from gpualign.run.gpu.buffers import Slot, slots_of
from gpualign.run.gpu.device import Device, DeviceMemoryExceeded
from gpualign.run.gpu.kernel import HalvingKernel
from gpualign.run.tuning import SLOTS
from gpualign.sequences.offsets import cut_by_size, offsets_of
from gpualign.sequences.pairs import PairBlock, PairRuns
from gpualign.streaming.ordered import run_ordered


def on_cores(problem: PairProblem, pairs: int, align: Callable[[slice], PairAlignments]) -> PairAlignments:
    """Align ``pairs`` pairs in parts on all of the host's threads."""
    edges = np.linspace(0, pairs, min(4 * problem.threads, max(pairs, 1)) + 1).astype(np.int64).tolist()
    return PairAlignments.join(run_ordered([slice(i, j) for i, j in pairwise(edges)], align, problem.threads))


def strand_on_cores(problem: PairProblem, candidates: Candidates, strand: int) -> PairAlignments:
    """All candidates of a strand on the host's threads."""
    return on_cores(problem, len(candidates.block), lambda part: align_strand(problem, candidates.take(part), strand))


@dataclass(frozen=True)
class _Step:
    """State of a block between ``launch`` and ``result``.

    Attributes:
        order: of the pairs in the scores, None where it is the block's.
        by_strips: the scores were computed by strips.
        in_halves: local scores that half a word does not hold are -1.
    """

    kind: Literal["cpu", "filter", "scores", "score filter", "align"]
    order: NDArray[np.int64] | None = None
    by_strips: bool = False
    in_halves: bool = False


class PairwiseKernel(HalvingKernel[PairBlock, PairAlignments]):
    """One device's part in ``pairwise``; what is too little for it is left to the host's cores.

    Blocks go through two steps: ``launch`` enqueues what needs no answer (the edit filter, or the scores), ``result``
    reads it and runs the alignments of the pairs that are left, while the next block's first step is on the device.

    Args:
        part_symbols: rows and columns of the parts of long pairs' tables.
    """

    def __init__(self, device: Device, problem: PairProblem, part_symbols: int = PAIRWISE.part_symbols) -> None:
        super().__init__(device)
        self.problem, self._part_symbols = problem, part_symbols
        self.launcher = PairwiseLauncher(device, problem)
        limits = problem.edit_limits
        self._filter = None if limits is None else EditFilter(device, limits, problem.scoring)
        # tracebacks run one at a time and keep much: a slot of their own, so that the others do not hold it twice
        self._trace_slot = slots_of(device, SLOTS + 1)[SLOTS]

    def result(self, slot: Slot, item: PairBlock, step: _Step) -> PairAlignments:
        """The block's alignments that reach the identity."""
        if step.kind == "cpu":
            return on_cores(self.problem, len(item), lambda part: align_on_cpu(self.problem, item.take(part)))
        results = []
        for strand in range(len(self.problem.queries)):
            if step.kind == "scores":
                results.append(self._collect_scores(slot, item, strand, step))
                continue
            candidates = Candidates(item)
            if step.kind == "filter":
                assert self._filter is not None
                candidates = candidates_within(self.problem, item, *self._filter.found(slot, strand))
            elif step.kind == "score filter":
                candidates = self._collect_score_filter(slot, item, strand, step)
            results.append(self.problem.keep(self._align(candidates, strand)))
        return results[0] if len(results) == 1 else better_strand(*results)

    def launch(self, slot: Slot, block: PairBlock) -> _Step:
        """Enqueue the first step of a block."""
        problem = self.problem
        if len(block) == 0:
            return _Step("cpu")
        if problem.mode == "local" and problem.traced:
            return _Step("align")
        if problem.traced and self._filter is not None and self._submit_filter(slot, block, self._filter):
            return _Step("filter")
        n, m = problem.sizes(block)
        empty = min(n.min(), m.min()) == 0
        if problem.traced and (empty or not problem.from_corners or score_lines(problem) is None):
            return _Step("align")
        if empty:
            return _Step("cpu")
        return self._submit_scores(slot, block, n, m)

    def _submit_filter(self, slot: Slot, block: PairBlock, edit_filter: EditFilter) -> bool:
        """Enqueue the edit filter on all strands, if it can count as many edits and its queries fit."""
        problem = self.problem
        widest = edit_filter.limits.widest(block, problem.query_lengths, problem.target_lengths)
        queries = block.query if isinstance(block, PairRuns) else block.queries
        longest = int(problem.query_lengths[queries].max())
        if widest is None or not edit_filter.fits(longest):
            return False
        for strand, sequences in enumerate(self.launcher.strands):
            edit_filter.submit(slot, block, strand, (sequences, self.launcher.targets), widest, longest)
        return True

    def _submit_scores(self, slot: Slot, block: PairBlock, n: NDArray[np.int32], m: NDArray[np.int32]) -> _Step:
        """Enqueue scores on all strands. Where they are a filter, only the pairs that are left are copied to the host,
        and all scores by strips, which are few.
        """
        problem = self.problem
        strands = range(len(problem.queries))
        kind: Literal["score filter", "scores"] = "score filter" if problem.traced else "scores"
        longest = int(n.max()), int(m.max())
        words = self.launcher.arithmetic(*longest)
        work = plan.Workload.of_scores(n, m, words.lanes, bool(words.opening))
        lanes = self.launcher.lanes_suit
        by_strips = plan.scores_by_strips(work, problem.kernel, lanes)
        if by_strips:
            for strand in strands:
                self.launcher.submit_strips(slot, block, strand, kept=False)
            return _Step(kind, by_strips=True)
        if lanes:
            by_length = query_lanes.by_query_and_length(block.queries, m)
            for strand in strands:
                self.launcher.submit_lanes(slot, block, strand, by_length)
            return _Step(kind, by_length, in_halves=True)
        order = tasks.score_order(block.queries, m)
        for strand in strands:
            self.launcher.submit_lazy(slot, block, strand, order, longest, score_lines(problem))
        return _Step(kind, order)

    # -- scores

    def _collect_scores(self, slot: Slot, block: PairBlock, strand: int, step: _Step) -> PairAlignments:
        if step.by_strips:
            downloaded = self.launcher.scores_of_strips(slot, len(block), strand)
        else:
            downloaded = slot.pinned(f"scores {strand}", len(block), np.int32)
        score = np.empty(len(block), np.int32)
        score[slice(None) if step.order is None else step.order] = downloaded
        if step.in_halves and self.problem.mode == "local":
            beyond = np.flatnonzero(score < 0)
            if len(beyond):
                score[beyond] = self._scores_in_words(block.take(beyond), strand)
        minus = np.full(len(block), bool(strand))
        return PairAlignments(block.queries, block.targets, minus, score, self.problem.lengths(block))

    def _scores_in_words(self, block: PairBlock, strand: int) -> NDArray[np.int32]:
        """Align in 32 bits, by LazyRScan, or by strips if there is too little work for it."""
        n, m = self.problem.sizes(block)
        words = self.launcher.arithmetic(int(n.max()), int(m.max()))
        work = plan.Workload.of_scores(n, m, words.lanes, bool(words.opening))
        if plan.scores_by_strips(work, "auto"):
            self.launcher.submit_strips(self._trace_slot, block, strand, kept=False)
            self._trace_slot.wait()
            return self.launcher.scores_of_strips(self._trace_slot, len(block), strand)
        order = np.lexsort((m, block.queries))
        self.launcher.submit_lazy(self._trace_slot, block, strand, order, (int(n.max()), int(m.max())))
        self._trace_slot.wait()
        score = np.empty(len(block), np.int32)
        score[order] = self._trace_slot.pinned(f"scores {strand}", len(block), np.int32)
        return score

    def _collect_score_filter(self, slot: Slot, block: PairBlock, strand: int, step: _Step) -> Candidates:
        if step.by_strips:
            scored = self._collect_scores(slot, block, strand, step)
            slot.retire("strip borders")  # where pairs are long, it is what their alignments need
            return candidates_by_score(self.problem, block, scored.score)
        (found,) = KEPT[strand].entries(slot)
        indices = found[:, 0].astype(np.int64) if step.order is None else step.order[found[:, 0]]
        ascending = np.argsort(indices)
        return candidates_scored(self.problem, block, indices[ascending], found[ascending, 1])

    # -- alignments

    def _align(self, candidates: Candidates, strand: int) -> PairAlignments:
        """Align the candidates, on the CPU where the device has too little memory for even one task."""
        for _ in range(2):  # memory of other blocks may have to be released first
            try:
                return self._align_here(self._trace_slot, candidates, strand)
            except DeviceMemoryExceeded:
                self._trace_slot.release()
        return strand_on_cores(self.problem, candidates, strand)

    def _align_here(self, slot: Slot, candidates: Candidates, strand: int) -> PairAlignments:
        """By threads, by strips or by parts; on the CPU what suits none of them."""
        problem, block = self.problem, candidates.block
        if len(block) == 0:
            return strand_on_cores(self.problem, candidates, strand)
        n, m = problem.lengths(block).T
        low = -n.astype(np.int32) if candidates.band_low is None else candidates.band_low
        high = m.astype(np.int32) if candidates.band_high is None else candidates.band_high
        cells = np.minimum(high.astype(np.int64) - low + 64, n) * m
        words = self.launcher.arithmetic(max(int(n.max()), 1), max(int(m.max()), 1))
        work = plan.Workload(n, m, cells, words.lanes, bool(words.opening))
        ways = plan.ways_to_align(work, problem.kernel, self._trace_bytes(), problem.from_corners)
        done = []
        for way, run in (("threads", self._by_threads), ("strips", self._by_strips), ("parts", self._by_parts)):
            index = np.flatnonzero(ways == way)
            if len(index):
                done.append((index, run(slot, Candidates(block.take(index), low[index], high[index]), strand)))
        rest = np.flatnonzero(ways == "cores")
        if len(rest):
            part = Candidates(block.take(rest), low[rest], high[rest])
            done.append((rest, strand_on_cores(self.problem, part, strand)))
        if len(done) == 1:
            return done[0][1]
        indices = np.argsort(np.concatenate([index for index, _ in done]))
        return PairAlignments.join(aligned for _, aligned in done).take(indices)

    def _trace_bytes(self) -> int:
        return int(self.device.budget * PAIRWISE.border_share)

    def _by_threads(self, slot: Slot, candidates: Candidates, strand: int) -> PairAlignments:
        """RScan, in batches whose borders fit the device."""
        block, low, high = candidates.block, candidates.band_low, candidates.band_high
        assert low is not None
        assert high is not None
        lengths = self.problem.lengths(block)
        order = np.lexsort((lengths[:, 1], lengths[:, 0]))
        n, m = lengths[order].T
        low, high = low[order], high[order]
        words = self.launcher.arithmetic(int(n.max()), int(m.max()))
        max_words = self._trace_bytes() // 4 // (2 if words.opening else 1)
        batches = tasks.trace_batches(n, m, low, high, pair_tasks.WARP * words.lanes, max_words)
        # a gap is at least a symbol, and all gaps together have no more symbols than the band is wide
        max_operations = np.minimum(2 * (high.astype(np.int64) - low) + 3, n + m + 1)
        done = []
        for batch in batches:
            part = slice(batch.start, batch.stop)
            done.append(
                self.launcher.trace_threads(slot, batch, block.take(order[part]), strand, words, max_operations[part])
            )
        return self._alignments(block, order, done, strand)

    def _by_strips(self, slot: Slot, candidates: Candidates, strand: int) -> PairAlignments:
        """DScan, in batches whose directions fit the device."""
        block = candidates.block
        n, m = self.problem.lengths(block).T
        kept = plan.direction_bytes(n, m)
        done = [
            self.launcher.trace_strips(slot, block.part(start, stop), strand)
            for start, stop in cut_by_size(kept, self._trace_bytes() // 2)
        ]
        return self._alignments(block, np.arange(len(block)), done, strand)

    def _by_parts(self, slot: Slot, candidates: Candidates, strand: int) -> PairAlignments:
        """TiledDScan and the traceback, a pair at a time: each fills the device."""
        block = candidates.block
        done = [
            LongAlignment(self.launcher, slot, query, target, strand, self._part_symbols).run()
            for query, target in zip(block.queries.tolist(), block.targets.tolist(), strict=True)
        ]
        return self._alignments(block, np.arange(len(block)), done, strand)

    def _alignments(
        self, block: PairBlock, order: NDArray[np.int64], done: list[Traced], strand: int
    ) -> PairAlignments:
        """Results of batches in ``order`` as alignments in the block's order."""
        results = np.concatenate([result for result, _ in done])
        lengths = self.problem.lengths(block)[order]
        spans = ("query_start", "query_end", "target_start", "target_end")
        aligned = PairAlignments(
            block.queries[order],
            block.targets[order],
            np.full(len(block), bool(strand)),
            results["score"].copy(),
            lengths,
            np.stack([results[name] for name in spans], axis=1),
            np.stack([results[name] for name in ("matches", "mismatches", "openings", "gaps")], axis=1),
            np.concatenate([joined for _, joined in done]),
            offsets_of(results["runs"]),
        )
        return aligned.take(np.argsort(order))
