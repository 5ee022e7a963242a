"""The kernels of ``cuda/search.cu``, compiled for the host, with all lanes, and their host side: the CPU's hits."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpualign.engine.gpu.device import Device, list_devices
from gpualign.search import device as search_device
from gpualign.search import tuning
from tests.helpers.emulated import Emulated, emulated_library
from tests.helpers.fake_cuda import install_kernels
from tests.helpers.files import write_fasta
from tests.helpers.sequences import mutate

KERNELS = ("search_words", "search_narrow", "search_wide")


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Emulated]:
    library = emulated_library(tmp_path_factory.mktemp("kernels"), "search", {})
    return {name: Emulated(library, name, blocks=1 << 20) for name in KERNELS}


@pytest.fixture
def kernels(emulated: dict[str, Emulated], monkeypatch: pytest.MonkeyPatch) -> dict[str, Emulated]:
    install_kernels(monkeypatch, emulated, 1 << 30)
    return emulated


def test_the_self_test(kernels: dict[str, Emulated]) -> None:
    (info,) = list_devices()
    with Device(info) as device:
        search_device.self_test(device)
    assert all(kernel.calls for kernel in kernels.values())


@pytest.mark.parametrize("room", [tuning.LEAST_ROOM, 2])
def test_the_command_writes_the_same(cli, kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """Also where there is no room for what the kernels find, so that the CPU looks for itself."""
    monkeypatch.setattr(tuning, "LEAST_ROOM", room)
    monkeypatch.setattr(tuning, "ROOM_PER_BASE", 0.0)
    monkeypatch.setattr(tuning, "FIRST_EVENTS", 5)
    rng = random.Random(4)
    texts = ["".join(rng.choices("ACGT", k=size)) for size in (5000, 0, 3, 700, 40)]
    texts[0] = texts[0][:2000] + "N" * 50 + texts[0][2000:]
    patterns = [texts[0][at : at + size] for at, size in ((0, 20), (4960, 90), (300, 12), (77, 33), (4000, 64))]
    patterns = [mutate(rng, pattern, 0.05) for pattern in patterns] + [texts[3][:200], "ACGTNNRYAC"]
    targets, wanted = write_fasta(tmp_path / "t.fa", texts), write_fasta(tmp_path / "p.fa", patterns)
    for options in (["-k", "2"], ["-k", "4", "--hits", "all", "-p"], ["-e", "0.1", "--pam", "NGG"]):
        written = []
        for device in ("cpu", "cuda"):
            status, out, errors = cli("search", wanted, targets, *options, "--device", device, "--batch-size", "1K")
            assert status == 0, errors
            written.append(out)
        assert written[0] == written[1]
        assert written[0].count(b"\n") > 1
