"""Minimizers by their definition, one window at a time."""

from __future__ import annotations

from collections.abc import Callable

from tests.helpers.sequences import reverse_complement


def minimizer_positions(text: str, k: int, w: int, hash_of: Callable[[str], int]) -> list[int]:
    """Positions of all k-mers that have the smallest hash of some window of w consecutive k-mers.

    k-mers with anything but A, C, G, T have no hash and are never chosen.
    """
    hashes: list[float] = []
    for i in range(len(text) - k + 1):
        kmer = text[i : i + k]
        usable = not set(kmer) - set("ACGT")
        hashes.append(hash_of(min(kmer, reverse_complement(kmer), key=packed)) if usable else float("inf"))
    chosen: set[int] = set()
    w = min(w, len(hashes))
    for start in range(len(hashes) - w + 1) if hashes else []:
        window = hashes[start : start + w]
        smallest = min(window)
        if smallest != float("inf"):
            chosen |= {start + i for i, value in enumerate(window) if value == smallest}
    return sorted(chosen)


def packed(kmer: str) -> int:
    """The k-mer as an integer, its first base in the lowest two bits."""
    return sum("ACGT".index(base) << (2 * i) for i, base in enumerate(kmer))


def mix(k: int, value: int) -> int:
    """The documented hash: xor-shifts by k and odd multipliers on 2k bits."""
    mask = (1 << 2 * k) - 1
    for multiplier in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93):
        value ^= value >> k
        value = value * multiplier & mask
    return value ^ value >> k
