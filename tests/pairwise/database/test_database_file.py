"""Database files that were cut, changed, replaced, or written by another version."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from gpualign.errors import InputError, UsageError
from gpualign.pairwise.database.database_file import MAGIC, is_database, read_database, write_database
from gpualign.sequences.batch import SequenceBatch

RECORDS = [("a", "MKV"), ("b", ""), ("c", "WWWWWHHH"), ("d", "ACDEFGHIKLMNPQRSTVWY" * 9)]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "x.gpdb"
    batches = [SequenceBatch.from_records(RECORDS[:3]), SequenceBatch.from_records(RECORDS[3:])]
    assert write_database(batches, str(path)) == (4, 191)
    return path


def test_what_is_read_is_what_was_written(database: Path) -> None:
    batches = list(read_database(str(database)))
    found = [(batch.name(i), batch.sequence(i).decode()) for batch in batches for i in range(len(batch))]
    assert found == RECORDS
    assert is_database(str(database))
    assert [path.name for path in database.parent.iterdir()] == ["x.gpdb"]


def test_an_empty_one(tmp_path: Path) -> None:
    write_database([], str(tmp_path / "x.gpdb"))
    assert list(read_database(str(tmp_path / "x.gpdb"))) == []


def test_every_changed_byte_is_found(database: Path) -> None:
    good = database.read_bytes()
    for at in range(len(good)):
        database.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
        with pytest.raises(InputError, match=r"damaged|not a gpualign database|version"):
            list(read_database(str(database)))


def test_cut_and_longer_files(database: Path) -> None:
    good = database.read_bytes()
    for content in [good[:at] for at in random.Random(1).sample(range(len(good)), 60)] + [good + b"x"]:
        database.write_bytes(content)
        with pytest.raises(InputError):
            list(read_database(str(database)))


def test_another_version(database: Path) -> None:
    good = database.read_bytes()
    database.write_bytes(MAGIC + struct.pack("<I", 9) + good[12:])
    with pytest.raises(InputError, match="version 9, this gpualign reads 1"):
        list(read_database(str(database)))


def test_a_failing_input_leaves_nothing(tmp_path: Path) -> None:
    def batches():  # type: ignore[no-untyped-def]
        yield SequenceBatch.from_records(RECORDS)
        raise InputError("cut short", "x.fa")

    with pytest.raises(InputError):
        write_database(batches(), str(tmp_path / "x.gpdb"))
    assert list(tmp_path.iterdir()) == []


def test_no_pipe_and_no_compression(tmp_path: Path) -> None:
    for name in ("-", str(tmp_path / "x.gpdb.gz")):
        with pytest.raises(UsageError, match="plain file"):
            write_database([], name)
