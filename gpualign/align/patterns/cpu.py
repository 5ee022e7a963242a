"""Patterns, a batch of targets, and the hits that the CPU finds in it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.columns import Columns
from gpualign.sequences.offsets import offsets_of, positions_of
from gpualign.sequences.reference import Reference
from gpualign.streaming.timeline import STEPS

#: --alphabet, as the native code numbers it (gpualign/native/align/patterns/patterns.hpp)
_ALPHABETS = {"dna": 0, "protein": 1, "bytes": 2}


@dataclass(frozen=True, eq=False)
class Patterns:
    """What is searched for, with the rules of hits.

    Attributes:
        names: of each pattern.
        symbols: uint8, all patterns, joined, with their PAM.
        offsets: int64 (n + 1,).
        limits: int32 (n,), most errors of each that are looked for.
        kept: int32 (n,), most errors of each that count; fewer where others must be known to be worse.
        fixed: uint8, 1 where a symbol must match.
        alphabet, strands, all_ends, max_bulges, max_ambiguous: as :class:`SearchParams` has them.
        overhang: cost of a symbol beyond a target's end; negative: none is.
        text: symbols to be searched, about; it decides between ways to the same hits.
        max_hits: of a batch of targets that are held at once.
        more_context: symbols by which :attr:`context` is longer than hits need.
    """

    sent_once: ClassVar[bool] = True  # to a cluster's workers, apart from the items that hold it
    names: list[str]
    symbols: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    limits: NDArray[np.int32]
    kept: NDArray[np.int32]
    fixed: NDArray[np.uint8]
    alphabet: str = "dna"
    strands: int = 3
    all_ends: bool = False
    max_bulges: int = -1
    max_ambiguous: int = 0
    overhang: float = -1.0
    text: float = 1e9
    max_hits: int = 1 << 20
    more_context: int = 0

    def __len__(self) -> int:
        return len(self.names)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 (n,)."""
        return np.diff(self.offsets)

    @cached_property
    def native(self) -> _native.SearchIndex:
        """The tables that the search takes."""
        return _native.SearchIndex(
            symbols=self.symbols,
            offsets=self.offsets,
            limits=self.limits,
            fixed=self.fixed,
            alphabet=_ALPHABETS[self.alphabet],
            strands=self.strands,
            all_ends=self.all_ends,
            max_bulges=self.max_bulges,
            max_ambiguous=self.max_ambiguous,
            overhang=self.overhang,
            text=self.text,
        )

    @cached_property
    def in_codes(self) -> Patterns:
        """The same patterns for targets whose codes each stand for any of their bases."""
        return replace(self, max_ambiguous=1 << 20)

    def groups(self, size: int) -> list[Patterns]:
        """The patterns in groups of a limited size, in their order."""
        firsts = range(0, len(self), size)
        return [
            self._part(first, min(first + size, len(self)), max(1, self.max_hits // len(firsts))) for first in firsts
        ]

    def _part(self, first: int, after: int, max_hits: int) -> Patterns:
        begin, end = self.offsets[first], self.offsets[after]
        return replace(
            self,
            names=self.names[first:after],
            symbols=self.symbols[begin:end],
            offsets=self.offsets[first : after + 1] - begin,
            limits=self.limits[first:after],
            kept=self.kept[first:after],
            fixed=self.fixed[begin:end],
            max_hits=max_hits,
        )

    @property
    def reach(self) -> int:
        """Symbols of a hit, at most."""
        return int((self.lengths + np.minimum(self.limits, self.lengths)).max())

    @property
    def context(self) -> int:
        """Symbols on either side of a part of a target that decide what begins in it."""
        return 2 * self.reach + int(_native.SEARCH_PLATEAU) + 1 + self.more_context

    def __reduce__(self) -> tuple[Any, ...]:
        # without the native tables, which each process makes for itself
        return Patterns, tuple(getattr(self, entry.name) for entry in fields(self))


@dataclass(frozen=True, eq=False)
class TargetText:
    """Targets, or parts of them, one after the other.

    Attributes:
        text: packed bases; of other alphabets the symbols.
        offsets: int64 (n + 1,) of each in the text.
        begin, end: int64 (n,), the hits that count begin there, in the target's part.
        open: uint8 (n,), 1: the target goes on before the part, 2: after it.
    """

    text: Reference | NDArray[np.uint8]
    offsets: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    open: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.begin)

    def some(self, first: int, after: int) -> TargetText:
        """Some of the targets."""
        begin, some = int(self.offsets[first]), slice(first, after)
        text, at = self._cut(begin, int(self.offsets[after]))
        offsets = self.offsets[first : after + 1] - begin + at
        return TargetText(text, offsets, self.begin[some], self.end[some], self.open[some])

    def extended(self, before: int, after: int) -> TargetText:
        """The same text, of which more symbols before and after what counts do so, too."""
        begin, end = np.maximum(self.begin - before, 0), np.minimum(self.end + after, np.diff(self.offsets) + 1)
        return replace(self, begin=begin, end=end) if before or after else self

    def window(self, begin: int, end: int, context: int) -> tuple[TargetText, int]:
        """The text for the hits of a single target that begin in an interval, with context; and where that begins."""
        origin, after = self.offsets.tolist()
        first, last = max(0, begin - context), min(after - origin, end + context)
        text, at = self._cut(origin + first, origin + last)
        opened = self.open | np.uint8((first > 0) + 2 * (last < after - origin))
        offsets = np.array([at, at + last - first], np.int64)
        return TargetText(text, offsets, np.array([begin - first]), np.array([end - first]), opened), first

    def _cut(self, begin: int, end: int) -> tuple[Reference | NDArray[np.uint8], int]:
        """The symbols between two positions, and where in them they begin: packed ones are cut at whole words."""
        if isinstance(self.text, Reference):
            return self.text.part(begin, end), begin % 32
        return self.text[begin:end], 0

    @property
    def shares(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        """For the native functions."""
        return self.offsets, self.begin, self.end, self.open


@dataclass(frozen=True, eq=False)
class SearchHits(Columns):
    """Hits in the order of targets, starts, ends, patterns and strands.

    Attributes:
        pattern, target: int32 (n,), numbers.
        minus: uint8 (n,), 1 on the minus strand.
        start, end: int64 (n,), half-open in the part of the target.
        pattern_start, pattern_end: int32 (n,), what of the pattern does not hang over an end.
        distance: int32 (n,), errors.
        operations: uint32, CIGARs in BAM's form in the pattern's direction, joined.
        operation_offsets: int64 (n + 1,).
        matched: uint8, text of the hits in the pattern's direction, joined; empty unless it is asked for.
        matched_offsets: int64 (n + 1,).
        variants: uint8, names of the variants without which a hit is none or has more errors, joined.
        variants_offsets: int64 (n + 1,).
    """

    pattern: NDArray[np.int32]
    minus: NDArray[np.uint8]
    target: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    pattern_start: NDArray[np.int32]
    pattern_end: NDArray[np.int32]
    distance: NDArray[np.int32]
    operations: NDArray[np.uint32]
    operation_offsets: NDArray[np.int64]
    matched: NDArray[np.uint8]
    matched_offsets: NDArray[np.int64]
    variants: NDArray[np.uint8]
    variants_offsets: NDArray[np.int64]

    @classmethod
    def none(cls) -> SearchHits:
        """No hits."""
        kinds = ("i4", "u1", "i4", "i8", "i8", "i4", "i4", "i4", "u4")
        return cls.without_text((*(np.zeros(0, kind) for kind in kinds), np.zeros(1, np.int64)))

    @classmethod
    def without_text(cls, columns: tuple[Any, ...]) -> SearchHits:
        """Hits with neither text nor variants."""
        text, offsets = np.zeros(0, np.uint8), np.zeros(len(columns[0]) + 1, np.int64)
        return cls(*(*columns, text, offsets, text, offsets))

    @property
    def of_variants(self) -> NDArray[np.bool_]:
        """bool (n,), only variants make the hit."""
        return np.diff(self.variants_offsets) > 0

    def positions(self, offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
        """The symbols of each hit as the pattern reads them: their positions in a text, whether they are on the minus
        strand, and where the hits begin.

        Args:
            offsets: int64, where targets begin in the text.
        """
        lengths = self.end - self.start
        at = positions_of(offsets[self.target] + self.start, lengths)
        minus = np.repeat(self.minus.astype(bool), lengths)
        backward = np.repeat(2 * offsets[self.target] + self.start + self.end - 1, lengths) - at
        return np.where(minus, backward, at), minus, offsets_of(lengths)


@STEPS.at("compute")
def search_on_cpu(
    patterns: Patterns, text: TargetText, events: NDArray[np.uint64] | None = None, max_hits: int = 1 << 48
) -> SearchHits:
    """Hits in a text.

    Args:
        events: where a device has found that patterns may lie; None: the CPU looks for itself.

    Raises:
        OverflowError: there are more than ``max_hits``, or far more loci to look at.
    """
    if isinstance(text.text, Reference):
        found = _native.search_bases(patterns.native, text.text.native, *text.shares, max_hits, events)
    else:
        found = _native.search_bytes(patterns.native, text.text, *text.shares, max_hits)
    return SearchHits.without_text(found)
