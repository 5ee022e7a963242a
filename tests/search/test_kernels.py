"""The kernels of ``cuda/search.cu``, compiled for the host, with all lanes, and their host side: the CPU's hits."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpualign.align.patterns import device as search_device
from gpualign.align.patterns import tuning
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.self_test import run_self_tests
from tests.helpers.emulated import Emulated, emulated_library
from tests.helpers.fake_cuda import install_kernels
from tests.helpers.files import write_fasta
from tests.helpers.sequences import mutate

KERNELS = ("search_words", "search_narrow", "search_wide")


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Emulated]:
    library = emulated_library(tmp_path_factory, "search", {})
    return {name: Emulated(library, name, blocks=1 << 20) for name in KERNELS}


@pytest.fixture
def kernels(emulated: dict[str, Emulated], monkeypatch: pytest.MonkeyPatch) -> dict[str, Emulated]:
    install_kernels(monkeypatch, emulated, 1 << 30)
    return emulated


def test_the_self_test(kernels: dict[str, Emulated]) -> None:
    (info,) = list_devices()
    with Device(info) as device:
        run_self_tests(device, search_device.self_tests())
    assert all(kernel.calls for kernel in kernels.values())


@pytest.mark.parametrize(
    ("minimum", "maximum"), [(tuning.MIN_EVENTS, tuning.MAX_EVENTS), (2, tuning.MAX_EVENTS), (2, 3)]
)
def test_the_command_writes_the_same(
    cli, kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minimum: int, maximum: int
) -> None:
    """Also where there is too little space for events, so that the kernels run again, or the CPU searches."""
    monkeypatch.setattr(tuning, "MIN_EVENTS", minimum)
    monkeypatch.setattr(tuning, "MAX_EVENTS", maximum)
    monkeypatch.setattr(tuning, "EVENTS_PER_BASE", 0.0)
    monkeypatch.setattr(tuning, "FIRST_EVENTS", 5)
    rng = random.Random(4)
    texts = ["".join(rng.choices("ACGT", k=size)) for size in (5000, 0, 3, 700, 40)]
    texts[0] = texts[0][:2000] + "N" * 50 + texts[0][2000:]
    patterns = [texts[0][at : at + size] for at, size in ((0, 20), (4960, 90), (300, 12), (77, 33), (4000, 64))]
    patterns = [mutate(rng, pattern, 0.05) for pattern in patterns] + [texts[3][:200], "ACGTNNRYAC"]
    targets, wanted = write_fasta(tmp_path / "t.fa", texts), write_fasta(tmp_path / "p.fa", patterns)
    rules = (["-k", "2"], ["-k", "4", "--hits", "all", "-p"], ["-e", "0.1", "--pam", "NGG"], ["-k3", "--max-n", "2"])
    for options in rules:
        written = []
        for device in ("cpu", "cuda"):
            status, out, errors = cli("search", wanted, targets, *options, "--device", device, "--batch-size", "1K")
            assert status == 0, errors
            written.append(out)
        assert written[0] == written[1]
        assert written[0].count(b"\n") > 1


def same_rows(cli, patterns: Path, targets: Path, *options: str) -> list[list[str]]:
    """On the CPU and on the device."""
    written = []
    for device in ("cpu", "cuda"):
        status, out, errors = cli("search", patterns, targets, *options, "--no-header", "--device", device)
        assert status == 0, errors
        written.append(out)
    assert written[0] == written[1]
    return [line.split("\t") for line in written[0].decode().splitlines()]


def test_ambiguous_bases_and_patterns_without_seeds(cli, kernels, tmp_path: Path) -> None:
    """The packed text has A in their place, which is another base."""
    targets = write_fasta(
        tmp_path / "t.fa", ["G" * 30 + "CCNNNNNNTGGT" + "G" * 30, "A" * 30 + "CKKKGCKKTGGT" + "A" * 30]
    )
    patterns = write_fasta(tmp_path / "p.fa", ["CCGTTGCCTGGT", "CKKKGCKKTGGT"])
    words, narrow = (kernels[f"search_{name}"].calls for name in ("words", "narrow"))
    found = same_rows(cli, patterns, targets, "-k", "4", "--max-n", "6", "--strand", "plus")
    assert ["s0", "s0", "+", "31", "42", "12", "0"] in found
    found = same_rows(cli, patterns, targets, "-k", "4", "--strand", "plus")
    assert ["s1", "s1", "+", "31", "42", "12", "0"] in found
    assert kernels["search_words"].calls == words
    assert kernels["search_narrow"].calls > narrow


def test_a_long_pattern_without_seeds_beside_others(cli, kernels, tmp_path: Path) -> None:
    """The CPU compares it, and the device the others."""
    rng = random.Random(5)
    text = "".join(rng.choices("ACGT", k=3000))
    targets = write_fasta(tmp_path / "t.fa", [text])
    patterns = write_fasta(tmp_path / "p.fa", [text[100:250], text[700:724], text[2000:2040]])
    narrow, wide = (kernels[f"search_{name}"].calls for name in ("narrow", "wide"))
    found = same_rows(cli, patterns, targets, "-e", "0.34", "--strand", "plus")
    assert [row[0] for row in found if row[6] == "0"] == ["s0", "s1", "s2"]
    assert kernels["search_narrow"].calls > narrow
    assert kernels["search_wide"].calls > wide


def test_room_for_whole_reads_of_nanopores(cli, kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """96 barcodes of 24 bases with 6 errors: chance puts one near in about every three hundredth base."""
    rng = random.Random(6)
    codes = ["".join(rng.choices("ACGT", k=24)) for _ in range(96)]
    texts = [rng.choice(codes) + "".join(rng.choices("ACGT", k=rng.randrange(500, 4000))) for _ in range(12)]
    sizes: list[tuple[int, int]] = []
    collect = search_device.PatternKernel.collect

    def watched(kernel, slot, item):
        events = collect(kernel, slot, item)
        sizes.append((len(events), item.bases))
        return events

    monkeypatch.setattr(search_device.PatternKernel, "collect", watched)
    found = same_rows(cli, write_fasta(tmp_path / "c.fa", codes), write_fasta(tmp_path / "t.fa", texts), "-k", "6")
    assert len(found) > 12
    assert [bases for _, bases in sizes] == [sum(map(len, texts))]
    assert all(0 < events < tuning.EVENTS_PER_BASE * bases / 10 for events, bases in sizes)
