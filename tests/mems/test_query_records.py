"""Queries packed as they are parsed: what the parser of all commands and the packer give one after the other."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign import _native
from gpualign.errors import InputError
from gpualign.seeds.matches.queries import pack_batch
from gpualign.text.fastx import Chunk, parse
from gpualign.text.files import InputFile
from gpualign.text.text import HeldText, StoredText

NAMES = st.text("abc/1. \t|", max_size=12)
BASES = st.text("ACGTacgtNnUuRyK", max_size=80)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def fasta_text(draw: st.DrawFn) -> str:
    end = draw(ENDS)
    text = ""
    for name in draw(st.lists(NAMES, max_size=4)):
        lines = draw(
            st.lists(st.one_of(BASES, st.sampled_from(["", "; old", "AC GT\tA", "AC-GT", "AC*", "ACé"])), max_size=4)
        )
        text += "".join(line + end for line in (">" + name, *lines))
    return text


@st.composite
def fastq_text(draw: st.DrawFn) -> str:
    end = draw(ENDS)
    text = ""
    for name in draw(st.lists(NAMES, max_size=4)):
        bases = draw(st.one_of(BASES, st.sampled_from(["A CG", "AC.GT"])))
        wrong = draw(st.integers(0, 19))
        quality = draw(st.text("!@+>~I", min_size=len(bases), max_size=len(bases))) + ("\x7f" if wrong == 0 else "")
        plus = "" if wrong == 1 else "+" + draw(st.sampled_from(["", "again"]))
        text += end.join(["@" + name, bases, plus, quality, *[""] * draw(st.integers(1, 2))])
    return text


def one_after_the_other(chunk: Chunk, strands: int) -> tuple[object, ...] | None:
    try:
        records = parse(chunk)
    except InputError:
        return None
    text = _native.pack_mem_text(records.bases, records.base_offsets, strands)
    return records.names.tobytes(), records.name_offsets.tolist(), state(text)


def state(text: object) -> list[object]:
    return [part.tolist() if isinstance(part, np.ndarray) else part for part in text.__getstate__()]  # type: ignore[operator]


def held(data: bytes) -> HeldText:
    return HeldText((np.frombuffer(data, np.uint8),))


def found(packed: tuple[object, ...] | None) -> tuple[object, ...] | None:
    if packed is None:
        return None
    names, offsets, text = packed
    return names.tobytes(), offsets.tolist(), state(text)  # type: ignore[attr-defined]


@settings(max_examples=400, deadline=None)
@given(st.one_of(fasta_text(), fastq_text()), st.sampled_from([1, 2, 3]))
def test_they_are_those_of_the_parser(text: str, strands: int) -> None:
    data = text.encode()
    is_fastq = data[:1] == b"@"
    expected = one_after_the_other(Chunk(held(data), "fastq" if is_fastq else "fasta", "x", 1), strands)
    assert found(_native.pack_query_text(np.frombuffer(data, np.uint8), is_fastq, strands, False)) == expected


def stored(path: Path) -> Chunk:
    with InputFile(str(path)) as file:
        return Chunk(StoredText(file.stored(), 0, file.size), "fasta", str(path), None)


def test_damage_is_told_as_the_parser_does(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">a\nACGT\n>b\nAC!T\n")
    with pytest.raises(InputError, match=r"x\.fa:4: record 'b': '!' is not a nucleotide"):
        pack_batch(stored(path), 3)


def test_a_file_that_became_shorter(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">a\nACGT\n")
    chunk = stored(path)
    os.truncate(path, 4)
    with pytest.raises(InputError, match="became shorter while it was read"):
        pack_batch(chunk, 3)
