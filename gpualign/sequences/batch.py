"""Batches of sequences as flat arrays: the only form in which sequences travel between the stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.columns import Arrays
from gpualign.sequences.offsets import offsets_of
from gpualign.tables.column import TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Table
from gpualign.tables.tabular import Tabular


@dataclass(frozen=True)
class SequenceBatch(Arrays, Tabular):
    """``n`` sequences in input order, structure of arrays.

    Attributes:
        names: uint8 (total name bytes,), names up to the first white space, joined without separators.
        name_offsets: int64 (n + 1,).
        bases: uint8 (total bases,), upper-case ASCII, U written as T; IUPAC codes kept.
        base_offsets: int64 (n + 1,).
        qualities: uint8 (total bases,) as in the FASTQ file (Phred + 33), or None for FASTA.
        comments: per-record text after the name, or None where it was not asked for.
        comment_offsets: int64 (n + 1,) with ``comments``.
        mates: uint8 (n,), 0 for a single read, 1 and 2 for the mates of a pair, which are adjacent; None: no pairs.
        flags: uint16 (n,), of the records of a SAM, BAM or CRAM file, or None.
    """

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    base_offsets: NDArray[np.int64]
    qualities: NDArray[np.uint8] | None = None
    comments: NDArray[np.uint8] | None = None
    comment_offsets: NDArray[np.int64] | None = None
    mates: NDArray[np.uint8] | None = None
    flags: NDArray[np.uint16] | None = None

    def __len__(self) -> int:
        return len(self.base_offsets) - 1

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Row: ...
    @overload
    def __getitem__(self, key: slice | list[int] | NDArray[Any]) -> SequenceBatch: ...
    def __getitem__(self, key: Any) -> Any:
        """A row of :attr:`table`, or a batch of some sequences."""
        if isinstance(key, int | np.integer):
            if not -len(self) <= key < len(self):
                raise IndexError(f"there is no sequence {key} (there are {len(self)})")
            start = int(key) % len(self)
            return self.part(start, start + 1).table[0]
        return self.take(np.arange(len(self))[np.asarray(key) if isinstance(key, list) else key])

    def __iter__(self) -> Iterator[Row]:
        return iter(self.table)

    def __repr__(self) -> str:
        return repr(self.table)

    def columns(self) -> SequenceBatch:
        """Itself, as what is not parsed yet has its columns by this name."""
        return self

    @property
    def native(self) -> tuple[NDArray[Any] | None, ...]:
        """The arrays as native functions take them: all fields but the flags."""
        return super().native[:-1]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 (n,): bases per sequence."""
        return np.diff(self.base_offsets)

    @property
    def table(self) -> Table[Row]:
        """Columns ``name`` and ``sequence``, and ``quality`` where there are qualities."""
        columns: dict[str, Column] = {
            "name": TextColumn.of_bytes(self.names, self.name_offsets),
            "sequence": TextColumn(self.bases, self.base_offsets),
        }
        if self.qualities is not None:
            columns["quality"] = TextColumn(self.qualities, self.base_offsets)
        return Table(columns)

    def name(self, i: int) -> str:
        return self.names[self.name_offsets[i] : self.name_offsets[i + 1]].tobytes().decode("latin-1")

    def sequence(self, i: int) -> bytes:
        return self.bases[self.base_offsets[i] : self.base_offsets[i + 1]].tobytes()

    def quality(self, i: int) -> bytes | None:
        if self.qualities is None:
            return None
        return self.qualities[self.base_offsets[i] : self.base_offsets[i + 1]].tobytes()

    def part(self, start: int, end: int) -> SequenceBatch:
        """Sequences ``start`` to ``end`` as a batch of their own; the texts are views."""

        def cut(text: NDArray[np.uint8] | None, offsets: NDArray[np.int64] | None) -> Any:
            return None if text is None or offsets is None else text[offsets[start] : offsets[end]]

        def rebased(offsets: NDArray[np.int64] | None) -> Any:
            return None if offsets is None else offsets[start : end + 1] - offsets[start]

        return SequenceBatch(
            cut(self.names, self.name_offsets),
            rebased(self.name_offsets),
            cut(self.bases, self.base_offsets),
            rebased(self.base_offsets),
            cut(self.qualities, self.base_offsets),
            cut(self.comments, self.comment_offsets),
            rebased(self.comment_offsets),
            None if self.mates is None else self.mates[start:end],
            None if self.flags is None else self.flags[start:end],
        )

    def take(self, chosen: NDArray[np.int64]) -> SequenceBatch:
        """The sequences with these numbers."""
        flags = None if self.flags is None else self.flags[chosen]
        return SequenceBatch(*_native.take_reads(self.native, np.asarray(chosen, np.int64)), flags)

    @classmethod
    def from_records(cls, records: Iterable[tuple[str, str] | tuple[str, str, str]]) -> SequenceBatch:
        """Build a batch from (name, sequence[, quality]) tuples; for tests, the Python API and small inputs."""
        rows = list(records)
        names, name_offsets = join_bytes([row[0].encode("latin-1") for row in rows])
        bases, base_offsets = join_bytes([row[1].upper().replace("U", "T").encode("ascii") for row in rows])
        qualities = None
        if rows and all(len(row) == 3 for row in rows):
            qualities, _ = join_bytes([row[2].encode("ascii") for row in rows])  # type: ignore[misc]
        return cls(names, name_offsets, bases, base_offsets, qualities)


def join_bytes(parts: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate byte strings; returns the uint8 text and int64 (n + 1,) offsets."""
    return np.frombuffer(b"".join(parts), np.uint8), offsets_of([len(part) for part in parts])


def join_batches(batches: Sequence[SequenceBatch]) -> SequenceBatch:
    """One batch of all sequences in order; the batches carry the same fields. Empty for no batches."""
    return SequenceBatch.join(batches) if batches else SequenceBatch.from_records([])
