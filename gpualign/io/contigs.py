"""The contigs of alignments, as headers have them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences.batch import join_bytes
from gpualign.sequences.reference import Reference


@dataclass(frozen=True)
class HeaderContigs:
    """The contigs of a file's header.

    Attributes:
        shown_names: as text, for UTF-8 output.
        lengths: int64 (contigs,).
        fasta: the reference's file, for CRAM; None: htslib finds it by what the header says.
        named: whether the header says where the reference is (M5, UR).
    """

    shown_names: list[str]
    lengths: NDArray[np.int64]
    fasta: str | None = None
    named: bool = False

    @cached_property
    def shown_name_bytes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Names in UTF-8, concatenated, and where each begins."""
        return join_bytes([name.encode() for name in self.shown_names])


#: names and lengths of contigs
Contigs = Reference | HeaderContigs
