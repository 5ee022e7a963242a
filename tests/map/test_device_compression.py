"""Held records of which a device inflates runs and deflates a share: what is in the file does not change."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest

from gpualign import _native
from gpualign._native import Nvcomp
from gpualign.records.bam_index import virtual_offsets
from gpualign.records.sort_runs import places_in
from gpualign.run.cuda import CudaBackend
from gpualign.run.gpu import compression
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.deflate import Content, DeflateKernel
from gpualign.run.gpu.device import list_devices
from gpualign.run.gpu.inflate import BlockGroup, InflateKernel
from gpualign.text import tuning
from gpualign.text.bgzf import BLOCK_CONTENT, BgzfCodec, CutBlocks, content_of
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
def inflated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of the content of each group that the device inflated."""
    done: list[int] = []
    collect = InflateKernel.collect

    def watched(self: InflateKernel, slot: Slot, item: BlockGroup) -> np.ndarray | None:
        done.append(item.text_bytes)
        return collect(self, slot, item)

    monkeypatch.setattr(InflateKernel, "collect", watched)
    return done


@pytest.fixture
def deflated(use: Callable[[FakeDriver], FakeDriver], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of each content that the device deflated."""
    use(FakeDriver())
    monkeypatch.setattr(tuning, "DEVICE_CONTENT", 3 * BLOCK_CONTENT)
    done: list[int] = []
    collect = DeflateKernel.collect

    def watched(self: DeflateKernel, slot: Slot, item: Content) -> np.ndarray:
        done.append(item.nbytes)
        return collect(self, slot, item)

    monkeypatch.setattr(DeflateKernel, "collect", watched)
    return done


def use_nvcomp(monkeypatch: pytest.MonkeyPatch, path: str | None) -> None:
    library = None if path is None else Nvcomp(path)
    monkeypatch.setattr(compression, "load_nvcomp", lambda: library)


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
    deflated: list[int],
    inflated: list[int],
    fake_nvcomp: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    memory: str,
) -> None:
    expected = run(cli, workplace, tmp_path, "cpu", "--sort-memory", memory)
    assert expected[0].count(b"\n") > 5000
    assert deflated == []
    use_nvcomp(monkeypatch, fake_nvcomp())
    assert run(cli, workplace, tmp_path, "cuda", "--sort-memory", memory) == expected
    assert len(deflated) > 1
    of_output = [size for size in deflated if size % BLOCK_CONTENT == 0]  # others are of runs
    assert 0 < sum(of_output) < 1_300_000
    assert (len(of_output) < len(deflated)) == (memory == "1M")
    assert (sum(inflated) > 500_000) == (memory == "1M")


def test_a_device_that_cannot(
    cli: Cli,
    workplace: Path,
    tmp_path: Path,
    deflated: list[int],
    inflated: list[int],
    fake_nvcomp: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The CPU takes over where nvCOMP fails."""
    expected = run(cli, workplace, tmp_path, "cpu", "--sort-memory", "1M")
    use_nvcomp(monkeypatch, fake_nvcomp(RESULT=10))
    assert run(cli, workplace, tmp_path, "cuda", "--sort-memory", "1M") == expected
    assert deflated == inflated == []


class SomeContents(BgzfCodec):
    """Is given contents, and deflates none."""

    def __init__(self, turns: set[int]) -> None:
        self.turns, self.given = turns, []

    def deflates_at(self, before: int) -> bool:
        return before // BLOCK_CONTENT in self.turns

    def deflate(self, content: np.ndarray) -> None:
        self.given.append(len(content))


def test_whole_blocks_go_to_the_codec() -> None:
    content = np.arange(3 * BLOCK_CONTENT, dtype=np.uint32).view(np.uint8)[: 2 * BLOCK_CONTENT + 77]
    codec = SomeContents({0, 4})
    for turn in (0, 2, 4):
        cut = CutBlocks.of(content, BLOCK_CONTENT * turn, codec=codec)
        assert content_of(cut.blocks).tobytes() == content[:-77].tobytes()
        assert (cut.head, cut.tail) == (b"", content[-77:].tobytes())
    CutBlocks.of(content, 0, 9, codec)
    CutBlocks.of(content[:77], 0, codec=codec)
    assert codec.given == [2 * BLOCK_CONTENT] * 2


@pytest.mark.parametrize(("threads", "share"), [(20, 10), (60, 5), (10, 13)])  # one GPU deflates like 20 threads
def test_a_share_that_places_alone_decide(use: Callable[[FakeDriver], FakeDriver], threads: int, share: int) -> None:
    use(FakeDriver())
    with CudaBackend(list_devices()[:1], host_threads=threads) as backend:
        codec, places = backend.codec, range(0, 20 * tuning.DEVICE_CONTENT, tuning.DEVICE_CONTENT)
        assert not any(map(codec.deflates_at, places))
        with codec.by(None, alone=True):  # type: ignore[attr-defined]
            assert sum(map(codec.deflates_at, places)) == share
        assert codec.waiting == 0


def test_virtual_offsets() -> None:
    """Of blocks of any multiple of a step, the last of any size, and of an empty one."""
    step = int(_native.BGZF_STEP)
    sizes = (2 * step, step, 2 * step, step + 5, 0)
    blocks = [gzip_block(bytes(size)) for size in sizes]
    begins = [sum(map(len, blocks[:i])) for i in range(len(blocks))]
    expected = [0, step, begins[1] << 16, begins[2] << 16, (begins[2] << 16) + step]
    expected += [begins[3] << 16, (begins[3] << 16) + step, begins[4] << 16]
    assert virtual_offsets(*_native.bgzf_block_sizes(b"".join(blocks))).tolist() == expected


def test_pieces() -> None:
    """Of pieces that begin and end within blocks, at their borders, and behind an empty one."""
    blocks = [gzip_block(bytes(size)) for size in (100, 50, 0, 70)]
    ends = [sum(map(len, blocks[: i + 1])) for i in range(len(blocks))]
    sizes = (30, 70, 20, 40, 60)  # content 0-30, 30-100, 100-120, 120-160, 160-220 of blocks 0-100, 100-150, 150-220
    expected = [
        *(0, ends[0], 0, 70),
        *(0, ends[0], 30, 0),
        *(ends[0], ends[1], 0, 30),
        *(ends[0], ends[3], 20, 60),
        *(ends[2], ends[3], 10, 0),
    ]
    assert places_in(b"".join(blocks), np.array(sizes, np.uint64)).reshape(-1).tolist() == expected


def gzip_block(text: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    payload = packer.compress(text) + packer.flush()
    head = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x06\x00BC\x02\x00" + struct.pack("<H", 25 + len(payload))
    return head + payload + struct.pack("<II", zlib.crc32(text), len(text))
