"""All pairs as a matrix in PHYLIP's layout: the number of rows, then a name and its values on each line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpualign.align.pair_inputs import PairInputs
from gpualign.align.score.alignments import Measures, PairAlignments
from gpualign.align.score.params import PairwiseParams
from gpualign.pairwise.params import PairwiseOutput
from gpualign.sequences.matrices import Scoring
from gpualign.text.table_output import TableSink


def write_matrix(
    output: PairwiseOutput,
    params: PairwiseParams,
    scoring: Scoring,
    inputs: PairInputs,
    alignments: Iterator[PairAlignments],
    out: TableSink,
) -> int:
    """Write distances (1 - identity), identities or scores; returns the number of pairs.

    The matrix of one file is symmetric; where i = i was not aligned, its distance is 0 and its identity 1, and its
    score, the sum over its own residues, is left as 0.
    """
    queries = inputs.queries.names
    values = np.zeros((len(queries), len(inputs.targets)), np.float64)
    pairs = 0
    if inputs.one_set and output.matrix_value == "identity":
        np.fill_diagonal(values, 1.0)
    for batch in alignments:
        pairs += len(batch)
        cells = _values(batch, output, params, scoring)
        values[batch.query, batch.target] = cells
        if inputs.one_set:
            values[batch.target, batch.query] = cells
    decimals = 6 if output.matrix_value != "score" else len(str(scoring.scale)) - 1
    out.write(f"{len(queries)}\n".encode())
    for i, name in enumerate(queries):
        row = values[i] if output.matrix_shape == "square" else values[i, :i]
        out.write("\t".join([name, *(f"{value:.{decimals}f}" for value in row.tolist())]).encode() + b"\n")
    return pairs


def _values(
    batch: PairAlignments, output: PairwiseOutput, params: PairwiseParams, scoring: Scoring
) -> NDArray[np.float64]:
    if output.matrix_value == "score":
        return np.asarray(batch.score / scoring.scale, np.float64)
    identity = Measures(batch, params.mode).identity(params.identity_definition)
    return identity if output.matrix_value == "identity" else 1 - identity
