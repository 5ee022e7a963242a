"""Greedy clustering written for being obviously right."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def greedy(
    sequences: Sequence[str], near: Callable[[str, str], float | None], first: bool = False
) -> tuple[list[int], list[float]]:
    """Clusters by number, and the identity of each sequence with its centroid (1 for centroids).

    Args:
        sequences: in the order in which they are taken.
        near: (sequence, centroid) -> their identity, or None if it does not reach the threshold.
        first: the first near centroid instead of the nearest.
    """
    centroids: list[str] = []
    clusters, identities = [], []
    for sequence in sequences:
        hits = [(near(sequence, centroid), number) for number, centroid in enumerate(centroids)]
        known = [(identity, number) for identity, number in hits if identity is not None]
        if known:
            identity, number = known[0] if first else max(known, key=lambda hit: (hit[0], -hit[1]))
        else:
            identity, number = 1.0, len(centroids)
            centroids.append(sequence)
        clusters.append(number)
        identities.append(identity)
    return clusters, identities


def components(sequences: Sequence[str], near: Callable[[str, str], float | None]) -> list[int]:
    """Single linkage: clusters by number, in the order in which they are met."""
    cluster = list(range(len(sequences)))
    for i in range(len(sequences)):
        for j in range(i):
            if near(sequences[i], sequences[j]) is not None:
                old, new = max(cluster[i], cluster[j]), min(cluster[i], cluster[j])
                cluster = [new if number == old else number for number in cluster]
    numbers: dict[int, int] = {}
    return [numbers.setdefault(number, len(numbers)) for number in cluster]
