"""Parameters of ``verify``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.fields import check_choices, parameter
from gpualign.params import header_field

Mode = Literal["infix", "prefix", "global"]
Strand = Literal["given", "plus", "minus", "both"]
#: the largest limit: "no limit"
NO_LIMIT = 2**31 - 2


_candidates, _limit, _which = (partial(parameter, under=each) for each in ("Candidates", "Limit", "Which pairs"))
_output = partial(parameter, under="Output")


@dataclass(frozen=True)
class VerifyParams:
    """Parameters of verification, and the pairs that count."""

    mode: Mode = _candidates(
        "infix",
        "-m --mode",
        "The query lies anywhere in the region, begins at its start, or covers all of it (edlib's HW, SHW, NW).",
    )
    strand: Strand = _candidates(
        "given", "--strand", "given: the candidate's strand ('.' or none: both). both: write the better one."
    )
    max_errors: int | None = _limit(None, "-k --max-errors", "Maximum number of errors; -1: no limit.")
    error_rate: float | None = _limit(
        None,
        "-e --error-rate",
        "Maximum errors as a share of the query's length, rounded down; -k overrides it. Without either, every "
        "distance is exact, however large.",
        metavar="RATE",
    )
    best: int | None = _which(
        None, "-n --best", "Write the INT nearest candidates of each query, nearest first; its lines must be adjacent."
    )
    all_pairs: bool = _which(False, "-a --all", "Also write pairs beyond the limit, with distance -1.")
    cigar: bool = _output(False, "-p --cigar", "Also write the alignment as a CIGAR of = X I D; I consumes the query.")

    @property
    def limited(self) -> bool:
        return self.error_rate is not None if self.max_errors is None else self.max_errors >= 0

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_range("max errors (-1: no limit)", self.max_errors or 0, -1, NO_LIMIT)
        if self.error_rate is not None and not 0.0 <= self.error_rate <= 1.0:
            hint = " (a share, not a percentage)" if 1.0 < self.error_rate <= 100.0 else ""
            raise UsageError(f"error rate must be from 0 to 1, not {self.error_rate:g}{hint}")
        check_choices(self)
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
        candidates: None: queries and targets are paired in order.
    """

    reference: str
    queries: tuple[str, ...]
    candidates: str | None = _candidates(
        None,
        "-c --candidates",
        "Candidate regions: TSV (query, target, start, end, strand; 1-based), BED6, PAF or SAM/BAM; '-' is standard "
        "input. Without it the records of QUERIES and REF are paired one by one.",
        metavar="FILE",
    )
    header: bool = header_field()

    def __post_init__(self) -> None:
        if self.inputs.count("-") > 1:
            raise UsageError("only one input can be standard input")

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """All paths that are read."""
        return (self.reference, *self.queries, self.candidates)
