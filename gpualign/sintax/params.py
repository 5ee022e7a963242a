"""Parameters of ``sintax``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from gpualign.errors import UsageError
from gpualign.fields import REQUIRED, check_choices, parameter

_taxonomy = partial(parameter, under="Classification")


@dataclass(frozen=True, kw_only=True)
class SintaxParams:
    """How queries are classified."""

    cutoff: float | None = _taxonomy(
        None,
        "--cutoff --sintax-cutoff",
        "Add a column of the ranks with at least this share of the bootstraps, 0 to 1.",
    )
    strand: Literal["plus", "both"] = _taxonomy("plus", "--strand", "both: try the reverse complement as well.")

    def __post_init__(self) -> None:
        check_choices(self)
        if self.cutoff is not None and not 0 <= self.cutoff <= 1:
            raise UsageError(f"cutoff must be from 0 to 1, not {self.cutoff:g}")


@dataclass(frozen=True, kw_only=True)
class SintaxFiles:
    """What is read.

    Attributes:
        queries: FASTA or FASTQ, "-" for standard input.
    """

    queries: str
    references: str = _taxonomy(REQUIRED, "--db", "References with their taxonomy (;tax=d:...,p:...).", metavar="FILE")
    taxonomy: str | None = _taxonomy(
        None, "--taxonomy", "Table with a reference's name and its ranks on a line, in place of ;tax=.", metavar="FILE"
    )
