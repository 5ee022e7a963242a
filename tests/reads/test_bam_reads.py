"""Reads of SAM, BAM and CRAM are what htslib reads: names, bases, qualities, tags and flags, in chunks of any size."""

from __future__ import annotations

import array
import contextlib
import os
import random
import threading
from dataclasses import fields
from pathlib import Path

import numpy as np
import pysam
import pytest

from gpualign.errors import InputError
from gpualign.reads.reads import ReadSource, RecordReads
from gpualign.records import record_input
from gpualign.records.sam_header import dropped_tags
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.text.files import InputFile

COMPLEMENT = str.maketrans("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN")
HEADER = {"HD": {"VN": "1.6"}, "SQ": [{"SN": "g", "LN": 1000}], "RG": [{"ID": "l", "SM": "s"}], "CO": ["a comment"]}


def write_bam(path: Path, count: int, mode: str = "wb", qualities: bool = True) -> Path:
    rng = random.Random(4)
    values = [
        *(("XA", 5, "i"), ("Xc", -5, "c"), ("XC", 200, "C"), ("Xs", -300, "s"), ("XS", 60_000, "S")),
        *(("Xi", -(2**31), "i"), ("XI", 2**32 - 1, "I"), ("Xf", 0.1, "f"), ("Xg", 1e-7, "f"), ("Xh", 123456792.0, "f")),
        *(("XZ", "two words", "Z"), ("Xa", "!", "A"), ("RG", "l", "Z"), ("NM", 3, "i"), ("XH", "1AE3", "H")),
        *(("XB", array.array("h", [-1, 2]), None), ("Xj", array.array("f", [0.5, 3.0]), None)),
    ]
    with pysam.AlignmentFile(str(path), mode, header=HEADER) as out:
        for i in range(count):
            record = pysam.AlignedSegment(out.header)
            record.query_name = f"r{i}"
            record.flag = rng.choice([4, 0, 16, 77, 141, 16 | 0x200, 0x100, 0x800, 16 | 0x400])
            if not record.flag & 4:
                record.reference_id, record.reference_start, record.mapping_quality = 0, i % 900, 9
            length = rng.choice([0, 1, 2, 7, 100])
            record.query_sequence = "".join(rng.choice("ACGTNRYKM") for _ in range(length)) or None
            if not record.flag & 4 and length:
                record.cigarstring = f"{length}M"
            else:
                record.flag |= 4  # as htslib changes it where it reads SAM
            if length and qualities and rng.random() < 0.8:
                record.query_qualities = array.array("B", [rng.randrange(0, 60) for _ in range(length)])
            for tag, value, kind in rng.sample(values, rng.randrange(len(values) + 1)):
                record.set_tag(tag, value, kind) if kind else record.set_tag(tag, value)
            out.write(record)
    return path


def by_htslib(path: Path, keep_read_groups: bool = True) -> SequenceBatch:
    """The primary records, in the direction of the read, by the text that pysam makes of each."""
    dropped = dropped_tags(keep_read_groups)
    kinds = {dropped[i : i + 3] for i in range(0, len(dropped), 3)}
    rows, flags, given = [], [], False
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        for record in file.fetch(until_eof=True):
            if record.is_secondary or record.is_supplementary:
                continue
            fields = record.to_string().split("\t")
            bases = record.query_sequence or ""
            qualities = "!" * len(bases) if record.query_qualities is None else fields[10]
            given |= not bases or record.query_qualities is not None
            if record.is_reverse:
                bases, qualities = bases.translate(COMPLEMENT)[::-1], qualities[::-1]
            tags = "\t".join(tag for tag in fields[11:] if not {tag[:2] + "*", tag[:2] + tag[3]} & kinds)
            rows.append([text.encode() for text in (fields[0], bases, qualities, tags)])
            flags.append(record.flag)
    names, read, qualities, tags = (join_bytes(list(column)) for column in zip(*rows, strict=True))
    return SequenceBatch(*names, *read, qualities[0] if given else None, *tags, flags=np.array(flags, np.uint16))


@pytest.mark.parametrize("bases", [1, 500, 1 << 22])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("qualities", [True, False])
@pytest.mark.parametrize("keep_read_groups", [True, False])
@pytest.mark.parametrize("mode", ["wb", "w"])
def test_reads_are_those_of_htslib(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bases: int,
    threads: int,
    qualities: bool,
    keep_read_groups: bool,
    mode: str,
) -> None:
    monkeypatch.setattr("gpualign.text.text.MIN_READ", 1)
    monkeypatch.setattr(record_input, "_HEADER_BYTES", 100)
    monkeypatch.setattr(record_input, "_GATHERED_PIECE", 400)
    path = write_bam(tmp_path / "x.bam", 400, mode, qualities=qualities)
    expected = by_htslib(path, keep_read_groups)
    with ReadSource(str(path), keep_read_groups=keep_read_groups, threads=threads) as source:
        assert source.header["RG"] == HEADER["RG"]  # type: ignore[index]
        items = list(source.records(bases))
    assert all(isinstance(item, RecordReads) for item in items)
    assert (len(items) > 20) == (bases < 1000)
    batches = [batch for item in items if len(batch := item.columns())]
    if bases == 1 << 22:
        found = batches[0]
        for field in fields(SequenceBatch):
            np.testing.assert_array_equal(getattr(found, field.name), getattr(expected, field.name), err_msg=field.name)
        return
    # a chunk whose reads all lack qualities has none, as a file has
    numbers = [(batch, i) for batch in batches for i in range(len(batch))]
    assert len(numbers) == len(expected)
    for n, (batch, i) in enumerate(numbers):
        assert (batch.name(i), batch.sequence(i)) == (expected.name(n), expected.sequence(n))


def test_plain_bam(tmp_path: Path) -> None:
    """Not compressed."""
    path = write_bam(tmp_path / "x.bam", 50, "wbu")
    with ReadSource(str(path)) as source:
        (batch,) = (item.columns() for item in source.records(1 << 22))
    np.testing.assert_array_equal(batch.bases, by_htslib(path).bases)


@pytest.mark.parametrize("keep", [0.3, 0.9, -28, -20, -1])
def test_truncated(tmp_path: Path, keep: float) -> None:
    data = write_bam(tmp_path / "x.bam", 2000).read_bytes()
    (tmp_path / "cut.bam").write_bytes(data[: int(keep * len(data)) if keep > 0 else int(keep)])
    with pytest.raises(InputError, match=r"truncated or damaged after [\d,]+ records?: "):
        read_all(tmp_path / "cut.bam", 1000)


def test_damaged_record(tmp_path: Path) -> None:
    path = write_bam(tmp_path / "x.bam", 50, "wb0")
    plain = tmp_path / "plain.bam"
    with InputFile(str(path)) as file:
        data = bytearray(file.read(1 << 20))
    at = data.rindex(b"r10\0") - 36
    data[at + 20 : at + 24] = b"\xff\xff\xff\x7f"  # more bases than there are
    plain.write_bytes(data)
    with pytest.raises(InputError, match="is damaged: a BAM record"):
        read_all(plain, 1 << 22)


def read_all(path: Path, bases: int) -> None:
    with ReadSource(str(path), threads=2) as source:
        for item in source.records(bases):
            item.columns()


def through_a_pipe(data: bytes) -> tuple[list[SequenceBatch], type]:
    """Batches of standard input, and of what kind its items were."""
    reading, writing = os.pipe()

    def feed() -> None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(writing, "wb") as out:
            out.write(data)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        with ReadSource(f"/dev/fd/{reading}", threads=2) as source:
            items = list(source.records(1 << 22))
    finally:
        os.close(reading)
        feeder.join()
    return [item.columns() for item in items], type(items[0])


@pytest.mark.parametrize("mode", ["w", "wb", "wc"])
@pytest.mark.parametrize("pipe", [False, True])
def test_sam_bam_and_cram_of_files_and_pipes_go_the_same_way(tmp_path: Path, mode: str, pipe: bool) -> None:
    """Native parsing; CRAM gives no tags that are not in the file."""
    path = write_unaligned(tmp_path / "x", mode)
    expected = by_htslib(path)
    if pipe:
        batches, kind = through_a_pipe(path.read_bytes())
    else:
        with ReadSource(str(path), threads=2) as source:
            items = list(source.records(1 << 22))
        batches, kind = [item.columns() for item in items], type(items[0])
    assert kind is RecordReads
    (found,) = batches
    for field in fields(SequenceBatch):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(expected, field.name), err_msg=field.name)


def test_sam_with_carriage_returns(tmp_path: Path) -> None:
    path = write_unaligned(tmp_path / "x.sam", "w")
    expected = by_htslib(path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with ReadSource(str(path)) as source:
        (found,) = (item.columns() for item in source.records(1 << 22))
    for field in fields(SequenceBatch):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(expected, field.name), err_msg=field.name)


def write_unaligned(path: Path, mode: str) -> Path:
    rng = random.Random(5)
    with pysam.AlignmentFile(str(path), mode, header=HEADER) as out:
        for i in range(3000):
            record = pysam.AlignedSegment(out.header)
            record.query_name, record.flag = f"r{i}", rng.choice([4, 77, 141, 4 | 0x200])
            record.query_sequence = "".join(rng.choice("ACGTN") for _ in range(rng.choice([1, 30, 100])))
            record.query_qualities = array.array("B", [rng.randrange(0, 60) for _ in record.query_sequence])
            record.set_tag("RG", "l")
            record.set_tag("RX", "ACGT")
            out.write(record)
    return path


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("keep", [0.5, -38])
def test_truncated_cram(tmp_path: Path, keep: float, pipe: bool) -> None:
    data = write_unaligned(tmp_path / "x.cram", "wc").read_bytes()
    data = data[: int(keep * len(data)) if keep > 0 else int(keep)]
    (tmp_path / "cut.cram").write_bytes(data)
    with pytest.raises(InputError, match=r"truncated or damaged after [\d,]+ records?: "):
        through_a_pipe(data) if pipe else read_all(tmp_path / "cut.cram", 1000)


def test_cram_of_another_reference(tmp_path: Path) -> None:
    """The message names the file and the contig."""
    mapped, other = tmp_path / "mapped.cram", tmp_path / "other.fa"
    (tmp_path / "g.fa").write_text(">g\n" + "ACGTTGCA" * 125 + "\n")
    other.write_text(">h\nACGT\n")
    with pysam.AlignmentFile(str(mapped), "wc", header=HEADER, reference_filename=str(tmp_path / "g.fa")) as out:
        record = pysam.AlignedSegment(out.header)
        record.query_name, record.flag, record.reference_id, record.reference_start = "r", 0, 0, 8
        record.query_sequence, record.cigarstring = "ACGTTGCA", "8M"
        out.write(record)
    with ReadSource(str(mapped), str(tmp_path / "g.fa")) as source:
        assert [item.columns().sequence(0) for item in source.records(1000)] == [b"ACGTTGCA"]
    (tmp_path / "g.fa").unlink()
    with (
        pytest.raises(InputError, match=r"the reference .*other\.fa lacks the contig 'g'"),
        ReadSource(str(mapped), str(other)) as source,
    ):
        list(source.records(1000))
