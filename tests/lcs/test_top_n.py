"""The best N of a stream."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpualign.align.lcs.cpu import ScoredBatch
from gpualign.align.lcs.query import QueryStrands, encode_query
from gpualign.lcs.params import LcsFilterParams
from gpualign.lcs.select import Collector, select
from tests.helpers.sequences import batch_of


@given(
    scores=st.lists(st.integers(0, 5), max_size=60),
    limit=st.integers(0, 8),
    batch=st.integers(1, 20),
    keep_ties=st.booleans(),
    input_order=st.booleans(),
)
def test_any_batching_gives_the_stable_ranking(
    scores: list[int], limit: int, batch: int, keep_ties: bool, input_order: bool
) -> None:
    params = LcsFilterParams(top=limit, keep_ties=keep_ties, min_length=1, input_order=input_order and limit > 0)
    collector, queries = Collector(params), [QueryStrands("q", 9, (encode_query("q", b"A" * 9, "dna"),))]
    for first in range(0, len(scores), batch):
        part = np.array([scores[first : first + batch]], np.int32)
        scored = ScoredBatch(batch_of([b"A" * (first + i) for i in range(part.size)]), part)
        found = select(params, queries, scored)
        assert found.subjects == part.size
        collector.keep(replace(found.hits, number=found.hits.number + first))
    ranking = sorted((i for i, score in enumerate(scores) if score >= 1), key=lambda i: -scores[i])
    expected = ranking if limit == 0 else ranking[:limit]
    if keep_ties and 0 < limit < len(ranking):
        expected = [i for i in ranking if scores[i] >= scores[ranking[limit - 1]]]
    ranks = {number: rank for rank, number in enumerate(expected, 1)}
    hits = collector.ranked()
    assert hits.number.tolist() == (sorted(expected) if params.input_order else expected)
    assert hits.rank is not None
    assert hits.rank.tolist() == [ranks[number] for number in hits.number.tolist()]
    assert hits.lengths.tolist() == hits.number.tolist()
    assert hits.lcs.tolist() == [scores[number] for number in hits.number.tolist()]
