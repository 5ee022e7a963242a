"""Chunks of bgzf that are inflated by whoever parses them: the same records, wherever blocks end."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest

from gpualign.errors import InputError
from gpualign.reads import packed
from gpualign.reads.packed import Packed, PackedText
from gpualign.text import chunks as chunker
from gpualign.text.chunks import read_chunks
from gpualign.text.fastx import Chunk, UncountedLine, parse
from gpualign.text.files import InputFile
from gpualign.text.text import Streamed
from tests.helpers.files import write_bgzf


def symbols(rng: np.random.Generator, among: bytes, count: int) -> bytes:
    return rng.choice(np.frombuffer(among, np.uint8), count).tobytes()


def fastq_text(count: int, length: int = 12) -> bytes:
    rng = np.random.default_rng(count)
    text = b""
    for i in range(count):
        bases = symbols(rng, b"ACGTN", int(rng.integers(0, 2 * length)))
        text += b"@r%d x\n%s\n+\n%s\n" % (i, bases, symbols(rng, b"@+>I", len(bases)))
    return text


def fasta_text(count: int) -> bytes:
    rng = np.random.default_rng(count)
    return b"".join(b">r%d\n%s\n%s\n" % (i, symbols(rng, b"ACGT", 9), symbols(rng, b"ACGT", 4)) for i in range(count))


def chunks_of(path: str, size: int) -> list[Chunk]:
    with InputFile(path, threads=2) as file:
        return list(read_chunks(Packed(file), size))


def elsewhere(chunk: Chunk) -> Chunk:
    copy: Chunk = pickle.loads(pickle.dumps(chunk, protocol=5))
    return copy


@pytest.mark.parametrize(
    "text", [fastq_text(60), fasta_text(40), fastq_text(3, 600), fastq_text(60).replace(b"\n", b"\r\n")]
)
@pytest.mark.parametrize("block", [1, 2, 3, 7, 19, 20, 21, 64, 500, 60_000])
@pytest.mark.parametrize("size", [1, 50, 333, 100_000])
def test_chunks_are_whole_records(tmp_path: Path, text: bytes, block: int, size: int) -> None:
    path = write_bgzf(tmp_path / "x.gz", text, block)
    chunks = chunks_of(path, size)
    assert b"".join(bytes(elsewhere(chunk).text()) for chunk in chunks) == text
    assert [chunk.first_line() for chunk in chunks] == [
        1 + text[: chunk.data.before].count(b"\n") for chunk in chunks if isinstance(chunk.data, PackedText)
    ]
    batches = [parse(chunk) for chunk in chunks]
    names = [batch.name(i) for batch in batches for i in range(len(batch))]
    assert names == [f"r{i}" for i in range(len(names))]
    assert len(names) == text.count(b"r")
    if size == 50 and block < 50 and text == fastq_text(60):
        assert len(chunks) > 10
    assert all(len(chunk.data) <= size + 3 * block + 8000 for chunk in chunks)


def test_few_blocks_are_inflated_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = fastq_text(3000)
    path = write_bgzf(tmp_path / "x.gz", text, 1000)
    asked: list[int] = []

    def inflated(blocks: bytes) -> np.ndarray:
        text = inflate(blocks)
        asked.append(len(text))
        return text

    inflate = packed.content_of
    monkeypatch.setattr(packed, "content_of", inflated)
    monkeypatch.setattr(chunker, "_WINDOW", 1000)
    chunks = chunks_of(path, 20_000)
    assert len(chunks) >= 4
    assert sum(asked) < len(text) / 5


def test_members_of_another_kind_after_the_blocks(tmp_path: Path) -> None:
    text, more = fastq_text(100), fastq_text(30)
    path = write_bgzf(tmp_path / "x.gz", text, 64, rest=gzip.compress(more))
    chunks = chunks_of(path, 500)
    assert b"".join(bytes(chunk.text()) for chunk in chunks) == text + more
    lines = 1
    for chunk in chunks:
        assert chunk.first_line() == lines
        lines += bytes(chunk.text()).count(b"\n")


@pytest.mark.parametrize("blank", [b"", b"\n", b" \n\n"])
def test_nothing_but_white_space(tmp_path: Path, blank: bytes) -> None:
    assert chunks_of(write_bgzf(tmp_path / "x.gz", blank, 1), 10) == []
    text = fastq_text(5)
    chunks = chunks_of(write_bgzf(tmp_path / "y.gz", text + blank.replace(b" ", b""), 16), 10)
    assert sum(len(parse(chunk)) for chunk in chunks) == 5


def test_a_file_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    write_bgzf(path, fastq_text(100), 64)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"x\.gz: compressed file ended early"):
        chunks_of(str(path), 500)


def test_a_damaged_block_is_told_by_who_inflates_it(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    write_bgzf(path, fastq_text(100), 256)
    data = bytearray(path.read_bytes())
    data[40] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"x\.gz: compressed data is damaged"):
        [elsewhere(chunk).text() for chunk in chunks_of(str(path), 1000)]


def test_lines_are_counted_where_the_file_is(tmp_path: Path) -> None:
    path = write_bgzf(tmp_path / "x.gz", fastq_text(100) + b"@bad\nA!\n+\nII\n" + fastq_text(9), 64)
    *_, chunk = (chunk for chunk in chunks_of(path, 500) if b"@bad" in bytes(chunk.text()))
    with pytest.raises(InputError) as here:
        parse(chunk)
    assert str(here.value).startswith(f"{path}:402: record 'bad'")
    with pytest.raises(UncountedLine) as there:
        parse(elsewhere(chunk))
    error = pickle.loads(pickle.dumps(there.value)).counted()
    assert str(error) == str(here.value)
    with InputFile(path) as file, pytest.raises(InputError) as usual:
        [parse(one) for one in read_chunks(Streamed(file), 500)]
    assert str(usual.value) == str(here.value)
