"""E-values and bit scores as columns, written as BLAST writes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpualign.align.score.alignments import PairAlignments
from gpualign.pairwise.database.statistics import ScoreStatistics
from gpualign.pairwise.params import DEFAULT_COLUMNS, SCORE_COLUMNS, SEARCH_FIELDS, PairwiseOutput
from gpualign.text.table import Column, Names


@dataclass(frozen=True)
class Significance:
    """Statistics of a search's scores.

    Attributes:
        residues: of the database.
    """

    statistics: ScoreStatistics
    residues: int

    def columns(self, alignments: PairAlignments) -> dict[str, Column]:
        """``evalue`` and ``bits`` of each."""
        query, target = alignments.lengths.T
        evalues = self.statistics.evalues(alignments.score, query, target, self.residues)
        bits = self.statistics.bits(alignments.score)
        return {"evalue": _texts([evalue_text(x) for x in evalues]), "bits": _texts([bits_text(x) for x in bits])}


def _texts(texts: list[str]) -> Column:
    return Names(texts).column(np.arange(len(texts)))


def evalue_text(value: float) -> str:
    """The format of ``blastp -outfmt 6``."""
    if value < 1e-180:
        return "0.0"
    if value < 0.0009:
        return f"{value:.2e}"
    decimals = next((d for limit, d in ((0.1, 3), (1, 2), (10, 1)) if value < limit), 0)
    return f"{value:.{decimals}f}"


def bits_text(value: float) -> str:
    """The format of ``blastp -outfmt 6``."""
    if value > 99999:
        return f"{value:.3e}"
    return str(int(value)) if value > 99.9 else f"{value:.1f}"


def with_search_columns(output: PairwiseOutput, score_only: bool, known: bool) -> PairwiseOutput:
    """The output with a search's columns, where the user names none and E-values are ``known``."""
    if output.layout != "tsv" or output.columns is not None or not known:
        return output
    plain = SCORE_COLUMNS if score_only else DEFAULT_COLUMNS
    after = plain.index("score") + 1
    return replace(output, columns=(*plain[:after], *SEARCH_FIELDS, *plain[after:]))
