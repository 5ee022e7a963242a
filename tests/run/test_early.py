"""Devices that are opened while the interpreter still imports: which command lines ask for that, and what is called."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpualign import _native
from gpualign.run.gpu import early


@pytest.mark.parametrize(
    ("arguments", "indices"),
    [
        (["verify", "r", "q", "--device", "cuda"], []),
        (["verify", "--device=cuda:1", "r", "q"], [1]),
        (["map", "--device", "cuda:0,2"], [0, 2]),
        (["map", "--device", "cuda:0,cuda:3"], [0, 3]),
        (["map", "--device", "cuda", "--cluster", "local"], None),
        (["map", "--device", "cuda", "--dask=local"], None),
        (["map", "--device", "cpu"], None),
        (["map", "--device", "gpu"], None),
        (["map", "--device", "cuda,cpu"], None),
        (["map", "--device"], None),
        (["map", "r.fa", "reads.fq"], None),
        (["map", "r.fa", "--samples", "sheet.csv"], []),
    ],
)
def test_devices_of_a_command_line(arguments: list[str], indices: list[int] | None) -> None:
    assert early._wanted(arguments) == indices


def test_much_input_asks_for_all_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpualign.run.tuning.EARLY_BYTES", 100)
    (tmp_path / "a").write_bytes(b"x" * 60)
    (tmp_path / "b").write_bytes(b"x" * 60)
    assert early._wanted(["map", str(tmp_path / "a")]) is None
    assert early._wanted(["map", f"{tmp_path / 'a'},{tmp_path / 'b'}"]) == []


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[int]]]:
    """What is asked for on a machine that has a GPU."""
    calls: list[tuple[str, list[int]]] = []
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(early, "os", SimpleNamespace(environ=os.environ, path=SimpleNamespace(exists=lambda _: True)))
    monkeypatch.setattr(_native, "open_ahead", lambda *arguments: calls.append(arguments), raising=False)
    return calls


def test_the_devices_of_a_command_line_are_opened(begun: list[tuple[str, list[int]]]) -> None:
    early.begin(["map", "--device", "cuda:1"])
    early.begin(["map", "--device", "cpu"])
    assert begun == [("libcuda.so.1", [1])]


def test_hidden_devices_are_left_alone(begun: list[tuple[str, list[int]]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    early.begin(["map", "--device", "cuda"])
    assert begun == []
