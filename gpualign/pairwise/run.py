"""``pairwise``: all-against-all alignment with an identity filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace

from gpualign import _native
from gpualign.align.edit.filter import MAX_EDITS
from gpualign.align.pair_inputs import PairFiles, PairInputs
from gpualign.align.score.alignments import PairAlignments
from gpualign.align.score.cpu import align_on_cpu
from gpualign.align.score.device.kernel import PairwiseKernel
from gpualign.align.score.params import PairwiseParams
from gpualign.align.score.problem import PairProblem, make_problem
from gpualign.align.score.tuning import work_of
from gpualign.errors import check_count, counted
from gpualign.pairwise.heatmap import Heatmap
from gpualign.pairwise.matrix_output import write_matrix
from gpualign.pairwise.output import PairFormat, columns_of
from gpualign.pairwise.params import PairwiseOutput
from gpualign.params import RunOptions
from gpualign.plots.drawing import check_plot
from gpualign.report import Progress
from gpualign.run.run_context import RunContext
from gpualign.run.stage import Backend, Stage
from gpualign.run.tiles import Tiles, digest
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock, PairSource
from gpualign.text.table_output import TableSink

#: cells of one pair's alignment that take a core minutes: where the pair fills the lanes by itself, and where not
MINUTES_OF_CELLS = (2 * 10**12, 10**11)
#: pairs and cells of a block with --resume, for all devices, so that a run may go on on another one
KEPT_BLOCK = (1 << 14, 1 << 29)
#: pairs of a block for a device at most: of all pairs; of those that a filter goes through, a share, so that several
#: devices end together, within bounds; and cells at most
_GPU_PAIRS, _GPU_SHARE, _FILTERED_PAIRS, _GPU_CELLS = 1 << 16, 64, (1 << 20, 1 << 22), 1 << 42
#: of a block for a core: a share of all pairs, so that cores end together, within bounds; and cells at most
_CPU_SHARE, _CPU_PAIRS, _CPU_CELLS = 64, (1 << 12, 1 << 16), 1 << 29


def align_all(
    problem: PairProblem, source: PairSource, backend: Backend, progress: Progress, resume: str | None = None
) -> Iterator[PairAlignments]:
    """Alignments of all pairs in order, block by block; pairs under the identity are left out.

    Args:
        resume: folder of finished blocks, or None.
    """
    done: list[int] = []
    size = KEPT_BLOCK if resume is not None else block_size(problem, backend, source.total)

    def blocks() -> Iterator[PairBlock]:
        for block in source.blocks(*size):
            done.append(len(block))
            yield block

    stage = Stage[PairBlock, PairAlignments](
        lambda block: align_on_cpu(problem, block), lambda device: PairwiseKernel(device, problem)
    )

    def align(some: Iterable[PairBlock]) -> Iterator[PairAlignments]:
        return backend.run(some, stage)

    results = align(blocks())
    if resume is not None:
        run = digest(replace(problem, table_bytes=0, kernel="auto", threads=1, pair_threads=1), source, size)
        results = Tiles(resume, run, PairAlignments, "pairwise").run(blocks(), align)
    aligned = 0
    for alignments in results:
        pairs = done.pop(0)
        if problem.identity is None:
            check_count("pairs", pairs, len(alignments))
        aligned += pairs
        progress.update(pairs)
        yield alignments
    check_count("pairs", source.total, aligned)


def block_size(problem: PairProblem, backend: Backend, total: int) -> tuple[int, int]:
    """Pairs and cells of a block: enough to hide its overhead, little enough that all workers have something."""
    if not backend.on_gpu:
        minimum, maximum = _CPU_PAIRS
        return min(max(total // _CPU_SHARE, minimum), maximum), _CPU_CELLS
    # tracebacks of every pair are a batch's worth of output long before they are a batch's worth of scores
    if problem.bound is None and problem.traced:
        return _GPU_PAIRS, _GPU_CELLS
    minimum, maximum = _FILTERED_PAIRS
    limits = problem.edit_limits
    narrow = problem.traced and limits is not None and limits.by_length[-1] <= MAX_EDITS
    return (min(max(total // _GPU_SHARE, minimum), maximum), 1 << 45) if narrow else (minimum, _GPU_CELLS)


def run_pairwise(files: PairFiles, params: PairwiseParams, output: PairwiseOutput, options: RunOptions) -> None:
    """Align and write.

    Raises:
        UsageError: parameters that do not fit the matrix.
        InputError: input that cannot be read.
        DeviceError: the device that was asked for is missing.
    """
    if output.plot is not None:
        check_plot(output.plot)
    params = output.needed(params)
    run = RunContext("pairwise", options, files.paths(params.matrix), (output.plot,))
    scoring = params.load_scoring()
    work = work_of(files.cells(), params.gap_open > params.gap_extend, not params.score_only)
    with run.opening(work) as opening:
        inputs = files.read(scoring)
        problem = make_problem(params, options, scoring, inputs)
        total, kept = inputs.source.total, 0
        if total == 0:
            run.warn("no pairs to align")
        backend = opening.backend()
        if (cells := cells_of_a_giant(problem, backend.on_gpu)) is not None:
            run.warn(f"the longest pair has {cells:.1e} cells: its alignment takes long")
        with _opened(run, params, output) as out, run.progress("pair", total) as progress:
            alignments = align_all(problem, inputs.source, backend, progress, output.resume)
            if output.plot is not None:
                alignments = _drawn(output.plot, params, inputs, alignments)
            kept = _write(output, params, scoring, inputs, alignments, out)
    sequences = len(inputs.queries) + (0 if inputs.one_set else len(inputs.targets))
    summary = f"{counted(total, 'pair')}, {kept:,} written, on {run.device}"
    run.finish(summary, pairs=total, pairs_written=kept, sequences=sequences)


def _drawn(
    path: str, params: PairwiseParams, inputs: PairInputs, alignments: Iterator[PairAlignments]
) -> Iterator[PairAlignments]:
    """Pass the alignments on; write the heat map after the last of them."""
    names = (inputs.queries.names, inputs.targets.names)
    heatmap = Heatmap(*names, inputs.one_set, params.mode, params.identity_definition)
    for block in alignments:
        heatmap.add(block)
        yield block
    heatmap.save(path)


def cells_of_a_giant(problem: PairProblem, on_gpu: bool) -> int | None:
    """Cells of the longest pair if its alignment is minutes of work or more, as of genomes; else None."""
    if not problem.traced or on_gpu:
        return None
    fills_lanes = problem.scoring.name == "match/mismatch"
    maximum = MINUTES_OF_CELLS[0] * problem.pair_threads if fills_lanes else MINUTES_OF_CELLS[1]
    cells = int(problem.query_lengths.max(initial=0)) * int(problem.target_lengths.max(initial=0))
    return cells if cells > maximum else None


def _opened(run: RunContext, params: PairwiseParams, output: PairwiseOutput) -> AbstractContextManager[TableSink]:
    return run.table(columns_of(output, params), output.header) if output.layout == "tsv" else run.output()


def _write(
    output: PairwiseOutput,
    params: PairwiseParams,
    scoring: Scoring,
    inputs: PairInputs,
    alignments: Iterator[PairAlignments],
    out: TableSink,
) -> int:
    if output.layout == "matrix":
        return write_matrix(output, params, scoring, inputs, alignments, out)
    layout = PairFormat(output, params, scoring, inputs.queries.names, inputs.targets.names)
    kept = 0
    for batch in alignments:
        if len(batch):
            lines = layout.lines(batch)
            check_count("pairs", len(batch), _native.count_newlines(lines))
            out.write(lines)
        kept += len(batch)
    return kept
