"""The kernel of ``cuda/word_draws.cu``, compiled for the host, with all lanes, and its host side: the CPU's lines."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.self_test import run_self_tests
from gpualign.seeds.words import device as words_device
from tests.helpers.emulated import Emulated, emulated_library
from tests.helpers.fake_cuda import install_kernels
from tests.helpers.implementations import ON_GPU, same_on_gpu
from tests.helpers.sequences import mutate, reverse_complement


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Emulated]:
    library = emulated_library(tmp_path_factory, "word_draws", {})
    return {"word_draws": Emulated(library, "word_draws", blocks=1 << 20)}


def families(folder: Path, queries: int, references: int) -> tuple[Path, Path]:
    """Near relatives, and queries that are near to them or not, on both strands."""
    rng = random.Random(5)
    roots = ["".join(rng.choices("ACGT", k=150)) for _ in range(4)]
    known = [(r, mutate(rng, roots[r], rng.choice((0, 0.02, 0.1)))) for r in rng.choices(range(4), k=references)]
    asked = [mutate(rng, rng.choice(roots), rng.choice((0.01, 0.1, 0.5))) for _ in range(queries)]
    asked = [reverse_complement(text) if i % 2 else text for i, text in enumerate(asked)]
    (folder / "db.fa").write_text(
        "".join(f">r{i};tax=d:D,g:G{r},s:S{i}\n{text}\n" for i, (r, text) in enumerate(known))
    )
    (folder / "q.fa").write_text("".join(f">q{i}\n{text}\n" for i, text in enumerate([*asked, "ACGT", "N" * 60])))
    return folder / "q.fa", folder / "db.fa"


def test_the_self_test(emulated: dict[str, Emulated], monkeypatch: pytest.MonkeyPatch) -> None:
    install_kernels(monkeypatch, emulated, 1 << 30)
    (info,) = list_devices()
    with Device(info) as device:
        run_self_tests(device, words_device.self_tests())
    assert emulated["word_draws"].calls == 2


def test_the_command_writes_the_same(
    cli, emulated: dict[str, Emulated], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_kernels(monkeypatch, emulated, 1 << 30)
    queries, references = families(tmp_path, 12, 90)
    before = emulated["word_draws"].calls
    written = []
    for device in ("cpu", "cuda"):
        status, out, errors = cli(
            "sintax", queries, "--db", references, "--strand", "both", "--cutoff", "0.7", "--device", device
        )
        assert status == 0, errors
        written.append(out)
    assert written[0] == written[1]
    assert written[0].count(b"\t-\t") > 2
    assert emulated["word_draws"].calls > before


@pytest.mark.gpu
@pytest.mark.parametrize("strand", ["plus", "both"])
def test_a_gpu_writes_the_same(tmp_path: Path, strand: str) -> None:
    queries, references = families(tmp_path, 400, 3000)
    words = ["sintax", queries, "--db", references, "--strand", strand, "--cutoff", "0.8"]
    assert same_on_gpu(*words, output=tmp_path / "rows", ways=[ON_GPU[way] for way in ON_GPU]).count(b"\n") == 402
