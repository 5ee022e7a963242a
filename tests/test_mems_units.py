"""Numbers of the matches that units of work of ``cuda/mems.cu`` have found."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpualign.gpu.kernels.mems_units import LEFT_OVER, number_units

#: of each tile: its warp's count, and those of its further parts
TILES = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=12)


@given(TILES, st.randoms(use_true_random=False))
def test_matches_are_numbered_by_tile_and_part(tiles: list[list[int]], random: object) -> None:
    entries = [(tile, part, count) for tile, counts in enumerate(tiles) for part, count in enumerate(counts) if part]
    entries += [(0, 0, 0)] * 3  # room that nobody took
    random.shuffle(entries)  # type: ignore[attr-defined]
    left_over = np.zeros(1, LEFT_OVER)
    for place, (tile, part, count) in enumerate(entries):
        left_over["parts"][0][place] = (tile, part)
        left_over["counts"][0][place] = count
    units = number_units(np.array([counts[0] for counts in tiles], np.uint32), left_over)
    expected, number = {}, 0
    for tile, counts in enumerate(tiles):
        assert units.tile_offsets[tile] == number
        for part, count in enumerate(counts):
            expected[tile, part] = (number, count)
            number += count
    assert units.tiles == len(tiles)
    assert units.tile_offsets[-1] == number
    found = list(zip(units.offsets.tolist(), units.counts.tolist(), strict=True))
    assert found[: len(tiles)] == [expected[tile, 0] for tile in range(len(tiles))]
    for place, (tile, part, _) in enumerate(entries):
        if part:
            assert found[len(tiles) + place] == expected[tile, part]
        elif len(tiles) + place < len(found):
            assert found[len(tiles) + place][1] == 0
