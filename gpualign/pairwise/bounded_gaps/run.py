"""``pairwise --max-gaps``: every pattern against every text with a bounded number of gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.gaps.cpu import GapAlignments, GapModel, GapProblem, align_on_cpu
from gpualign.align.gaps.device import make_kernel
from gpualign.align.gaps.tuning import KERNELS
from gpualign.align.pair_inputs import PairFiles
from gpualign.align.score.tuning import mean_cells
from gpualign.errors import check_count, counted
from gpualign.pairwise.bounded_gaps.params import GapsParams
from gpualign.params import RunOptions
from gpualign.report import Progress
from gpualign.run.run_context import RunContext
from gpualign.run.select import Work
from gpualign.run.stage import Backend, Stage
from gpualign.run.tiles import Tiles, digest
from gpualign.sequences.batch import join_bytes
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock, PairSource
from gpualign.streaming.timeline import STEPS
from gpualign.text.table_output import Kind

COLUMNS = ("query", "target", "score", "gapopens", "gaps", "qlen", "tlen", "tstart", "tend", "cigar")
SCORE_COLUMNS = ("query", "target", "score", "gapopens", "qlen", "tlen", "tend")
_TEXTS = ("query", "target", "gaps", "cigar")
#: bytes that a pair costs on its way: ids, answers and its row
_PAIR_BYTES = 16
#: cells of a block, so that threads share the work and a GPU's launch stays far under a second
_CPU_CELLS, _GPU_CELLS = 1 << 27, 1 << 35


def run_max_gaps(
    files: PairFiles, params: GapsParams, options: RunOptions, header: bool = True, resume: str | None = None
) -> dict[str, Any]:
    """Align and write one row a pair, or one a pattern with ``params.best``.

    Args:
        header: write the header line.
        resume: folder of finished blocks, or None.

    Returns:
        The run report's fields.

    Raises:
        InputError: a file cannot be read or is invalid.
        DeviceError: a GPU was asked for and cannot be used.
    """
    run = RunContext("pairwise", options, files.paths(params.matrix))
    scoring = params.load_scoring()
    model = params.model(scoring)
    rows = 0
    work = Work.of(KERNELS, files.cells())
    columns = columns_of(model)
    with run.opening(work) as opening, run.table(columns, header) as out:
        found = files.read(scoring)
        problem, pairs = GapProblem(found.queries, found.targets, model), found.source
        backend = opening.backend()
        layout = RowFormat(problem, scoring)
        with run.progress("pairs", pairs.total) as progress:
            aligner = Aligner(backend, problem, options, progress)
            for block, answer in aligner.run(pairs, params.best, resume):
                out.write(layout.lines(block, answer))
                rows += len(block)
    if pairs.total == 0:
        run.warn("there are no pairs")
    summary = f"{counted(pairs.total, 'pair')}, {rows:,} written, on {run.device}"
    return run.finish(summary, pairs=pairs.total, written=rows, cells=aligner.cells * (model.max_gaps + 1))


class Aligner:
    """Pairs in blocks through a backend."""

    def __init__(self, backend: Backend, problem: GapProblem, options: RunOptions, progress: Progress) -> None:
        self.backend, self.problem, self.progress = backend, problem, progress
        self.cells = 0
        cells = max(1.0, mean_cells(problem.patterns, problem.texts))
        self.block_cells = _GPU_CELLS if backend.on_gpu else _CPU_CELLS
        self.block_pairs = max(1, min(options.batch_size // _PAIR_BYTES, int(self.block_cells / cells)))

    def run(
        self, pairs: PairSource, best: bool = False, resume: str | None = None
    ) -> Iterator[tuple[PairBlock, GapAlignments]]:
        """Each block with its answers, in order.

        Args:
            best: only the best text of each pattern.
            resume: folder of finished blocks, or None.
        """
        if best:
            scores_only = replace(self.problem, model=replace(self.problem.model, traceback=False))
            scored = self._run(scores_only, pairs, resume)
            pairs, resume = replace(pairs, listed=best_of_each(scored, len(self.problem.patterns))), None
        yield from self._run(self.problem, pairs, resume)

    def _run(
        self, problem: GapProblem, pairs: PairSource, resume: str | None
    ) -> Iterator[tuple[PairBlock, GapAlignments]]:
        blocks: list[PairBlock] = []  # in flight; the backend answers in order

        def items() -> Iterator[PairBlock]:
            for block in pairs.blocks(self.block_pairs, self.block_cells):
                blocks.append(block)
                yield block

        stage = Stage[PairBlock, GapAlignments](
            lambda block: align_on_cpu(problem, block), lambda device: make_kernel(device, problem)
        )

        def align(some: Iterable[PairBlock]) -> Iterator[GapAlignments]:
            return self.backend.run(some, stage)

        results = align(items())
        if resume is not None:
            run = digest(problem.patterns, problem.texts, problem.model, pairs, self.block_pairs)
            results = Tiles(resume, run, GapAlignments, "pairwise").run(items(), align)
        aligned = 0
        for answer in results:
            block = blocks.pop(0)
            check_count("pairs", len(block), len(answer.score))
            aligned += len(block)
            self.cells += int((problem.patterns.lengths[block.queries] * problem.texts.lengths[block.targets]).sum())
            self.progress.update(len(block))
            yield block, answer
        check_count("pairs", pairs.total, aligned)


def best_of_each(answers: Iterable[tuple[PairBlock, GapAlignments]], patterns: int) -> PairBlock:
    """The best pair of each pattern: by score, then fewest gaps, then the first."""
    best_key = np.full(patterns, np.iinfo(np.int64).min)
    best_text = np.full(patterns, -1, np.int32)
    for block, answer in answers:
        order = np.argsort(block.queries, kind="stable")
        ids = block.queries[order]
        key = (answer.score[order].astype(np.int64) << 8) - answer.gaps[order]
        starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
        top = np.maximum.reduceat(key, starts)
        counts = np.diff(np.r_[starts, len(ids)])
        reach = np.flatnonzero(key == np.repeat(top, counts))
        first = reach[np.searchsorted(reach, starts)]
        pattern, text = ids[starts], block.targets[order][first]
        better = (top > best_key[pattern]) | (best_text[pattern] < 0)
        best_key[pattern[better]], best_text[pattern[better]] = top[better], text[better]
    found = np.flatnonzero(best_text >= 0).astype(np.int32)
    return PairBlock(found, best_text[found])


def columns_of(model: GapModel) -> dict[str, Kind]:
    """The table's columns."""
    names = COLUMNS if model.traceback else SCORE_COLUMNS
    return {name: "text" if name in _TEXTS else "number" if name == "score" else "integer" for name in names}


class RowFormat:
    """Rows of the output table."""

    def __init__(self, problem: GapProblem, scoring: Scoring) -> None:
        self.problem, self.scoring = problem, scoring
        self._names = (*_joined(problem.patterns.names), *_joined(problem.texts.names))

    @STEPS.at("format")
    def lines(self, block: PairBlock, answer: GapAlignments) -> bytes:
        """One row a pair."""
        gap_list = answer.gap_list if answer.gap_list is not None else np.zeros(0, np.int32)
        rows = _native.gapsmis_rows(
            *self._names,
            self.problem.patterns.offsets,
            self.problem.texts.offsets,
            block.queries,
            block.targets,
            score=answer.score,
            gaps=answer.gaps,
            start=answer.start,
            end=answer.end,
            gap_list=np.ascontiguousarray(gap_list.reshape(-1)),
            max_gaps=self.problem.model.max_gaps,
            traced=self.problem.model.traceback,
            scale=self.scoring.scale,
        )
        check_count("pairs", len(block), _native.count_newlines(rows))
        return rows


def _joined(names: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return join_bytes([name.encode("latin-1") for name in names])
