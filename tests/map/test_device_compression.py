"""Held records in blocks that a device makes and reads, which is none: what is in the file does not change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest

from gpualign.engine import cuda
from gpualign.engine.gpu import nvcomp
from gpualign.engine.gpu.compression import DeflateKernel
from gpualign.engine.gpu.inflate import InflateKernel
from gpualign.engine.gpu.nvcomp import Nvcomp
from gpualign.io.bgzf import BLOCK_CONTENT, CutBlocks, Packed, compressed_by, content_of, unpacked
from gpualign.map import stage
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.sam import without_program

Cli = Callable[..., tuple[int, bytes, str]]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A genome and pairs, of which some come twice; more than a megabyte of records."""
    rng = np.random.default_rng(17)
    folder = tmp_path_factory.mktemp("compression")
    genome = "".join(rng.choice(list("ACGT"), 60_000))
    (folder / "ref.fa").write_text(f">one\n{genome[:40_000]}\n>two\n{genome[40_000:]}\n")
    complement = str.maketrans("ACGT", "TGCA")
    with open(folder / "1.fq", "w") as first, open(folder / "2.fq", "w") as second:
        for number, at in enumerate(rng.integers(0, 59_600, 2500)):
            quality = "".join(map(chr, rng.integers(40, 73, 100)))
            for _ in range(1 + (number % 7 == 0)):
                for file, text in (
                    (first, genome[at : at + 100]),
                    (second, genome[at + 200 : at + 300][::-1].translate(complement)),
                ):
                    file.write(f"@{number}_{_}\n{text}\n+\n{quality}\n")
    return folder


@pytest.fixture
def device(use: Callable[[FakeDriver], FakeDriver], monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often it deflated, and how often it inflated."""
    use(FakeDriver())
    done = {"deflated": 0, "inflated": 0}
    for kernel, what in ((DeflateKernel, "deflated"), (InflateKernel, "inflated")):

        def watched(self: object, *arguments: object, collect=kernel.collect, what: str = what) -> object:  # type: ignore[no-untyped-def]
            done[what] += 1
            return collect(self, *arguments)

        monkeypatch.setattr(kernel, "collect", watched)
    return done


def use_nvcomp(monkeypatch: pytest.MonkeyPatch, path: str | None) -> None:
    library = None if path is None else Nvcomp(path)
    for module in (stage, cuda, nvcomp):
        monkeypatch.setattr(module, "load_nvcomp", lambda: library)


def run(cli: Cli, workplace: Path, folder: Path, device: str, *more: object) -> tuple[bytes, bytes, str]:
    path = folder / f"{device}.bam"
    inputs = [workplace / name for name in ("ref.fa", "1.fq", "2.fq")]
    options = ["--sort", "--mark-duplicates", "--write-index", "-t", 2, "--batch-size", "40K", "-q", *more]
    status, _, errors = cli("map", *inputs, "--device", device, "-o", path, *options)
    assert (status, errors) == (0, "")
    pysam.samtools.quickcheck(str(path))
    text = pysam.samtools.view("-h", "--no-PG", str(path)).encode()
    found = pysam.samtools.view(str(path), "two:100-900", "one:39,000-40,000")
    return without_program(text), found.encode(), pysam.samtools.idxstats(str(path))


@pytest.mark.parametrize("memory", ["64M", "1M"])
def test_the_same_records(
    cli: Cli,
    workplace: Path,
    tmp_path: Path,
    device: dict[str, int],
    fake_nvcomp: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    memory: str,
) -> None:
    expected = run(cli, workplace, tmp_path, "cpu", "--sort-memory", memory)
    assert expected[0].count(b"\n") > 5000
    assert device == {"deflated": 0, "inflated": 0}
    use_nvcomp(monkeypatch, fake_nvcomp())
    assert run(cli, workplace, tmp_path, "cuda", "--sort-memory", memory) == expected
    assert device["deflated"] > 0
    assert (device["inflated"] > 0) == (memory == "1M")


def test_a_device_that_cannot(
    cli: Cli,
    workplace: Path,
    tmp_path: Path,
    device: dict[str, int],
    fake_nvcomp: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The CPU makes the blocks where nvCOMP does not."""
    expected = run(cli, workplace, tmp_path, "cpu", "--sort-memory", "1M")
    use_nvcomp(monkeypatch, fake_nvcomp())

    def broken(*_: object) -> None:
        raise nvcomp.NvcompError("out of order")

    for name in ("deflate", "inflate"):
        monkeypatch.setattr(Nvcomp, name, broken)
    assert run(cli, workplace, tmp_path, "cuda", "--sort-memory", "1M") == expected
    assert device == {"deflated": 0, "inflated": 0}


def made_here(nbytes: int, fill: Callable[[np.ndarray], None]) -> np.ndarray:
    """In a device's place: blocks of the CPU's."""
    memory = np.full(nbytes, 7, np.uint8)
    fill(memory)
    return np.frombuffer(CutBlocks.of(memory, 0).blocks, np.uint8) if nbytes else np.zeros(0, np.uint8)


def test_contents_in_whole_blocks(tmp_path: Path) -> None:
    """Each begins a block, so that it can be read alone, and is followed by zeros."""
    rng = np.random.default_rng(4)
    contents = [
        (rng.integers(0, 9, head, np.uint8), rng.integers(0, 9, rest, np.uint8))
        for head, rest in ((24, 70_000), (48, 3), (BLOCK_CONTENT, 0))
    ]
    plain = Packed.of(contents)
    assert plain.sizes == [70_024, 51, BLOCK_CONTENT]

    def deflate(nbytes: int, fill: Callable[[np.ndarray], None]) -> np.ndarray:
        with compressed_by(None, None):
            return made_here(nbytes, fill)

    with compressed_by(lambda blocks: np.frombuffer(content_of(blocks), np.uint8), deflate):
        packed = Packed.of(contents)
        assert packed.sizes == [2 * BLOCK_CONTENT, BLOCK_CONTENT, BLOCK_CONTENT]
        path = tmp_path / "run"
        path.write_bytes(bytes(packed.blocks))
        offsets = [0, *packed.ends[:-1]]
        places = [
            (offset, end - offset, size) for offset, end, size in zip(offsets, packed.ends, packed.sizes, strict=True)
        ]
        with open(path, "rb") as file:
            first, last = unpacked([(file.fileno(), places[:1]), (file.fileno(), places[1:])])
            alone = unpacked([(file.fileno(), places[1:2])])[0]
    whole = [np.concatenate(content) for content in contents]
    assert first[:70_024].tobytes() == whole[0].tobytes()
    assert not first[70_024:].any()
    assert last.tobytes() == whole[1].tobytes() + bytes(BLOCK_CONTENT - 51) + whole[2].tobytes()
    assert alone.tobytes() == last[:BLOCK_CONTENT].tobytes()
