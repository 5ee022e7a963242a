"""Chunks whose text is read or joined where it is parsed: the same records as those that one reader reads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpualign import _native
from gpualign.errors import InputError
from gpualign.text.bgzf import BgzfCodec, bgzf_writer
from gpualign.text.chunks import read_chunks
from gpualign.text.fastx import parse
from gpualign.text.files import InputFile
from gpualign.text.text import InPieces, Stored
from tests.helpers.paths import GENOMES

Cli = Callable[..., tuple[int, bytes, str]]


def write_text(path: Path, text: bytes, packed: bool) -> None:
    """As it is, or as bgzf."""
    with open(path, "wb") as out:
        if packed:
            with bgzf_writer(out.write, 1) as writer:
                writer.write(text)
        else:
            out.write(text)


def records_of(text: bytes, path: Path, chunk_bytes: int, packed: bool) -> tuple[list[tuple[bytes, bytes]], int]:
    """Names and bases by chunks, and how many chunks there were, which cover the file and know their lines."""
    write_text(path, text, packed)
    found: list[tuple[bytes, bytes]] = []
    with InputFile(str(path), threads=2) as file:
        chunks = list(read_chunks((InPieces if packed else Stored)(file), chunk_bytes))
        ends = np.cumsum([0] + [bytes(chunk.text()).count(b"\n") for chunk in chunks])
        assert [chunk.first_line() for chunk in chunks] == (1 + ends[:-1]).tolist()
        assert b"".join(bytes(chunk.text()) for chunk in chunks) == text
        for chunk in chunks:
            batch = parse(chunk)
            names, bases = batch.names.tobytes(), batch.bases.tobytes()
            found += [
                (names[a:b], bases[c:d])
                for a, b, c, d in zip(
                    batch.name_offsets[:-1],
                    batch.name_offsets[1:],
                    batch.base_offsets[:-1],
                    batch.base_offsets[1:],
                    strict=True,
                )
            ]
    return found, len(chunks)


@functools.cache
def random_records(kind: str, longest: int) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Records whose bases and qualities fill 700,000 bytes, as (name, bases), and the text of them."""
    rng = np.random.default_rng(longest)
    records, text, total = [], [], 0
    while total < 700_000:
        bases = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, rng.integers(1, longest))].tobytes()
        name = b"@>+"[len(records) % 3 : len(records) % 3 + 1] + b"%d" % len(records)
        records.append((name, bases))
        qualities = rng.choice(np.frombuffer(b"@+>I", np.uint8), len(bases)).tobytes()
        text.append(b">%b\n%b\n" % (name, bases) if kind == "fasta" else b"@%b\n%b\n+\n%b\n" % (name, bases, qualities))
        total += len(bases) * (1 if kind == "fasta" else 2)
    return records, b"".join(text)


@pytest.mark.parametrize("chunk_bytes", [1000, 70_000, 1 << 20])
@pytest.mark.parametrize("longest", [30, 3000, 300_000])
@pytest.mark.parametrize("kind", ["fasta", "fastq"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_records_are_all_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, longest: int, chunk_bytes: int, packed: bool
) -> None:
    monkeypatch.setattr(BgzfCodec, "group_bytes", 1 << 14)  # a piece for almost every block
    expected, text = random_records(kind, longest)
    found, chunks = records_of(text, tmp_path / "reads", chunk_bytes, packed)
    assert found == expected
    assert chunks > 1 or chunk_bytes > 700_000 or longest > 3000


@pytest.mark.parametrize("chunk_bytes", [5000, 30_000, 400_000])
def test_a_compressed_file_is_cut_where_a_plain_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int
) -> None:
    """So that the files of pairs, which are compressed differently, are cut at the same records."""
    monkeypatch.setattr(BgzfCodec, "group_bytes", 1 << 14)
    text = b"".join(b"@r%05d\nACGTACGTAC\n+\nIIIIIIIIII\n" % i for i in range(20_000))
    sizes = []
    for packed in (False, True):
        write_text(tmp_path / "reads", text, packed)
        with InputFile(str(tmp_path / "reads"), threads=2) as file:
            chunks = read_chunks((InPieces if packed else Stored)(file), chunk_bytes)
            sizes.append([len(bytes(chunk.text())) for chunk in chunks])
    assert sizes[0] == sizes[1]
    assert len(sizes[0]) > 1


@pytest.mark.parametrize("text", [b"\n" * 100_000 + b">a\nAC\n", b">a\nAC\n" + b"\n" * 100_000, b">a\nAC"])
@pytest.mark.parametrize("packed", [False, True])
def test_white_space_and_ends(tmp_path: Path, text: bytes, packed: bool) -> None:
    path = tmp_path / "reads.fa"
    write_text(path, text, packed)
    with InputFile(str(path), threads=2) as file:
        batches = [parse(chunk) for chunk in read_chunks((InPieces if packed else Stored)(file), 1000)]
    assert [batch.bases.tobytes() for batch in batches if len(batch)] == [b"AC"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_bad_record_is_named_by_its_line(cli: Cli, tmp_path: Path, packed: bool) -> None:
    good = b"".join(b"@r%d\nACGTACGTAC\n+\nIIIIIIIIII\n" % i for i in range(20_000))
    path = tmp_path / "reads.fq"
    write_text(path, good + b"@bad\nACGT\n+\nIII\n" + good, packed)
    for option in ("64K", "4M"):
        status, _, err = cli("map", GENOMES, path, "-t", 2, "--batch-size", option, "-o", tmp_path / "out.sam")
        assert status == 3
        assert f"{path}:{4 * 20_000 + 4}" in err
        assert not (tmp_path / "out.sam").exists()


def test_a_file_that_becomes_shorter(tmp_path: Path) -> None:
    path = tmp_path / "reads.fq"
    path.write_bytes(b"@r\nACGTACGTAC\n+\nIIIIIIIIII\n" * 10_000)
    with InputFile(str(path)) as file:
        chunks = list(read_chunks(Stored(file), 100_000))
        path.write_bytes(b"@r\nACGTACGTAC\n+\nIIIIIIIIII\n" * 10)
        with pytest.raises(InputError, match="became shorter"):
            parse(chunks[-1])


@pytest.mark.parametrize("bytes_", [b"\n", b"A", b"A\nC\n\n"])
@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 64 * 255, 64 * 255 + 1, 64 * 511 + 63])
def test_newlines_are_counted(bytes_: bytes, size: int) -> None:
    text = (bytes_ * size)[:size]
    assert _native.count_newlines(text) == text.count(b"\n")
