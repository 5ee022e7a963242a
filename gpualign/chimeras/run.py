"""``chimeras``: levels of abundance against the sequences above them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.edit.filter import MAX_EDITS
from gpualign.align.near.neighbors import cut_slices
from gpualign.align.pair_inputs import PairInputs
from gpualign.align.score.alignments import PairAlignments
from gpualign.align.score.bands import aligned_within, aligner_of
from gpualign.align.score.cpu import Candidates, align_strand
from gpualign.align.score.device.kernel import PairwiseKernel
from gpualign.align.score.problem import PairProblem, make_problem
from gpualign.align.score.tuning import work_of
from gpualign.chimeras.output import FLAGS, columns_of, rows_of
from gpualign.chimeras.params import ChimeraFiles, ChimeraParams
from gpualign.errors import check_count, counted
from gpualign.params import RunOptions
from gpualign.report import Progress
from gpualign.run.run_context import RunContext
from gpualign.run.select import Work
from gpualign.run.stage import Backend, Stage
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.sequences.columns import Columns
from gpualign.sequences.encoded import encode
from gpualign.sequences.matrices import with_matching_codes, without_codes
from gpualign.sequences.pairs import PairBlock, PairSource
from gpualign.text.chunks import read_batches
from gpualign.text.labels import sizes_of
from gpualign.text.output_file import open_output
from gpualign.text.sizes import product, symbols_in_files
from gpualign.text.symbol_lines import with_symbol_lines

#: candidates for each quarter of a sequence
FEW = 4
#: queries of a step, and pairs of a block on the CPU and for a device
_STEP, _CPU_PAIRS, _GPU_PAIRS = 1 << 14, 1 << 13, 1 << 16
#: pairs for each query whose work a GPU should be worth
_ALIGNED = 4


@dataclass(frozen=True, eq=False)
class Judged(Columns):
    """Queries with what the alignments of their candidates say.

    Attributes:
        query: int64 (q,), numbers of sequences.
        verdict: uint8 (q,): 0 no parents, 1 no score, 2 low score, 3 borderline, 4 chimera.
        score: float64 (q,).
        parents: int32 (q, 2), numbers of A and B, or -1.
        columns: int32 (q,), of the three-way alignment, without gaps and the columns next to them.
        matches: int32 (q, 4), of the query with model, A and B, and of A with B.
        votes: int32 (q, 6): yes, no and abstain, left and right of the crossover.
    """

    query: NDArray[np.int64]
    verdict: NDArray[np.uint8]
    score: NDArray[np.float64]
    parents: NDArray[np.int32]
    columns: NDArray[np.int32]
    matches: NDArray[np.int32]
    votes: NDArray[np.int32]

    @classmethod
    def without_parents(cls, query: NDArray[np.int64]) -> Judged:
        """Queries that cannot be chimeras."""
        n = len(query)
        numbers = (np.zeros((n, k), np.int32) for k in (4, 6))
        return cls(
            query, np.zeros(n, np.uint8), np.zeros(n), np.full((n, 2), -1, np.int32), np.zeros(n, np.int32), *numbers
        )


class Detector:
    """Compares queries with parents.

    Args:
        batch: queries, and with a reference then its sequences.
    """

    def __init__(self, params: ChimeraParams, batch: SequenceBatch, backend: Backend, options: RunOptions) -> None:
        scoring = with_matching_codes(params.alignment.load_scoring())
        sequences = encode([batch], scoring, named=False)
        if sequences.codes.max(initial=0) < scoring.identical:
            scoring = without_codes(scoring)
        source = PairSource.triangle(sequences.lengths, include_self=True)
        self._problem = make_problem(params.alignment, options, scoring, PairInputs(sequences, sequences, source))
        self._params, self._batch, self._backend, self._threads = params, batch, backend, options.threads
        aligner = aligner_of(self._problem)
        self._stage = Stage[PairBlock, PairAlignments](
            lambda block: _align(self._problem, aligner, block), lambda device: PairwiseKernel(device, self._problem)
        )
        self.pairs = 0

    def judge(
        self, queries: NDArray[np.int64], parents: NDArray[np.int64], limits: NDArray[np.int32]
    ) -> Iterator[Judged]:
        """What is known of each query, in order.

        Args:
            parents: int64 (p,), numbers of sequences.
            limits: int32 (q,), how many of the parents, from the first on, each query can have.
        """
        for start in range(0, len(queries), _STEP):
            some = queries[start : start + _STEP]
            yield self._judge(some, parents, limits[start : start + _STEP])

    def judge_all(self, sizes: NDArray[np.int64], denovo: bool, progress: Progress) -> Iterator[Judged]:
        """All queries by descending abundance.

        Args:
            sizes: int64 (q,), abundances of the queries.
            denovo: parents are more abundant queries that are no chimeras; else what follows the queries in the batch.
        """
        params, batch, count = self._params, self._batch, len(sizes)
        names = batch.name_offsets[: count + 1]
        order = _native.cluster_order(np.zeros(count, np.int64), sizes, batch.names[: names[-1]], names)
        done = 0
        parents = np.zeros(0, np.int64) if denovo else np.arange(count, len(batch))
        for first, last in levels(sizes[order], params.min_skew) if denovo else [(0, count)]:
            some = order[first:last]
            limits = np.full(len(some), len(parents), np.int32)
            if denovo:
                limits = np.searchsorted(-sizes[parents], -params.min_skew * sizes[some], "right").astype(np.int32)
            clean = [parents]
            for judged in self.judge(some, parents, limits):
                clean.append(judged.query[judged.verdict < 3])
                done += len(judged)
                progress.update(len(judged))
                yield judged
            if denovo:
                parents = np.concatenate(clean)
        check_count("sequences", count, done)

    def _judge(self, queries: NDArray[np.int64], parents: NDArray[np.int64], limits: NDArray[np.int32]) -> Judged:
        batch = self._batch
        text = (batch.bases, batch.base_offsets)
        rows, chosen = _native.parent_candidates(
            *text, queries.astype(np.int32), parents.astype(np.int32), limits, FEW, self._threads
        )
        block = PairBlock(queries[rows].astype(np.int32), chosen)
        # a model is not nearer by so few differences
        near = self._distances(block, self._params.min_differences - 1) >= 0
        left = np.ones(len(queries), bool)
        left[rows[near]] = False
        left &= np.bincount(rows, minlength=len(queries)) > 1
        block = block.take(left[rows])
        self.pairs += len(block)
        judged = [Judged.without_parents(queries[~left])]
        size = _GPU_PAIRS if self._backend.on_gpu else _CPU_PAIRS
        blocks = (block.take(piece) for piece in cut_slices(block.queries, size))
        for found in self._backend.run(blocks, self._stage):
            judged.append(self._votes(found))
        both = Judged.join(judged)
        order = np.argsort(queries)
        place = order[np.searchsorted(queries, both.query, sorter=order)]
        return both.take(np.argsort(place))

    def _distances(self, block: PairBlock, most: int) -> NDArray[np.int32]:
        return _distances(self._problem, block, np.full(len(block), most, np.int32))

    def _votes(self, found: PairAlignments) -> Judged:
        params, batch = self._params, self._batch
        assert found.cigar is not None
        assert found.cigar_offsets is not None
        verdict, score, numbers = _native.judge_chimeras(
            batch.bases,
            batch.base_offsets,
            found.query,
            found.target,
            found.cigar,
            found.cigar_offsets,
            params.min_score,
            params.min_divergence,
            params.no_weight,
            params.pseudo_votes,
            params.min_differences,
            self._threads if self._backend.on_gpu else 1,
        )
        of = numbers.reshape(-1, 13)
        queries = found.query[np.flatnonzero(np.diff(found.query, prepend=-1))].astype(np.int64)
        return Judged(queries, verdict, score, of[:, :2], of[:, 2], of[:, 3:7], of[:, 7:])


def _distances(problem: PairProblem, block: PairBlock, limits: NDArray[np.int32]) -> NDArray[np.int32]:
    sequences = (problem.targets.codes, problem.targets.offsets)
    distances: NDArray[np.int32] = _native.edit_distances(
        *sequences, *sequences, block.queries, block.targets, limits, *problem.scoring.matching
    )
    return distances


def _align(problem: PairProblem, aligner: Any, block: PairBlock) -> PairAlignments:
    """Optimal alignments on the calling thread, in the bands that edit distances prove enough."""
    n, m = problem.sizes(block)
    distances = _distances(problem, block, np.minimum(np.maximum(n, m), MAX_EDITS))
    near = distances >= 0
    parts = [aligned_within(problem, aligner, block.take(near), distances[near])]
    if near.all():
        return parts[0]
    parts.append(align_strand(problem, Candidates(block.take(~near)), 0))
    return PairAlignments.join(parts).take(np.argsort(np.concatenate([np.flatnonzero(near), np.flatnonzero(~near)])))


def levels(sizes: NDArray[np.int64], skew: float) -> Iterator[tuple[int, int]]:
    """Half-open ranges of descending abundances in which no sequence can be a parent of another one."""
    first = 0
    while first < len(sizes):
        last = first + int(np.searchsorted(-sizes[first:], -sizes[first] / skew, "left"))
        yield first, max(last, first + 1)
        first = max(last, first + 1)


def work_on(symbols: float | None) -> Work:
    """Of queries with so many symbols."""
    return work_of(product((symbols, 500.0, float(_ALIGNED))), True, True)


def run_chimeras(params: ChimeraParams, files: ChimeraFiles, options: RunOptions) -> dict[str, Any]:
    """Judge the sequences of a file; returns the run report's fields.

    Raises:
        UsageError: parameters that do not fit each other.
        InputError: a file cannot be read or is invalid.
        DeviceError: a GPU was asked for and cannot be used.
    """
    files.check(options.output)
    run = RunContext("chimeras", options, (files.sequences, files.reference), files.outputs)
    symbols = symbols_in_files(files.sequences)
    with run.opening(work_on(symbols)) as opening:
        with with_symbol_lines():
            queries = join_batches(list(read_batches(files.sequences)))
            sizes = sizes_of(queries.names, queries.name_offsets, files.sequences)
            references = [] if files.reference is None else list(read_batches(files.reference))
        run.report.stage("reading")
        if len(queries) == 0:
            run.warn("there are no sequences")
        together = replace(join_batches([queries, *references]), qualities=None)
        detector = Detector(params, together, opening.backend(), options)
        verdicts = np.zeros(len(queries), np.uint8)
        with run.table(columns_of(), files.header) as out, run.progress("sequence", len(queries)) as progress:
            for judged in detector.judge_all(sizes, files.denovo, progress):
                verdicts[judged.query] = judged.verdict
                out.write(rows_of(together, *judged.native))
        run.report.stage("judging")
        for path, flag in zip(files.outputs, "YN?", strict=True):
            if path is not None:
                wanted = np.array([FLAGS[verdict] == flag for verdict in range(len(FLAGS))], np.uint8)[verdicts]
                plain = replace(queries, qualities=None)
                with open_output(path, options.threads) as fasta:
                    fasta.write(_native.format_fastx(plain.native, wanted, False).tobytes())
    found, borderline = (int((verdicts == verdict).sum()) for verdict in (4, 3))
    summary = f"{counted(len(queries), 'sequence')}, {counted(found, 'chimera')}, {borderline:,} borderline"
    fields = {"sequences": len(queries), "chimeras": found, "borderline": borderline, "pairs": detector.pairs}
    return run.finish(f"{summary}, on {run.device}", **fields)
