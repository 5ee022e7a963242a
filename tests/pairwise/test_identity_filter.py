"""Pairs that two scores tell to miss an identity, against the identities of all alignments."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from gpualign.align.pair_inputs import PairInputs
from gpualign.align.score.alignments import Measures
from gpualign.align.score.cpu import Candidates, align_strand
from gpualign.align.score.identity_filter import IdentityFilter, scores_nearby
from gpualign.align.score.problem import PairProblem, make_problem
from gpualign.cluster.params import ClusterParams
from gpualign.params import RunOptions
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import encode
from gpualign.sequences.pairs import PairBlock, PairSource
from tests.helpers.sequences import mutate, with_codes


def problem_of(sequences: list[str], identity: float, definition: int, **given: int) -> PairProblem:
    params = ClusterParams(identity=identity, identity_definition=definition, **given)
    scoring = params.load_scoring()
    encoded = encode([SequenceBatch.from_records([(text, text) for text in sequences])], scoring)
    source = PairSource.triangle(encoded.lengths, include_self=True)
    return make_problem(params.pairs, RunOptions(), scoring, PairInputs(encoded, encoded, source))


@pytest.mark.parametrize("definition", [2, 3])
@pytest.mark.parametrize("given", [{}, {"gap_open": 2, "gap_extend": 2}, {"match": 1, "mismatch": 1, "gap_open": 5}])
def test_no_near_pair_is_left_out(definition: int, given: dict[str, int]) -> None:
    """Sequences that differ here and there, or at their ends alone, where a gap in each follows the other."""
    rng = random.Random(definition)
    root = "".join(rng.choices("ACGT", k=120))

    def sequence() -> str:
        ends = ["".join(rng.choices("ACGT", k=rng.choice([0, 3, 30]))) for _ in range(2)]
        return ends[0] + with_codes(rng, mutate(rng, root, rng.choice([0.01, 0.1, 0.3])), 0.01) + ends[1]

    sequences = [sequence() for _ in range(40)]
    kept = missing = 0
    for identity in (0.97, 0.9, 0.8, 0.6):
        problem = problem_of(sequences, identity, definition, **given)
        rows, columns = np.triu_indices(len(sequences), 1)
        block = PairBlock(rows.astype(np.int32), columns.astype(np.int32))
        scores = scores_nearby(problem, block)
        aligned = align_strand(replace(problem, identity=None), Candidates(block), 0)
        assert (scores <= aligned.score).all()
        near = Measures(aligned, "global").identity(definition) >= identity - 1e-9
        left = IdentityFilter(problem).near(Candidates(block), scores)
        assert set(np.flatnonzero(near).tolist()) <= set(left.tolist())
        kept += len(left)
        missing += int((~near).sum())
    assert missing
    assert kept < 0.8 * 4 * len(block)  # it says something
