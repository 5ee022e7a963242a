"""Pairs of two files, cut at the same records, as text that may travel; pairs of one interleaved file."""

from __future__ import annotations

import gzip
import pickle
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from gpualign import _native
from gpualign.errors import InputError
from gpualign.reads.fastq_text import FastqText
from gpualign.reads.lanes import interleaved_reads, paired_reads
from gpualign.reads.reads import Reads, ReadSource
from gpualign.text.fastx import Chunk
from gpualign.text.files import InputFile
from gpualign.text.text import HeldText, StoredText
from tests.helpers.files import write_bgzf

TILE = _native.FASTQ_TILE


def mate_records(count: int, mate: int) -> list[bytes]:
    """Of other lengths in each file, so that no two borders are in the same place."""
    rng = random.Random(mate)
    made = []
    for i in range(count):
        length = rng.randrange(1, 300)
        bases = "".join(rng.choices("ACGTN", k=length))
        made.append(f"@r{i}/{mate} x:{'y' * rng.randrange(9)}\n{bases}\n+\n{'@+I,'[i % 4] * length}\n".encode())
    return made


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    """The two files, one of small blocks and one of large ones."""
    texts = [b"".join(mate_records(400, mate)) for mate in (1, 2)]
    return [
        write_bgzf(tmp_path / f"{mate}.gz", text, block)
        for mate, text, block in zip((1, 2), texts, (700, 9000), strict=True)
    ]


def parts_of(paths: list[str], batch: int, threads: int = 1) -> Iterator[Reads]:
    with (
        closing(ReadSource(paths[0], threads=threads)) as first,
        closing(ReadSource(paths[1], threads=threads)) as second,
    ):
        for item in paired_reads(first, second, batch, threads=threads, as_text=True):
            assert item.texts
            yield item


def elsewhere(item: Reads) -> Reads:
    copy: Reads = pickle.loads(pickle.dumps(item, protocol=5))
    return copy


def chunks_of(item: Reads) -> list[Chunk]:
    """Those in which it travels."""
    chunks = [replace(chunk) for replace, (chunk,) in (side.__reduce__() for side in item.texts)]
    assert all(isinstance(chunk, Chunk) for chunk in chunks)
    return chunks


@pytest.mark.parametrize("batch", [1, 2000, 20_000, 1 << 20])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_pairs_of_both_files_in_order(paths: list[str], batch: int, threads: int) -> None:
    expected = [
        (b"r%d" % i, text.split(b"\n")[1], text.split(b"\n")[3])
        for i, pair in enumerate(zip(mate_records(400, 1), mate_records(400, 2), strict=True))
        for text in pair
    ]
    found = []
    for item in parts_of(paths, batch, threads):
        reads = elsewhere(item).columns()
        assert reads.mates is not None
        assert reads.mates.tolist() == [1, 2] * len(item.texts[0])
        found += [(reads.name(i).encode(), reads.sequence(i), reads.quality(i)) for i in range(len(reads))]
    assert found == expected


def test_text_in_files_travels_as_its_bytes(tmp_path: Path) -> None:
    texts = [b"".join(mate_records(900, mate)) for mate in (1, 2)]
    paths = []
    for mate, text in zip("12", texts, strict=True):
        path = tmp_path / f"{mate}.fq"
        path.write_bytes(text)
        paths.append(str(path))
    assert min(map(len, texts)) > 1 << 16  # it stays in such a file until it is parsed
    items = [elsewhere(item) for item in parts_of(paths, 50_000)]
    assert len(items) > 2
    for side, text in enumerate(texts):
        chunks = [item.sides[side] for item in items]
        assert b"".join(bytes(chunk.text()) for chunk in chunks if isinstance(chunk, Chunk)) == text


@pytest.mark.parametrize("side", [0, 1])
def test_a_malformed_record_has_its_file_and_line(tmp_path: Path, side: int) -> None:
    paths = []
    for mate in (1, 2):
        made = mate_records(200, mate)
        if mate == side + 1:
            made[150] = b"@bad\nACGT\n+\nIII\n"
        paths.append(write_bgzf(tmp_path / f"{mate}.gz", b"".join(made), 500))
    errors = []
    for item in parts_of(paths, 10_000):
        try:
            elsewhere(item).columns()
        except InputError as error:
            errors.append(str(error))
    assert errors == [f"{paths[side]}:604: record 'bad': 4 bases but 3 qualities"]


def test_files_of_other_lengths_and_names(tmp_path: Path) -> None:
    one, other = mate_records(300, 1), mate_records(300, 2)
    texts = {"1.gz": one, "2.gz": other[:-7]}
    paths = [write_bgzf(tmp_path / name, b"".join(made), 600) for name, made in texts.items()]
    with pytest.raises(InputError, match="differ in length: 300 reads here, 293 in"):
        list(parts_of(paths, 10_000))
    write_bgzf(tmp_path / "2.gz", b"".join([*other[:200], other[5], *other[201:]]), 600)
    *_, bad = (item for item in parts_of(paths, 30_000) if b"@r200/" in bytes(chunks_of(item)[0].text()))
    with pytest.raises(InputError, match="named 'r200/1' and 'r5/2'"):
        elsewhere(bad).columns()


def test_parts_at_every_record(tmp_path: Path) -> None:
    """Of text in memory and in a file; records begin at each byte next to the border of a tile."""
    made = mate_records(60, 1)
    for shift in range(-5, 6):
        filled = b"@x\n%s\n+\n%s\n" % (b"A" * (TILE // 2 - 4 + shift), b"I" * (TILE // 2 - 4 + shift))
        text = b"".join([filled, *made])
        ends = np.cumsum([0, len(filled), *map(len, made)]).tolist()
        path = tmp_path / "x.fq"
        path.write_bytes(text)
        with InputFile(str(path)) as file:
            stored = StoredText(file.stored(), 0, len(text))
        held = HeldText((np.frombuffer(text, np.uint8),))
        for data in (held, stored):
            whole = FastqText.of(Chunk(data, "fastq", str(path), None))
            assert whole is not None
            for start in range(61):
                for count in {0, 1, 5, 61 - start}:
                    ((part, *_),) = whole.part(start, start + count).__reduce__()[1:]
                    end = ends[min(61, start + count)]
                    assert bytes(part.text()) == text[ends[start] : end]
                    assert data is held or part.first_line() == 1 + text[: ends[start]].count(b"\n")


def named(names: list[str], fasta: bool = False) -> bytes:
    rng = random.Random(len(names))
    made = []
    for name in names:
        bases = "".join(rng.choices("ACGT", k=rng.randrange(1, 30)))
        made.append(f">{name}\n{bases}\n" if fasta else f"@{name} x\n{bases}\n+\n{'@' * len(bases)}\n")
    return "".join(made).encode()


def runs_of_names() -> list[str]:
    """Mostly pairs, with one, three or more neighbours of a name here and there."""
    rng = random.Random(7)
    names = []
    for i in range(300):
        count = rng.choice((2,) * 12 + (1, 1, 3, 4, 5))
        names += [f"r{i}/1", f"r{i}/2"] if count == 2 and i % 3 else [f"r{i}"] * count
    return names


def mates_of(names: list[str]) -> list[int]:
    """By the rule: of neighbours of one name the first two are mates, then the next two."""
    mates: list[int] = []
    for number, name in enumerate(names):
        before = names[number - 1].removesuffix("/1").removesuffix("/2") if number else None
        same = name.removesuffix("/1").removesuffix("/2") == before
        if same and mates[-1] == 0:
            mates[-1:] = [1, 2]
        else:
            mates.append(0)
    return mates


@pytest.mark.parametrize("block", [1, 30, 64, 500, 60_000])
@pytest.mark.parametrize("chunk", [1, 40, 300, 4000])
@pytest.mark.parametrize("fasta", [False, True])
def test_no_pair_of_one_file_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, chunk: int, fasta: bool
) -> None:
    monkeypatch.setattr("gpualign.reads.lanes._CHECKED_READS", 50)
    names = runs_of_names()
    text = named(names, fasta)
    path = write_bgzf(tmp_path / "x.gz", text, block)
    with closing(ReadSource(path, threads=2)) as source:
        items = list(interleaved_reads(source, -(-chunk // 2)))
    found = [elsewhere(item).columns() for item in items]
    assert [batch.name(i) for batch in found for i in range(len(batch))] == [
        name.removesuffix("/1").removesuffix("/2") for name in names
    ]
    assert [mate for batch in found for mate in batch.mates.tolist()] == mates_of(names)  # type: ignore[union-attr]


def test_members_of_another_kind_after_the_blocks(tmp_path: Path) -> None:
    names = runs_of_names()
    text = named(names)
    half = text.index(b"@", len(text) // 2)
    path = write_bgzf(tmp_path / "x.gz", text[:half], 64, rest=gzip.compress(text[half:]))
    with closing(ReadSource(path, threads=2)) as source:
        found = [item.columns() for item in interleaved_reads(source, 500, with_pairs=False)]
    assert [mate for batch in found for mate in batch.mates.tolist()] == mates_of(names)  # type: ignore[union-attr]


def test_a_file_of_one_name(tmp_path: Path) -> None:
    path = write_bgzf(tmp_path / "x.gz", named(["same"] * 501), 700)
    with closing(ReadSource(path, threads=2)) as source:
        found = [item.columns() for item in interleaved_reads(source, 100, with_pairs=False)]
    assert [mate for batch in found for mate in batch.mates.tolist()] == [1, 2] * 250 + [0]  # type: ignore[union-attr]


def test_a_file_that_is_not_interleaved(tmp_path: Path) -> None:
    path = write_bgzf(tmp_path / "x.gz", named([f"r{i}" for i in range(400)]), 700)
    with (
        closing(ReadSource(path, threads=2)) as source,
        pytest.raises(InputError, match="not interleaved"),
    ):
        list(interleaved_reads(source, 500))
