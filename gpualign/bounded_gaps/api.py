"""The bounded number of gaps in ``gpualign.pairwise``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.bounded_gaps.cpu import GapAlignments, PairBlock
from gpualign.bounded_gaps.params import GapsParams
from gpualign.bounded_gaps.run import Aligner, RowFormat
from gpualign.bounded_gaps.tuning import KERNELS
from gpualign.engine.opening import open_backend
from gpualign.engine.work import Work, mean_cells
from gpualign.io.pair_inputs import PairInputs
from gpualign.params import RunOptions
from gpualign.report import Progress
from gpualign.sequences.matrices import Scoring

_SCORE_FIELDS = [("query", "i4"), ("target", "i4"), ("score", "f8"), ("gapopens", "i4"), ("tend", "i4")]
SCORE_DTYPE = np.dtype(_SCORE_FIELDS)
MAX_GAPS_DTYPE = np.dtype([*_SCORE_FIELDS, ("tstart", "i4"), ("gaps", "i4"), ("cigar", "O")])


def iter_max_gaps(
    params: GapsParams, scoring: Scoring, inputs: PairInputs, options: RunOptions
) -> Iterator[NDArray[Any]]:
    """Parts of the result of :func:`gpualign.pairwise` with ``max_gaps``, at least one.

    >>> from gpualign import pairwise
    >>> rows = pairwise(["GATTACA"], ["CGATACAGG"], max_gaps=1, mode="semi-global", free_start=True)
    >>> rows[["score", "gapopens", "gaps", "tstart", "tend", "cigar"]].tolist()
    [(20.0, 1, 1, 1, 7, '2M1I4M')]
    >>> pairwise(["ACGT"], ["ACG"], max_gaps=0)[["score", "gapopens", "cigar"]].tolist()
    [(nan, -1, '*')]
    """
    model = params.model(scoring)
    layout = RowFormat(inputs.queries, inputs.targets, scoring, model)
    yield np.empty(0, MAX_GAPS_DTYPE if model.traceback else SCORE_DTYPE)
    cells = inputs.source.total * mean_cells(inputs.queries, inputs.targets)
    with open_backend(options, "pairwise", Work.of(KERNELS, cells)) as backend:
        aligner = Aligner(backend, inputs.queries, inputs.targets, options, Progress(options, "pairs"))
        for block, answer in aligner.run(inputs.source, model, params.best):
            yield _rows(layout, block, answer)


def _rows(layout: RowFormat, block: PairBlock, answer: GapAlignments) -> NDArray[Any]:
    rows = np.empty(len(block), MAX_GAPS_DTYPE if layout.model.traceback else SCORE_DTYPE)
    found = answer.gaps >= 0
    rows["query"], rows["target"] = block.pattern_ids, block.text_ids
    rows["score"] = np.where(found, answer.score / layout.scoring.scale, np.nan)
    rows["gapopens"] = answer.gaps
    rows["tend"] = np.where(found, answer.end, -1)
    if answer.gap_list is None:
        return rows
    rows["tstart"] = np.where(found, answer.start, -1)
    counted = np.arange(layout.model.max_gaps) < answer.gaps[:, None]
    rows["gaps"] = np.where(found, (np.abs(answer.gap_list[:, :, 2]) * counted).sum(axis=1), -1)
    place = layout.columns.index("cigar")
    lines = layout.lines(block, answer).split(b"\n")[:-1]
    rows["cigar"] = [line.split(b"\t")[place].decode() for line in lines]
    return rows
