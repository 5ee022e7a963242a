"""Queries of the LCS filter: what counts as equal, and the codes that the kernels compare."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.batch import join_bytes

Alphabet = Literal["dna", "protein", "bytes"]

_NO_CLASS = -1  # a symbol that matches nothing


def _classes(alphabet: Alphabet) -> NDArray[np.int16]:
    """int16 (256,): bytes of one class match each other; -1 matches nothing, not even itself."""
    if alphabet == "bytes":
        return np.arange(256, dtype=np.int16)
    classes = np.full(256, _NO_CLASS, np.int16)
    accepted = "ACGTU" if alphabet == "dna" else "ABCDEFGHIJKLMNOPQRSTUVWYZ"  # X is an unknown residue
    for symbol in accepted:
        same = "T" if alphabet == "dna" and symbol == "U" else symbol
        classes[ord(symbol)] = classes[ord(symbol.lower())] = ord(same)
    return classes


@dataclass(frozen=True)
class LcsQuery:
    """One query, on one strand, as the kernels see it.

    Only symbols that occur in the query get a code, so the profile is as small as the query allows.

    Attributes:
        name: as in the query file.
        text: the query's bytes on this strand.
        codes: uint16 (length,): 0 … symbols - 1, or ``symbols`` where the query's symbol matches nothing.
        symbols: number of distinct symbols, at most 256.
        table: uint16 (256,): from a subject's byte to its code; ``symbols`` for bytes that match nothing here.
    """

    name: str
    text: bytes
    codes: NDArray[np.uint16]
    symbols: int
    table: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class QueryStrands:
    """One query with the strands it is compared on: plus, and for both strands minus after it."""

    name: str
    length: int
    strands: tuple[LcsQuery, ...]


def encode_query(name: str, text: bytes, alphabet: Alphabet) -> LcsQuery:
    """Give the query's symbols their codes."""
    classes = _classes(alphabet)
    found = classes[np.frombuffer(text, np.uint8)]
    present = np.flatnonzero(np.bincount(found[found != _NO_CLASS]))
    symbols = len(present)
    table = np.full(256, symbols, np.uint16)
    for code, symbol_class in enumerate(present):
        table[classes == symbol_class] = code
    return LcsQuery(name, text, table[np.frombuffer(text, np.uint8)], symbols, table)


def common_subsequences(query: LcsQuery, subjects: Sequence[bytes], lengths: Sequence[int]) -> list[bytes]:
    """The longest common subsequence of the query and each subject that is leftmost in the query, in its symbols.

    The native code checks that what it found are common subsequences.

    Args:
        lengths: the lengths that the filter reported.

    Raises:
        AssertionError: a subsequence has another length (a defect, never bad input).
    """
    bases, offsets = join_bytes(list(subjects))
    positions, ends = _native.lcs_paths(query.codes, query.symbols, bases, offsets, query.table, PATH_ROW_BYTES)
    matched: NDArray[np.uint8] = np.frombuffer(query.text, np.uint8)[positions]
    return cut_subsequences(query, lengths, np.diff(ends), matched)


def cut_subsequences(
    query: LcsQuery, lengths: Sequence[int], found: NDArray[np.integer[Any]], matched: NDArray[np.uint8]
) -> list[bytes]:
    """The subsequences that stand one after another in ``matched``.

    Args:
        lengths: of each, as the filter reported them.
        found: of each, as they were traced.

    Raises:
        AssertionError: the two differ.
    """
    if not np.array_equal(found, lengths):
        raise AssertionError(
            f"query '{query.name}': subsequences of lengths {found.tolist()} instead of {list(lengths)}"
        )
    text = matched.tobytes()
    ends = itertools.accumulate(lengths, initial=0)
    return [text[start:end] for start, end in itertools.pairwise(ends)]


#: rows kept at once while a subsequence is traced; larger problems are halved first. It never shows in the result. What
#: stays in a core's cache is fastest.
PATH_ROW_BYTES = 1 << 19
