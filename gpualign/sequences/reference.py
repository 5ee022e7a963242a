"""The reference: contigs packed two bits a base."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.batch import join_bytes


@dataclass(frozen=True)
class Reference:
    """Contigs one after the other, packed.

    Attributes:
        names: contig names, to the first white space, unique; a character for each byte.
        contig_offsets: int64 (contigs + 1,), positions of the contigs in the packed sequence.
        words: uint64 (bases // 32 + 2,), base i in bits 2 * (i % 32) of word i // 32; A, C, G, T = 0, 1, 2, 3.
        run_starts, run_ends: uint32 (runs,), half-open intervals of one character that is not A, C, G or T.
        run_bases: uint8 (runs,), that character; the packed bases under a run are A.
    """

    sent_once: ClassVar[bool] = True  # to a cluster's workers, apart from the items that hold it
    names: list[str]
    contig_offsets: NDArray[np.int64]
    words: NDArray[np.uint64]
    run_starts: NDArray[np.uint32]
    run_ends: NDArray[np.uint32]
    run_bases: NDArray[np.uint8]

    @classmethod
    def packed(
        cls, names: list[str], contig_offsets: NDArray[np.int64], pieces: Iterable[NDArray[np.uint8]]
    ) -> Reference:
        """Contigs whose text is the joined pieces; raises ValueError for more bases than 32 bits can count."""
        packer = _native.ReferencePacker()
        for piece in pieces:
            packer.append(piece)
        return cls(names, contig_offsets, *packer.finish())

    @cached_property
    def shown_names(self) -> list[str]:
        """The names as text for UTF-8 output: what a file says in UTF-8 stays as it is, any other text is Latin-1."""
        return [_as_text(name) for name in self.names]

    @cached_property
    def shown_name_bytes(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The names in UTF-8, concatenated, and where each begins."""
        return join_bytes([name.encode() for name in self.shown_names])

    @property
    def bases(self) -> int:
        return int(self.contig_offsets[-1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 (contigs,)."""
        return np.diff(self.contig_offsets)

    @cached_property
    def native(self) -> _native.ReferenceArrays:
        """The checked native view; raises ValueError where the arrays cannot be a reference."""
        return _native.ReferenceArrays(self.words, self.contig_offsets, self.run_starts, self.run_ends, self.run_bases)

    def __reduce__(self) -> tuple[Any, ...]:
        # without the native view, which each process makes for itself
        return Reference, tuple(getattr(self, entry.name) for entry in fields(self))

    def part(self, begin: int, end: int) -> Reference:
        """The bases [begin, end) and those before them in the same word, as one contig; the packed bases are a view."""
        lower, upper = np.searchsorted(self.run_ends, begin, "right"), np.searchsorted(self.run_starts, end)
        base = begin // 32 * 32
        starts = np.maximum(self.run_starts[lower:upper], begin).astype(np.int64) - base
        ends = np.minimum(self.run_ends[lower:upper], end).astype(np.int64) - base
        return Reference(
            ["part"],
            np.array([0, end - base], np.int64),
            self.words[begin // 32 : end // 32 + 2],
            starts.astype(np.uint32),
            ends.astype(np.uint32),
            np.ascontiguousarray(self.run_bases[lower:upper]),
        )

    def sequence(self, begin: int, end: int) -> bytes:
        """The upper-case bases of packed positions [begin, end)."""
        return _native.reference_sequence(self.native, begin, end)

    @property
    def mask_words(self) -> int:
        """Words of :meth:`acgt_mask`."""
        return self.bases // 32 + 2

    def acgt_mask(self) -> NDArray[np.uint32]:
        """uint32 (bases // 32 + 2,): bit i % 32 of word i // 32 is set where base i is A, C, G or T."""
        mask = np.empty(self.mask_words, np.uint32)
        _native.fill_acgt_mask(self.native, 0, mask)
        return mask


def _as_text(name: str) -> str:
    try:
        return name.encode("latin-1").decode()
    except UnicodeDecodeError:
        return name
