"""BGZF input inflated on a device that is none: the same output, and what is damaged is said as ever."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pysam
import pytest
from numpy.typing import NDArray

from gpualign._native import Nvcomp
from gpualign.run.gpu import compression
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.inflate import InflateKernel
from gpualign.run.gpu.pinned_pool import is_pinned
from gpualign.text import bgzf
from gpualign.text.files import InputFile
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.paths import GENOMES
from tests.helpers.sam import without_program

Cli = Callable[..., tuple[int, bytes, str]]


def block(text: bytes, level: int = 0) -> bytes:
    """Level 0: stored, which is all that the stand-in for nvCOMP inflates."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    payload = packer.compress(text) + packer.flush()
    head = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x06\x00BC\x02\x00" + struct.pack("<H", 25 + len(payload))
    return head + payload + struct.pack("<II", zlib.crc32(text), len(text))


@pytest.fixture
def packed(some_reads: Path, tmp_path: Path) -> list[bytes]:
    """Blocks of reads, an empty one among them and at the end."""
    opener = gzip.open if some_reads.suffix == ".gz" else open
    with opener(some_reads, "rb") as file:
        text = file.read()
    size = 5003
    blocks = [block(text[at : at + size]) for at in range(0, len(text), size)]
    return [*blocks[:3], block(b""), *blocks[3:], block(b"", 9)]


@pytest.fixture
def device(use, fake_nvcomp: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each group of blocks came from the device."""
    use(FakeDriver())
    monkeypatch.setattr(compression, "load_nvcomp", lambda: Nvcomp(fake_nvcomp()))
    monkeypatch.setattr("gpualign.run.tuning.INFLATED_GROUP_BYTES", 20_000)
    monkeypatch.setattr(bgzf.BgzfCodec, "group_bytes", 20_000)
    monkeypatch.setattr("gpualign.text.tuning.PIECE_BYTES", 3000)
    taken: list[bool] = []
    collect = InflateKernel.collect

    def watched(self: InflateKernel, *arguments: object) -> object:
        text = collect(self, *arguments)  # type: ignore[arg-type]
        taken.append(text is not None)
        return text

    monkeypatch.setattr(InflateKernel, "collect", watched)
    return taken


def run(cli: Cli, path: Path, device: str, *more: str) -> tuple[int, bytes, str]:
    status, out, errors = cli("map", GENOMES, path, "-q", "--device", device, "-t", 2, "--batch-size", "16K", *more)
    return status, without_program(out), errors.replace(str(path), "FILE")


def test_the_same_output(cli: Cli, packed: list[bytes], tmp_path: Path, device: list[bool]) -> None:
    path = tmp_path / "reads.fq.gz"
    path.write_bytes(b"".join(packed))
    expected = run(cli, path, "cpu")
    assert device == []
    assert run(cli, path, "cuda") == expected
    assert expected[0] == 0
    assert len(device) > 5
    assert all(device)


@pytest.mark.parametrize("at_once", [0, 1])
def test_spare_threads_inflate_to_what_the_device_takes(
    cli: Cli, packed: list[bytes], tmp_path: Path, device: list[bool], monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    path = tmp_path / "reads.fq.gz"
    path.write_bytes(b"".join(packed))
    expected = run(cli, path, "cpu")
    monkeypatch.setattr("gpualign.run.tuning.SPARE_THREADS", 1)
    monkeypatch.setattr("gpualign.run.tuning.INFLATED_NEXT_TO_THREADS", at_once)
    copied = []
    monkeypatch.setattr(Slot, "upload_parts", watched_parts(Slot.upload_parts, copied))
    assert run(cli, path, "cuda") == expected
    assert copied
    assert not any(copied)
    assert len(device) >= at_once
    assert at_once or not device
    path.write_bytes(b"".join((*packed[:-6], packed[-6][:-7] + b"?" + packed[-6][-6:], *packed[-5:])))
    expected, found = (run(cli, path, on) for on in ("cpu", "cuda"))
    assert expected[0] == 3
    assert (found[0], found[2]) == (expected[0], expected[2])


def test_the_device_inflates_more_where_threads_sort(
    cli: Cli, packed: list[bytes], tmp_path: Path, device: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "reads.fq.gz"
    path.write_bytes(b"".join(packed))
    monkeypatch.setattr("gpualign.run.tuning.SPARE_THREADS", 1)
    monkeypatch.setattr("gpualign.run.tuning.INFLATED_NEXT_TO_THREADS", 0)
    assert run(cli, path, "cuda", "--sort") == run(cli, path, "cpu", "--sort")
    assert any(device)


def test_text_of_gzip_is_read_to_what_the_device_takes(
    cli: Cli, packed: list[bytes], tmp_path: Path, device: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, copied = tmp_path / "reads.fq.gz", []
    path.write_bytes(gzip.compress(gzip.decompress(b"".join(packed))))
    expected = run(cli, path, "cpu")
    monkeypatch.setattr(Slot, "upload_parts", watched_parts(Slot.upload_parts, copied))
    assert run(cli, path, "cuda") == expected
    assert device == []
    assert copied.count(False) > 5
    assert copied.count(True) < 5  # what was read before the device was open


def watched_parts(upload: Callable[..., object], copied: list[bool]) -> Callable[..., object]:
    """Notes of each part of a text whether it has to be copied; a newline that the text lacks does not count."""

    def watched(slot: Slot, key: str, nbytes: int, parts: Sequence[tuple[NDArray[np.uint8], int]]) -> object:
        copied.extend(not is_pinned(part) for part, _ in parts if len(part) > 1)
        return upload(slot, key, nbytes, parts)

    return watched


@pytest.mark.parametrize("what", ["deflated", "checksum", "length", "payload"])
def test_blocks_that_the_device_cannot_take(
    cli: Cli, packed: list[bytes], tmp_path: Path, device: list[bool], what: str
) -> None:
    """Ones that it does not inflate are the CPU's, and so is what to say of a damaged one."""
    at = len(packed) - 6
    damaged = bytearray(packed[at])
    if what == "deflated":
        damaged = bytearray(block(zlib.decompress(packed[at], 31), 6))
    else:
        damaged[{"checksum": -8, "length": -4, "payload": 200}[what]] ^= 1
    path = tmp_path / "reads.fq.gz"
    path.write_bytes(b"".join((*packed[:at], damaged, *packed[at + 1 :])))
    expected = run(cli, path, "cpu")
    found = run(cli, path, "cuda")
    assert found[0] == expected[0] == (0 if what == "deflated" else 3)
    assert found[2] == expected[2]
    assert found[1] == expected[1] or what != "deflated"
    assert device.count(False) >= (what != "length")


def test_text_in_pieces(tmp_path: Path) -> None:
    """A group's text is handed on in pieces with their newlines."""
    text = np.frombuffer(b"ab\ncd\n\n" * 3_000_000, np.uint8)

    class OneText(bgzf.BgzfCodec):
        def inflate(self, blocks: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
            return text if len(blocks) == len(block(b"group")) else None

    for content in (b"group", b"x\n"):
        path = tmp_path / "x.gz"
        path.write_bytes(block(content))
        with InputFile(str(path), threads=2) as file:
            file.inflate_by(OneText())
            pieces = list(file.pieces())
        expected = text.tobytes() if content == b"group" else content
        assert b"".join(piece.text.tobytes() for piece in pieces) == expected
        assert [piece.newlines for piece in pieces] == [int((piece.text == 10).sum()) for piece in pieces]
        sizes = [8 << 20, 8 << 20, 21_000_000 - (16 << 20)] if content == b"group" else [2]
        assert [len(piece.text) for piece in pieces] == sizes


@pytest.mark.gpu
def test_a_gpu_inflates_what_htslib_wrote(cli: Cli, some_reads: Path, tmp_path: Path) -> None:
    path = tmp_path / "reads.fq.gz"
    opener = gzip.open if some_reads.suffix == ".gz" else open
    with opener(some_reads, "rb") as file, pysam.BGZFile(str(path), "wb") as packed:
        packed.write(file.read())
    expected = run(cli, path, "cpu")
    assert expected[0] == 0
    assert run(cli, path, "cuda") == expected
