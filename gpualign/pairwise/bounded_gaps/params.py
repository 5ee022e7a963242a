"""Parameters of bounded-gap alignment, ``pairwise --max-gaps``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from gpualign.align.gaps.cpu import Ends, GapModel
from gpualign.align.score.params import PairParams
from gpualign.errors import UsageError
from gpualign.fields import REQUIRED, parameter
from gpualign.sequences.matrices import Scoring

_TARGET_ENDS = (frozenset({"target-end"}), frozenset({"target-start", "target-end"}))
_gaps = partial(parameter, under="Limited number of gaps")


@dataclass(frozen=True, kw_only=True)
class GapsParams(PairParams):
    """What to align and how to score it.

    Attributes:
        free_ends: in semi-global mode the target's end, or both of its ends; None: its end.
    """

    max_gaps: int = _gaps(
        REQUIRED, "--max-gaps", "Allow at most K gaps, of any length, in an alignment.", metavar="K", required=False
    )
    free_start: bool = _gaps(False, "--free-start", "With --max-gaps: start anywhere in the target.")
    best: bool = _gaps(False, "--best", "With --max-gaps: write only the best target of each query.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_gaps < 0:
            raise UsageError(f"max gaps must not be negative, not {self.max_gaps}")
        if self.mode == "local":
            raise UsageError("--max-gaps has no local mode")
        if self.free_start and self.mode != "semi-global":
            raise UsageError("--free-start belongs to --mode semi-global")
        if self.free_ends is not None and self.free_ends not in _TARGET_ENDS:
            raise UsageError("with --max-gaps the free ends are target-end, or target-start,target-end (--free-start)")

    @property
    def ends(self) -> Ends:
        """Which ends of the target cost nothing."""
        if self.free_start or "target-start" in (self.free_ends or ()):
            return Ends.BOTH
        return Ends.NONE if self.mode == "global" else Ends.TEXT_END

    def model(self, scoring: Scoring) -> GapModel:
        """The scoring as the backends take it, in the matrix's units."""
        return GapModel(
            table=np.ascontiguousarray(scoring.scores.astype(np.int16).reshape(-1)),
            symbols=len(scoring),
            max_gaps=self.max_gaps,
            open=self.gap_open * scoring.scale,
            extend=self.gap_extend * scoring.scale,
            ends=self.ends,
            traceback=not self.score_only,
        )
