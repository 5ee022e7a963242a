"""The chunks of BAM files: all bytes, cut where records or templates end, wherever blocks and pieces end."""

from __future__ import annotations

import gzip
import itertools
import threading
from pathlib import Path

import numpy as np
import pysam
import pytest

from gpualign.io import tuning
from gpualign.io.files import InputFile
from gpualign.io.record_input import BamChunk, RecordInput


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
    monkeypatch.setattr("gpualign.io.bgzf.BgzfCodec.group_bytes", 1 << 16)
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
