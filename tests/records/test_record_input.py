"""The chunks of BAM files: all bytes, cut where records or templates end, wherever blocks and pieces end."""

from __future__ import annotations

import gzip
import itertools
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest

from gpualign.records.record_input import BamChunk, RecordInput
from gpualign.text import tuning
from gpualign.text.bgzf import BgzfCodec
from gpualign.text.files import InputFile
from tests.helpers.files import write_bgzf
from tests.helpers.record_files import write_sam

Cli = Callable[..., tuple[int, bytes, str]]


def after_header(path: Path) -> bytes:
    """What follows the header."""
    data = gzip.decompress(path.read_bytes())
    at = 8 + int.from_bytes(data[4:8], "little")
    contigs, at = int.from_bytes(data[at : at + 4], "little"), at + 4
    for _ in range(contigs):
        at += 8 + int.from_bytes(data[at : at + 4], "little")
    return data[at:]


def names(chunk: bytes) -> list[str]:
    """The names of whole records; fails if the last one is cut short."""
    found, at = [], 0
    while at < len(chunk):
        end = at + 4 + int.from_bytes(chunk[at : at + 4], "little")
        assert end <= len(chunk)
        found.append(chunk[at + 36 : at + 36 + chunk[at + 12] - 1].decode())
        at = end
    return found


@pytest.fixture
def bam(tmp_path: Path) -> Path:
    """600 templates of two records, some of which are longer than a block, or than the headroom of a piece."""
    rng, path = np.random.default_rng(5), tmp_path / "a.bam"
    header = {"SQ": [{"SN": f"c{i}", "LN": 1 << 20} for i in range(3)]}
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for number in range(600):
            for _ in range(2):
                record = pysam.AlignedSegment(out.header)
                length = int(rng.integers(60_000, 90_000)) if number % 100 == 50 else int(rng.integers(1, 400))
                record.query_name, record.flag = f"t{number}", 4
                record.query_sequence = "".join(rng.choice(list("ACGT"), length))
                out.write(record)
    return path


@pytest.mark.parametrize("templates", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chunk_bytes", [1 << 10, 1 << 16, 1 << 24])
def test_chunks_are_whole_records(
    bam: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int, threads: int, templates: bool
) -> None:
    monkeypatch.setattr(tuning, "GROUP_BYTES", 1 << 16)  # about two blocks, so that there are many pieces
    monkeypatch.setattr("gpualign.text.bgzf.BgzfCodec.group_bytes", 1 << 16)
    monkeypatch.setattr(tuning, "PIECE_BYTES", 100_000)
    with RecordInput(InputFile(str(bam), threads)) as source:
        found = list(source.chunks(chunk_bytes, templates))
        owned = [chunk.owned for chunk in found if isinstance(chunk, BamChunk)]
        texts = [chunk.records().tobytes() for chunk in found]
    assert b"".join(texts) == after_header(bam)
    assert len(texts) > 3
    assert any(owned) or chunk_bytes < 1 << 24  # a part of a piece is copied
    of_chunks = [names(text) for text in texts]
    assert sum(map(len, of_chunks)) == 1200
    if templates:
        assert all(a[-1] != b[0] for a, b in itertools.pairwise(of_chunks))


def test_threads_end_with_the_file(bam: Path) -> None:
    """Not when the iterator is freed, which may be in any thread, and while the locks that ending it needs are held."""
    with RecordInput(InputFile(str(bam), 3)) as source:
        chunks = source.chunks(1 << 10, templates=False)
        next(chunks)
        assert any(thread.name.startswith("gpualign-ahead") for thread in threading.enumerate())
    assert not any(thread.name.startswith("gpualign-ahead") for thread in threading.enumerate())
    del chunks


def bam_text(contigs: list[tuple[bytes, int]], contig: int, mate_contig: int) -> bytes:
    """A BAM file with a record of four bases, by the specification (section 4.2)."""
    parts = [struct.pack("<4sii", b"BAM\1", 0, len(contigs))]
    parts += [struct.pack("<i2si", 2, name + b"\0", length) for name, length in contigs]
    record = struct.pack("<iiBBHHHIiii", contig, 3, 2, 60, 4681, 1, 0, 4, mate_contig, -1, 0)
    record += b"r\0" + struct.pack("<I", 4 << 4) + b"\x12\x48" + b"IIII"
    return b"".join([*parts, struct.pack("<i", len(record)), record])


@pytest.mark.parametrize("command", ["sort", "markdup"])
@pytest.mark.parametrize(
    ("contigs", "contig", "mate_contig", "error"),
    [
        ([(b"a", 9)], 0, -1, ""),
        ([(b"a", 9)], -1, 0, ""),
        ([(b"a", 9)], 1, -1, "after 0 records: a record of a contig that the header does not have"),
        ([(b"a", 9)], -2, -1, "after 0 records: a record of a contig that the header does not have"),
        ([(b"a", 9)], 0, 1, "after 0 records: a record of a contig that the header does not have"),
        ([], 0, -1, "after 0 records: a record of a contig that the header does not have"),
        ([(b"a", 9), (b"a", 9)], 0, -1, "the header has the contig 'a' twice"),
        ([(b"a", -1)], 0, -1, "the header says that the contig 'a' has -1 bases"),
    ],
)
def test_contigs_of_bam(
    cli: Cli,
    tmp_path: Path,
    command: str,
    contigs: list[tuple[bytes, int]],
    contig: int,
    mate_contig: int,
    error: str,
) -> None:
    """htslib refuses the same files, but for the length."""
    path, out = write_bgzf(tmp_path / "a.bam", bam_text(contigs, contig, mate_contig), 1000), tmp_path / "out.bam"
    code, _, messages = cli(command, path, "-o", out)
    assert (code, out.exists()) == ((3, False) if error else (0, True))
    assert error in messages
    if not (contigs and contigs[0][1] < 0):
        try:
            pysam.samtools.view("-h", path, catch_stdout=True)
        except pysam.SamtoolsError:
            assert error
        else:
            assert not error


@pytest.mark.parametrize(("length", "code"), [(9, 0), (2**31 - 1, 0), (2**31, 3), (10**30, 3), (-1, 3), ("x", 3)])
def test_lengths_of_contigs_of_sam(cli: Cli, tmp_path: Path, length: int | str, code: int) -> None:
    """The specification allows 1 to 2^31 - 1."""
    path = write_sam(tmp_path / "a.sam", ["r\t0\ta\t4\t60\t4M\t*\t0\t0\tACGT\tIIII"], [f"@SQ\tSN:a\tLN:{length}"])
    found, _, messages = cli("sort", path, "-o", tmp_path / "out.bam")
    assert found == code
    assert ("a.sam: " in messages) == (code == 3)


def test_headers_of_many_contigs(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In more than a piece of the file; names are bytes, and only equal ones are the same."""
    monkeypatch.setattr(BgzfCodec, "group_bytes", 1 << 14)
    monkeypatch.setattr(tuning, "PIECE_BYTES", 1 << 16)
    contigs = [f"contig_{i * 7919 % 10_000}".encode() for i in range(10_000)]
    contigs[7_000] = b"\xe9\xff"
    lines = b"".join(b"@SQ\tSN:%s\tLN:%d\n" % (name, 100 + i) for i, name in enumerate(contigs))
    text = b"@HD\tVN:1.6\n" + lines + b"@RG\tID:x\n@SQ\tSN:last\tLN:7\r\n"
    (tmp_path / "a.sam").write_bytes(text + b"r\t0\tlast\t3\t60\t2M\t*\t0\t0\tAC\tII\n")
    assert cli("sort", tmp_path / "a.sam", "-o", tmp_path / "a.bam")[0] == 0
    for threads in (1, 2):
        assert cli("sort", tmp_path / "a.bam", "-o", tmp_path / f"{threads}.bam", "-t", threads)[0] == 0
    for path in (tmp_path / "a.bam", tmp_path / "1.bam", tmp_path / "2.bam"):
        data = gzip.decompress(path.read_bytes())
        size = int.from_bytes(data[4:8], "little")
        head = data[8 : 8 + size].split(b"\n")
        assert b"\n".join(head[1:10_003]) + b"\n" == text.split(b"\n", 1)[1].replace(b"\r", b"")
        table = b"".join(
            struct.pack("<i", len(name) + 1) + name + b"\0" + struct.pack("<i", length)
            for name, length in [*zip(contigs, range(100, 10_100), strict=True), (b"last", 7)]
        )
        assert data[8 + size :].startswith(struct.pack("<i", 10_001) + table)
    (tmp_path / "c.sam").write_bytes(text + b"@SQ\tSN:contig_7919\tLN:5\n")
    code, _, error = cli("sort", tmp_path / "c.sam", "-o", tmp_path / "c.bam")
    assert (code, "the header has the contig 'contig_7919' twice" in error) == (3, True)
