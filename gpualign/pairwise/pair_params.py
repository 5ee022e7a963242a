"""What the parameters of plain and of bounded-gap alignment have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gpualign.checks import penalty, set_penalties, set_whole_numbers, several
from gpualign.errors import UsageError
from gpualign.pairwise.matrices import load_matrix
from gpualign.sequences.matrices import Scoring, match_mismatch

Mode = Literal["global", "semi-global", "local"]

MODES: tuple[str, ...] = get_args(Mode)
#: the four sequence ends, in the order of the free-end flags
ENDS = ("query-start", "query-end", "target-start", "target-end")


@dataclass(frozen=True, kw_only=True)
class PairParams:
    """How to score a pair.

    A gap of length l costs ``gap_open + (l - 1) * gap_extend``, as in EMBOSS, vsearch and parasail; linear gaps are
    the case where both are equal.

    Attributes:
        mode: "global", "semi-global" (end gaps free, see ``free_ends``) or "local".
        free_ends: which of ``ENDS`` cost nothing in semi-global mode; None: the command's own default.
        match: score of equal nucleotides.
        mismatch: score of different nucleotides; 4 and -4 are the same.
        matrix: name or path of a substitution matrix instead.
        gap_open, gap_extend: penalties; 10 and -10 are the same.
        score_only: no traceback; the output has scores alone.
    """

    mode: Mode = "global"
    free_ends: frozenset[str] | None = None
    match: int = 5
    mismatch: int = -4
    matrix: str | None = None
    gap_open: int = 10
    gap_extend: int = 1
    score_only: bool = False

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        set_penalties(self, "gap_open", "gap_extend")
        object.__setattr__(self, "mismatch", -penalty(self.mismatch))
        if self.match < 0:
            raise UsageError(f"the score of a match must not be negative, not {self.match}")
        if max(self.match, -self.mismatch, self.gap_open) > 10_000:
            raise UsageError("scores and penalties must be within ±10,000")
        if self.mode not in MODES:
            raise UsageError(f"mode must be one of {', '.join(MODES)}, not {self.mode!r}")
        if self.free_ends is not None and self.mode != "semi-global":
            raise UsageError("free ends belong to --mode semi-global")
        if self.free_ends is not None:
            object.__setattr__(self, "free_ends", frozenset(several("free_ends", self.free_ends)))
        for end in self.free_ends or ():
            if end not in ENDS:
                raise UsageError(f"{end!r} is not an end (expected {', '.join(ENDS)})")

    def load_scoring(self) -> Scoring:
        """The scoring that these parameters name; may read a matrix file."""
        return load_matrix(self.matrix) if self.matrix is not None else match_mismatch(self.match, self.mismatch)
