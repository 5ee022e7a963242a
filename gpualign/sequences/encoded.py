"""A whole set of sequences as symbol codes of one scoring, held in memory: what all-against-all works on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import UnknownSymbolError
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.matrices import UNKNOWN, Scoring
from gpualign.sequences.offsets import offsets_of


@dataclass(frozen=True)
class EncodedSequences:
    """``n`` sequences in input order.

    Attributes:
        names: n names, as in the file up to the first white space.
        codes: uint8 (total symbols,), codes of the scoring's alphabet, sequences joined without separators.
        offsets: int64 (n + 1,).
    """

    sent_once: ClassVar[bool] = True  # to a cluster's workers, apart from the items that hold it
    names: list[str]
    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """int64 (n,): symbols per sequence."""
        return np.diff(self.offsets)

    def sequence(self, i: int) -> NDArray[np.uint8]:
        """uint8 (length,): the codes of sequence ``i``."""
        return self.codes[self.offsets[i] : self.offsets[i + 1]]

    def reverse_complement(self, scoring: Scoring) -> EncodedSequences:
        """The sequences read from the other strand.

        Raises:
            UsageError: the scoring is not of nucleotides.
        """
        complement = scoring.complement_codes()
        # reversing the whole text reverses the order of the sequences too; walk them back by index
        starts = np.repeat(self.offsets[:-1] + self.offsets[1:] - 1, self.lengths)
        codes = complement[self.codes[starts - np.arange(len(self.codes))]]
        return EncodedSequences(self.names, codes, self.offsets)


def encode(
    batches: Iterable[SequenceBatch], scoring: Scoring, path: str | None = None, named: bool = True
) -> EncodedSequences:
    """Join parsed batches and translate their symbols.

    Args:
        named: else ``names`` stays empty, where there are too many to make a text of each.

    Raises:
        UnknownSymbolError: one that the scoring does not know; the message names the record and the symbol.
    """
    names: list[str] = []
    codes: list[NDArray[np.uint8]] = []
    lengths: list[NDArray[np.int64]] = []
    table = scoring.codes.tobytes()
    for batch in batches:
        # many times faster than an index into an array
        translated = np.frombuffer(batch.bases.tobytes().translate(table), np.uint8)
        bad = np.flatnonzero(translated == UNKNOWN)
        if bad.size:
            record = int(np.searchsorted(batch.base_offsets, bad[0], side="right")) - 1
            symbol = chr(batch.bases[bad[0]])
            raise UnknownSymbolError(batch.name(record), symbol, f"is not in {scoring.name}", path)
        if named:
            names.extend(batch.name(i) for i in range(len(batch)))
        codes.append(translated)
        lengths.append(batch.lengths)
    if not codes:
        return EncodedSequences([], np.zeros(0, np.uint8), np.zeros(1, np.int64))
    offsets = offsets_of(np.concatenate(lengths))
    joined = np.empty(offsets[-1], np.uint8)
    end = len(joined)
    while codes:  # each is freed once it is copied, so that all symbols are not there twice
        part = codes.pop()
        joined[end - len(part) : end] = part
        end -= len(part)
    return EncodedSequences(names, joined, offsets)
