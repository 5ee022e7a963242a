"""Structs of pairwise as the kernels read them: bytes by hand from cuda/abi/pairwise.hpp."""

from __future__ import annotations

import struct as bytes_of

from gpualign.run.abi import filled


def test_a_scheme_with_its_nested_end_gaps() -> None:
    ends = ((1, 2), (3, 4), (5, 6), (7, 8))
    scheme = filled(
        "LazyScheme", scores=9, symbols=5, shift=1, opening=-3, bias=-7, extend=2, cheap_ends=10, free_ends=6, ends=ends
    )
    assert scheme.tobytes() == bytes_of.pack("<Q5iHH8i", 9, 5, 1, -3, -7, 2, 10, 6, *range(1, 9))


def test_a_walk_with_its_padding() -> None:
    walk = filled("PartWalk", i=1 << 40, j=2, state=1, result=tuple(range(3, 13)), operation=3, length=9)
    assert walk.tobytes() == bytes_of.pack("<qqi4x10iII", 1 << 40, 2, 1, *range(3, 13), 3, 9)
