"""The sequences of ``distances`` and ``scores``, as flat arrays of symbols."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.matrix.foreign import DeviceArray, device_array
from gpualign.errors import InputError, UsageError
from gpualign.reads.in_memory import read_sequences
from gpualign.sequences.batch import SequenceBatch

_LARGEST = 0x10FFFF
#: never equal to anything, of queries and of targets
_NEVER = (1, 2)
_AMBIGUITY = b"NRYSWKMBDHV"


@dataclass(frozen=True, eq=False)
class SymbolSet:
    """``n`` sequences, structure of arrays.

    Attributes:
        symbols: uint8 or uint32 (total,), bytes or code points, joined without separators; or an array on a GPU.
        offsets: int64 (n + 1,).
    """

    symbols: Any
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def on_device(self) -> bool:
        """Whether the symbols lie on a GPU."""
        return isinstance(self.symbols, DeviceArray)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """int64 (n,): symbols of each sequence."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def longest(self) -> int:
        if len(self) == 1:
            return int(self.offsets[1])
        return int(self.lengths.max(initial=0))

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """int32 (n,): numbers of sequences, from the shortest to the longest."""
        return self.lengths.argsort(kind="stable").astype(np.int32)

    @cached_property
    def sorted_lengths(self) -> NDArray[np.int64]:
        return self.lengths[self.order]

    @cached_property
    def occurs(self) -> NDArray[np.bool_]:
        """bool (256,): which symbols of 8 bits there are."""
        return _native.symbols_that_occur(self.symbols).view(np.bool_)

    def widened(self) -> SymbolSet:
        """The sequences with 32-bit symbols."""
        return SymbolSet(self.symbols.astype(np.uint32), self.offsets)

    def as_nucleotides(self, side: int) -> SymbolSet:
        """A, C, G, T in upper case, and for other nucleotide codes what is equal to nothing; ``side``: 0 for queries.

        Raises:
            InputError: a character that is not a nucleotide code.
        """
        table = np.zeros(256, np.uint8)
        for upper, code in [*((base, base) for base in b"ACGT"), (ord("U"), ord("T"))]:
            table[[upper, upper + 32]] = code
        for upper in _AMBIGUITY:
            table[[upper, upper + 32]] = _NEVER[side]
        codes = table[np.minimum(self.symbols, 255)]
        bad = np.flatnonzero((codes == 0) | (self.symbols > 127))
        if bad.size:
            record = int(np.searchsorted(self.offsets, bad[0], side="right")) - 1
            raise InputError(f"sequence {record}: {chr(self.symbols[bad[0]])!r} is not a nucleotide")
        return SymbolSet(codes, self.offsets)


def symbols_of(sequences: Any) -> SymbolSet:
    """Sequences of any accepted form.

    Args:
        sequences: a file's path, a batch, a set from an earlier call, a (n, length) array of numbers (on a GPU: of
            bytes), or sequences: str (by code points), bytes, arrays of numbers, Biopython's Seq or SeqRecord.

    Raises:
        InputError: a file that cannot be read.
        UsageError: the input is not sequences.
    """
    if isinstance(sequences, SymbolSet):
        return sequences
    if isinstance(sequences, SequenceBatch):
        return SymbolSet(sequences.bases, sequences.base_offsets)
    if isinstance(sequences, str | os.PathLike):
        return symbols_of(read_sequences(sequences, "any"))
    if isinstance(sequences, bytes | bytearray | memoryview):
        raise UsageError("bytes are one sequence: give a list of sequences, or a file's path as str")
    if isinstance(sequences, np.ndarray) and sequences.ndim == 2:
        offsets = np.arange(len(sequences) + 1, dtype=np.int64) * sequences.shape[1]
        return SymbolSet(_numbers(np.ascontiguousarray(sequences).reshape(-1), 0), offsets)
    if hasattr(sequences, "to_pylist"):  # an array of pyarrow
        return _joined(sequences.to_pylist())
    if (array := device_array(sequences)) is not None:
        return _on_device(array)
    if not isinstance(sequences, Iterable):
        raise UsageError(f"sequences are a path, a batch, an array or a list, not {type(sequences).__name__}")
    return _joined(list(sequences))


def _on_device(array: DeviceArray) -> SymbolSet:
    if len(array.shape) != 2 or array.dtype.kind not in "iuS" or array.dtype.itemsize != 1:
        raise UsageError(f"sequences on a GPU are a (n, length) array of bytes, not {array.shape} of {array.dtype}")
    return SymbolSet(array, np.arange(array.shape[0] + 1, dtype=np.int64) * array.shape[1])


def _joined(sequences: list[Any]) -> SymbolSet:
    kinds = set(map(type, sequences))
    if kinds <= {str}:  # one call joins them
        return SymbolSet(_text("".join(sequences)), _offsets(list(map(len, sequences))))
    if kinds == {bytes}:
        return SymbolSet(np.frombuffer(b"".join(sequences), np.uint8), _offsets(list(map(len, sequences))))
    parts = [_one(one, number) for number, one in enumerate(sequences)]
    offsets = _offsets([len(part) for part in parts])
    return SymbolSet(np.concatenate(parts), offsets)


def _offsets(lengths: list[int]) -> NDArray[np.int64]:
    return np.array([0, *accumulate(lengths)], np.int64)


def _text(text: str) -> NDArray[Any]:
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _one(sequence: Any, number: int) -> NDArray[Any]:
    sequence = getattr(sequence, "seq", sequence)  # a SeqRecord's
    if isinstance(sequence, str):
        return _text(sequence)
    if isinstance(sequence, bytes | bytearray | memoryview):
        return np.frombuffer(sequence, np.uint8)
    if isinstance(sequence, np.ndarray) and sequence.ndim == 1:
        return _numbers(sequence, number)
    if hasattr(sequence, "__bytes__"):  # a Seq
        return np.frombuffer(bytes(sequence), np.uint8)
    raise UsageError(f"sequence {number} is {type(sequence).__name__}, not str, bytes, an array or a Seq")


def _numbers(array: NDArray[Any], number: int) -> NDArray[Any]:
    if array.dtype.kind == "S" and array.dtype.itemsize == 1:
        return np.ascontiguousarray(array).view(np.uint8)
    if array.dtype.kind == "U" and array.dtype.itemsize == 4:
        return np.ascontiguousarray(array).view(np.uint32)
    if array.dtype.kind not in "bui":
        raise UsageError(f"sequence {number} is an array of {array.dtype}, not of whole numbers")
    if array.dtype == np.uint8 or array.size == 0:
        return np.ascontiguousarray(array, np.uint8)
    if int(array.min()) < 0 or int(array.max()) > _LARGEST:
        raise UsageError(f"sequence {number}: symbols are numbers from 0 to {_LARGEST:#x}")
    return np.ascontiguousarray(array, np.uint32)
