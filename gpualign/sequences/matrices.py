"""Substitution scores: match and mismatch, or a matrix; and the letters they know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import UsageError

#: a letter that the matrix does not know
UNKNOWN = 255
_AMBIGUITY = "NRYSWKMBDHV"
#: amino-acid codes that few matrices hold; read as X where the matrix has X
_RARE_AMINO_ACIDS = "JOU"
_COMPLEMENT = bytes.maketrans(b"ACGTRYSWKMBDHVN", b"TGCAYRSWMKVHDBN")


@dataclass(frozen=True)
class Scoring:
    """Scores of letter against letter, in whole units.

    Attributes:
        name: "match/mismatch", the matrix's name or its file.
        letters: the alphabet; code ``c`` is ``letters[c]``.
        scores: int32 (n, n), in units of 1/``scale``.
        codes: uint8 (256,), code of an ASCII byte (either case), ``UNKNOWN`` where there is none.
        identical: equal codes below this are a match in the identity; ambiguity codes, X and * never are.
        scale: how many units make 1.0; 1 unless the matrix has decimals.
        nucleotide: letters are IUPAC nucleotide codes (so U reads as T, and a reverse complement exists).
    """

    name: str
    letters: str
    scores: NDArray[np.int32]
    codes: NDArray[np.uint8]
    identical: int
    scale: int
    nucleotide: bool

    def __len__(self) -> int:
        return len(self.letters)

    @cached_property
    def lowest_match(self) -> int:
        """The smallest score of two identical letters that count as a match."""
        return int(np.diagonal(self.scores)[: self.identical].min())

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
            raise UsageError(f"--strand both needs nucleotides; {self.name} scores {self.letters}")
        complements = self.letters.encode().translate(_COMPLEMENT)
        codes = self.codes[np.frombuffer(complements, np.uint8)]
        return np.where(codes == UNKNOWN, np.arange(len(self), dtype=np.uint8), codes)


def match_mismatch(match: int, mismatch: int) -> Scoring:
    """Nucleotides: ``match`` for equal A, C, G, T; ``mismatch`` for the rest, so an ambiguity code never matches."""
    scores = np.full((5, 5), mismatch, np.int32)
    scores[range(4), range(4)] = match
    codes = _code_table("ACGTN")
    for letter in _AMBIGUITY:
        codes[ord(letter)] = codes[ord(letter.lower())] = 4
    codes[ord("U")] = codes[ord("u")] = codes[ord("T")]
    return Scoring("match/mismatch", "ACGTN", scores, codes, 4, 1, True)


def scoring_of(name: str, letters: str, values: NDArray[np.float64]) -> Scoring:
    """A matrix's scores; ``values``: float64 (letters, letters).

    Raises:
        UsageError: more than two decimals, or scores beyond ±10,000.
    """
    # codes count as identical up to `identical`, so the letters that never do go last
    never = [letter for letter in letters if letter in "X*-"]
    nucleotide = set(letters) <= set("ACGTU" + _AMBIGUITY)
    if nucleotide:
        never = [letter for letter in letters if letter in _AMBIGUITY]
    first = [letter for letter in letters if letter not in never]
    order = [letters.index(letter) for letter in (sorted(first) if nucleotide else first) + never]
    ordered = "".join(letters[i] for i in order)
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
        for letter in _RARE_AMINO_ACIDS:
            if letter not in ordered:
                codes[ord(letter)] = codes[ord(letter.lower())] = codes[ord("X")]
    scores = np.ascontiguousarray(np.rint(values * scale).astype(np.int32))
    if np.abs(scores).max() > 10_000:
        raise UsageError(f"matrix {name} has scores beyond ±10,000")
    return Scoring(name, ordered, scores, codes, len(ordered) - len(never), scale, nucleotide)


def _code_table(letters: str) -> NDArray[np.uint8]:
    codes = np.full(256, UNKNOWN, np.uint8)
    for code, letter in enumerate(letters):
        codes[ord(letter.upper())] = codes[ord(letter.lower())] = code
    return codes
