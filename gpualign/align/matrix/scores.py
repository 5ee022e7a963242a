"""Scores of all pairs: the problem, and how the CPU computes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.matrix.cpu import CpuPairs, Report
from gpualign.align.matrix.params import Selection
from gpualign.align.matrix.problem import blocks_of
from gpualign.align.matrix.symbols import SymbolSet
from gpualign.align.pair_inputs import inputs_of
from gpualign.align.score.params import PairwiseParams
from gpualign.align.score.problem import PairProblem, make_problem
from gpualign.errors import InputError, UsageError
from gpualign.params import RunOptions
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.matrices import UNKNOWN, Scoring

#: cells of a block on a core: tenths of a second
_BLOCK_CELLS = 4e9
_LEAST = -(2**31)
_NO_CODES = np.zeros(0, np.uint8)


@dataclass(frozen=True, kw_only=True)
class ScoreSelection(Selection):
    """Selects the pairs whose scores are returned.

    Attributes:
        min_score: pairs below are left out, in the matrix's own units.
    """

    min_score: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sparse and self.min_score is None:
            raise UsageError("sparse needs a min score")


@dataclass(frozen=True, eq=False)
class Scores:
    """A problem to compute.

    Attributes:
        params: which pairs are given.
        aligned: how they are aligned; its sequences have lengths only.
        queries, targets: as they came, with symbols of 8 bits.
        with_itself: the targets are the queries.
    """

    params: ScoreSelection
    aligned: PairProblem
    queries: SymbolSet
    targets: SymbolSet
    with_itself: bool

    largest = True

    @classmethod
    def of(
        cls,
        selection: ScoreSelection,
        params: PairwiseParams,
        queries: SymbolSet,
        targets: SymbolSet | None,
        options: RunOptions,
    ) -> Scores:
        """
        Raises:
            InputError: a symbol that the scoring does not know.
        """
        scoring = params.load_scoring()
        first = _narrowed(queries, scoring)
        second = first if targets is None else _narrowed(targets, scoring)
        lengths = [EncodedSequences([], _NO_CODES, side.offsets) for side in (first, second)]
        inputs = inputs_of(lengths[0], lengths[0] if targets is None else lengths[1], None, False)
        return cls(selection, make_problem(params, options, scoring, inputs), first, second, targets is None)

    @property
    def half(self) -> bool:
        """Whether a list has each pair once."""
        return self.with_itself and self.params.sparse

    @property
    def minimum(self) -> int:
        """Score that counts, in the scoring's units."""
        if self.params.min_score is None:
            return _LEAST
        return int(np.clip(np.ceil(self.params.min_score * self.aligned.scoring.scale), _LEAST, -_LEAST - 1))

    @property
    def cells(self) -> float:
        """DP cells of all pairs."""
        return float(len(self.queries.symbols)) * float(len(self.targets.symbols))

    @property
    def any_empty(self) -> bool:
        """Whether a sequence has no symbols."""
        return not (self.queries.lengths.all() and self.targets.lengths.all())

    def alone(self, lengths: NDArray[np.int64], start: int) -> NDArray[np.int32]:
        """int32 (n,): scores of sequences of these lengths against an empty one.

        Args:
            start: which of the penalties at ends applies to their start; the next one applies to their end.
        """
        gaps = self.aligned.costs_at_ends[start : start + 2]
        costs = [np.where(lengths > 0, open_ + (lengths - 1) * extend, 0) for open_, extend in gaps]
        return -np.minimum(*costs).astype(np.int32)

    def check(self) -> None:
        """
        Raises:
            InputError: a symbol that the scoring does not know.
        """
        for side in (self.queries, self.targets):
            unknown = np.flatnonzero(side.occurs & (self.aligned.scoring.codes == UNKNOWN))
            if unknown.size and side.on_device:
                raise InputError(f"{self.aligned.scoring.name} does not score {chr(unknown[0])!r}")
            if unknown.size:
                _refuse(side, np.isin(side.symbols, unknown), self.aligned.scoring)

    @cached_property
    def codes(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Symbols of queries and targets as codes of the scoring."""
        table = self.aligned.scoring.codes
        queries = table[self.queries.symbols]
        return queries, queries if self.targets is self.queries else table[self.targets.symbols]


def _narrowed(symbols: SymbolSet, scoring: Scoring) -> SymbolSet:
    if symbols.on_device or symbols.symbols.dtype == np.uint8:
        return symbols
    wide = symbols.symbols > 255
    if wide.any():
        _refuse(symbols, wide, scoring)
    return SymbolSet(symbols.symbols.astype(np.uint8), symbols.offsets)


def _refuse(symbols: SymbolSet, bad: NDArray[np.bool_], scoring: Scoring) -> None:
    place = int(np.argmax(bad))
    record = int(np.searchsorted(symbols.offsets, place, side="right")) - 1
    raise InputError(f"sequence {record}: {scoring.name} does not score {chr(symbols.symbols[place])!r}")


class CpuScores(CpuPairs):
    """Computes a problem with ``threads`` host threads.

    Raises:
        InputError: a symbol that the scoring does not know.
    """

    def __init__(self, problem: Scores, threads: int, report: Report | None = None) -> None:
        problem.check()
        queries, targets, aligned, (q_codes, t_codes) = problem.queries, problem.targets, problem.aligned, problem.codes
        native = _native.AllScores(
            *(q_codes, queries.offsets, queries.order, t_codes, targets.offsets, targets.order),
            scores=aligned.scoring.scores.ravel(),
            symbols=len(aligned.scoring),
            match_mismatch=aligned.scoring.name == "match/mismatch",
            open=aligned.gap_open,
            extend=aligned.gap_extend,
            local=aligned.mode == "local",
            free_ends=sum(free << bit for bit, free in enumerate(aligned.free_ends)),
            end_gaps=np.array(aligned.costs_at_ends, np.int32).ravel(),
            minimum=problem.minimum if problem.params.sparse or problem.params.nearest else _LEAST,
            with_itself=problem.with_itself,
        )
        super().__init__(native, len(queries), blocks_of(problem, threads, _BLOCK_CELLS), threads, report)
