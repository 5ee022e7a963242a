"""Where else a read may lie: secondary and supplementary records, and every locus within the error limit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.helpers.sequences import random_text, reverse_complement, with_edits

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
RAZERS3 = shutil.which("razers3", path=os.environ["PATH"] + ":/usr/lib/seqan/bin")


class Record:
    def __init__(self, line: str) -> None:
        fields = line.rstrip("\n").split("\t")
        self.name, self.contig, self.cigar, self.sequence, self.quality = (fields[i] for i in (0, 2, 5, 9, 10))
        self.flag, self.position, self.mapq = int(fields[1]), int(fields[3]), int(fields[4])
        self.tags = {tag[:2]: tag[5:] for tag in fields[11:]}

    @property
    def end(self) -> int:
        """0-based, after the last aligned base."""
        number, span = "", 0
        for base in self.cigar:
            if base.isdigit():
                number += base
                continue
            span += int(number) if base in "MD" else 0
            number = ""
        return self.position - 1 + span


def run_map(cli: Cli, folder: Path, contigs: dict[str, str], reads: dict[str, str], *options: str) -> list[Record]:
    (folder / "ref.fa").write_text("".join(f">{name}\n{bases}\n" for name, bases in contigs.items()))
    (folder / "reads.fq").write_text("".join(f"@{name}\n{r}\n+\n{'I' * len(r)}\n" for name, r in reads.items()))
    code, sam, _ = cli("map", folder / "ref.fa", folder / "reads.fq", "--device", "cpu", "-q", *options)
    assert code == 0
    return [Record(line) for line in sam.decode().splitlines() if not line.startswith("@")]


def end_distances(read: str, text: str) -> NDArray[np.int64]:
    """Least edit distance of the read to a substring that ends before each position: by Sellers' recurrence."""
    column = np.arange(len(read) + 1)
    changed = np.frombuffer(read.encode(), np.uint8)
    ramp = np.arange(len(read) + 1)
    found = [len(read)]
    for base in text.encode():
        down = np.concatenate([[0], column[:-1] + (changed != base)])
        best = np.minimum(down, column + 1)
        best[0] = 0
        column = np.minimum.accumulate(best - ramp) + ramp
        found.append(int(column[-1]))
    return np.array(found)


@pytest.mark.parametrize(("length", "rate"), [(100, 0.05), (48, 0.05), (120, 0.025), (100, 0.08), (24, 0.2)])
def test_every_locus_is_found(cli: Cli, tmp_path: Path, length: int, rate: float) -> None:
    """In a reference of repeats: dispersed copies with edits, on both strands, and tandem ones."""
    rng = np.random.default_rng(length)
    unit = random_text(rng, 150)
    parts = [random_text(rng, 200)]
    for _ in range(8):
        copy = with_edits(rng, unit, int(rng.integers(0, 15)))
        parts += [copy if rng.random() < 0.5 else reverse_complement(copy), random_text(rng, 60)]
    parts += [random_text(rng, 31) * 12, "AC" * 100, "A" * 150, random_text(rng, 100)]
    text = "".join(parts)
    reads = {}
    for i in range(12):
        at = int(rng.integers(0, len(text) - length))
        read = with_edits(rng, text[at : at + length], int(rng.integers(0, int(rate * length) + 1)))
        reads[f"r{i}"] = read if i % 2 else reverse_complement(read)
    records = run_map(
        cli, tmp_path, {"c": text}, reads, "-e", str(rate), "--sensitivity", "full", "-a", "--end-to-end", "-L", "100"
    )
    met = 0
    for name, read in reads.items():
        limit = int(np.floor(rate * len(read) + 1e-9))
        for reverse in (False, True):
            distances = end_distances(reverse_complement(read) if reverse else read, text)
            mine = [r for r in records if r.name == name and not r.flag & 4 and bool(r.flag & 16) == reverse]
            for record in mine:
                distance = int(record.tags["ed"])
                near = distances[max(0, record.end - 2 * limit) : record.end + 2 * limit + 1]
                assert near.min() <= distance <= limit
                assert distance in near
            for end in np.flatnonzero(distances <= limit):
                met += 1
                assert any(
                    abs(record.end - end) <= 5 * limit and int(record.tags["ed"]) <= distances[end] for record in mine
                ), (name, reverse, int(end))
    assert met > 60


@pytest.mark.skipif(RAZERS3 is None, reason="needs RazerS 3 (Debian's seqan-apps)")
def test_every_locus_that_razers3_finds(cli: Cli, tmp_path: Path) -> None:
    """Among copies of a transposon that have drifted apart; benchmarks/all_loci.py does the same on genomes."""
    rng = np.random.default_rng(12)
    unit = random_text(rng, 600)
    parts = []
    for _ in range(40):
        copy = with_edits(rng, unit, int(rng.integers(0, 40)))
        parts += [copy if rng.random() < 0.5 else reverse_complement(copy), random_text(rng, 400)]
    text = "".join(parts)
    reads = {
        f"r{i}": with_edits(rng, text[at : at + 110], 2)[:100]
        for i, at in enumerate(rng.integers(0, len(text) - 110, 200))
    }
    options = ("-e", "0.05", "--sensitivity", "full", "--all", "--end-to-end", "-L", "100")
    ours = {name: set[tuple[int, int]]() for name in reads}
    for record in run_map(cli, tmp_path, {"c": text}, reads, *options):
        if not record.flag & 4:
            ours[record.name].add((record.flag & 16, record.end))
    theirs = {name: set[tuple[int, int]]() for name in reads}
    command = [RAZERS3, "-i", "95", "-rr", "100", "-m", "100000", "-ds", "-o", "razers.sam", "ref.fa", "reads.fq"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    for line in (tmp_path / "razers.sam").read_text().splitlines():
        if not line.startswith("@") and not (record := Record(line)).flag & 4:
            theirs[record.name].add((record.flag & 16, record.end))
    assert sum(len(loci) for loci in theirs.values()) > 1000
    for name in reads:
        for one, other in ((ours[name], theirs[name]), (theirs[name], ours[name])):
            alone = [p for p in one if not any(p[0] == q[0] and abs(p[1] - q[1]) <= 5 for q in other)]
            assert alone == [], name


def _of_lengths(position_: Path, lengths: list[int]) -> tuple[str, tuple[Path, Path]]:
    text = random_text(np.random.default_rng(5), 2000)
    (position_ / "ref.fa").write_text(f">c\n{text}\n")
    (position_ / "reads.fa").write_text("".join(f">r{i}\n{text[100:][:n]}\n" for i, n in enumerate(lengths)))
    return text, (position_ / "ref.fa", position_ / "reads.fa")


def test_seeds_are_those_of_the_reads(cli: Cli, tmp_path: Path) -> None:
    """100 bases with 5 edits have 16 in a row without one, 21 with 1 have 10, and so have 10 without any."""
    options = ("-e", "0.05", "--sensitivity", "full", "--json", tmp_path / "r.json")
    for lengths, seeds in (([100, 150], (13, 4)), ([100, 21], (9, 2)), ([10, 100], (9, 2)), ([1000], (15, 5))):
        code, sam, said = cli("map", *options, *_of_lengths(tmp_path, lengths)[1])
        report = json.loads((tmp_path / "r.json").read_text())
        assert (code, report["k"], report["w"]) == (0, *seeds)
        assert "warning" not in said
        fields = [line.split(b"\t") for line in sam.splitlines() if not line.startswith(b"@")]
        assert [int(f[3]) for f in fields] == [101] * len(lengths)


def test_reads_shorter_than_the_first_ones_are_found_too(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no seed in common with their loci: one edit in the middle of 22 bases, and seeds of 13."""
    monkeypatch.setattr("gpualign.map.index._SAMPLE_READS", 1)
    text, paths = _of_lengths(tmp_path, [100])
    other = {"A": "C", "C": "A", "G": "A", "T": "A"}
    with paths[1].open("a") as file:
        for at in (0, 500, 1978):
            file.write(f">s{at}\n{text[at : at + 11]}{other[text[at + 11]]}{text[at + 12 : at + 22]}\n")
    _, sam, said = cli("map", "-e", "0.05", "--sensitivity", "full", "--end-to-end", *paths)
    fields = [line.split(b"\t") for line in sam.splitlines() if not line.startswith(b"@")]
    assert [int(f[3]) for f in fields] == [101, 1, 501, 1979]
    assert "warning" not in said


def test_an_index_that_is_not_dense_enough_is_refused(cli: Cli, tmp_path: Path) -> None:
    _, (reference, reads) = _of_lengths(tmp_path, [100])
    assert cli("index", reference, "-d", tmp_path / "r.gpi", "-k", "15", "-w", "8")[0] == 0
    options = ("-e", "0.05", "--sensitivity", "full")
    for given in ((tmp_path / "r.gpi",), ("-k", "15", "-w", "8", reference)):
        code, _, said = cli("map", *options, *given, reads)
        assert code == 2
        assert "needs k + w - 1 of at most 16 for these reads and -e 0.05" in said
    assert cli("index", reference, "-d", tmp_path / "r.gpi", "-k", "13", "-w", "4")[0] == 0
    assert cli("map", *options, tmp_path / "r.gpi", reads)[0] == 0


def test_reads_without_the_promise_are_counted(cli: Cli, tmp_path: Path) -> None:
    _, (reference, reads) = _of_lengths(tmp_path, [100, 1001, 1])
    options = ("-e", "0.05", "--sensitivity", "full")
    _, _, said = cli("map", *options, reference, reads)
    assert "1 read of more than 1,000 bases: not all of their alignments were searched for" in said
    _, _, said = cli("map", *options, "--end-to-end", reference, reads)
    assert "not all of their alignments" not in said


@pytest.fixture
def repeats() -> tuple[dict[str, str], str]:
    """A unit of 200 bases exactly, with one, two and five substitutions, among random bases; and the unit."""
    rng = np.random.default_rng(7)
    unit = random_text(rng, 200)
    text = random_text(rng, 500)
    for edits in (0, 1, 2, 5):
        copy = list(unit)
        for at in range(edits):
            position_ = 45 + 25 * at
            copy[position_] = "ACGT"[("ACGT".index(copy[position_]) + 1) % 4]
        text += "".join(copy) + random_text(rng, 300)
    return {"c": text}, unit


def test_secondary_records(cli: Cli, tmp_path: Path, repeats: tuple[dict[str, str], str]) -> None:
    contigs, unit = repeats
    loci = [500 + 500 * i + 31 for i in range(4)]  # 1-based: the read begins 30 bases into the unit

    def found(*options: str) -> list[tuple[int, int]]:
        records = run_map(cli, tmp_path, contigs, {"r": unit[30:180]}, *options)
        assert records[0].flag == 0
        assert all(r.flag == 256 and r.mapq == 0 for r in records[1:])
        assert all((r.sequence, r.quality) == ("*", "*") for r in records[1:])
        return [(r.position, int(r.tags["ed"])) for r in records]

    everywhere = list(zip(loci, (0, 1, 2, 5), strict=True))
    assert found() == everywhere[:1]
    assert found("--all") == everywhere
    assert found("--secondary") == everywhere
    assert found("-N", "2") == everywhere[:3]
    assert found("--strata", "0") == everywhere[:1]
    assert found("--strata", "2") == everywhere[:3]
    assert found("--strata", "2", "-N", "1") == everywhere[:2]
    assert found("--all", "-e", "0.014") == everywhere[:3]
    records = run_map(cli, tmp_path, contigs, {"r": unit[30:180]}, "--all", "--secondary-seq")
    assert {r.sequence for r in records} == {unit[30:180]}


def test_a_long_deletion_is_one_gap(cli: Cli, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    text = random_text(rng, 5000)
    read = text[1000:1070] + text[1090:1170]
    (record,) = run_map(cli, tmp_path, {"c": text}, {"r": read})
    assert (record.flag, record.position) == (0, 1001)
    assert "20D" in record.cigar
    assert (record.tags["NM"], record.mapq) == ("20", 60)
    (record,) = run_map(cli, tmp_path, {"c": text}, {"r": reverse_complement(read)})
    assert (record.flag, record.position) == (16, 1001)
    (record,) = run_map(cli, tmp_path, {"c": text}, {"r": read}, "--end-to-end")
    assert record.flag == 4


def test_parts_of_a_read(cli: Cli, tmp_path: Path) -> None:
    """70 bases of one contig, then 80, reversed, of another: the longer part is the primary one."""
    rng = np.random.default_rng(9)
    contigs = {"a": random_text(rng, 3000), "b": random_text(rng, 3000)}
    contigs["a"] = contigs["a"][:570] + "G" + contigs["a"][571:]
    contigs["b"] = contigs["b"][:2080] + "G" + contigs["b"][2081:]  # after it the read goes on with something else
    read = contigs["a"][500:570] + reverse_complement(contigs["b"][2000:2080])
    primary, part = run_map(cli, tmp_path, contigs, {"r": read})
    assert (primary.flag, primary.contig) == (16, "b")
    assert (part.flag, part.contig, part.position) == (2048, "a", 501)
    assert part.cigar.startswith("7")
    assert part.cigar.endswith("H")
    assert read.startswith(part.sequence)
    assert len(part.sequence) == len(part.quality) < 80
    assert part.tags["SA"].startswith(f"b,{primary.position},-,{primary.cigar},{primary.mapq},")
    assert primary.tags["SA"].startswith(f"a,501,+,{part.cigar.replace('H', 'S')},{part.mapq},")
    primary, part = run_map(cli, tmp_path, contigs, {"r": read}, "-Y")
    assert part.sequence == read
    assert part.cigar.endswith("S")


def test_long_reads_among_short_ones(cli: Cli, tmp_path: Path) -> None:
    """Of 20,000 bases with 3 % of errors: by chaining, without a whole alignment's memory."""
    rng = np.random.default_rng(10)
    text = random_text(rng, 60_000)
    read = with_edits(rng, text[10_000:30_000], 600)
    long, short = run_map(cli, tmp_path, {"c": text}, {"long": read, "short": text[500:600]})
    assert (long.flag, abs(long.position - 10_001) < 20, abs(long.end - 30_000) < 20, long.mapq) == (0, True, True, 60)
    assert 450 < int(long.tags["NM"]) <= 600
    assert "ed" not in long.tags
    assert (short.flag, short.position, short.tags["ed"]) == (0, 501, "0")


def test_options_that_make_no_sense(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.fa").write_text(">c\nACGTACGTACGT\n")
    for options in (("-N", "-1"), ("--strata", "-1"), ("--sensitivity", "most"), ("-x", "ont", "--strata", "1")):
        assert cli("map", tmp_path / "x.fa", tmp_path / "x.fa", *options)[0] == 2
