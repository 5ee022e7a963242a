"""The contigs of alignments, as headers have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpualign.records.header_text import bytes_of, in_utf8, text_of
from gpualign.sequences.batch import join_bytes
from gpualign.sequences.reference import Reference


@dataclass(frozen=True)
class HeaderContigs:
    """The contigs of a file's header.

    Attributes:
        shown_name_bytes: the names' bytes, concatenated, and where each begins.
        lengths: int64 (contigs,).
        fasta: the reference's file, for CRAM; None: htslib finds it by what the header says.
        named: whether the header says where the reference is (M5, UR).
    """

    shown_name_bytes: tuple[NDArray[np.uint8], NDArray[np.int64]]
    lengths: NDArray[np.int64]
    fasta: str | None = None
    named: bool = False

    @classmethod
    def of(cls, names: list[str], lengths: Sequence[int] | NDArray[np.int64]) -> HeaderContigs:
        """Contigs of these names, which are text of a header."""
        return cls(join_bytes([bytes_of(name) for name in names]), np.array(lengths, np.int64))

    @cached_property
    def names(self) -> list[str]:
        """The names as text of a header."""
        names, ends = self.shown_name_bytes[0].tobytes(), self.shown_name_bytes[1].tolist()
        if names.isascii():
            text = names.decode()
            return [text[begin:end] for begin, end in pairwise(ends)]
        return [text_of(names[begin:end]) for begin, end in pairwise(ends)]

    @cached_property
    def shown_names(self) -> list[str]:
        """The names for UTF-8 output."""
        return self.names if all(map(str.isascii, self.names)) else [in_utf8(name) for name in self.names]


#: names and lengths of contigs
Contigs = Reference | HeaderContigs
