"""Targets as they are read: records packed from files, ends of them, and long records in parts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpualign.errors import InputError
from gpualign.search import targets
from gpualign.search.params import SearchFiles, SearchParams
from gpualign.search.targets import RecordPart, TargetBatch, prepare, read_items
from gpualign.text.fastx import Chunk
from gpualign.text.text import StoredText
from tests.helpers.files import fasta, fastq


def sequences(count: int, longest: int) -> list[tuple[str, str]]:
    rng = random.Random(count)
    sizes = [0, 1, 19, 20, 21, *(rng.randrange(longest) for _ in range(count - 5))]
    return [(f"r{i}", "".join(rng.choices("ACGTacgtuNnRy", k=size))) for i, size in enumerate(sizes)]


def written(path: Path, of: list[tuple[str, str]], in_fastq: bool, width: int, line_end: str) -> Path:
    named = [(f"{name} more", bases, "I" * len(bases)) for name, bases in of]
    text = fastq(named) if in_fastq else fasta(named, width)
    path.write_bytes(text.replace(b"\n", line_end.encode()))
    return path


def searched(params: SearchParams, path: Path, bases: int = 1000, context: int = 0) -> Iterator[TargetBatch]:
    for item in read_items(params, SearchFiles(None, (str(path),), given=("A",)), bases, context, 1):
        yield prepare(params, False, item)


def texts_of(found: TargetBatch) -> list[tuple[str, int, str]]:
    """Of each text: name of its target, where it begins there, and its symbols."""
    whole = found.sequence().tobytes().decode()
    names = found.names.tobytes().decode()
    offsets, ends = found.text.offsets, found.name_offsets
    return [
        (names[ends[target] : ends[target + 1]], int(found.origin[i]), whole[offsets[i] : offsets[i + 1]])
        for i, target in enumerate(found.target.tolist())
    ]


def expected_of(of: list[tuple[str, str]], within: int | None) -> list[tuple[str, int, str]]:
    texts = []
    for name, given in of:
        bases = given.upper().replace("U", "T")
        if within is None or len(bases) <= 2 * within:
            texts.append((name, 0, bases))
        else:
            texts += [(name, 0, bases[:within]), (name, len(bases) - within, bases[-within:])]
    return texts


@pytest.mark.parametrize("within", [None, 1, 10, 64])
@pytest.mark.parametrize(("in_fastq", "width", "line_end"), [(True, 0, "\n"), (False, 60, "\r\n"), (False, 7, "\n")])
@pytest.mark.parametrize("count", [9, 1500])
def test_records_of_files(
    tmp_path: Path, within: int | None, in_fastq: bool, width: int, line_end: str, count: int
) -> None:
    """Those of a small file are held, those of a large one are read as they are parsed."""
    of = sequences(count, 130)
    path = written(tmp_path / "x", of, in_fastq, width, line_end)
    params = SearchParams(max_errors=1, within=within)
    batches = list(searched(params, path))
    assert [text for batch in batches for text in texts_of(batch)] == expected_of(of, within)
    assert [size for batch in batches for size in batch.lengths.tolist()] == [len(bases) for _, bases in of]
    assert sum(batch.symbols for batch in batches) == sum(len(bases) for _, bases in of)


@pytest.mark.parametrize("count", [9, 1500])
def test_what_packs_records_finds_no_other_ones(tmp_path: Path, count: int) -> None:
    """Records that are packed and records that are parsed first have the same texts."""
    path = written(tmp_path / "x", sequences(count, 130), True, 0, "\n")
    params = SearchParams(max_errors=1, within=10)
    items: list[Any] = list(read_items(params, SearchFiles(None, (str(path),), given=("A",)), 1000, 0, 1))
    assert all(isinstance(item, Chunk) and isinstance(item.data, StoredText) == (count > 9) for item in items)
    for item in items:
        parsed = prepare(params, True, item)
        assert parsed.records is not None
        assert texts_of(prepare(params, False, item)) == texts_of(parsed)
        wrapped = replace(item, wrapped=True)  # which is parsed first, too
        assert texts_of(prepare(params, False, wrapped)) == texts_of(parsed)


@pytest.mark.parametrize("count", [9, 1500])
def test_a_malformed_record_has_its_line(tmp_path: Path, count: int) -> None:
    path = written(tmp_path / "x.fq", sequences(count, 130), True, 0, "\n")
    with path.open("a") as file:
        file.write("@bad\nAC!T\n+\nIIII\n")
    with pytest.raises(InputError, match=rf"x\.fq:{4 * count + 2}: record 'bad': '!' is not a nucleotide"):
        list(searched(SearchParams(max_errors=1), path))


@pytest.mark.parametrize(("alphabet", "line_end"), [("dna", "\n"), ("dna", "\r\n"), ("bytes", "\n")])
def test_a_long_record_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alphabet: Any, line_end: str) -> None:
    """The parts' own stretches follow one another, and each has its context on both sides."""
    monkeypatch.setattr(targets, "_PARSED", 400)
    rng = random.Random(3)
    bases = "".join(rng.choices("ACGTN", k=90_000))
    of = [("long", bases), ("short", "ACGT"), ("other", bases[:30_000])]
    path = written(tmp_path / "x.fa", of, False, 60, line_end)
    params = SearchParams(max_errors=1, alphabet=alphabet)
    found: dict[str, list[tuple[RecordPart, str]]] = {}
    for batch in searched(params, path, bases=5000, context=700):
        if batch.part is not None:
            found.setdefault(batch.part.name, []).append((batch.part, batch.sequence().tobytes().decode()))
    assert list(found) == ["long", "other"]
    for name, whole in (("long", bases), ("other", bases[:30_000])):
        parts = found[name]
        assert len(parts) > 3
        assert [part.begin for part, _ in parts] == [0, *(part.end for part, _ in parts[:-1])]
        assert [part.last for part, _ in parts[-2:]] == [False, True]
        assert parts[-1][0].length == len(whole)
        for part, text in parts:
            assert text == whole[part.first : part.last_of_text]
            assert part.first <= max(0, part.begin - 700)
            assert part.last or part.last_of_text >= part.end + 700
