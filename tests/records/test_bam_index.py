"""Indexes made while a BAM file is written, compared with those that samtools makes of the finished file."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pysam
import pytest

from gpualign.records.bam_index import BamIndex
from gpualign.records.contigs import HeaderContigs
from gpualign.records.sam_header import bam_header
from gpualign.text.bgzf import bgzf_writer
from tests.helpers import good_input
from tests.helpers.bam import bam_records, coordinate_of, parsed_index, random_templates


def reference_of(lengths: Sequence[int]) -> HeaderContigs:
    """Contigs without bases."""
    return HeaderContigs.of([f"c{i}" for i in range(len(lengths))], lengths)


def write(path: Path, lines: list[str], lengths: Sequence[int], pieces: int = 3) -> None:
    reference = reference_of(lengths)
    text = "@HD\tVN:1.6\tSO:coordinate\n" + "".join(f"@SQ\tSN:c{i}\tLN:{n}\n" for i, n in enumerate(lengths))
    header = bam_header(text.encode(), reference)
    with path.open("wb") as file:
        index = BamIndex(reference.lengths, file.write)
        with bgzf_writer(index.write, 2) as out:
            out.write(header)
            index.start(len(header))
            for begin in range(0, len(lines), max(1, len(lines) // pieces)):
                records = bam_records(lines[begin : begin + max(1, len(lines) // pieces)], len(lengths))
                index.add(index.spans(records))
                out.write(cast(Any, records.data))
    index.save(str(path))


@pytest.mark.parametrize(
    ("lengths", "extension"),
    [
        ((300, 100_000, 40), "bai"),
        ((50_000_000, 7, 500_000_000), "bai"),
        ((100_000, 600_000_000), "csi"),
        ((2_000_000_000, 100_000), "csi"),
    ],
)
@pytest.mark.parametrize("count", [0, 1, 30_000])
def test_index_is_samtools_s(tmp_path: Path, seed: int, lengths: tuple[int, ...], extension: str, count: int) -> None:
    rng = random.Random(seed)
    lines = sorted(chain(*random_templates(rng, count, lengths)), key=coordinate_of)
    path = tmp_path / "x.bam"
    write(path, lines, lengths)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.bam", f"x.bam.{extension}"]
    pysam.samtools.index("-b" if extension == "bai" else "-c", "-o", str(tmp_path / "theirs"), str(path))
    assert parsed_index(tmp_path / f"x.bam.{extension}") == parsed_index(tmp_path / "theirs")
    pysam.samtools.quickcheck(str(path))


def test_counts_and_regions(tmp_path: Path) -> None:
    """What an index answers, by hand."""
    lines = [f"r{i}\t0\tc0\t{10 * i + 1}\t60\t10M\t*\t0\t0\t{'A' * 10}\t{'I' * 10}\n" for i in range(5000)]
    lines += ["u\t4\tc1\t7\t0\t*\t*\t0\t0\tA\tI\n", "v\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n"]
    write(tmp_path / "x.bam", lines, (60_000, 100, 100))
    counts = pysam.samtools.idxstats(str(tmp_path / "x.bam"))
    assert counts == "c0\t60000\t5000\t0\nc1\t100\t0\t1\nc2\t100\t0\t0\n*\t0\t0\t1\n"
    with pysam.AlignmentFile(str(tmp_path / "x.bam")) as file:
        found = [record.query_name for record in file.fetch("c0", 20_005, 20_025)]
    assert found == ["r2000", "r2001", "r2002"]


def test_records_out_of_order_are_refused(tmp_path: Path) -> None:
    lines = ["r\t0\tc0\t9\t60\t1M\t*\t0\t0\tA\tI\n", "r\t0\tc0\t8\t60\t1M\t*\t0\t0\tA\tI\n"]
    with pytest.raises(ValueError, match="not sorted"):
        write(tmp_path / "x.bam", lines, (100,))


@pytest.mark.parametrize(
    ("output", "written"), [("x.bam", "x.bam.bai"), ("x.ubam", "x.ubam.bai"), ("x.cram", "x.cram.crai")]
)
def test_a_new_index_replaces_those_of_another_kind(
    cli: Callable[..., tuple[int, bytes, str]], tmp_path: Path, output: str, written: str
) -> None:
    """htslib reads x.bam.csi, x.csi, x.bam.bai and x.bai, the first that is there; of a former run it must not be."""
    (tmp_path / "in").mkdir()
    good_input.write_good_inputs(tmp_path / "in")
    kinds = (".crai",) if output.endswith("cram") else (".bai", ".csi")
    for stem in (output, "x"):
        for kind in kinds:
            (tmp_path / f"{stem}{kind}").write_bytes(b"of a former run")
    (tmp_path / "y.bam.csi").write_bytes(b"of another file")
    reference, reads = tmp_path / "in" / "ref.fa", tmp_path / "in" / "reads.fq"
    code, _, error = cli("map", reference, reads, "--sort", "--write-index", "-o", tmp_path / output)
    assert code == 0, error
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in", output, written, "y.bam.csi"])
    assert pysam.samtools.idxstats(str(tmp_path / output)).count("\n") > 1


def test_an_index_of_samtools_that_cannot_be_read(
    cli: Callable[..., tuple[int, bytes, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    (tmp_path / "in").mkdir()
    good_input.write_good_inputs(tmp_path / "in")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    reference, reads = tmp_path / "in" / "ref.fa", tmp_path / "in" / "reads.fq"
    code, _, error = cli("map", reference, reads, "--sort", "--write-index", "-o", tmp_path / "x.cram")
    assert code == 1
    assert "cannot read samtools' index in " in error
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_former_index_that_cannot_be_removed(cli: Callable[..., tuple[int, bytes, str]], tmp_path: Path) -> None:
    good_input.write_good_inputs(tmp_path)
    (tmp_path / "x.csi").mkdir()
    code, _, error = cli(
        "map", tmp_path / "ref.fa", tmp_path / "reads.fq", "--sort", "--write-index", "-o", tmp_path / "x.bam"
    )
    assert code == 1
    assert f"cannot remove the former index {tmp_path / 'x.csi'}: Is a directory" in error
