"""BAM records of SAM lines, compared with htslib's, byte for byte."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pysam
import pytest

from gpualign import _native
from gpualign.sequences.batch import join_bytes

NAMES = [b"chr1", b"second", b"a*b"]
HEADER = "".join(f"@SQ\tSN:{name.decode()}\tLN:500000000\n" for name in NAMES)
MAPPED = "r\t0\tchr1\t100\t60\t4M\t*\t0\t0\tACGT\tIIII"

LINES = [
    "r\t99\tchr1\t100\t60\t5S10M2D3I2=1X\t=\t300\t-7\tACGTNACGTRYKMSWBDHV=C\tIIIIIIIIIIIIIIIIIIII!",
    "r\t4\t*\t0\t0\t*\t*\t0\t0\tA\t*",
    "r\t4\tsecond\t7\t0\t*\t=\t7\t0\tACG\t!~I",
    "r\t16\ta*b\t1\t255\t3H3M\tchr1\t77\t0\t*\t*",
    "r\t0\tchr1\t16384\t3\t2M\t*\t0\t0\tAC\tII",
    "r\t0\tchr1\t16385\t3\t1M131072N1M\t*\t0\t0\tAC\tII",
    "r\t0\tchr1\t536870912\t3\t2M\t*\t0\t0\tAC\tII",
    f"{'n' * 254}\t0\tchr1\t1\t0\t1M\t*\t0\t0\tA\t*",
    MAPPED + "".join(f"\tX{chr(65 + i)}:i:{n}" for i, n in enumerate([0, 255, 256, 65535, 65536, 4294967295])),
    MAPPED + "".join(f"\tX{chr(65 + i)}:i:{n}" for i, n in enumerate([-1, -128, -129, -32768, -32769, -(2**31)])),
    MAPPED + "\tXA:A:!\tXB:f:1.5e-3\tXC:f:-.5\tXD:Z:\tXE:Z:a b:c\tXF:H:1AE3\tXG:f:1e39",
    MAPPED + "\tXA:B:c,-128,127\tXB:B:C,0,255\tXC:B:s,-300\tXD:B:S,65535\tXE:B:i,-70000\tXF:B:I,4294967295",
    MAPPED + "\tXA:B:f,1.5,-2e10,3",
    f"r\t0\tchr1\t100\t60\t{'1M1I' * 40000}\t*\t0\t0\t{'A' * 80000}\t{'I' * 80000}\tNM:i:40000",
    f"r\t0\tchr1\t100\t60\t{'1M' * 65535}\t*\t0\t0\t{'A' * 65535}\t*",
]


def binary(lines: str) -> tuple[bytes, int]:
    names, offsets = join_bytes(NAMES)
    records, count = _native.bam_records(np.frombuffer(lines.encode(), np.uint8), names, offsets)
    return records.tobytes(), count


def htslib(folder: Path, lines: str) -> bytes:
    """The records alone."""
    (folder / "in.sam").write_text(HEADER + lines)
    pysam.samtools.view("-u", "--no-PG", "-o", str(folder / "out.bam"), str(folder / "in.sam"), catch_stdout=False)
    content = gzip.decompress((folder / "out.bam").read_bytes())
    at = 8 + struct.unpack_from("<i", content, 4)[0] + 4
    for _ in NAMES:
        at += 8 + int(struct.unpack_from("<i", content, at)[0])
    return content[at:]


@pytest.mark.parametrize("lines", LINES, ids=lambda lines: lines[:60].replace("\t", " "))
def test_records_are_htslibs(tmp_path: Path, lines: str) -> None:
    assert binary(lines + "\n") == (htslib(tmp_path, lines + "\n"), 1)


@pytest.mark.parametrize("lines", LINES, ids=lambda lines: lines[:60].replace("\t", " "))
def test_lines_of_records_are_htslibs(tmp_path: Path, lines: str) -> None:
    binary_records, _ = binary(lines + "\n")
    htslib(tmp_path, lines + "\n")
    text = pysam.samtools.view(str(tmp_path / "out.bam"))
    assert bytes(_native.sam_lines(np.frombuffer(binary_records, np.uint8), *join_bytes(NAMES))).decode() == text


@pytest.mark.parametrize(
    "tag", [b"XAZtext", b"XAi\1\2", b"XAB", b"XABC\xff\0\0\0a", b"XA?a", b"XAA", b"X", b"XABZ\1\0\0\0a"]
)
def test_damaged_tags_are_refused(tag: bytes) -> None:
    record, _ = binary(MAPPED + "\n")
    damaged = struct.pack("<i", len(record) - 4 + len(tag)) + record[4:] + tag
    with pytest.raises(ValueError, match="a BAM record's tags are damaged"):
        _native.sam_lines(np.frombuffer(damaged, np.uint8), *join_bytes(NAMES))


def test_several_lines(tmp_path: Path) -> None:
    lines = "".join(f"{MAPPED.replace('chr1', name.decode())}\tNM:i:{i}\n" for i, name in enumerate(NAMES * 3))
    assert binary(lines) == (htslib(tmp_path, lines), 9)
    assert binary("") == (b"", 0)


@pytest.mark.parametrize(
    "line",
    [
        "r\t0\tchr1",
        MAPPED,  # without a newline
        MAPPED.replace("chr1", "chr9") + "\n",
        MAPPED.replace("100", "1x0") + "\n",
        MAPPED.replace("60", "256") + "\n",
        MAPPED.replace("4M", "4") + "\n",
        MAPPED.replace("IIII", "III") + "\n",
        MAPPED + "\tNM:i\n",
        MAPPED + "\tNM:i:\n",
        MAPPED + "\tNM:i:4294967296\n",
        MAPPED + "\tNM:Q:1\n",
        MAPPED + "\tXA:B:\n",
        MAPPED + "\tXA:B:c,128\n",
    ],
)
def test_what_is_no_record_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"SAM line|CIGAR|tag|array"):
        binary(line)
