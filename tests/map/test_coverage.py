"""Depth of coverage by hand, as counted base by base, and as mosdepth counts it where it is installed."""

from __future__ import annotations

import ctypes.util
import gzip
import io
import os
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pysam
import pytest

from gpualign import _native
from gpualign.records.coverage import Coverage, coverage_paths, open_coverage
from gpualign.sequences.batch import join_bytes

NAMES, LENGTHS = ["a", "b", "c", "d"], [300, 70_000, 50, 20]


def binary(lines: Sequence[str]) -> np.ndarray:
    names, offsets = join_bytes([name.encode() for name in NAMES])
    text = "".join(line + "\n" for line in lines).encode()
    return np.asarray(_native.bam_records(np.frombuffer(text, np.uint8), names, offsets)[0])


def record(name: str, flag: int, contig: str, position: int, cigar: str, mate: int = 0) -> str:
    length = sum(int(n) for n, kind in re.findall(r"(\d+)([MIS=X])", cigar))
    return f"{name}\t{flag}\t{contig}\t{position}\t60\t{cigar}\t{'=' if mate else '*'}\t{mate}\t0\t{'A' * length}\t*"


def bedgraph(lines: Sequence[str], pieces: int = 1) -> list[str]:
    out = io.BytesIO()
    coverage = Coverage(NAMES, LENGTHS, [out], True)
    cuts = [len(lines) * i // pieces for i in range(pieces + 1)]
    for begin, end in pairwise(cuts):
        coverage.add(coverage.measure(binary(lines[begin:end])))
    coverage.finish()
    return out.getvalue().decode().splitlines()


def runs(depths: dict[str, Counter[int]]) -> list[str]:
    """Lines of bedGraph, from the depth of each position."""
    lines = []
    for name, length in zip(NAMES, LENGTHS, strict=True):
        begin = 0
        for at in range(1, length + 1):
            if at == length or depths[name][at] != depths[name][begin]:
                lines.append(f"{name}\t{begin}\t{at}\t{depths[name][begin]}")
                begin = at
    return lines


def covered(line: str) -> list[int]:
    position, cigar = line.split("\t")[3], line.split("\t")[5]
    at, found = int(position) - 1, []
    for n, kind in re.findall(r"(\d+)([MIDNSHP=X])", cigar):
        if kind in "M=X":
            found += range(at, at + int(n))
        at += int(n) if kind in "MDN=X" else 0
    return found


def naive(lines: Sequence[str]) -> dict[str, Counter[int]]:
    """Depth of each position; both mates of a proper pair count once where both are."""
    depths: dict[str, Counter[int]] = {name: Counter() for name in NAMES}
    mates: dict[tuple[str, str], set[int]] = {}
    for line in lines:
        name, flag_text, contig, *_ = line.split("\t")
        flag = int(flag_text)
        if flag & (4 | 256 | 512 | 1024):
            continue
        positions = set(covered(line))
        if flag & 2 and not flag & 2048:
            other = mates.setdefault((name, contig), positions)
            if other is not positions:
                positions = positions - other
        depths[contig].update(positions)
    return depths


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], ["a\t0\t300\t0", "b\t0\t70000\t0", "c\t0\t50\t0", "d\t0\t20\t0"]),
        (
            [record("r", 0, "c", 11, "5M2D5M3I2=1X4S")],
            ["c\t0\t10\t0", "c\t10\t15\t1", "c\t15\t17\t0", "c\t17\t25\t1", "c\t25\t50\t0"],
        ),
        ([record("r", 0, "c", 1, "50M"), record("s", 16, "c", 1, "50M")], ["c\t0\t50\t2"]),
        ([record("r", flag, "c", 1, "50M") for flag in (4, 256, 512, 1024)], ["c\t0\t50\t0"]),
        ([record("r", 2048, "c", 1, "50M")], ["c\t0\t50\t1"]),
        (
            [record("p", 67, "c", 1, "20M", 11), record("p", 147, "c", 11, "30M", 1)],
            ["c\t0\t40\t1", "c\t40\t50\t0"],
        ),
        (  # not a proper pair
            [record("p", 65, "c", 1, "20M", 11), record("p", 145, "c", 11, "30M", 1)],
            ["c\t0\t10\t1", "c\t10\t20\t2", "c\t20\t40\t1", "c\t40\t50\t0"],
        ),
        (  # one within the other, which has a gap
            [record("p", 67, "c", 1, "10M5D15M", 1), record("p", 147, "c", 1, "20M", 1)],
            ["c\t0\t30\t1", "c\t30\t50\t0"],
        ),
    ],
)
def test_depth(lines: list[str], expected: list[str]) -> None:
    assert bedgraph(lines) == [line for line in runs({name: Counter() for name in NAMES}) if line[0] != "c"][:2] + [
        line for line in expected if line[0] == "c"
    ] + ["d\t0\t20\t0"]


def random_lines(rng: random.Random) -> list[str]:
    """Sorted, with mates that overlap, gaps, and introns that reach far."""
    found = []
    for i in range(rng.choice([1, 20, 300])):
        contig = rng.choice(["a", "a", "b", "c"])
        length = LENGTHS[NAMES.index(contig)]
        cigars = ["20M", "5M3D10M", "4S8M2I8M", "10=1X5M5S", "6M1D6M1I6M"] + ["9M40000N9M"] * (contig == "b")
        shown = [rng.choice(cigars) for _ in range(2)]
        starts = [rng.randrange(1, length - 25) if "N" not in cigar else rng.randrange(1, 20_000) for cigar in shown]
        if rng.random() < 0.7:
            starts[1] = min(max(1, starts[0] + rng.randrange(-15, 15)), length - 25)
            starts[1] = min(starts[1], 20_000) if "N" in shown[1] else starts[1]
        out = rng.choice([0, 0, 0, 0x400, 0x200])
        proper = rng.choice([2, 2, 0])
        flags = [0x41 | proper | out, 0x91 | proper | out]
        for j in range(2):
            found.append(record(f"p{i}", flags[j], contig, starts[j], shown[j], starts[1 - j]))
        if rng.random() < 0.2:
            found.append(record(f"p{i}", flags[0] | rng.choice([0x100, 0x800]), contig, starts[1], shown[1], starts[1]))
    return sorted(found, key=lambda line: (NAMES.index(line.split("\t")[2]), int(line.split("\t")[3])))


def test_random_depths_are_the_naive_ones(seed: int, soaking: bool) -> None:
    for run in range(300 if soaking else 12):
        rng = random.Random(f"{seed} {run}")
        lines = random_lines(rng)
        for pieces in (1, 2, 7, len(lines)):
            assert bedgraph(lines, pieces) == runs(naive(lines))


def mosdepth_environment(folder: Path) -> dict[str, str]:
    """mosdepth looks for libhts.so, which Debian calls libhts.so.3."""
    library = ctypes.util.find_library("hts")
    if library:
        for folder_ in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"):
            if os.path.exists(os.path.join(folder_, library)):
                (folder / "libhts.so").symlink_to(os.path.join(folder_, library))
    return {**os.environ, "LD_LIBRARY_PATH": str(folder)}


@pytest.mark.skipif(not shutil.which("mosdepth"), reason="mosdepth is not installed")
def test_files_are_mosdepths(tmp_path: Path, seed: int) -> None:
    lines = [*random_lines(random.Random(seed)), "u\t4\t*\t0\t0\t*\t*\t0\t0\tA\t*"]
    header = "".join(f"@SQ\tSN:{name}\tLN:{length}\n" for name, length in zip(NAMES, LENGTHS, strict=True))
    (tmp_path / "in.sam").write_text(header + "".join(line + "\n" for line in lines))
    bam = str(tmp_path / "in.bam")
    pysam.samtools.view("-b", "-o", bam, str(tmp_path / "in.sam"), catch_stdout=False)
    pysam.samtools.index(bam)
    (tmp_path / "whole.bed").write_text(
        "".join(f"{name}\t0\t{length}\n" for name, length in zip(NAMES, LENGTHS, strict=True))
    )
    command = ["mosdepth", "-T", "1,5,10,20,30,50,100", "--by", "whole.bed", "theirs", bam]
    environment = mosdepth_environment(tmp_path)
    if subprocess.run(["mosdepth", "--version"], capture_output=True, env=environment).returncode:
        pytest.skip("mosdepth does not find htslib")
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    for path in ("ours", "ours.bed.gz"):
        with open_coverage(str(tmp_path / path), NAMES, LENGTHS) as writer:
            writer.add(writer.measure(binary(lines)))
    theirs = {path.name.removeprefix("theirs"): path for path in tmp_path.glob("theirs.*")}
    summary = theirs[".mosdepth.summary.txt"].read_text().splitlines()
    assert (tmp_path / "ours.mosdepth.summary.txt").read_text().splitlines() == [
        line for line in summary if "_region" not in line
    ]
    distribution = theirs[".mosdepth.global.dist.txt"].read_text()
    assert (tmp_path / "ours.mosdepth.global.dist.txt").read_text() == distribution
    for own, other in (("ours.thresholds.bed.gz", ".thresholds.bed.gz"), ("ours.bed.gz", ".per-base.bed.gz")):
        assert gzip.decompress((tmp_path / own).read_bytes()) == gzip.decompress(theirs[other].read_bytes())


def test_files_by_hand(tmp_path: Path) -> None:
    lines = [record("r", 0, "c", 1, "25M"), record("s", 0, "c", 6, "5M")]
    with open_coverage(str(tmp_path / "x"), NAMES, LENGTHS) as writer:
        writer.add(writer.measure(binary(lines)))
    assert (tmp_path / "x.mosdepth.summary.txt").read_text() == (
        "chrom\tlength\tbases\tmean\tmin\tmax\nc\t50\t30\t0.60\t0\t2\ntotal\t50\t30\t0.60\t0\t2\n"
    )
    shares = "c\t2\t0.10\nc\t1\t0.50\nc\t0\t1.00\n"
    assert (tmp_path / "x.mosdepth.global.dist.txt").read_text() == shares + shares.replace("c", "total")
    thresholds = gzip.decompress((tmp_path / "x.thresholds.bed.gz").read_bytes()).decode().splitlines()
    assert thresholds[0] == "#chrom\tstart\tend\tregion\t1X\t5X\t10X\t20X\t30X\t50X\t100X"
    assert thresholds[3] == "c\t0\t50\tunknown\t25" + 6 * "\t0"
    report = writer.report()
    assert (report["bases"], report["at_least_1"]) == (30, 25)
    assert (report["positions"], report["mean"]) == (70_370, 0.0004)  # contigs without records are not covered


def test_names_choose_the_format() -> None:
    assert coverage_paths("x.bedgraph") == ("x.bedgraph",)
    assert coverage_paths("x.bg.gz") == ("x.bg.gz",)
    three = ("x.mosdepth.summary.txt", "x.mosdepth.global.dist.txt", "x.thresholds.bed.gz")
    assert coverage_paths("x") == coverage_paths("x.mosdepth.summary.txt") == three


@pytest.mark.parametrize(
    "lines",
    [
        [record("r", 0, "c", 2, "1M"), record("r", 0, "c", 1, "1M")],
        [record("r", 0, "c", 2, "1M"), record("r", 0, "b", 3, "1M")],
    ],
)
@pytest.mark.parametrize("pieces", [1, 2])
def test_unsorted_records(lines: list[str], pieces: int) -> None:
    with pytest.raises(ValueError, match="not sorted"):
        bedgraph(lines, pieces)


def test_a_failed_run_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not sorted"), open_coverage(str(tmp_path / "x"), NAMES, LENGTHS) as writer:
        writer.add(writer.measure(binary([record("r", 0, "c", 2, "1M"), record("r", 0, "a", 1, "1M")])))
    assert list(tmp_path.iterdir()) == []
