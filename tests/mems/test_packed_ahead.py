"""Queries that are packed before anybody asks for them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gpualign.errors import InputError
from gpualign.seeds.matches.queries import QueryFiles, QueryText, batches_ahead


def files(path: Path) -> QueryFiles:
    return QueryFiles([str(path)], 3, batch_bases=lambda: 40)


@pytest.mark.parametrize("packed", [True, False])
def test_batches_are_those_of_the_file_in_order(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "reads.fa"
    path.write_text("".join(f">r{i}\n{'ACGT' * 5}\n" for i in range(20_000)))
    with batches_ahead(files(path), lambda: packed, 3) as batches:
        found = list(batches)
    assert len(found) > 5
    assert all(isinstance(batch, QueryText) == packed for batch in found)
    if packed:
        names = [batch.names.tobytes().decode() for batch in found if isinstance(batch, QueryText)]
        assert "".join(names) == "".join(f"r{i}" for i in range(20_000))


def test_they_are_packed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "reads.fa"
    path.write_text(f">r\n{'ACGT' * 5}\n")
    done = threading.Event()
    monkeypatch.setattr("gpualign.seeds.matches.queries.pack_batch", lambda batch, strands, deferred: done.set())
    with batches_ahead(files(path), lambda: True, 3):
        assert done.wait(timeout=60)


def test_a_malformed_record_is_told_when_it_is_reached(tmp_path: Path) -> None:
    path = tmp_path / "reads.fa"
    path.write_text(f">r\n{'ACGT' * 20}\n>s\nAC!T\n")
    with batches_ahead(files(path), lambda: True, 3) as batches, pytest.raises(InputError, match=r":4"):
        list(batches)
