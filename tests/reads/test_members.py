"""Members of bzip2, xz and zstd: in small pieces, what may follow them, large expansion, a module that is missing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

from gpualign.errors import InputError
from gpualign.reads.reads import read_file
from gpualign.text.bgzf import BGZF_END
from gpualign.text.fastx import Chunk
from gpualign.text.files import InputFile
from gpualign.text.streams import BZIP2_MAGIC, XZ_MAGIC, ZSTD_MAGICS, MemberReader
from tests.helpers.environment import SANITIZED
from tests.helpers.files import write_bgzf

Cli = Callable[..., tuple[int, bytes, str]]


class Drops(io.RawIOBase):
    """A stream that gives a few bytes at a time, as a pipe may."""

    def __init__(self, data: bytes, seed: int) -> None:
        self._data, self._at, self._random = data, 0, random.Random(seed)

    def read(self, size: int = -1) -> bytes:
        begin = self._at
        self._at += min(size, self._random.randint(1, 9))
        return self._data[begin : self._at]


#: what members begin with, and their decompressor
NEW: dict[str, tuple[Sequence[bytes], Callable[[], Any]]] = {
    "bzip2": ([BZIP2_MAGIC], bz2.BZ2Decompressor),
    "xz": ([XZ_MAGIC], partial(lzma.LZMADecompressor, lzma.FORMAT_XZ)),
    "zstd": (ZSTD_MAGICS, zstandard.ZstdDecompressor().decompressobj),
}
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
    "gzip": gzip.compress,
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", NEW)
def test_members_in_any_pieces(kind: str, seed: int) -> None:
    rng = random.Random(seed)
    texts = [rng.randbytes(rng.choice([0, 1, 1000, 70_000])) for _ in range(6)]
    data = b"".join(COMPRESS[kind](text) + bytes(rng.choice([0, 0, 4, 5000])) for text in texts).rstrip(b"\0")
    assert io.BufferedReader(MemberReader(Drops(data, seed), *NEW[kind])).read() == b"".join(texts)
    cut = data[: -rng.randint(1, 3)]
    with pytest.raises(EOFError):
        io.BufferedReader(MemberReader(Drops(cut, seed), *NEW[kind])).read()


TEXT = b">r\n" + b"ACGT" * 30_000 + b"\n"


def read(path: Path, threads: int) -> bytes:
    with InputFile(str(path), threads) as file:
        return file.read(1 << 20)


@pytest.mark.parametrize("kind", [*COMPRESS, "bgzf"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("zeros", [1, 17, 18, 512, 3 << 20])
def test_zeros_after_members(tmp_path: Path, kind: str, threads: int, zeros: int) -> None:
    """As tapes pad files, and as xz may pad streams."""
    path = tmp_path / "x"
    write_bgzf(path, TEXT, 5000)
    data = path.read_bytes() if kind == "bgzf" else COMPRESS[kind](TEXT)
    path.write_bytes(data + bytes(zeros))
    assert read(path, threads) == TEXT
    assert sum(len(chunk.text()) for chunk in chunks_of(path)) == len(TEXT)
    path.write_bytes(data + bytes(zeros) + (gzip.compress(TEXT) if kind == "bgzf" else data))
    assert read(path, threads) == 2 * TEXT
    assert sum(len(chunk.text()) for chunk in chunks_of(path)) == 2 * len(TEXT)


def chunks_of(path: Path) -> list[Chunk]:
    with InputFile(str(path)) as file:
        return list(read_file(file, 1 << 16))


@pytest.mark.parametrize("kind", [*COMPRESS, "bgzf"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("zeros", [0, 3, 600_000])
@pytest.mark.parametrize("other", [b"\n", b"garbage", b"garbage 9", b"garbage of thirty bytes or more", b">r\nAC\n"])
def test_what_follows_and_is_no_member(tmp_path: Path, kind: str, threads: int, other: bytes, zeros: int) -> None:
    """Nothing is left out in silence: it may have been a member."""
    path = tmp_path / "x"
    write_bgzf(path, TEXT, 5000)
    path.write_bytes((path.read_bytes() if kind == "bgzf" else COMPRESS[kind](TEXT)) + bytes(zeros) + other)
    for look in (lambda: read(path, threads), lambda: chunks_of(path)):
        with pytest.raises(InputError, match=r"x: other bytes follow the compressed data \(cut"):
            look()


@pytest.mark.parametrize("kind", [*COMPRESS, "bgzf"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_cut_is_one_wherever_it_is(tmp_path: Path, kind: str, threads: int) -> None:
    """In a header, in what is compressed, in a trailer of the second member."""
    path, text = tmp_path / "x", TEXT[:3000]
    write_bgzf(path, text, 5000)
    member = path.read_bytes().removesuffix(BGZF_END) if kind == "bgzf" else COMPRESS[kind](text)
    for end in {*range(1, 40, 1 + (len(member) > 60)), *range(len(member) - 14, len(member))} & {*range(len(member))}:
        path.write_bytes(member + member[:end])
        with pytest.raises(InputError, match=r"x: compressed file ended early \(copy"):
            read(path, threads)


@pytest.mark.parametrize(("window_log", "read_here"), [(27, True), (28, False), (31, False)])
def test_windows_of_zstd(tmp_path: Path, window_log: int, read_here: bool) -> None:
    """A frame made by hand: its window, and one raw block, the last."""
    path = tmp_path / "x.zst"
    header = bytes([0x28, 0xB5, 0x2F, 0xFD, 0, (window_log - 10) << 3])
    path.write_bytes(header + (8 << 3 | 1).to_bytes(3, "little") + b">r\nACGT\n")
    if read_here:
        assert read(path, 1) == b">r\nACGT\n"
        return
    with pytest.raises(InputError, match=r"x\.zst: needs more than 128M to be decompressed \(pipe it: zstd -dc"):
        read(path, 1)


@pytest.mark.skipif(SANITIZED, reason="a sanitizer copies all of what grows, each time that it grows")
def test_memory_is_bounded(tmp_path: Path) -> None:
    """A gigabyte of one byte takes 32 KB."""
    (tmp_path / "x.zst").write_bytes(zstandard.compress(bytes(1 << 30)))
    tracemalloc.start()
    count = 0
    with InputFile(str(tmp_path / "x.zst")) as file:
        while part := file.read(1 << 20):
            count += len(part)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 1 << 30
    assert peak < 300 << 20
