"""Devices that are opened while the interpreter still imports: which command lines ask for that, and what is called."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpualign.engine.gpu import early


@pytest.mark.parametrize(
    ("arguments", "indices"),
    [
        (["verify", "r", "q", "--device", "cuda"], []),
        (["verify", "--device=cuda:1", "r", "q"], [1]),
        (["map", "--device", "cuda:0,2"], [0, 2]),
        (["map", "--device", "cuda:0,cuda:3,cpu"], [0, 3]),
        (["map", "--device", "cuda", "--cluster", "local"], None),
        (["map", "--device", "cpu"], None),
        (["map", "--device", "gpu"], None),
        (["map", "--device"], None),
        (["map", "r.fa", "reads.fq"], None),
        (["map", "r.fa", "--samples", "sheet.csv"], []),
    ],
)
def test_devices_of_a_command_line(arguments: list[str], indices: list[int] | None) -> None:
    assert early._wanted(arguments) == indices


def test_much_input_asks_for_all_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "_MUCH", 100)
    (tmp_path / "a").write_bytes(b"x" * 60)
    (tmp_path / "b").write_bytes(b"x" * 60)
    assert early._wanted(["map", str(tmp_path / "a")]) is None
    assert early._wanted(["map", f"{tmp_path / 'a'},{tmp_path / 'b'}"]) == []


class Library:
    """A driver's library with two devices."""

    def __init__(self, retained: int = 0, initialised: int = 0) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._retained, self._initialised = retained, initialised

    def cuInit(self, flags: int) -> int:
        self.calls.append(("init", flags))
        return self._initialised

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = 2
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:
        device._obj.value = index
        return 0

    def cuDevicePrimaryCtxSetFlags_v2(self, device: Any, flags: int) -> int:
        self.calls.append(("flags", device.value, flags))
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: Any) -> int:
        self.calls.append(("retain", device.value))
        return self._retained


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(early, "_begun", {})
    monkeypatch.setattr(early, "_beginning", None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(early, "os", SimpleNamespace(environ=os.environ, path=SimpleNamespace(exists=lambda _: True)))

    def begin(library: Library) -> None:
        monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
        early.begin(["map", "--device", "cuda"])

    return begin


def test_contexts_of_all_devices_are_retained_one_after_the_other(begun: Any) -> None:
    library = Library()
    begun(library)
    assert [early.context_is_there(index) for index in (0, 1, 2)] == [True, True, False]
    assert library.calls == [("init", 0), ("flags", 0, 4), ("retain", 0), ("flags", 1, 4), ("retain", 1)]


@pytest.mark.parametrize("library", [Library(retained=2), Library(initialised=100), None])
def test_what_fails_is_left_to_who_opens_the_device(begun: Any, library: Library | None) -> None:
    begun(library)  # None: no library that has these functions
    assert not early.context_is_there(0)


def test_hidden_devices_are_left_alone(begun: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    library = Library()
    begun(library)
    assert not early.context_is_there(0)
    assert library.calls == []
