"""Compressed files whose one stream is inflated in a thread of its own, and cut in another."""

from __future__ import annotations

import bz2
import gzip
import lzma
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpualign.errors import InputError
from gpualign.reads import reads
from gpualign.reads.reads import ReadSource
from gpualign.text import streams
from gpualign.text.chunks import read_chunks
from gpualign.text.files import InputFile
from gpualign.text.text import Source

TEXT = b"".join(b"@read%d\n%s\n+\n%s\n" % (i, b"ACGT" * (i % 9), b"FFFF" * (i % 9)) for i in range(5000))


def names(path: Path) -> list[str]:
    with ReadSource(str(path)) as source:
        batches = [item.columns() for item in source.chunks(2000)]
    assert len(batches) > 3
    return [batch.name(i) for batch in batches for i in range(len(batch))]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_one_thread_inflates_and_another_cuts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress) -> None:
    cutting, inflating = set(), set()
    readinto = InputFile.readinto

    def noted(source: Source, chunk_bytes: int):
        for chunk in read_chunks(source, chunk_bytes):
            cutting.add(threading.get_ident())
            yield chunk

    def noted_readinto(self: InputFile, view: memoryview) -> int:
        inflating.add(threading.get_ident())
        return readinto(self, view)

    monkeypatch.setattr(reads, "read_chunks", noted)
    monkeypatch.setattr(InputFile, "readinto", noted_readinto)
    path = tmp_path / "reads"
    path.write_bytes(compress(TEXT))
    assert names(path) == [f"read{i}" for i in range(5000)]
    assert len(cutting) == len(inflating) == 1
    assert len(cutting | inflating | {threading.get_ident()}) == 3


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, bytes])
def test_text_is_read_to_pinned_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]
) -> None:
    path, pinned = tmp_path / "reads", []
    path.write_bytes(compress(TEXT))

    def allocate(nbytes: int) -> NDArray[np.uint8] | None:
        pinned.append(np.empty(nbytes, np.uint8) if len(pinned) % 3 else None)  # now and then there is none
        return pinned[-1]

    monkeypatch.setattr("gpualign.text.text._SMALL_FILE", 1 << 20)  # larger ones stay in their files
    with ReadSource(str(path)) as source:
        source.allocate = allocate
        chunks = list(source.chunks(2000))
    assert b"".join(chunk.text().tobytes() for chunk in chunks) == TEXT
    held = [any(np.shares_memory(chunk.text(), array) for array in pinned if array is not None) for chunk in chunks]
    assert held == [number % 3 > 0 for number in range(len(held))]


def test_memory_is_used_again_only_when_its_text_has_been_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 4,000 bytes and a slow reader: were a part overwritten, names would be missing."""
    readinto = streams.TextOfPieces.readinto

    def late(self: streams.TextOfPieces, view: memoryview) -> int:
        time.sleep(0.002)  # as many parts as may be are made meanwhile
        return readinto(self, view)

    monkeypatch.setattr(streams.TextOfPieces, "readinto", late)
    path = tmp_path / "reads.gz"
    path.write_bytes(gzip.compress(TEXT))
    assert names(path) == [f"read{i}" for i in range(5000)]


def test_damage_comes_after_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "reads.gz"
    path.write_bytes(gzip.compress(TEXT)[:-2000])
    whole = 0

    def read_all(source: ReadSource) -> None:
        nonlocal whole
        for item in source.chunks(2000):
            whole += len(item.columns())

    with ReadSource(str(path)) as source, pytest.raises(InputError, match="ended early"):
        read_all(source)
    assert 0 < whole < 5000


def test_who_stops_early_leaves_no_thread(tmp_path: Path) -> None:
    path = tmp_path / "reads.gz"
    path.write_bytes(gzip.compress(TEXT))
    with ReadSource(str(path)) as source:
        items = source.chunks(2000)
        next(items)
        items.close()  # type: ignore[attr-defined]
        del items  # Python 3.12 keeps what a closed generator holds as long as that
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("gpualign-ahead")]
