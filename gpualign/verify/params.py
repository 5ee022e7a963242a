"""Parameters of ``verify``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range

Mode = Literal["infix", "prefix", "global"]
Strand = Literal["given", "plus", "minus", "both"]
MODES: tuple[Mode, ...] = get_args(Mode)
STRANDS: tuple[Strand, ...] = get_args(Strand)
#: the largest limit: "no limit"
NO_LIMIT = 2**31 - 2


@dataclass(frozen=True)
class VerifyParams:
    """Parameters of verification, and the pairs that count.

    Attributes:
        max_errors: most errors of a pair; -1: no limit; None: ``error_rate`` decides.
        error_rate: most errors as a share of the query's length, rounded down; None: no limit.
        mode: "infix" (the query anywhere in the region), "prefix" (from the region's start) or "global" (all of it).
        strand: "given" by the candidates (both where they say nothing; plus without candidates), or that for all.
        cigar: also give the alignment.
        best: give this many candidates a query, best first, of those that stand together; None: all in their order.
        all_pairs: also give pairs beyond the limit, with distance -1.
    """

    max_errors: int | None = None
    error_rate: float | None = None
    mode: Mode = "infix"
    strand: Strand = "given"
    cigar: bool = False
    best: int | None = None
    all_pairs: bool = False

    @property
    def limited(self) -> bool:
        return self.error_rate is not None if self.max_errors is None else self.max_errors >= 0

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_range("max errors (-1: no limit)", self.max_errors or 0, -1, NO_LIMIT)
        if self.error_rate is not None and not 0.0 <= self.error_rate <= 1.0:
            hint = " (a share, not a percentage)" if 1.0 < self.error_rate <= 100.0 else ""
            raise UsageError(f"error rate must be from 0 to 1, not {self.error_rate:g}{hint}")
        if self.mode not in MODES:
            raise UsageError(f"mode must be one of {', '.join(MODES)}, not {self.mode!r}")
        if self.strand not in STRANDS:
            raise UsageError(f"strand must be one of {', '.join(STRANDS)}, not {self.strand!r}")
        if self.best is not None and self.best < 1:
            raise UsageError(f"best must be at least 1, not {self.best}")
        if self.best is not None and self.all_pairs:
            raise UsageError("best and all are mutually exclusive")


@dataclass(frozen=True)
class VerifyFiles:
    """Inputs of a run, and the header of its output.

    Attributes:
        reference: file of the targets.
        queries: files of the queries, which are read one after the other.
        candidates: file of candidate regions, "-" for standard input; None: queries and targets are paired in order.
        header: begin with a line of column names.
    """

    reference: str
    queries: tuple[str, ...]
    candidates: str | None = None
    header: bool = True

    def __post_init__(self) -> None:
        if self.inputs.count("-") > 1:
            raise UsageError("only one input can be standard input")

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """All paths that are read."""
        return (self.reference, *self.queries, self.candidates)
