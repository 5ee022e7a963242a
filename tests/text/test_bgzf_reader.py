"""bgzf read by several threads, against Python's gzip."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pysam
import pytest
from numpy.typing import NDArray

from gpualign.errors import InputError
from gpualign.text.bgzf import BgzfCodec, inflated_in
from gpualign.text.files import InputFile

TEXT = b"".join(b"line %d of some text\n" % i for i in range(200_000))


def bgzf(path: Path, text: bytes) -> bytes:
    with pysam.BGZFile(str(path), "wb") as file:
        file.write(text)
    return path.read_bytes()


def read(path: Path, threads: int) -> bytes:
    parts = io.BytesIO()
    with InputFile(str(path), threads) as file:
        while part := file.read(300_001):
            parts.write(part)
    return parts.getvalue()


def test_the_cpu_inflates_what_a_device_does_not_take(tmp_path: Path) -> None:
    """In pieces as small as of its own groups."""
    path, asked = tmp_path / "a.gz", []
    bgzf(path, 10 * TEXT)

    class Nothing(BgzfCodec):
        group_bytes = 8 << 20

        def inflate(self, blocks: NDArray[np.uint8]) -> None:
            asked.append(len(blocks))

    with InputFile(str(path), 2) as file:
        file.inflate_by(Nothing())
        pieces = list(file.pieces())
    assert b"".join(bytes(piece) for piece, *_ in pieces) == 10 * TEXT
    assert sum(newlines for _, newlines, _ in pieces) == 2_000_000
    assert max(asked) > 4 << 20
    assert max(len(piece) for piece, *_ in pieces) < len(TEXT) * 4


def test_the_cpu_inflates_to_pinned_memory(tmp_path: Path) -> None:
    blocks, pinned = np.frombuffer(bgzf(tmp_path / "a.gz", TEXT), np.uint8), []

    def allocate(nbytes: int) -> NDArray[np.uint8]:
        pinned.append(np.full(nbytes, 0xFF, np.uint8))
        return pinned[-1]

    text = inflated_in(allocate, blocks)
    assert text is not None
    assert text.tobytes() == TEXT
    assert np.shares_memory(text, pinned[0])
    assert inflated_in(lambda nbytes: None, blocks) is None
    nothing = inflated_in(allocate, blocks[:0])
    assert nothing is not None
    assert len(nothing) == 0


@pytest.mark.parametrize("at", [-40, 200, -29 - 4, -29 - 8])  # of 28 bytes is the last block
def test_damaged_blocks_are_not_inflated_to_pinned_memory(tmp_path: Path, at: int) -> None:
    blocks = np.frombuffer(bgzf(tmp_path / "a.gz", TEXT), np.uint8).copy()
    blocks[at] ^= 0x55
    with pytest.raises(ValueError, match="block"):
        inflated_in(lambda nbytes: np.empty(nbytes, np.uint8), blocks)


def test_memory_that_is_too_small_for_blocks(tmp_path: Path) -> None:
    blocks = np.frombuffer(bgzf(tmp_path / "a.gz", TEXT), np.uint8)
    with pytest.raises(ValueError, match="no space"):
        inflated_in(lambda nbytes: np.empty(nbytes - 1, np.uint8), blocks)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_read_what_gzip_reads(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "a.gz"
    bgzf(path, TEXT)
    assert gzip.decompress(path.read_bytes()) == TEXT
    assert read(path, threads) == TEXT


def test_blocks_and_other_members_one_after_another(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    blocks = bgzf(path, TEXT)  # with the empty block at its end, which is no end here
    path.write_bytes(blocks + blocks + gzip.compress(b"plain\n") + blocks)
    assert read(path, 3) == TEXT + TEXT + b"plain\n" + TEXT


@pytest.mark.parametrize("kept", [-1, -40, 70_000, 20])
def test_cut_short(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(bgzf(path, TEXT)[:kept])
    with pytest.raises(InputError, match="ended early"):
        read(path, 3)


@pytest.mark.parametrize("field", ["content", "checksum", "length"])
def test_damage(tmp_path: Path, field: str) -> None:
    path = tmp_path / "a.gz"
    data = bytearray(bgzf(path, TEXT))
    size = int.from_bytes(data[16:18], "little") + 1  # of the first block
    data[{"content": size // 2, "checksum": size - 8, "length": size - 1}[field]] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        read(path, 3)


def test_a_whole_file_without_its_last_block(tmp_path: Path) -> None:
    """The empty block at the end says that nothing is missing; tools differ in whether they want it. gzip does not."""
    path = tmp_path / "a.gz"
    path.write_bytes(bgzf(path, TEXT)[:-28])
    assert read(path, 3) == gzip.decompress(path.read_bytes()) == TEXT


@pytest.mark.parametrize(("begin", "lines"), [(b"", 200_000), (b"BAM\x01", 0)])
def test_the_lines_of_bam_are_not_counted(tmp_path: Path, begin: bytes, lines: int) -> None:
    path = tmp_path / "a.gz"
    bgzf(path, begin + TEXT)
    with InputFile(str(path), 2) as file:
        pieces = list(file.pieces())
    assert b"".join(bytes(piece) for piece, *_ in pieces) == begin + TEXT
    assert sum(newlines for _, newlines, _ in pieces) == lines
