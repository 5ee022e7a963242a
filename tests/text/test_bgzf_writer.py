"""bgzf written and inflated by ISA-L in native code, and written by zlib-ng at a level, against Python's gzip."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gpualign import _native
from gpualign.sequences.offsets import offsets_of
from gpualign.text import bgzf
from gpualign.text.bgzf import BLOCK_CONTENT

TEXTS = [
    b"",
    b"A",
    b"ACGT" * 5,
    b"A" * 65_280,
    b"A" * 65_281,
    os.urandom(200_000),
    b"line\n" * 70_000 + os.urandom(999),
]


def blocks(text: bytes, threads: int = 2) -> bytes:
    parts: list[bytes] = []
    with bgzf.bgzf_writer(lambda part: parts.append(bytes(part)), threads) as writer:
        for at in range(0, len(text), 50_001):
            writer.write(text[at : at + 50_001])
    return b"".join(parts)


def contents(packed: bytes) -> list[bytes]:
    """Of each block."""
    ends = offsets_of(_native.bgzf_block_sizes(packed)[0]).tolist()
    return [gzip.decompress(packed[a:b]) for a, b in itertools.pairwise(ends)]


@pytest.mark.parametrize("text", TEXTS, ids=len)
def test_blocks_hold_the_text(text: bytes) -> None:
    native = blocks(text)
    inflated = bgzf._inflated(native) if native else None
    assert blocks(text, 1) == native
    assert contents(native) == [text[at : at + 65_280] for at in range(0, len(text), 65_280)] + [b""]
    assert gzip.decompress(native) == text
    ends = offsets_of(_native.bgzf_block_sizes(native)[0]).tolist()
    assert len(ends) == -(-len(text) // BLOCK_CONTENT) + 2
    assert [found.start() for found in re.finditer(rb"\x1f\x8b\x08\x04.{8}BC", native, re.DOTALL)] == ends[:-1]
    assert ends[-1] == len(native)
    assert inflated is not None
    assert inflated.tobytes() == text


def test_blocks_are_the_same_from_thread_to_thread() -> None:
    """ISA-L hashes bits of its memory's address with a text's first bytes: 240 of these texts differed."""
    texts = np.random.default_rng(5).integers(0, 256, (20_000, 96), np.uint8)
    texts[:, 40:44], texts[:, 60:64] = texts[:, 2:6], texts[:, :4]  # matches at the first bytes

    def of_new_thread(_: int) -> list[bytes]:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: [bytes(bgzf._blocks(text.data)) for text in texts]).result()

    with ThreadPoolExecutor(4) as pool:  # at the same time, so that no thread has the memory of another
        first, *others = pool.map(of_new_thread, range(4))
    assert [sum(map(bytes.__ne__, first, other)) for other in others] == [0, 0, 0]


@pytest.mark.parametrize("pieces", [1, 65_280, 70_001, 400_000])
@pytest.mark.parametrize("text", TEXTS, ids=len)
def test_pieces_that_are_cut_where_they_are_made(text: bytes, pieces: int) -> None:
    if pieces == 1:
        text = text[:300]
    parts: list[bytes] = []
    header = b"header" * 20_000
    with bgzf.bgzf_writer(lambda part: parts.append(bytes(part)), 2) as writer:
        writer.write(header)
        for at in range(0, len(text), pieces):
            piece = np.frombuffer(text[at : at + pieces], np.uint8)
            writer.write_cut(bgzf.CutBlocks.of(piece, len(header) + at))
    assert b"".join(parts) == blocks(header + text)


@pytest.mark.parametrize("level", range(10))
@pytest.mark.parametrize("text", TEXTS, ids=len)
def test_levels(text: bytes, level: int) -> None:
    """Whole pieces, and those that are cut where they are made, in blocks of the usual content."""
    made = []
    for threads in (1, 2):
        parts: list[bytes] = []
        with bgzf.bgzf_writer(lambda part, parts=parts: parts.append(bytes(part)), threads, level=level) as writer:
            writer.write(b"header")
            for at in range(0, len(text), 50_001):
                piece = np.frombuffer(text[at : at + 50_001], np.uint8)
                writer.write_cut(bgzf.CutBlocks.of(piece, len(b"header") + at, level))
        made.append(contents(b"".join(parts)))
    whole = b"header" + text
    assert made[0] == made[1] == [whole[at : at + 65_280] for at in range(0, len(whole), 65_280)] + [b""]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "content": lambda block: block[:40] + bytes([block[40] ^ 0x55]) + block[41:],
    "checksum": lambda block: block[:-8] + bytes([block[-8] ^ 1]) + block[-7:],
    "length": lambda block: block[:-4] + bytes([block[-4] ^ 1]) + block[-3:],
    "impossible length": lambda block: block[:-4] + b"\xff\xff\xff\xff",
    "short": lambda block: block[:16] + b"\x19\0" + block[18:26],
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage(kind: str) -> None:
    block = blocks(b"".join(b"%d of some text\n" % i for i in range(3000)))[:-28]
    assert bgzf._inflated(block).tobytes().count(b"\n") == 3000
    with pytest.raises(zlib.error):
        bgzf._inflated(DAMAGE[kind](block))
