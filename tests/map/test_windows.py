"""Windows of the reference that the device does not search, as too few pieces of a read are there, next to edlib."""

from __future__ import annotations

import edlib
import numpy as np
import pytest

from tests.helpers import native
from tests.helpers.sequences import random_text, reverse_complement, with_edits

LIMIT = 12


def may_be_within(text: str, read: str, reverse: bool, begin: int, columns: int) -> bool:
    return bool(native.may_be_within(text.encode(), read.encode(), reverse, begin, columns, LIMIT))


@pytest.mark.parametrize("alphabet", ["ACGT", "AC"])
@pytest.mark.parametrize("edits", range(0, 16, 3))
def test_a_read_within_its_limit_is_never_left_out(alphabet: str, edits: int) -> None:
    rng = np.random.default_rng([edits, len(alphabet)])
    within = 0
    for trial in range(60):
        length = int(rng.integers(60, 151))
        text = random_text(rng, 400, alphabet)
        start, before, after = int(rng.integers(30, 200)), int(rng.integers(-14, 20)), int(rng.integers(-14, 20))
        read = with_edits(rng, text[start : start + length], edits)
        begin, end = start - before, start + length + after
        if edlib.align(read, text[begin:end], mode="HW")["editDistance"] > LIMIT:
            continue
        within += 1
        reverse = trial % 2 == 1
        assert may_be_within(text, reverse_complement(read) if reverse else read, reverse, begin, end - begin)
    assert edits > 10 or within > 20


def test_a_text_without_the_read_has_too_few_pieces() -> None:
    """800 bases have 5 % of all 7-mers, a read of 150 bases has 21 and must keep 9 of them."""
    rng = np.random.default_rng(5)
    text, read = random_text(rng, 1000), random_text(rng, 150)
    assert not may_be_within(text, read, False, 100, 800)
    assert not may_be_within(text + read[:42], read, False, 256, 786)  # 6 pieces, and perhaps one by chance
    assert may_be_within(text + read[:70], read, False, 256, 814)
    assert may_be_within(text + reverse_complement(read)[-70:], read, True, 256, 814)


def test_ambiguous_bases_of_a_read() -> None:
    """They are 12 edits of its own limit, in 12 of its 21 pieces; the other 9 are there."""
    rng = np.random.default_rng(6)
    text = random_text(rng, 300)
    read = text[100:250]
    for at in range(0, 84, 7):
        read = read[:at] + "N" + read[at + 1 :]
    assert may_be_within(text, read, False, 90, 170)


def test_a_window_smaller_than_a_piece() -> None:
    text = random_text(np.random.default_rng(7), 300)
    assert not may_be_within(text, text[100:250], False, 100, 3)
