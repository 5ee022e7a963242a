"""Parameters of ``pairwise --top``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from gpualign.align.pair_inputs import PairFiles
from gpualign.align.score.params import PairwiseParams
from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError
from gpualign.fields import parameter
from gpualign.pairwise.database.statistics import ScoreStatistics
from gpualign.pairwise.params import PairwiseOutput
from gpualign.sequences.matrices import Scoring

_search = partial(parameter, under="Database search")


@dataclass(frozen=True, kw_only=True)
class DatabaseParams:
    """Selects the hits of each query; of equal scores the earlier targets."""

    top: int | None = _search(None, "--top", "Search: write the N best targets of each query, best first.", metavar="N")
    evalue: float | None = _search(None, "--evalue", "Search: only local alignments of at most this E-value.")
    min_bits: float | None = _search(None, "--min-bits", "Search: only local alignments of at least this bit score.")
    min_score: float | None = _search(None, "--min-score", "Search: only targets of at least this score.")

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        if self.top is not None and self.top < 1:
            raise UsageError(f"top must be at least 1, not {self.top}")
        if self.evalue is not None and not self.evalue > 0:
            raise UsageError(f"evalue must be above 0, not {self.evalue:g}")
        for name, value in (("min score", self.min_score), ("min bits", self.min_bits)):
            if value is not None and not math.isfinite(value):
                raise UsageError(f"{name} must be a number, not {value}")

    @property
    def given(self) -> bool:
        """Whether this is a search at all."""
        return any(value is not None for value in (self.top, self.evalue, self.min_bits, self.min_score))

    def refuse_bounded_gaps(self) -> None:
        """Raises UsageError: a search has alignments with any gaps."""
        if self.given:
            raise UsageError(
                "--top, --evalue, --min-score and --min-bits cannot be used with --max-gaps (which has --best)"
            )

    def check(self, files: PairFiles, params: PairwiseParams, output: PairwiseOutput) -> None:
        """Refuse what a search has no meaning for.

        Raises:
            UsageError: the option.
        """
        if files.targets is None:
            raise UsageError(
                "--top, --evalue, --min-score and --min-bits search a database: give it as the second file"
            )
        refused = {
            "--pairs": files.selection.listed is not None,
            "--one-to-one": files.selection.one_to_one,
            "--id": params.identity is not None,
            "--matrix-out": output.layout == "matrix",
            "--plot": output.plot is not None,
            "--resume": output.resume is not None,
        }
        for option, given in refused.items():
            if given:
                raise UsageError(f"{option} cannot be used with a search (--top, --evalue, --min-score, --min-bits)")
        if params.mode != "local":
            for option, limit in (("--evalue", self.evalue), ("--min-bits", self.min_bits)):
                if limit is not None:
                    raise UsageError(f"{option} is for local alignments: give --mode local")

    def statistics(self, params: PairwiseParams, scoring: Scoring, named: bool) -> ScoreStatistics | None:
        """Those of the scores, None where they are neither known nor wanted.

        Args:
            named: the output has columns of them.

        Raises:
            UsageError: they are wanted and not known.
        """
        wanted = named or self.evalue is not None or self.min_bits is not None
        if params.mode != "local":
            if named:
                raise UsageError("E-values and bit scores are for local alignments: give --mode local")
            return None
        try:
            return ScoreStatistics.of(scoring, params.gap_open, params.gap_extend)
        except UsageError:
            if wanted:
                raise
            return None
