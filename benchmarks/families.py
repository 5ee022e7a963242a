"""Random sequences and families of similar ones, as FASTA, for the benchmarks of `pairwise`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"


def write_family(
    path: Path,
    count: int,
    length: int,
    groups: int,
    between: float,
    within: float,
    sequence: str = "ACGT",
    seed: int = 1,
) -> Path:
    """Sequences in groups: ancestors differ by ``between`` from a root, members by up to ``within`` from their own."""
    rng = np.random.default_rng(seed)
    alphabet = np.frombuffer(sequence.encode(), np.uint8)

    def change(text: np.ndarray, rate: float) -> np.ndarray:
        text = text.copy()
        hit = rng.random(len(text)) < rate
        text[hit] = rng.integers(0, len(alphabet), int(hit.sum()))
        text = text[rng.random(len(text)) >= rate / 20]
        loci = np.flatnonzero(rng.random(len(text)) < rate / 20)
        return np.insert(text, loci, rng.integers(0, len(alphabet), len(loci)))

    root = rng.integers(0, len(alphabet), length)
    ancestors = [change(root, between) for _ in range(groups)]
    with open(path, "wb") as out:
        for i in range(count):
            member = change(ancestors[rng.integers(groups)], within * rng.random())
            out.write(b">s%d\n%s\n" % (i, alphabet[member].tobytes()))
    return path


def write_random(path: Path, count: int, length: int, sequence: str, seed: int = 3) -> Path:
    """Random sequences."""
    alphabet = np.frombuffer(sequence.encode(), np.uint8)
    rows = alphabet[np.random.default_rng(seed).integers(0, len(alphabet), (count, length), dtype=np.uint8)]
    path.write_bytes(b"".join(b">%d\n%s\n" % (i, row.tobytes()) for i, row in enumerate(rows)))
    return path
