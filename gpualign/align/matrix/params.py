"""Parameters of ``distances`` and ``scores``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.fields import check_choices
from gpualign.sequences.identity import edits_within

DistanceMode = Literal["global", "prefix", "infix", "indel"]
ScoreMode = Literal["global", "semi-global", "local", "lcs"]
Alphabet = Literal["any", "nucleotide"]

SCORE_MODES: tuple[str, ...] = get_args(ScoreMode)
_MAX_ERRORS = 2**29


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Selects the pairs whose numbers are returned.

    Attributes:
        nearest: number of the best targets of each query; None: all.
        sparse: a list of pairs instead of a matrix.
    """

    nearest: int | None = None
    sparse: bool = False

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        if self.nearest is not None:
            check_range("nearest", self.nearest, 1, 2**31 - 1)
            if self.sparse:
                raise UsageError("nearest and sparse are mutually exclusive")

    @property
    def dense(self) -> bool:
        return self.nearest is None and not self.sparse


@dataclass(frozen=True, kw_only=True)
class DistanceParams(Selection):
    """Defines the distance.

    Attributes:
        mode: "global", "prefix" or "infix": insertions, deletions and substitutions that turn the query into all of the
            target, its beginning or a part of it; "indel": insertions and deletions alone, into all of it.
        max_errors: pairs with more are left out; None: there is no limit.
        error_rate: the same as a share of the longer sequence's length (in modes prefix and infix of the query's),
            rounded down.
        alphabet: "any": symbols are equal or not; "nucleotide": in either case, U is T, and only A, C, G and T are
            equal to anything.
    """

    mode: DistanceMode = "global"
    max_errors: int | None = None
    error_rate: float | None = None
    alphabet: Alphabet = "any"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self)
        if self.max_errors is not None and self.error_rate is not None:
            raise UsageError("give max errors or an error rate, not both")
        check_range("max errors", self.max_errors or 0, 0, _MAX_ERRORS)
        if self.error_rate is not None and not 0.0 <= self.error_rate <= 1.0:
            hint = " (a share, not a percentage)" if 1.0 < self.error_rate <= 100.0 else ""
            raise UsageError(f"error rate must be from 0 to 1, not {self.error_rate:g}{hint}")
        if self.sparse and not self.limited:
            raise UsageError("sparse needs max errors or an error rate")

    @property
    def limited(self) -> bool:
        return self.max_errors is not None or self.error_rate is not None

    @property
    def symmetric(self) -> bool:
        """Whether the distance is symmetric."""
        return self.mode in ("global", "indel")

    def limits(self, longest: int) -> NDArray[np.int32]:
        """int32 (longest + 1,): most errors of a pair, by the length that decides; empty without a limit."""
        if self.max_errors is not None:
            return np.full(longest + 1, self.max_errors, np.int32)
        if self.error_rate is not None:
            return edits_within(self.error_rate, np.arange(longest + 1, dtype=np.int64)).astype(np.int32)
        return np.zeros(0, np.int32)
