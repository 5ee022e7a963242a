"""Parameters of bounded gaps, and which of pairwise's options go with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpualign.align.gaps.cpu import Ends, GapModel, GapProblem
from gpualign.align.score.params import PairwiseParams
from gpualign.errors import UsageError
from gpualign.pairwise.bounded_gaps.params import GapsParams
from gpualign.pairwise.params import take_params
from gpualign.sequences.encoded import encode
from gpualign.sequences.matrices import match_mismatch


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
        ({"max_gaps": 1, "identity": 0.9}, "--id cannot be used with --max-gaps"),
        ({"max_gaps": 1, "strand": "both"}, "--strand both cannot be used with --max-gaps"),
        (
            {"max_gaps": 1, "end_gap_open": 2},
            "--max-gaps has one penalty for all gaps: leave out penalties of end gaps",
        ),
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


def test_bad_models():
    table = match_mismatch(5, -4).scores.astype(np.int16).reshape(-1)
    for gaps, open_, extend in [(-1, 1, 1), (65, 1, 1), (1, -1, 1), (1, 1, -1)]:
        with pytest.raises(UsageError):
            GapModel(table, 5, gaps, open_, extend)


def test_without_a_compiler_the_cpu_aligns_what_is_not_prebuilt(monkeypatch) -> None:
    from types import SimpleNamespace

    from gpualign.align.gaps.device import OnCpu, make_kernel
    from gpualign.run.gpu import compiler

    device = SimpleNamespace(blocks_at_once=lambda *_: 8, module=lambda *_: None)
    table = match_mismatch(5, -4).scores.astype(np.int16).reshape(-1)
    none = encode([], match_mismatch(5, -4))
    problem = GapProblem(none, none, GapModel(table, 5, 7, 10, 1, Ends.BOTH))
    of_two_gaps = replace(problem, model=replace(problem.model, max_gaps=2))
    monkeypatch.setattr(compiler, "can_be_had", lambda source, macros: macros["GAPS"] == "2")
    assert isinstance(make_kernel(device, problem), OnCpu)
    assert not isinstance(make_kernel(device, of_two_gaps), OnCpu)
