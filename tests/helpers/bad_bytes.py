"""What is done to the bytes of a good file, to make it a bad or an unusual one."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import zstandard

from tests.helpers.files import Record


def zstd_frames(data: bytes) -> bytes:
    """As pzstd writes: frames that are skipped before each one, and an empty one."""
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0size"
    parts = data[:30], b"", data[30:100], data[100:]
    return b"".join(skipped + zstandard.compress(part) for part in parts)


def cut_frame(data: bytes) -> bytes:
    return zstandard.compress(data[:100]) + zstandard.compress(data[100:])[:-5]


def wrong_zstd(data: bytes) -> bytes:
    packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(data))
    packed[-1] ^= 1
    return bytes(packed)


def wrong_checksum(data: bytes) -> bytes:
    packed = bytearray(gzip.compress(data))
    packed[-6] ^= 1
    return bytes(packed)


def with_empty_member(data: bytes) -> bytes:
    return gzip.compress(b"") + gzip.compress(data[:70]) + gzip.compress(b"") + gzip.compress(data[70:])


def damaged(data: bytes) -> bytes:
    """A gzip file with a byte changed in the middle of its compressed block."""
    packed = bytearray(gzip.compress(data))
    packed[len(packed) // 2] ^= 0x55
    return bytes(packed)


def blocks(data: bytes) -> bytes:
    """bgzf files one after another, each with its end-of-file block, cut in the middle of a record."""
    import pysam

    def block(part: bytes) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "part.gz")
            with pysam.BGZFile(str(path), "wb") as file:
                file.write(part)
            return path.read_bytes()

    return block(data[: len(data) // 2]) + block(b"") + block(data[len(data) // 2 :])


def bam(records: list[Record]) -> bytes:
    """Reads as an unaligned BAM file."""
    import pysam

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reads.bam")
        with pysam.AlignmentFile(str(path), "wb", header={"HD": {"VN": "1.6"}}) as bam:
            for name, sequence, quality in records:
                read = pysam.AlignedSegment()
                read.query_name, read.flag, read.query_sequence = name, 4, sequence
                read.query_qualities = pysam.qualitystring_to_array(quality)
                bam.write(read)
        return path.read_bytes()
