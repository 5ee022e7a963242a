"""Zstandard streams in small pieces, of large expansion, and where no module reads them."""

from __future__ import annotations

import io
import random
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from gpualign.io.files import InputFile
from gpualign.io.zstd import ZstdReader
from tests.helpers.paths import GENOMES

Cli = Callable[..., tuple[int, bytes, str]]


class Drops(io.RawIOBase):
    """A stream that gives a few bytes at a time, as a pipe may."""

    def __init__(self, data: bytes, seed: int) -> None:
        self._data, self._random = data, random.Random(seed)

    def read(self, size: int = -1) -> bytes:
        count = min(size, self._random.randint(1, 9))
        taken, self._data = self._data[:count], self._data[count:]
        return taken


@pytest.mark.parametrize("seed", range(5))
def test_frames_in_any_pieces(seed: int) -> None:
    rng = random.Random(seed)
    texts = [rng.randbytes(rng.choice([0, 1, 1000, 70_000])) for _ in range(6)]
    data = b"".join(zstandard.compress(text, rng.choice([1, 19])) for text in texts)
    assert io.BufferedReader(ZstdReader(Drops(data, seed))).read() == b"".join(texts)
    cut = data[: -rng.randint(1, 3)]
    with pytest.raises(EOFError):
        io.BufferedReader(ZstdReader(Drops(cut, seed))).read()


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


def test_without_a_module(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.zst").write_bytes(zstandard.compress(b">r\nACGT\n"))
    for module in ("compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    code, _, error = cli("map", GENOMES, tmp_path / "x.zst")
    assert code == 3
    assert (
        error == f"gpualign map: error: {tmp_path}/x.zst: is compressed with zstd (pip install zstandard to read it)\n"
    )
