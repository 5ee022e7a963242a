"""Parameters of ``chimeras``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from gpualign.align.score.params import VSEARCH_SCORES, PairwiseParams
from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.fields import parameter
from gpualign.params import header_field

_parents, _decision = partial(parameter, under="Parents"), partial(parameter, under="Decision")
_further = partial(parameter, under="Further outputs")


@dataclass(frozen=True, kw_only=True)
class ChimeraParams:
    """What a chimera is (UCHIME)."""

    min_skew: float = _parents(
        2.0, "--abskew", "With --denovo: how many times as abundant as a sequence its parents are, at least."
    )
    min_score: float = _decision(0.28, "--minh", "Minimum score of a chimera.")
    min_divergence: float = _decision(
        0.8, "--mindiv", "How much nearer to the model than to the nearer parent a chimera is, in percent, at least."
    )
    min_differences: int = _decision(3, "--mindiffs", "Minimum votes on each side of the crossover.")
    no_weight: float = _decision(8.0, "--xn", "Weight of a vote against the model.")
    pseudo_votes: float = _decision(1.4, "--dn", "Votes against the model that are added on each side.")

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_range("mindiffs", self.min_differences, 1)
        if not 1 <= self.min_skew < math.inf:
            raise UsageError(f"abskew must be at least 1, not {self.min_skew:g}")
        for name, value in (("minh", self.min_score), ("mindiv", self.min_divergence)):
            if not 0 <= value < math.inf:
                raise UsageError(f"{name} must not be negative, not {value:g}")
        for name, value in (("xn", self.no_weight), ("dn", self.pseudo_votes)):
            if not 0 < value < math.inf:
                raise UsageError(f"{name} must be above 0, not {value:g}")

    @property
    def alignment(self) -> PairwiseParams:
        """How a sequence and a parent are aligned: as by vsearch."""
        return PairwiseParams(**VSEARCH_SCORES)


@dataclass(frozen=True, kw_only=True)
class ChimeraFiles:
    """What is read and written.

    Attributes:
        sequences: FASTA or FASTQ, "-" for standard input.
    """

    sequences: str
    denovo: bool = _parents(False, "--denovo", "Parents are more abundant sequences of SEQS (;size=N).")
    reference: str | None = _parents(None, "--ref", "Parents are the sequences of DB.", metavar="DB")
    header: bool = header_field()
    chimeras: str | None = _further(None, "--chimeras", "Write chimeras as FASTA.", metavar="FILE")
    nonchimeras: str | None = _further(None, "--nonchimeras", "Write sequences that are no chimeras.", metavar="FILE")
    borderline: str | None = _further(
        None, "--borderline", "Write those that reach --minh, but not --mindiv and --mindiffs.", metavar="FILE"
    )

    @property
    def outputs(self) -> tuple[str | None, ...]:
        """All files that are written besides the table."""
        return (self.chimeras, self.nonchimeras, self.borderline)

    def check(self, table: str | None) -> None:
        """Refuse what does not go together.

        Args:
            table: the file of the table, None for standard output.

        Raises:
            UsageError: the option.
        """
        if self.denovo == (self.reference is not None):
            raise UsageError("say where parents are: --denovo or --ref DB")
        if (table in (None, "-")) + sum(path == "-" for path in self.outputs) > 1:
            raise UsageError("two outputs go to standard output: name files for them (-o FILE for the table)")
        if self.sequences == self.reference == "-":
            raise UsageError("only one input can be standard input")
