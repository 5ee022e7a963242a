"""A saved index that processes share, and what happens when its file changes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpualign.errors import InputError
from gpualign.map import outputs
from gpualign.seeds.index.file import load_index, save_index
from gpualign.seeds.index.minimizers import IndexParams, build_index
from tests.helpers.paths import GENOMES
from tests.helpers.sam import without_program
from tests.helpers.sequences import make_reference


def test_a_shared_index_is_the_same(saved) -> None:
    index, path = saved
    again = load_index(path, threads=2, shared=True)
    np.testing.assert_array_equal(again.entries, index.entries)
    np.testing.assert_array_equal(again.offsets, index.offsets)
    assert again.reference.sequence(0, 2200) == index.reference.sequence(0, 2200)
    assert not again.entries.flags.writeable
    again.check_unchanged()
    assert pickle.loads(pickle.dumps(again)).shared is None


def test_a_changed_byte_of_a_shared_index_is_noticed(saved, tmp_path) -> None:
    data = Path(saved[1]).read_bytes()
    for at in [*range(0, 1024, 7), *range(1024, len(data), 199), len(data) - 1]:
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        (tmp_path / "x.gpi").write_bytes(changed)
        with pytest.raises(InputError, match="index"):
            load_index(str(tmp_path / "x.gpi"), shared=True)


@pytest.mark.parametrize("change", ["cut", "overwritten", "appended"])
def test_a_shared_index_that_changes_is_noticed(tmp_path, change: str) -> None:
    """And the process lives: what was cut off reads as zeros."""
    index = build_index(make_reference("ACGTTGCAAC" * 9999), IndexParams(11, 1))
    path = str(tmp_path / "x.gpi")
    save_index(index, path)
    again = load_index(path, shared=True)
    with open(path, "r+b") as file:
        if change == "cut":
            file.truncate(5000)
        elif change == "overwritten":
            file.write(b"\xff" * 100)
        else:
            file.seek(0, 2)
            file.write(b"x")
    total = int(again.entries[-1000:].sum())
    assert (total == 0) == (change == "cut")
    with pytest.raises(InputError, match="changed while it was used"):
        again.check_unchanged()


def test_a_shared_index_may_be_replaced(saved) -> None:
    """Files are replaced at once, by us and others."""
    index, path = saved
    again = load_index(path, shared=True)
    save_index(build_index(index.reference, IndexParams(9, 2)), path)
    again.check_unchanged()
    np.testing.assert_array_equal(again.entries, index.entries)


def test_preload(cli: Callable[..., tuple[int, bytes, str]], some_reads: Path, tmp_path: Path) -> None:
    path = tmp_path / "g.gpi"
    assert cli("index", GENOMES, "-d", path)[0] == 0
    plain, shared = (cli("map", path, some_reads, *more) for more in ((), ("--preload",)))
    assert plain[0] == shared[0] == 0, shared[2]
    assert without_program(plain[1]) == without_program(shared[1])
    code, _, error = cli("map", GENOMES, some_reads, "--preload")
    assert (code, "only a saved index is shared" in error) == (0, True)


def test_no_output_of_an_index_that_changed(
    cli: Callable[..., tuple[int, bytes, str]], some_reads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "g.gpi", tmp_path / "out.sam"
    assert cli("index", GENOMES, "-d", path)[0] == 0
    real = outputs.MapOutputs.write

    def writing(self: object, *batch: object) -> None:
        os.truncate(path, 4096)
        real(self, *batch)

    monkeypatch.setattr(outputs.MapOutputs, "write", writing)
    code, _, error = cli("map", path, some_reads, "--preload", "-o", out, "-t", "1", "--batch-size", "10000")
    assert (code, "changed while it was used" in error) == (3, True)
    assert not out.exists()
