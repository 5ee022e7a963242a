"""Sequences as the Python API takes them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from gpualign.checks import whole_numbers
from gpualign.errors import InputError, UsageError
from gpualign.fields import takes_keywords
from gpualign.reads.reads import ReadSource
from gpualign.sequences.batch import SequenceBatch, join_batches, join_bytes
from gpualign.sequences.reference import Reference
from gpualign.text.fastx import SequenceAlphabet
from gpualign.text.sizes import symbols_in_files

#: a path of a FASTA or FASTQ file, what :func:`read_sequences` returns, or the sequences themselves
Sequences = str | os.PathLike[str] | SequenceBatch | Iterable[str | bytes]
Text = str | bytes | bytearray | memoryview

#: bases of a file to read at a time; SAM, BAM and CRAM are read as one batch
_BATCH, _WHOLE = 1 << 23, 1 << 62
#: characters of sequences alone; such a str may be a sequence where a list was meant
_SEQUENCE = re.compile(r"[A-Za-z*-]{2,}")
_SHOWN = 40
_NUCLEOTIDES = b"ACGTUNRYSWKMBDHV"


@takes_keywords()
def read_sequences(path: str | os.PathLike[str], alphabet: SequenceAlphabet = "nucleotide") -> SequenceBatch:
    """Read all records of a FASTA, FASTQ, SAM, BAM or CRAM file, plain or compressed ("-" is standard input).

    Args:
        path: the file.
        alphabet: "nucleotide" checks the symbols, makes them upper case and writes U as T; "any" leaves them.

    Returns:
        A batch: ``batch[i]`` and iteration give rows with ``name``, ``sequence`` and, of FASTQ, ``quality``,
        ``batch[2:9]`` a batch of some; it converts like a table, and has the arrays of
        :class:`gpualign.sequences.batch.SequenceBatch`.

    Raises:
        InputError: the file cannot be read or is invalid.
    """
    with ReadSource(path_of(path)) as source:
        source.alphabet = alphabet
        size = _WHOLE if source.header is not None else _BATCH
        return join_batches([records.columns() for records in source.records(size)])


def as_batch(sequences: Sequences, alphabet: SequenceAlphabet = "nucleotide") -> SequenceBatch:
    """Sequences of any accepted form as a batch; unnamed ones are named by their numbers.

    Raises:
        InputError: an unreadable file, or a character that is not a nucleotide code where nucleotides are wanted.
        UsageError: the input is not sequences.
    """
    if isinstance(sequences, SequenceBatch):
        return sequences
    if is_path(sequences):
        return read_sequences(sequences, alphabet)
    texts = [bytes_of(text) for text in _checked(sequences)]
    symbols, offsets = join_bytes(texts)
    if alphabet == "nucleotide":
        symbols = checked_nucleotides(symbols, offsets)
    names, name_offsets = join_bytes([str(number).encode() for number in range(len(texts))])
    return SequenceBatch(names, name_offsets, symbols, offsets)


def batches_of(sequences: Sequences, bases: int, alphabet: SequenceAlphabet = "nucleotide") -> Iterator[SequenceBatch]:
    """Batches of about ``bases`` bases; unnamed sequences are named by number.

    Only the current batch of a file or an iterator is held.
    """
    first = 0
    unnamed = not (is_path(sequences) or isinstance(sequences, SequenceBatch))
    for batch in parts_of(sequences, bases, alphabet):
        if unnamed:
            names, offsets = join_bytes([str(number).encode() for number in range(first, first + len(batch))])
            batch = replace(batch, names=names, name_offsets=offsets)
        first += len(batch)
        yield batch


def parts_of(sequences: Sequences, bases: int, alphabet: SequenceAlphabet = "nucleotide") -> Iterator[SequenceBatch]:
    """Batches of about ``bases`` bases, with their own names; unnamed ones are numbered in each batch."""
    if is_path(sequences):
        with closing(ReadSource(path_of(sequences))) as source:
            source.alphabet = alphabet
            yield from (records.columns() for records in source.records(bases))
        return
    if isinstance(sequences, SequenceBatch):
        first = 0
        while first < len(sequences):
            after = int(np.searchsorted(sequences.base_offsets, sequences.base_offsets[first] + bases))
            last = min(len(sequences), max(first + 1, after))
            yield sequences.part(first, last)
            first = last
        return
    some: list[Any] = []
    taken = 0
    for text in _checked(sequences):
        some.append(text)
        taken += len(text)
        if taken >= bases:
            yield as_batch(some, alphabet)
            some, taken = [], 0
    if some:
        yield as_batch(some, alphabet)


def symbols_in(*sequences: Sequences | None) -> float | None:
    """Estimated number of symbols; None if it is only known after reading."""
    known = [_symbols(some) for some in sequences if some is not None]
    return None if None in known else sum(symbols for symbols in known if symbols is not None)


def _symbols(sequences: Sequences) -> float | None:
    if is_path(sequences):
        return symbols_in_files(path_of(sequences))
    if isinstance(sequences, SequenceBatch):
        return float(sequences.base_offsets[-1])
    if not isinstance(sequences, list | tuple):  # arrays know
        return getattr(sequences, "nbytes", None)
    return float(sum(len(text) for text in sequences if hasattr(text, "__len__")))


def is_path(given: object) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(given, str | os.PathLike)


def is_bytes(given: object) -> bool:
    return isinstance(given, bytes | bytearray | memoryview)


def is_text(given: object) -> bool:
    return isinstance(given, str) or is_bytes(given)


def bytes_of(text: Text) -> bytes:
    """``text`` as bytes."""
    return text.encode() if isinstance(text, str) else bytes(text)


def path_of(given: str | os.PathLike[str]) -> str:
    """A path as text.

    Raises:
        UsageError: there is no such file, and it looks like a sequence.
    """
    path = os.fspath(given)
    if isinstance(given, str) and _SEQUENCE.fullmatch(path) and not os.path.exists(path):
        shown = path if len(path) <= _SHOWN else f"{path[:_SHOWN]}..."
        raise UsageError(f"one str is the path of a file, and there is no file {shown!r} (give a list of sequences)")
    return path


def checked_reads(reads: Any) -> Iterator[Any]:
    """An iterator over reads.

    Raises:
        UsageError: the input is not reads.
    """
    if is_bytes(reads):
        raise UsageError("bytes are one sequence: give a list of sequences, or a file's path as str")
    if hasattr(reads, "to_pylist"):  # an array of pyarrow
        return iter(reads.to_pylist())
    if not isinstance(reads, Iterable):
        raise UsageError(f"sequences are a path, a batch or a list of str or bytes, not {type(reads).__name__}")
    return iter(reads)


def not_text(text: object, number: int) -> UsageError:
    """The error of a sequence that is not text."""
    return UsageError(f"sequence {number} is {type(text).__name__}, not str or bytes")


def _checked(sequences: Any) -> Iterator[Any]:
    """An iterator over sequences that checks that they are text."""
    for number, text in enumerate(checked_reads(sequences)):
        if not is_text(text):
            raise not_text(text, number)
        yield text


def packed(batch: SequenceBatch) -> Reference:
    """Sequences as a reference, two bits a base.

    Raises:
        UsageError: more bases in total than 32 bits can count.
    """
    return packed_pieces([batch.name(i) for i in range(len(batch))], batch.base_offsets, (batch.bases,))


def packed_pieces(names: list[str], offsets: NDArray[np.int64], pieces: Sequence[NDArray[np.uint8]]) -> Reference:
    """Sequences as a reference, two bits a base; ``pieces`` joined have their symbols."""
    try:
        return Reference.packed(names, offsets, pieces)
    except ValueError as error:
        raise UsageError(str(error)) from None


#: translation to upper case, U to T, and 0 for other characters
_NUCLEOTIDE_TABLE = bytes(
    0 if symbol not in _NUCLEOTIDES else ord("T") if symbol == ord("U") else symbol
    for symbol in (ord(chr(byte).upper()) if byte < 128 else 0 for byte in range(256))
)


def checked_nucleotides(symbols: NDArray[np.uint8], offsets: NDArray[np.int64], first: int = 0) -> NDArray[np.uint8]:
    """Upper case, U as T; ``first`` is the number of the first sequence.

    Raises:
        InputError: a character that is not a nucleotide code.
    """
    text = symbols.tobytes().translate(_NUCLEOTIDE_TABLE)
    translated = np.frombuffer(text, np.uint8)
    if b"\0" in text:
        bad = np.flatnonzero(translated == 0)
        record = first + int(np.searchsorted(offsets, bad[0], side="right")) - 1
        wrong = symbols[bad[0] : bad[0] + 4].tobytes().decode(errors="replace")[0]
        raise InputError(f"sequence {record}: {wrong!r} is not a nucleotide")
    return translated


def rows_of(what: str, rows: object, columns: int) -> NDArray[np.int64]:
    """Rows of numbers as int64 (n, columns).

    Raises:
        UsageError: they have other columns, or numbers that are not whole.
    """
    array = whole_numbers(what, rows)
    if array.size % columns or (array.ndim > 1 and array.shape[-1] != columns):
        raise UsageError(f"{what} are rows of {columns} numbers, not an array of shape {array.shape}")
    return array.reshape(-1, columns)


def checked_indices(values: object, count: int, what: str) -> NDArray[np.int32]:
    """Indices of sequences as int32 (n,).

    Raises:
        UsageError: an index is negative, or not below ``count``.
    """
    numbers = whole_numbers(f"numbers of {what}", values).reshape(-1)
    wrong = numbers[(numbers < 0) | (numbers >= count)]
    if wrong.size:
        raise UsageError(f"there is no {what} {wrong[0]} (there are {count}, counted from 0)")
    return numbers.astype(np.int32)
