"""Lines of verify's table; expectations by hand."""

from __future__ import annotations

import numpy as np

from gpualign import _native
from gpualign.sequences.batch import join_bytes
from gpualign.sequences.reference import Reference


def lines(queries: list[tuple[str, int]], targets: list[tuple[str, int]], rows: list[tuple]) -> list[str]:
    """``rows``: query, target, window's begin in the target, reverse, distance, start, end."""
    packer = _native.ReferencePacker()
    packer.append(np.full(sum(size for _, size in targets), ord("A"), np.uint8))
    contigs = np.cumsum([0, *(size for _, size in targets)]).astype(np.int64)
    reference = Reference([name for name, _ in targets], contigs, *packer.finish())
    query, target, begin, strand, distance, start, end = np.array(rows, np.int64).T
    names, offsets = join_bytes([name.encode() for name, _ in queries])
    target_names, target_offsets = join_bytes([name.encode() for name, _ in targets])
    text = _native.verify_lines(
        reference=reference.native,
        bases=np.full(sum(size for _, size in queries), ord("A"), np.uint8),
        offsets=np.cumsum([0, *(size for _, size in queries)]).astype(np.int64),
        query=query.astype(np.int32),
        begin=(contigs[target] + begin).astype(np.uint32),
        strand=strand.astype(np.uint8),
        distance=distance.astype(np.int32),
        start=start.astype(np.int32),
        end=end.astype(np.int32),
        target=target.astype(np.int32),
        query_names=names,
        query_name_offsets=offsets,
        target_names=target_names,
        target_name_offsets=target_offsets,
        cigar=False,
    )
    return text.tobytes().decode().splitlines()


def test_lines_by_hand() -> None:
    long = "n" * 10_000
    queries, targets = [("q", 10), (long, 3), ("empty", 0)], [("t", 100), ("u\u00e9", 50), ("", 7)]
    rows = [
        (0, 0, 20, 0, 0, 2, 12),
        (0, 1, 0, 1, 3, 0, 9),
        (1, 0, 99, 0, -1, 0, 0),
        (1, 1, 10, 0, 1, 0, 3),
        (2, 2, 0, 1, 0, 0, 0),
        (2, 1, 5, 0, 4, 0, 4),
    ]
    assert lines(queries, targets, rows) == [
        "q\tt\t+\t23\t32\t10\t0\t100.00",
        "q\tu\u00e9\t-\t1\t9\t10\t3\t70.00",
        f"{long}\tt\t+\t*\t*\t3\t-1\t*",
        f"{long}\tu\u00e9\t+\t11\t13\t3\t1\t66.67",
        "empty\t\t-\t1\t0\t0\t0\t100.00",
        "empty\tu\u00e9\t+\t6\t9\t0\t4\t0.00",
    ]
