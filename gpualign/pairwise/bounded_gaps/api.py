"""The bounded number of gaps in ``gpualign.pairwise``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpualign.align.gaps.cpu import GapAlignments, GapProblem
from gpualign.align.gaps.tuning import KERNELS
from gpualign.align.pair_inputs import PairInputs
from gpualign.align.score.tuning import mean_cells
from gpualign.pairwise.bounded_gaps.params import GapsParams
from gpualign.pairwise.bounded_gaps.run import Aligner, RowFormat, columns_of
from gpualign.params import RunOptions
from gpualign.report import OnProgress, Progress
from gpualign.run.select import Work, open_backend
from gpualign.sequences.batch import join_bytes
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock
from gpualign.tables.column import NameColumn, TextColumn, nullable
from gpualign.tables.drawing import Drawing
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Look, Table

#: of queries and of targets
Names = tuple[TextColumn, TextColumn]


def named(sequences: EncodedSequences) -> TextColumn:
    """The names of sequences."""
    return TextColumn.of_bytes(*join_bytes([name.encode("latin-1") for name in sequences.names]))


def iter_max_gaps(
    params: GapsParams, scoring: Scoring, inputs: PairInputs, options: RunOptions, progress: OnProgress | None = None
) -> Iterator[Table[Row]]:
    """Parts of the result of :func:`gpualign.pairwise` with ``max_gaps``, at least one.

    >>> from gpualign import pairwise
    >>> rows = pairwise(["GATTACA"], ["CGATACAGG"], max_gaps=1, mode="semi-global", free_start=True)
    >>> rows[["score", "gapopens", "gaps", "tstart", "tend", "cigar"]].tolist()
    [(20.0, 1, 1, 1, 7, '2M1I4M')]
    >>> pairwise(["ACGT"], ["ACG"], max_gaps=0)[["score", "gapopens", "cigar"]].tolist()
    [(None, None, None)]
    """
    problem = GapProblem(inputs.queries, inputs.targets, params.model(scoring))
    layout = RowFormat(problem, scoring)
    names = named(inputs.queries), named(inputs.targets)
    none, no_gaps = np.empty(0, np.int32), np.empty((0, problem.model.max_gaps, 3), np.int32)
    yield _table(layout, names, PairBlock(none, none), GapAlignments(none, none, none, none, no_gaps))
    done = Progress(options, "pairs", inputs.source.total, progress)
    cells = inputs.source.total * mean_cells(inputs.queries, inputs.targets)
    with open_backend(options, "pairwise", Work.of(KERNELS, cells)) as backend:
        aligner = Aligner(backend, problem, options, done)
        for block, answer in aligner.run(inputs.source, params.best):
            yield _table(layout, names, block, answer)


def _table(layout: RowFormat, names: Names, block: PairBlock, answer: GapAlignments) -> Table[Row]:
    found = answer.gaps >= 0
    columns: dict[str, Column] = {
        "query": block.queries,
        "target": block.targets,
        "score": nullable(answer.score / layout.scoring.scale, found),
        "gapopens": nullable(answer.gaps, found),
        "tend": nullable(answer.end.astype(np.int32), found),
    }
    of_pairs: dict[str, Column] = {
        "query_name": NameColumn(names[0], block.queries.astype(np.int32)),
        "target_name": NameColumn(names[1], block.targets.astype(np.int32)),
    }
    model = layout.problem.model
    if not model.traceback or answer.gap_list is None:
        return Table(columns | of_pairs)
    columns["tstart"] = nullable(answer.start.astype(np.int32), found)
    counted = np.arange(model.max_gaps) < answer.gaps[:, None]
    gap_symbols = (np.abs(answer.gap_list[:, :, 2]) * counted).sum(axis=1)
    columns["gaps"] = nullable(gap_symbols.astype(np.int32), found)
    cigar_column = list(columns_of(model)).index("cigar")
    lines = layout.lines(block, answer).split(b"\n")[:-1]
    cigars = (line.split(b"\t")[cigar_column] for line in lines)
    columns["cigar"] = TextColumn.of([None if cigar == b"*" else cigar for cigar in cigars])
    return Table(columns | of_pairs, Look(draw=_GapsDrawer(layout.problem, layout.scoring.symbols)))


@dataclass(frozen=True)
class _GapsDrawer:
    """From a row to its alignment."""

    problem: GapProblem
    alphabet: str

    def __call__(self, row: Row) -> Drawing | None:
        if row.cigar is None:
            return None
        alphabet = np.frombuffer(self.alphabet.encode(), np.uint8)
        patterns, texts = self.problem.patterns, self.problem.texts
        return Drawing(
            query=alphabet[patterns.sequence(row.query)].tobytes(),
            target=alphabet[texts.sequence(row.target)][row.tstart : row.tend].tobytes(),
            cigar=row.cigar,
            query_name=f"query {patterns.names[row.query]}",
            target_name=f"target {texts.names[row.target]}",
            target_start=row.tstart,
        )
