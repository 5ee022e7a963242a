"""Substitution scores: match and mismatch, or a matrix; and the symbols they know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import UsageError
from gpualign.sequences.strands import COMPLEMENT

#: a symbol that the matrix does not know
UNKNOWN = 255
_AMBIGUITY = "NRYSWKMBDHV"
#: amino-acid codes that few matrices hold; read as X where the matrix has X
_RARE_AMINO_ACIDS = "JOU"
_WITH_CODES = "match/mismatch of IUPAC codes"
#: bits of A, C, G and T that a code stands for
_BASES = {
    "A": 1, "C": 2, "G": 4, "T": 8, "R": 5, "Y": 10, "S": 6, "W": 9, "K": 12, "M": 3, "B": 14, "D": 13, "H": 11,
    "V": 7, "N": 15,
}  # fmt: skip


@dataclass(frozen=True)
class Scoring:
    """Scores of symbol against symbol, in whole units.

    Attributes:
        name: "match/mismatch", the matrix's name or its file.
        symbols: the alphabet; code ``c`` is ``symbols[c]``.
        scores: int32 (n, n), in units of 1/``scale``.
        codes: uint8 (256,), code of an ASCII byte (either case), ``UNKNOWN`` where there is none.
        identical: equal codes below this are a match in the identity; X and * never are, ambiguity codes by ``bases``.
        scale: how many units make 1.0; 1 unless the matrix has decimals.
        nucleotide: symbols are IUPAC nucleotide codes (so U reads as T, and a reverse complement exists).
        bases: 0: ambiguity codes match nothing; else codes match that have a base in common, and bits 4 c to 4 c + 3
            say which of A, C, G and T code c stands for (Matching of cuda/algo/align/matching.hpp).
    """

    name: str
    symbols: str
    scores: NDArray[np.int32]
    codes: NDArray[np.uint8]
    identical: int
    scale: int
    nucleotide: bool
    bases: int = 0

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def matching(self) -> tuple[int, int]:
        """``identical`` and ``bases``, which say what matches."""
        return self.identical, self.bases

    @cached_property
    def lowest_equal(self) -> int:
        """The smallest score of an unambiguous symbol and itself."""
        return int(np.diagonal(self.scores)[: self.identical].min())

    @cached_property
    def lowest_match(self) -> int:
        """The smallest score of two symbols that count as a match."""
        if not self.bases:
            return self.lowest_equal
        stands_for = self.bases >> 4 * np.arange(len(self)) & 15
        return int(self.scores[stands_for[:, None] & stands_for[None, :] != 0].min())

    @cached_property
    def highest(self) -> int:
        return int(self.scores.max())

    @cached_property
    def lowest(self) -> int:
        return int(self.scores.min())

    def format(self, score: int) -> str:
        """A score in the matrix's own units, with decimals only where the matrix has them."""
        return str(score) if self.scale == 1 else f"{score / self.scale:g}"

    def complement_codes(self) -> NDArray[np.uint8]:
        """uint8 (n,): code of each code's complement.

        Raises:
            UsageError: the alphabet is not nucleotides.
        """
        if not self.nucleotide:
            raise UsageError(f"--strand both needs nucleotides; {self.name} scores {self.symbols}")
        complements = self.symbols.encode().translate(COMPLEMENT)
        codes = self.codes[np.frombuffer(complements, np.uint8)]
        return np.where(codes == UNKNOWN, np.arange(len(self), dtype=np.uint8), codes)


def match_mismatch(match: int, mismatch: int) -> Scoring:
    """Nucleotides: ``match`` for equal A, C, G, T; ``mismatch`` for the rest, so an ambiguity code never matches."""
    scores = np.full((5, 5), mismatch, np.int32)
    scores[range(4), range(4)] = match
    codes = _code_table("ACGTN")
    for symbol in _AMBIGUITY:
        codes[ord(symbol)] = codes[ord(symbol.lower())] = 4
    codes[ord("U")] = codes[ord("u")] = codes[ord("T")]
    return Scoring("match/mismatch", "ACGTN", scores, codes, 4, 1, True)


def with_matching_codes(scoring: Scoring) -> Scoring:
    """Nucleotides of which ambiguity codes match where they have a base in common, as in vsearch; the scoring itself
    where it is not of nucleotides. Without a matrix a pair with such a code scores 0.
    """
    if not scoring.nucleotide or not scoring.symbols.startswith("ACGT"):
        return scoring
    if scoring.name == "match/mismatch":
        match, mismatch = scoring.scores[0, :2].tolist()
        symbols = "ACGT" + _AMBIGUITY
        scores = np.zeros((len(symbols), len(symbols)), np.int32)
        scores[:4, :4] = mismatch
        scores[range(4), range(4)] = match
        codes = _code_table(symbols)
        codes[ord("U")] = codes[ord("u")] = codes[ord("T")]
        scoring = Scoring(_WITH_CODES, symbols, scores, codes, 4, 1, True)
    bases = sum(_BASES[symbol] << 4 * code for code, symbol in enumerate(scoring.symbols))
    return replace(scoring, bases=bases)


def without_codes(scoring: Scoring) -> Scoring:
    """A scoring that gives sequences without ambiguity codes the same scores, in less time."""
    if scoring.name == _WITH_CODES:
        return match_mismatch(*scoring.scores[0, :2].tolist())
    return replace(scoring, bases=0)


def scoring_of(name: str, symbols: str, values: NDArray[np.float64]) -> Scoring:
    """A matrix's scores; ``values``: float64 (symbols, symbols).

    Raises:
        UsageError: more than two decimals, or scores beyond ±10,000.
    """
    # codes count as identical up to `identical`, so the symbols that never do go last
    never = [symbol for symbol in symbols if symbol in "X*-"]
    nucleotide = set(symbols) <= set("ACGTU" + _AMBIGUITY)
    if nucleotide:
        never = [symbol for symbol in symbols if symbol in _AMBIGUITY]
    first = [symbol for symbol in symbols if symbol not in never]
    order = [symbols.index(symbol) for symbol in (sorted(first) if nucleotide else first) + never]
    ordered = "".join(symbols[i] for i in order)
    if nucleotide:
        ordered = ordered.replace("U", "T")
    values = values[np.ix_(order, order)]
    scale = next((unit for unit in (1, 10, 100) if np.allclose(values * unit, np.rint(values * unit))), None)
    if scale is None:
        raise UsageError(f"matrix {name} has more than two decimals")
    codes = _code_table(ordered)
    if nucleotide:
        codes[ord("U")] = codes[ord("u")] = codes[ord("T")]
    elif "X" in ordered:
        for symbol in _RARE_AMINO_ACIDS:
            if symbol not in ordered:
                codes[ord(symbol)] = codes[ord(symbol.lower())] = codes[ord("X")]
    scores = np.ascontiguousarray(np.rint(values * scale).astype(np.int32))
    if np.abs(scores).max() > 10_000:
        raise UsageError(f"matrix {name} has scores beyond ±10,000")
    return Scoring(name, ordered, scores, codes, len(ordered) - len(never), scale, nucleotide)


def _code_table(symbols: str) -> NDArray[np.uint8]:
    codes = np.full(256, UNKNOWN, np.uint8)
    for code, symbol in enumerate(symbols):
        codes[ord(symbol.upper())] = codes[ord(symbol.lower())] = code
    return codes
