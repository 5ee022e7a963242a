"""The contigs of alignments, as headers have them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.records.header_text import bytes_of, in_utf8
from gpualign.sequences.batch import join_bytes
from gpualign.sequences.reference import Reference


@dataclass(frozen=True)
class HeaderContigs:
    """The contigs of a file's header.

    Attributes:
        names: as text of a header.
        lengths: int64 (contigs,).
        fasta: the reference's file, for CRAM; None: htslib finds it by what the header says.
        named: whether the header says where the reference is (M5, UR).
    """

    names: list[str]
    lengths: NDArray[np.int64]
    fasta: str | None = None
    named: bool = False

    @cached_property
    def shown_names(self) -> list[str]:
        """The names for UTF-8 output."""
        return [in_utf8(name) for name in self.names]

    @cached_property
    def shown_name_bytes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The names' bytes, concatenated, and where each begins."""
        return join_bytes([bytes_of(name) for name in self.names])


#: names and lengths of contigs
Contigs = Reference | HeaderContigs
