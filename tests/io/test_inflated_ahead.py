"""Compressed files whose one stream is inflated in a thread of its own."""

from __future__ import annotations

import bz2
import gzip
import lzma
import threading
from pathlib import Path

import pytest

from gpualign.errors import InputError
from gpualign.io import reads
from gpualign.io.fastx import read_chunks
from gpualign.io.files import InputFile
from gpualign.io.reads import ReadSource

TEXT = b"".join(b"@read%d\n%s\n+\n%s\n" % (i, b"ACGT" * (i % 9), b"FFFF" * (i % 9)) for i in range(5000))


def names(path: Path) -> list[str]:
    with ReadSource(str(path)) as source:
        batches = [reads.to_batch(item) for item in source.items(2000)]
    assert len(batches) > 3
    return [batch.name(i) for batch in batches for i in range(len(batch))]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_another_thread_inflates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress) -> None:
    threads = set()

    def noted(file: InputFile, chunk_bytes: int):
        for chunk in read_chunks(file, chunk_bytes):
            threads.add(threading.current_thread().name)
            yield chunk

    monkeypatch.setattr(reads, "read_chunks", noted)
    path = tmp_path / "reads"
    path.write_bytes(compress(TEXT))
    assert names(path) == [f"read{i}" for i in range(5000)]
    assert threads
    assert all(name.startswith("gpualign-ahead") for name in threads)


def test_damage_comes_after_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "reads.gz"
    path.write_bytes(gzip.compress(TEXT)[:-2000])
    whole = 0

    def read_all(source: ReadSource) -> None:
        nonlocal whole
        for item in source.items(2000):
            whole += len(reads.to_batch(item))

    with ReadSource(str(path)) as source, pytest.raises(InputError, match="ended early"):
        read_all(source)
    assert 0 < whole < 5000


def test_who_stops_early_leaves_no_thread(tmp_path: Path) -> None:
    path = tmp_path / "reads.gz"
    path.write_bytes(gzip.compress(TEXT))
    with ReadSource(str(path)) as source:
        items = source.items(2000)
        next(items)
        items.close()  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("gpualign-ahead")]
