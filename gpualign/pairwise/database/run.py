"""``pairwise --top``: scores of all queries against a database that goes by once, then alignments of the hits."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from gpualign.align.pair_inputs import PairFiles, inputs_of, read_encoded
from gpualign.align.score.params import PairwiseParams
from gpualign.align.score.problem import make_problem
from gpualign.align.score.score_tile import ScoreTile
from gpualign.align.score.tuning import work_of
from gpualign.errors import counted
from gpualign.pairwise.database.database import DatabasePart, database_parts
from gpualign.pairwise.database.hits import DatabaseHits
from gpualign.pairwise.database.output import Significance, with_search_columns
from gpualign.pairwise.database.params import DatabaseParams
from gpualign.pairwise.database.scan import search_stage, tiles_of
from gpualign.pairwise.database.statistics import ScoreStatistics
from gpualign.pairwise.output import PairFormat, columns_of
from gpualign.pairwise.params import PairwiseOutput
from gpualign.pairwise.run import align_all
from gpualign.params import RunOptions
from gpualign.report import Progress
from gpualign.run.run_context import RunContext
from gpualign.run.stage import Backend
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock
from gpualign.streaming.prefetch import Prefetch

#: batches of a part of the database: a device wants many targets at a time
_PART_BATCHES = 8


def run_search(
    files: PairFiles, params: PairwiseParams, search: DatabaseParams, output: PairwiseOutput, options: RunOptions
) -> None:
    """Search and write, each query's hits best first.

    Raises:
        UsageError: parameters that do not fit each other.
        InputError: input that cannot be read.
        DeviceError: the device that was asked for is missing.
    """
    search.check(files, params, output)
    assert files.targets is not None
    scored = replace(params, score_only=True)
    run = RunContext("pairwise", options, files.paths(params.matrix))
    scoring = params.load_scoring()
    statistics = search.statistics(params, scoring, output.names_statistics)
    work = work_of(files.cells(), params.gap_open > params.gap_extend, False)
    with run.opening(work) as opening:
        queries = read_encoded(files.queries, scoring)
        hits = DatabaseHits(search, statistics, queries.lengths, _least_score(search, statistics, params, scoring))
        with run.progress("pair", of=(files.targets,)) as progress:
            targets, residues = _scan(
                files.targets, hits, scored, scoring, queries, opening.backend(), options, progress
            )
        found, sequences = hits.finish(residues)
        if targets == 0 or len(queries) == 0:
            run.warn("no pairs to align")
        output = with_search_columns(output, params.score_only, statistics is not None)
        significance = None if statistics is None else Significance(statistics, residues).columns
        layout = PairFormat(output, params, scoring, queries.names, sequences.names, significance)
        tsv = output.layout == "tsv"
        with run.table(columns_of(output, params), output.header) if tsv else run.output() as out:
            inputs = inputs_of(queries, sequences, PairBlock(found.query, found.target.astype("int32")))
            problem = make_problem(params, options, scoring, inputs)
            with Progress(options, "hit", len(found)) as traced:
                for alignments in align_all(problem, inputs.source, opening.backend(), traced):
                    out.write(layout.lines(alignments))
    total = len(queries) * targets
    summary = f"{counted(total, 'pair')}, {counted(len(found), 'hit')}, on {run.device}"
    run.finish(summary, pairs=total, pairs_written=len(found), sequences=len(queries) + targets, residues=residues)


def _least_score(
    search: DatabaseParams, statistics: ScoreStatistics | None, params: PairwiseParams, scoring: Scoring
) -> int | None:
    """The lowest score of a hit, in the scoring's units; None: any. A local alignment scores something."""
    minimum = [1] if params.mode == "local" else []
    if search.min_score is not None:
        minimum.append(math.ceil(search.min_score * scoring.scale - 1e-9))
    if search.min_bits is not None:
        assert statistics is not None
        minimum.append(math.ceil((search.min_bits * math.log(2) + math.log(statistics.k)) / statistics.scale - 1e-9))
    return max(minimum, default=None)


def _scan(
    path: str,
    hits: DatabaseHits,
    params: PairwiseParams,
    scoring: Scoring,
    queries: EncodedSequences,
    backend: Backend,
    options: RunOptions,
    progress: Progress,
) -> tuple[int, int]:
    """Offer all targets of the database; returns how many there are, and their residues."""
    targets = residues = 0
    inputs = inputs_of(queries, EncodedSequences([], np.zeros(0, np.uint8), np.zeros(1, np.int64)), None)
    problem = replace(make_problem(params, options, scoring, inputs), pair_threads=1)
    given: deque[tuple[DatabasePart, ScoreTile | None]] = deque()  # None after a part's last tile

    def tiles(parts: Iterable[DatabasePart]) -> Iterator[ScoreTile]:
        for part in parts:
            for tile in tiles_of(queries.lengths, part.encoded, backend.on_gpu):
                given.append((part, tile))
                yield tile
            given.append((part, None))

    def settle() -> None:
        nonlocal targets, residues
        while given and given[0][1] is None:
            part, _ = given.popleft()
            residues += int(part.encoded.offsets[-1])
            hits.settle(part.batch, part.encoded, targets, residues)
            targets += len(part.encoded)

    with Prefetch(database_parts(path, scoring, options.batch_size * _PART_BATCHES)) as parts:
        for found in backend.run(tiles(parts), search_stage(problem)):
            settle()
            part, tile = given.popleft()
            assert tile is not None
            hits.expect(residues + int(part.encoded.offsets[-1]))
            hits.offer(tile.first, targets, found, part.encoded.lengths)
            progress.update(len(tile))
    settle()
    return targets, residues
