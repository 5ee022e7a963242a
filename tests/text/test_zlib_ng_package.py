"""BGZF by zlib-ng at every level, and what gpualign uses of its package without its promise."""

from __future__ import annotations

import gzip
import random

import numpy as np
import pytest

from gpualign.errors import GpualignError
from gpualign.text import deflate_packages
from gpualign.text.bgzf import BLOCK_CONTENT, LARGEST_BLOCK

TEXT = np.frombuffer(b"".join(b"line %d\n" % i for i in range(30_000)), np.uint8)
#: cannot be compressed
NOISE = np.frombuffer(random.Random(1).randbytes(2 * BLOCK_CONTENT + 1), np.uint8)


@pytest.mark.parametrize("level", range(10))
@pytest.mark.parametrize("text", [TEXT, NOISE, TEXT[:1], TEXT[:0]], ids=["text", "noise", "one byte", "nothing"])
def test_blocks_of_every_level(text: np.ndarray, level: int) -> None:
    blocks = bytes(deflate_packages.zlib_ng().compress(text, level))
    assert gzip.decompress(blocks) == text.tobytes()
    sizes = []
    while blocks:
        sizes.append(int.from_bytes(blocks[16:18], "little") + 1)  # SAM specification, section 4.1.1: BSIZE
        blocks = blocks[sizes[-1] :]
    assert len(sizes) == -(-len(text) // BLOCK_CONTENT)
    assert max(sizes, default=0) <= LARGEST_BLOCK


def test_higher_levels_are_smaller() -> None:
    sizes = [len(deflate_packages.zlib_ng().compress(TEXT, level)) for level in (0, 1, 5, 9)]
    assert sizes == sorted(sizes, reverse=True)


def test_a_package_without_them_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deflate_packages, "_OF_ZLIB_NG", ("zng_no_such_function",))
    with pytest.raises(GpualignError, match=r"zlib-ng package does not show zlib-ng .*zng_no_such_function"):
        deflate_packages.zlib_ng.__wrapped__()
