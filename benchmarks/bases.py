"""Bases as ASCII codes, as the simulators handle them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BASES = np.frombuffer(b"ACGT", np.uint8)
_COMPLEMENT = np.arange(256, dtype=np.uint8)
_COMPLEMENT[BASES] = BASES[::-1]


def complement(bases: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The other strand's bases, in the same order; anything else stays."""
    return _COMPLEMENT[bases]


def substitute(bases: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Another base for each A, C, G and T."""
    codes = np.searchsorted(BASES, bases)
    known = (codes < 4) & (BASES[np.minimum(codes, 3)] == bases)
    other = BASES[(codes + rng.integers(1, 4, bases.shape)) % 4]
    return np.where(known, other, bases)


def bases_of(path: Path) -> NDArray[np.uint8]:
    """The upper-case bases of a FASTA file, its records one after another."""
    records = path.read_bytes().split(b">")[1:]
    return np.frombuffer(
        b"".join(record.partition(b"\n")[2].replace(b"\n", b"").upper() for record in records), np.uint8
    )
