"""FASTA records that do not fit a chunk: read in parts, packed as they are read, sent to workers packed."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpualign import _native
from gpualign.errors import InputError
from gpualign.mems.run import run_mems
from gpualign.params import RunOptions
from gpualign.seeds.matches import queries as mems_queries
from gpualign.seeds.matches.params import MemsParams
from gpualign.sequences.batch import SequenceBatch
from gpualign.text import chunks, fastx
from gpualign.text.chunks import read_chunks
from gpualign.text.files import InputFile
from gpualign.text.references import read_reference
from gpualign.text.text import Stored, Streamed


def read_all(path: Path, chunk: int, part: int, stored: bool) -> list[tuple[str, str]]:
    """Names and sequences, in small blocks."""
    found: list[tuple[str, str]] = []
    with InputFile(str(path)) as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpualign.text.text.MIN_READ", 1)
        patch.setattr(chunks, "_WINDOW", 1)
        for item in read_chunks((Stored if stored else Streamed)(file), chunk, long_records=True):
            if isinstance(item, fastx.LongRecord):
                parts = list(map(fastx.parse, item.chunks(part)))
                assert [len(batch) for batch in parts] == [1] * len(parts)
                assert len({batch.name(0) for batch in parts}) == 1
                found.append((parts[0].name(0), b"".join(batch.sequence(0) for batch in parts).decode()))
            else:
                batch = fastx.parse(item)
                found += [(batch.name(i), batch.sequence(i).decode()) for i in range(len(batch))]
    return found


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.text("ACGTN", max_size=80), max_size=6),
    st.sampled_from([1, 3, 20, 1000]),
    st.integers(1, 60),
    st.integers(1, 30),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
@example(["A" * 80], 1000, 1, 1, "\n", True, False)
@example(["A" * 80], 1000, 1, 1, "\n", True, True)
def test_long_records_are_read_whole(
    tmp_path_factory: pytest.TempPathFactory,
    sequences: list[str],
    width: int,
    chunk: int,
    part: int,
    line_end: str,
    final_line_end: bool,
    stored: bool,
) -> None:
    path = tmp_path_factory.mktemp("long") / "x.fa"
    lines = []
    for i, sequence in enumerate(sequences):
        lines += [f">r{i} more", *(sequence[j : j + width] for j in range(0, len(sequence), width)), "; a comment"]
    text = line_end.join(lines) + (line_end if final_line_end else "")
    path.write_bytes(text.encode())
    assert read_all(path, chunk, part, stored) == [(f"r{i}", sequence) for i, sequence in enumerate(sequences)]


@pytest.mark.parametrize("stored", [False, True])
def test_fastq_in_small_chunks(tmp_path: Path, stored: bool) -> None:
    path = tmp_path / "x.fq"
    path.write_text("".join(f"@r{i}\n{'ACGT' * i}\n+\n{'@+!I' * i}\n" for i in range(9)))
    assert read_all(path, 10, 10, stored) == [(f"r{i}", "ACGT" * i) for i in range(9)]


@pytest.mark.parametrize("bytes_", [">", ";", "*"])
@pytest.mark.parametrize("part", [1, 2, 3, 64])
@pytest.mark.parametrize("stored", [False, True])
def test_a_bad_base_within_a_long_line_is_refused(tmp_path: Path, bytes_: str, part: int, stored: bool) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">first\nAC\nGT\n>a\n" + "ACGT" * 5 + bytes_ + "ACGT" * 5 + "\n")
    with pytest.raises(InputError, match=r"x\.fa:5: record 'a': '.' is not a nucleotide"):
        read_all(path, 1, part, stored)


def test_a_bad_base_in_a_long_query_has_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">a\n" + "ACGTACGT\n" * 5000 + "ACGT*\nACGT\n")
    (tmp_path / "ref.fa").write_text(">r\nACGTACGT\n")
    monkeypatch.setattr("gpualign.text.text.MIN_READ", 16)
    monkeypatch.setattr(mems_queries, "_PART_BYTES", 100)
    options = RunOptions(device="cpu", batch_size=64, quiet=True)
    with pytest.raises(InputError, match=r"x\.fa:5002: record 'a'"):
        run_mems(str(tmp_path / "ref.fa"), (str(path),), MemsParams(), options)


def test_a_reference_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "ref.fa"
    contig = "".join(np.random.default_rng(1).choice(list("ACGT"), 5_000_000))
    path.write_text(f">one\n{contig}\n>two\nACGT\n")
    reference = read_reference(str(path))
    assert reference.names == ["one", "two"]
    assert reference.contig_offsets.tolist() == [0, 5_000_000, 5_000_004]
    assert reference.sequence(0, reference.bases) == f"{contig}ACGT".encode()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("ACGTN", max_size=40), min_size=1, max_size=4),
    st.sampled_from([1, 2, 3]),
    st.integers(1, 9),
    st.booleans(),
)
def test_a_record_packed_in_parts_is_one_packed_whole(
    parts: list[str], strands: int, repeats: int, deferred: bool
) -> None:
    batch = SequenceBatch.from_records([("q", "".join(parts) * repeats)])
    expected = _native.pack_mem_text(batch.bases, batch.base_offsets, strands, deferred)
    builder = _native.MemTextBuilder()
    for part in parts * repeats:
        builder.append(np.frombuffer(part.encode(), np.uint8))
    assert state(builder.finish(strands, deferred)) == state(expected)


@given(st.lists(st.text("ACGTN", max_size=90), max_size=4), st.sampled_from([1, 2, 3]), st.booleans())
def test_a_packed_text_survives_pickling(sequences: list[str], strands: int, deferred: bool) -> None:
    batch = SequenceBatch.from_records([("q", sequence) for sequence in sequences])
    text = _native.pack_mem_text(batch.bases, batch.base_offsets, strands, deferred)
    copy = pickle.loads(pickle.dumps(text, protocol=5))
    assert copy.length == text.length
    assert state(copy) == state(text)
    assert copy.words.tolist() == text.words.tolist()
    assert copy.breaks.tolist() == text.breaks.tolist()


def state(text: object) -> list[object]:
    return [part.tolist() if isinstance(part, np.ndarray) else part for part in text.__getstate__()]  # type: ignore[operator]


def cuts_of(text: bytes) -> tuple[int, int, int]:
    """After the first line, before the next record, after the last line, up to that record."""
    next_record = text.find(b"\n>") + 1
    return text.find(b"\n") + 1, next_record, text.rfind(b"\n", 0, next_record or len(text)) + 1


@given(st.text(">;A\n", max_size=40).map(str.encode))
def test_where_a_record_is_cut(text: bytes) -> None:
    found = _native.record_cuts(text)
    first, next_record, _ = expected = cuts_of(text)
    assert found[:2] == (first, next_record)
    assert next_record or found == expected
