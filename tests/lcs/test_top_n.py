"""The best N of a stream."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpualign.lcs.top_n import TopN


@given(
    scores=st.lists(st.integers(0, 5), max_size=60),
    limit=st.integers(0, 8),
    batch=st.integers(1, 20),
    keep_ties=st.booleans(),
)
def test_any_batching_gives_the_stable_ranking(scores: list[int], limit: int, batch: int, keep_ties: bool) -> None:
    top: TopN[int] = TopN(limit, keep_ties)
    for first in range(0, len(scores), batch):
        part = np.array(scores[first : first + batch], np.int32)
        top.add(part, part != 3, first, lambda i, first=first: first + i)  # type: ignore[misc]
    ranking = sorted((i for i, score in enumerate(scores) if score != 3), key=lambda i: -scores[i])
    expected = ranking if limit == 0 else ranking[:limit]
    if keep_ties and 0 < limit < len(ranking):
        expected = [i for i in ranking if scores[i] >= scores[ranking[limit - 1]]]
    assert top.ranked() == expected


def test_only_candidates_are_asked_for_their_payload() -> None:
    asked: list[int] = []
    top: TopN[int] = TopN(2)
    for first in (0, 3):
        top.add(np.array([5, 7, 6], np.int32), np.ones(3, bool), first, lambda i: asked.append(i) or i)
    assert asked == [1, 2, 1]
    assert top.ranked() == [1, 1]
