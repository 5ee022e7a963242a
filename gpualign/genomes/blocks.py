"""Alignments between two genomes as columns, and MUMmer's delta files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.genomes.cpu import JoinedColumns
from gpualign.errors import InputError
from gpualign.sequences.columns import Columns
from gpualign.sequences.offsets import offsets_of
from gpualign.text.files import InputFile

_KIND = "NUCMER"


@dataclass(frozen=True)
class Blocks(Columns):
    """Alignments; coordinates are half-open, on forward strands.

    Attributes:
        reference, query: int32 (n,), numbers of the sequences.
        reverse: bool (n,), the query's reverse strand is aligned.
        reference_start, reference_end, query_start, query_end: int64 (n,).
        errors, similar_errors, stops: int64 (n,), the counts of a delta file: mismatches and gap symbols, those that
            score no more than 0, symbols that are no letters.
        deltas: int64, columns from one gap symbol to the next, negative where the query has the symbol.
        delta_offsets: int64 (n + 1,).
    """

    reference: NDArray[np.int32]
    query: NDArray[np.int32]
    reverse: NDArray[np.bool_]
    reference_start: NDArray[np.int64]
    reference_end: NDArray[np.int64]
    query_start: NDArray[np.int64]
    query_end: NDArray[np.int64]
    errors: NDArray[np.int64]
    similar_errors: NDArray[np.int64]
    stops: NDArray[np.int64]
    deltas: NDArray[np.int64]
    delta_offsets: NDArray[np.int64]

    @classmethod
    def of(cls, joined: JoinedColumns, query_lengths: NDArray[np.int64], first_query: int) -> Blocks:
        """Of a batch whose records are numbered from ``first_query`` on."""
        spans = joined.spans.reshape(-1, 4)
        reverse, length = joined.reverse.astype(bool), query_lengths[joined.record]
        return cls(
            joined.contig,
            joined.record + np.int32(first_query),
            reverse,
            spans[:, 0],
            spans[:, 1],
            np.where(reverse, length - spans[:, 3], spans[:, 2]),
            np.where(reverse, length - spans[:, 2], spans[:, 3]),
            joined.errors,
            joined.errors,
            np.zeros_like(joined.errors),
            joined.deltas,
            joined.delta_offsets,
        )

    @property
    def spans(self) -> NDArray[np.int64]:
        """int64 (4 n,), as native functions take them."""
        ends = (self.reference_start, self.reference_end, self.query_start, self.query_end)
        return np.stack(ends, axis=1).ravel()

    @property
    def query_from(self) -> NDArray[np.int64]:
        """int64 (n,): the query's first aligned base, counted from 1; greater than the last one on reverse strands."""
        return np.where(self.reverse, self.query_end, self.query_start + 1)

    @property
    def query_to(self) -> NDArray[np.int64]:
        return np.where(self.reverse, self.query_start + 1, self.query_end)

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """int64 (n,): columns of each alignment."""
        inserted = np.add.accumulate(np.concatenate([[0], self.deltas < 0]))
        insertions = inserted[self.delta_offsets[1:]] - inserted[self.delta_offsets[:-1]]
        return np.asarray(self.reference_end - self.reference_start + insertions)

    @property
    def identity(self) -> NDArray[np.float32]:
        """float32 (n,): per cent of the columns, computed as MUMmer does."""
        columns = self.columns.astype(np.float32)
        share = (columns - self.errors.astype(np.float32)) / columns
        return (share.astype(np.float64) * 100.0).astype(np.float32)

    @property
    def shown_identity(self) -> NDArray[np.float32]:
        """float32 (n,): :attr:`identity` as show-coords has it, 100 only without errors."""
        identity = self.identity
        return np.where((identity > _NEARLY_ALL) & (identity != 100), _NEARLY_ALL, identity)


#: what MUMmer 4 shows where there are errors, rather than 100.00
_NEARLY_ALL = np.float32(99.99)
_NUMBERS, _NONE = np.empty(0, np.int32), np.empty(0, np.int64)
NO_BLOCKS = Blocks(
    _NUMBERS, _NUMBERS, np.empty(0, bool), _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, np.zeros(1, np.int64)
)


@dataclass(frozen=True)
class Side:
    """The sequences of one genome.

    Attributes:
        path: of their file, as a delta file has it.
        names: to the first white space, a character for each byte.
        lengths: int64 (n,).
        bases, offsets: uint8, upper-case ASCII, and int64 (n + 1,); empty where they were not asked for.
    """

    path: str
    names: Sequence[str]
    lengths: NDArray[np.int64]
    bases: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    offsets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """int64 (n,): the places of the names in their order as bytes."""
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks


@dataclass(frozen=True)
class Comparison:
    """Two genomes and the alignments between them."""

    reference: Side
    query: Side
    blocks: Blocks

    @cached_property
    def native(self) -> _native.AlignedSequences:
        """The alignments with their sequences, whose bases must be there.

        Raises:
            InputError: the alignments are of other sequences.
        """
        blocks = self.blocks
        try:
            return _native.AlignedSequences(
                self.reference.bases,
                self.reference.offsets,
                self.query.bases,
                self.query.offsets,
                contig=blocks.reference,
                record=blocks.query,
                reverse=blocks.reverse.astype(np.uint8),
                spans=blocks.spans,
                deltas=blocks.deltas,
                delta_offsets=blocks.delta_offsets,
            )
        except IndexError as error:
            raise InputError(f"{error} (is the delta file of these sequences?)") from None

    def with_blocks(self, blocks: Blocks) -> Comparison:
        return replace(self, blocks=blocks)


def shown_path(path: str) -> str:
    """A path as nucmer writes it into a delta file; a line break, which would end the line, is a question mark."""
    return path if path == "-" else os.path.realpath(path).replace("\n", "?").replace("\r", "?")


def delta_header(reference: str, query: str) -> bytes:
    return f"{reference} {query}\n{_KIND}\n".encode("utf-8", "surrogateescape")


def delta_records(blocks: Blocks, reference: Side, query: Side) -> bytes:
    """The records of a delta file: alignments in their order, those of the same sequences under one header."""
    if len(blocks) == 0:
        return b""
    lines: list[str] = []
    before = (-1, -1)
    deltas = blocks.deltas.tolist()
    columns = zip(
        blocks.reference.tolist(),
        blocks.query.tolist(),
        (blocks.reference_start + 1).tolist(),
        blocks.reference_end.tolist(),
        blocks.query_from.tolist(),
        blocks.query_to.tolist(),
        blocks.errors.tolist(),
        blocks.similar_errors.tolist(),
        blocks.stops.tolist(),
        blocks.delta_offsets[:-1].tolist(),
        blocks.delta_offsets[1:].tolist(),
        strict=True,
    )
    for a, b, start, end, query_from, query_to, errors, similar, stops, first, last in columns:
        if (a, b) != before:
            before = a, b
            lines.append(f">{reference.names[a]} {query.names[b]} {reference.lengths[a]} {query.lengths[b]}")
        lines.append(f"{start} {end} {query_from} {query_to} {errors} {similar} {stops}")
        lines.extend(map(str, deltas[first:last]))
        lines.append("0")
    return ("\n".join(lines) + "\n").encode("latin-1")


def read_delta(path: str) -> Comparison:
    """Read a delta file of nucmer, or of ours.

    Raises:
        InputError: it cannot be read, is cut short or malformed, or is promer's.
    """
    with InputFile(path) as file:
        text = file.rest().decode("latin-1")
    return _Parser(path, text.splitlines()).comparison()


class _Parser:
    def __init__(self, path: str, lines: list[str]) -> None:
        self._path, self._lines = path, lines
        self._numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._lengths: tuple[list[int], list[int]] = ([], [])

    def comparison(self) -> Comparison:
        paths = self._lines[0].split(" ") if self._lines else []
        kind = self._lines[1].strip() if len(self._lines) > 1 else ""
        if kind == "PROMER":
            raise InputError("alignments of promer (only those of nucleotides are read)", self._path, 2)
        if len(paths) < 2 or kind != _KIND:
            raise InputError("not a delta file (its second line is not NUCMER)", self._path)
        middle = len(paths) // 2  # a path may hold blanks
        blocks = self._blocks()
        reference, query = (
            Side(" ".join(path), list(numbers), np.array(lengths, np.int64))
            for path, numbers, lengths in zip(
                (paths[:middle], paths[middle:]), self._numbers, self._lengths, strict=True
            )
        )
        return Comparison(reference, query, blocks)

    def _blocks(self) -> Blocks:
        rows: list[tuple[int, ...]] = []
        deltas: list[int] = []
        counts: list[int] = []
        pair: tuple[int, int] | None = None
        for line in (lines := iter(enumerate(self._lines[2:], 3))):
            number, text = line
            if text.startswith(">"):
                pair = self._pair(number, text)
                continue
            if pair is None or len(row := self._integers(number, text)) != 7:
                raise self._malformed(number)
            self._check(number, pair, row)
            before = len(deltas)
            deltas.extend(self._deltas(lines))
            counts.append(len(deltas) - before)
            rows.append((*pair, *row))
        table = np.array(rows, np.int64).reshape(-1, 9)
        reverse = table[:, 4] > table[:, 5]
        return Blocks(
            table[:, 0].astype(np.int32),
            table[:, 1].astype(np.int32),
            reverse,
            table[:, 2] - 1,
            table[:, 3],
            np.minimum(table[:, 4], table[:, 5]) - 1,
            np.maximum(table[:, 4], table[:, 5]),
            table[:, 6],
            table[:, 7],
            table[:, 8],
            np.array(deltas, np.int64),
            offsets_of(counts),
        )

    def _pair(self, number: int, text: str) -> tuple[int, int]:
        words = text[1:].split()
        if len(words) != 4 or not (words[2].isdecimal() and words[3].isdecimal()):
            raise self._malformed(number)
        found = []
        for side, (name, length) in enumerate(zip(words[:2], map(int, words[2:]), strict=True)):
            known = self._numbers[side].setdefault(name, len(self._lengths[side]))
            if known == len(self._lengths[side]):
                self._lengths[side].append(length)
            elif self._lengths[side][known] != length:
                raise InputError(f"'{name}' has another length than before", self._path, number)
            found.append(known)
        return found[0], found[1]

    def _integers(self, number: int, text: str) -> list[int]:
        try:
            return list(map(int, text.split()))
        except ValueError:
            raise self._malformed(number) from None

    def _check(self, number: int, pair: tuple[int, int], row: list[int]) -> None:
        start, end, query_from, query_to = row[:4]
        lengths = self._lengths[0][pair[0]], self._lengths[1][pair[1]]
        if not 1 <= start <= end <= lengths[0]:
            raise InputError("an alignment outside the reference, or on its reverse strand", self._path, number)
        if not (1 <= query_from <= lengths[1] and 1 <= query_to <= lengths[1] and min(row[4:]) >= 0):
            raise InputError("an alignment outside the query", self._path, number)

    def _deltas(self, lines: Iterator[tuple[int, str]]) -> Iterable[int]:
        number = len(self._lines)
        for number, text in lines:
            if text == "0":
                return
            values = self._integers(number, text)
            if len(values) != 1:
                raise self._malformed(number)
            yield values[0]
        raise InputError("the file ends within an alignment (is it complete?)", self._path, number)

    def _malformed(self, number: int) -> InputError:
        return InputError("not a line of a delta file", self._path, number)
