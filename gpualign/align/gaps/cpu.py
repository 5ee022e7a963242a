"""Alignment with a bounded number of gaps (GapsMis): what a backend is given, what it returns, and the CPU's way.

The recurrence and its tie rules stand in ``cuda/algo/align/gaps/gapsmis.hpp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import UsageError
from gpualign.sequences.columns import Columns
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.pairs import PairBlock
from gpualign.streaming.timeline import STEPS

#: the largest K; more gaps than this are affine alignment in all but name
MAX_GAPS = 64
#: the score of a pair that no alignment fits (K = 0 and lengths that need a gap)
NO_SCORE = np.iinfo(np.int32).min


class Ends(IntEnum):
    """Which ends of the text cost nothing; the pattern is always aligned end to end."""

    TEXT_END = 0
    BOTH = 1
    NONE = 2


@dataclass(frozen=True)
class GapModel:
    """How bounded-gap alignments are scored.

    Attributes:
        table: int16 (symbols * symbols,), score of pattern symbol (row) against text symbol.
        symbols: size of the alphabet.
        max_gaps: K.
        open, extend: penalties; a gap of length l costs open + extend * (l - 1).
        ends: which ends of the text are free.
        traceback: find the gaps, not the score alone.
    """

    table: NDArray[np.int16]
    symbols: int
    max_gaps: int
    open: int
    extend: int
    ends: Ends = Ends.TEXT_END
    traceback: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.max_gaps <= MAX_GAPS:
            raise UsageError(f"max gaps must be 0 to {MAX_GAPS}, not {self.max_gaps}")
        if self.open < 0 or self.extend < 0:
            raise UsageError("gap penalties are given as positive numbers")

    @property
    def strict(self) -> bool:
        """True when cutting a gap in two would pay."""
        return self.extend > self.open

    def unreached(self, bits: int, longest_pattern: int, longest_text: int) -> int:
        """Minus infinity in words of ``bits``, or 0 where such lengths do not fit."""
        value = _native.gapsmis_unreached(
            bits,
            longest_pattern,
            longest_text,
            smallest=int(self.table.min()),
            largest=int(self.table.max()),
            gaps=self.max_gaps,
            open=self.open,
            extend=self.extend,
            ends=int(self.ends),
        )
        return value


@dataclass(frozen=True)
class GapProblem:
    """What all blocks of pairs have in common.

    Attributes:
        patterns, texts: encoded sequences, the queries and the targets of the pairs.
        model: how they are aligned.
    """

    patterns: EncodedSequences
    texts: EncodedSequences
    model: GapModel


@dataclass(frozen=True)
class GapAlignments(Columns):
    """Answers to a block of pairs.

    Attributes:
        score: int32 (pairs,), ``NO_SCORE`` where no alignment exists.
        gaps: int32 (pairs,), the fewest gaps that reach the score; -1 where no alignment exists.
        start, end: int32 (pairs,), the text's aligned part, half-open; of the alignments with fewest gaps the leftmost.
            The start is -1 when it is free and there was no traceback.
        gap_list: int32 (pairs, K, 3), the first ``gaps`` of each pair from left to right: pattern symbols before the
            gap, text symbols before it, and its length, positive for symbols of the pattern, negative for symbols of
            the text; None without traceback.
    """

    score: NDArray[np.int32]
    gaps: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    gap_list: NDArray[np.int32] | None


@STEPS.at("compute")
def align_on_cpu(problem: GapProblem, block: PairBlock) -> GapAlignments:
    """Align a block in the calling thread; the GIL is released."""
    model = problem.model
    score, gaps, start, end, gap_list = _native.gapsmis_align(
        problem.patterns.codes,
        problem.patterns.offsets,
        problem.texts.codes,
        problem.texts.offsets,
        block.queries,
        block.targets,
        table=model.table,
        symbols=model.symbols,
        gaps=model.max_gaps,
        open=model.open,
        extend=model.extend,
        ends=int(model.ends),
        traceback=model.traceback,
    )
    shaped = gap_list.reshape(len(block), model.max_gaps, 3) if model.traceback else None
    return GapAlignments(score, gaps, start, end, shaped)
