"""Parameters of bounded gaps, and which of pairwise's options go with them."""

from __future__ import annotations

from typing import Any

import pytest

from gpualign.bounded_gaps.cpu import Ends
from gpualign.bounded_gaps.params import GapsParams
from gpualign.errors import UsageError
from gpualign.pairwise.params import PairwiseParams, take_params


@pytest.mark.parametrize(
    ("fields", "ends"),
    [
        ({}, Ends.NONE),
        ({"mode": "semi-global"}, Ends.TEXT_END),
        ({"mode": "semi-global", "free_start": True}, Ends.BOTH),
        ({"mode": "semi-global", "free_ends": frozenset({"target-end"})}, Ends.TEXT_END),
        ({"mode": "semi-global", "free_ends": frozenset({"target-start", "target-end"})}, Ends.BOTH),
    ],
)
def test_free_ends(fields: dict[str, Any], ends: Ends) -> None:
    assert GapsParams(max_gaps=1, **fields).ends is ends


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_gaps": -1}, "max gaps must not be negative, not -1"),
        ({"max_gaps": 1, "mode": "local"}, "--max-gaps has no local mode"),
        ({"max_gaps": 1, "free_start": True}, "--free-start belongs to --mode semi-global"),
        (
            {"max_gaps": 1, "mode": "semi-global", "free_ends": frozenset({"query-end"})},
            "with --max-gaps the free ends are target-end, or target-start,target-end (--free-start)",
        ),
        ({"max_gaps": 1, "identity": 0.9}, "--id does not go with --max-gaps"),
        ({"max_gaps": 1, "strand": "both"}, "--strand both does not go with --max-gaps"),
        ({"max_gaps": 1, "end_gap_open": 2}, "--max-gaps has one penalty for all gaps: leave out those of end gaps"),
        ({"free_start": True}, "--free-start belongs to --max-gaps (semi-global mode has --free-ends)"),
        ({"best": True}, "--best belongs to --max-gaps"),
    ],
)
def test_what_does_not_go_together(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        take_params(**fields)
    assert str(error.value) == message


def test_the_cheaper_gap_symbol_may_be_the_first_of_counted_gaps() -> None:
    fields = {"gap_open": 1, "gap_extend": 2}
    assert isinstance(take_params(max_gaps=2, **fields), GapsParams)
    with pytest.raises(UsageError, match="must be at least gapext"):
        PairwiseParams(**fields)
