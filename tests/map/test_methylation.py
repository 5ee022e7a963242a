"""Counts of cytosines: by hand, and as counted base by base from the records."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from tests.helpers.bisulfite import bisulfite, edited
from tests.helpers.files import Record, write_fasta, write_fastq
from tests.helpers.sam import records
from tests.helpers.sequences import random_genome, reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
Counts = dict[tuple[int, str], list[int]]
CONTEXTS = ("CpG", "CHG", "CHH")


def context_of(genome: str, at: int) -> str:
    """Of a C, or of the C opposite a G."""
    step, guanine = (1, "G") if genome[at] == "C" else (-1, "C")
    near = [genome[at + n * step] if 0 <= at + n * step < len(genome) else "N" for n in (1, 2)]
    return "CpG" if near[0] == guanine else "CHG" if near[1] == guanine else "CHH"


def counted(bam: Path, genome: str, min_mapq: int = 10, min_quality: int = 5) -> Counts:
    """[methylated, converted] bases of each position and context, by MethylDackel's rules."""
    bases: dict[str, dict[int, list[tuple[str, int]]]] = defaultdict(lambda: defaultdict(list))
    strands = {}
    with pysam.AlignmentFile(str(bam)) as file:
        for record in file:
            if record.flag & 0xF04 or record.mapping_quality < min_mapq or record.flag & 3 == 1:
                continue
            name = record.query_name or ""
            strands[name] = str(record.get_tag("YD"))
            for read, at in record.get_aligned_pairs(matches_only=True):
                base, quality = (record.query_sequence or "")[read], (record.query_qualities or ())[read]
                bases[name][at].append((base, quality))
    counts: Counts = defaultdict(lambda: [0, 0])
    for name, of_template in bases.items():
        cytosine, converted = ("C", "T") if strands[name] == "f" else ("G", "A")
        for at, seen in of_template.items():
            if genome[at] != cytosine:
                continue
            base, quality = max(seen, key=lambda one: one[1])
            if len(seen) == 2:
                (one, q), (two, p) = seen
                quality = quality + quality // 5 if one == two else abs(q - p)
            if quality >= min_quality and base in (cytosine, converted):
                counts[at, context_of(genome, at)][base == converted] += 1
    return counts


def lines_of(counts: Counts, context: str, name: str = "g") -> list[str]:
    """Of MethylDackel's bedGraph."""
    return [
        f"{name}\t{at}\t{at + 1}\t{int(100.0 * m / (m + u))}\t{m}\t{u}"
        for (at, kind), (m, u) in sorted(counts.items())
        if kind == context
    ]


@pytest.fixture(scope="module")
def genome() -> str:
    return random_genome(92, 6000)


def library(genome: str, count: int, seed: int = 3) -> list[tuple[Record, Record]]:
    """Pairs whose mates often overlap and differ there, with random qualities, and copies."""
    rng = random.Random(seed)
    pairs: list[tuple[Record, Record]] = []
    for i in range(count):
        size = rng.randrange(85, 220)
        start = rng.randrange(0, len(genome) - size)
        piece = genome[start : start + size]
        strand = bisulfite(reverse_complement(piece) if i % 2 else piece, "CpG" if rng.random() < 0.7 else "")
        ends = [edited(rng, strand[:80], rng.randrange(3)), edited(rng, reverse_complement(strand)[:80], 2)]
        for _ in range(2 if i % 10 == 0 else 1):
            name = f"p{len(pairs)}"
            made = [
                (f"{name}/{n}", e, "".join(chr(33 + rng.randrange(2, 41)) for _ in e)) for n, e in enumerate(ends, 1)
            ]
            pairs.append((made[0], made[1]))
    return pairs


@pytest.fixture
def files(tmp_path: Path, genome: str) -> tuple[Path, Path, Path]:
    first, second = zip(*library(genome, 400), strict=True)
    fasta = write_fasta(tmp_path / "g.fa", g=genome)
    return fasta, write_fastq(tmp_path / "1.fq", *first), write_fastq(tmp_path / "2.fq", *second)


def test_counts_are_those_of_the_records(tmp_path: Path, cli: Cli, files: tuple[Path, ...], genome: str) -> None:
    bam, prefix = tmp_path / "o.bam", tmp_path / "m"
    words = ("map", "--meth", *files, "-o", bam, "--sort", "--mark-duplicates", "-I", "150,40")
    assert cli(*words, "--methylation", prefix, "--batch-size", "2K")[0] == 0
    counts = counted(bam, genome)
    assert sum(map(sum, counts.values())) > 5000
    for context in CONTEXTS:
        header, *lines = Path(f"{prefix}_{context}.bedGraph").read_text().splitlines()
        assert header == f'track type="bedGraph" description="{context} methylation levels"'
        assert lines == lines_of(counts, context)
    assert cli(*words, "--methylation", tmp_path / "m.bedgraph", "-t", "1")[0] == 0
    assert (tmp_path / "m.bedgraph").read_bytes() == Path(f"{prefix}_CpG.bedGraph").read_bytes()
    # tabix takes no track line
    assert cli(*words, "--methylation", tmp_path / "m.bedgraph.gz")[0] == 0
    pysam.tabix_index(str(tmp_path / "m.bedgraph.gz"), preset="bed")
    with pysam.TabixFile(str(tmp_path / "m.bedgraph.gz")) as table:
        assert list(table.fetch()) == (tmp_path / "m.bedgraph").read_text().splitlines()[1:]
    words = (*words, "--min-mapq", "40", "--min-quality", "25", "--json", tmp_path / "j")
    assert cli(*words, "--methylation", tmp_path / "m.cov")[0] == 0
    counts = counted(bam, genome, 40, 25)
    rows = [line.split("\t") for line in (tmp_path / "m.cov").read_text().splitlines()]
    cpg = {at: both for (at, kind), both in sorted(counts.items()) if kind == "CpG"}
    assert [(r[0], int(r[1]), int(r[2]), int(r[4]), int(r[5])) for r in rows] == [
        ("g", at + 1, at + 1, m, u) for at, (m, u) in cpg.items()
    ]
    assert all(float(r[3]) == pytest.approx(100 * int(r[4]) / (int(r[4]) + int(r[5])), rel=1e-5) for r in rows)
    totals = {"methylated": sum(m for m, _ in cpg.values()), "converted": sum(u for _, u in cpg.values())}
    assert json.loads((tmp_path / "j").read_text())["methylation"] == {"CpG": totals}


@pytest.mark.skipif(shutil.which("MethylDackel") is None, reason="MethylDackel is not installed")
def test_lines_are_those_of_methyldackel(tmp_path: Path, cli: Cli, files: tuple[Path, ...]) -> None:
    bam, prefix = tmp_path / "o.bam", tmp_path / "m"
    words = ("map", "--meth", *files, "-o", bam, "--sort", "--write-index", "--mark-duplicates", "-I", "150,40")
    assert cli(*words, "--methylation", prefix)[0] == 0
    command = ["MethylDackel", "extract", "--CHG", "--CHH", files[0], bam, "-o", tmp_path / "theirs"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    for context in CONTEXTS:
        ours, theirs = (Path(f"{name}_{context}.bedGraph").read_text() for name in (prefix, tmp_path / "theirs"))
        assert ours.splitlines()[1:] == theirs.splitlines()[1:]


def agreeing(genome: str, count: int, sizes: range) -> list[tuple[Record, Record]]:
    """Pairs without errors, so that mates agree where they overlap: programs differ in what they take if not."""
    rng = random.Random(8)
    pairs: list[tuple[Record, Record]] = []
    for i in range(count):
        size = rng.choice(sizes)
        start = rng.randrange(0, len(genome) - size)
        piece = genome[start : start + size]
        strand = bisulfite(reverse_complement(piece) if i % 2 else piece, "CpG" if rng.random() < 0.7 else "")
        ends = strand[:80], reverse_complement(strand)[:80]
        pairs.append(((f"p{i}/1", ends[0], "I" * 80), (f"p{i}/2", ends[1], "I" * 80)))
    return pairs


@pytest.mark.skipif(shutil.which("bismark_methylation_extractor") is None, reason="Bismark is not installed")
@pytest.mark.parametrize("kind", ["reads", "pairs"])
def test_bismarks_extractor_reads_the_tags(tmp_path: Path, cli: Cli, genome: str, kind: str) -> None:
    """Each base counts: its coverage file is ours."""
    if kind == "pairs":
        first, second = zip(*agreeing(genome, 300, range(85, 220)), strict=True)
        files = [write_fastq(tmp_path / "1.fq", *first), write_fastq(tmp_path / "2.fq", *second), "-I", "150,40"]
    else:
        files = [write_fastq(tmp_path / "r.fq", *(first for first, _ in library(genome, 200)))]
    words = ("map", "--meth", write_fasta(tmp_path / "g.fa", g=genome), *files)
    assert cli(*words, "--tags", "XM,XR,XG", "-U", "-o", tmp_path / "r.bam")[0] == 0
    counts = (*words, "--sort", "--min-mapq", 0, "--min-quality", 0, "-o", tmp_path / "s.bam")
    assert cli(*counts, "--methylation", tmp_path / "r.cov")[0] == 0
    command = ["bismark_methylation_extractor", "-p" if kind == "pairs" else "-s", "--bedGraph", "--gzip"]
    subprocess.run([*command, "-o", str(tmp_path), "r.bam"], check=True, capture_output=True, cwd=tmp_path)
    assert gzip.open(tmp_path / "r.bismark.cov.gz", "rt").read() == (tmp_path / "r.cov").read_text()


@pytest.mark.skipif(shutil.which("biscuit") is None, reason="biscuit is not installed")
def test_biscuit_reads_the_strands(tmp_path: Path, cli: Cli, genome: str) -> None:
    """Its pileup has our depths and shares, where mates do not overlap; it corrects the strand of no record."""
    first, second = zip(*agreeing(genome, 300, range(165, 300)), strict=True)
    fasta, bam, counts = write_fasta(tmp_path / "g.fa", g=genome), tmp_path / "o.bam", tmp_path / "o.bedgraph"
    files = write_fastq(tmp_path / "1.fq", *first), write_fastq(tmp_path / "2.fq", *second)
    words = ("map", "--meth", fasta, *files, "-I", "230,40", "-o", bam, "--sort", "--write-index")
    assert cli(*words, "--min-mapq", 0, "--min-quality", 0, "--methylation", counts)[0] == 0
    pysam.faidx(str(fasta))

    def biscuit(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["biscuit", *map(str, words)], check=True, capture_output=True, text=True)

    strands = biscuit("bsstrand", fasta, bam).stderr
    assert "Mapped reads: 600\n" in strands
    assert "Corrected reads: 0 (0.00%)" in strands
    everything = ("-b", 0, "-m", 0, "-a", 0, "-e", 0, "-l", 0)
    biscuit("pileup", *everything, "-o", tmp_path / "o.vcf", fasta, bam)
    lines = biscuit("vcf2bed", "-t", "cg", "-k", 1, tmp_path / "o.vcf").stdout.splitlines()
    theirs = [line.split("\t") for line in lines]
    ours = [line.split("\t") for line in counts.read_text().splitlines()[1:]]
    assert len(ours) > 500
    assert [(row[1], int(row[4])) for row in theirs] == [(row[1], int(row[4]) + int(row[5])) for row in ours]
    for row, own in zip(theirs, ours, strict=True):
        share = int(own[4]) / (int(own[4]) + int(own[5]))
        assert float(row[3]) == pytest.approx(share, abs=0.0051)  # two digits


def test_conversion_by_hand(tmp_path: Path, cli: Cli) -> None:
    """Two reads on a genome of two contigs, one of them a control."""
    one, two = random_genome(61, 400), random_genome(62, 400)
    fasta = write_fasta(tmp_path / "g.fa", chr1=one, lambda_phage=two)
    piece = one[100:180]
    reads = [("a", bisulfite(piece, "CpG"), "I" * 80), ("b", bisulfite(reverse_complement(two[50:130])), "I" * 80)]
    words = ("map", "--meth", fasta, write_fastq(tmp_path / "r.fq", *reads), "-o", tmp_path / "o.sam")
    assert cli(*words, "--json", tmp_path / "j", "--report", tmp_path / "r.html")[0] == 0
    found = json.loads((tmp_path / "j").read_text())["conversion"]
    expected = {name: {kind: [0, 0] for kind in CONTEXTS} for name in ("chr1", "lambda_phage")}
    positions = {kind: [[0, 0] for _ in range(80)] for kind in CONTEXTS}
    for i in range(80):
        if one[100 + i] == "C":
            kind = context_of(one, 100 + i)
            # bisulfite() keeps C before G of the piece alone
            kept = int(piece[i : i + 2] == "CG")
            expected["chr1"][kind][1 - kept] += 1
            positions[kind][i][1 - kept] += 1
        if two[50 + i] == "G":
            kind = context_of(two, 50 + i)
            expected["lambda_phage"][kind][1] += 1
            positions[kind][79 - i][1] += 1
    assert found["contigs"] == expected
    assert found["by_position"] == {"R1": positions}
    page = (tmp_path / "r.html").read_text()
    assert "<th>methylated, lambda_phage</th><td>CpG 0.00 %, CHG 0.00 %, CHH 0.00 %</td>" in page
    assert "Methylation along R1" in page
    methylated, converted = map(sum, zip(*positions["CpG"], strict=True))
    share = 100 * methylated / (methylated + converted)
    assert f"CpG {share:.2f} % of {methylated + converted:,} bases" in page


@pytest.mark.parametrize("ending", [".bedgraph", ".cov.gz", ".meth"])
def test_counts_of_samples(tmp_path: Path, cli: Cli, files: tuple[Path, ...], ending: str) -> None:
    """Of each sample as in a run of its own; --resume misses a file that was deleted."""
    fasta, one, two = files
    folder, sheet = tmp_path / "out", tmp_path / "sheet.csv"
    sheet.write_text(f"sample,fastq_1,fastq_2\na,{one},{two}\nb,{one},\n")
    words = ("map", "--meth", fasta, "--samples", sheet, "-o", folder, "--sort", "--resume", tmp_path / "kept")
    counts = (*words, "--methylation", ending, "--json", tmp_path / "j")
    assert cli(*counts)[0] == 0
    names = [f"{ending}_{context}.bedGraph" for context in CONTEXTS] if ending == ".meth" else [ending]
    for sample, reads in (("a", (one, two)), ("b", (one,))):
        alone = ("map", "--meth", fasta, *reads, "--sort", "-o", tmp_path / "alone.bam")
        assert cli(*alone, "--methylation", tmp_path / f"alone{ending}")[0] == 0
        for name in names:
            found, expected = ((folder / f"{sample}{name}"), (tmp_path / f"alone{name}"))
            assert found.read_bytes() == expected.read_bytes()
            assert len(found.read_bytes()) > 200
    (folder / f"b{names[0]}").unlink()
    assert cli(*counts)[0] == 0
    assert json.loads((tmp_path / "j").read_text())["finished_before"] == 1
    assert (folder / f"b{names[0]}").exists()
    for wrong, why in (("x.cov", "ending of each sample's file"), ("./x", "ending of each sample's file")):
        status, _, errors = cli(*words, "--methylation", wrong)
        assert status == 2
        assert why in errors
    sheet.write_text(f"sample,fastq_1,output\na,{one},{tmp_path}/x.bam\nb,{one},{tmp_path}/x.sam\n")
    status, _, errors = cli(*counts)
    assert status == 2
    assert "two outputs are named" in errors


def test_unconverted_reads_fail(tmp_path: Path, cli: Cli, genome: str) -> None:
    piece, other = genome[1000:1200], genome[3000:3200]
    strands = [piece, bisulfite(other, "CpG")]
    pairs = [
        [(f"p{i}/1", strand[:80], "I" * 80), (f"p{i}/2", reverse_complement(strand)[:80], "I" * 80)]
        for i, strand in enumerate(strands)
    ]
    first, second = zip(*pairs, strict=True)
    files = write_fastq(tmp_path / "1.fq", *first), write_fastq(tmp_path / "2.fq", *second)
    words = ("map", "--meth", write_fasta(tmp_path / "g.fa", g=genome), *files, "-I", "200,30")
    outside = sum(context_of(genome, 1000 + i) != "CpG" for i in range(80) if piece[i] == "C")
    for most, failed in ((3, {"p0"}), (outside + 60, set())):
        code, out, err = cli(*words, "--max-unconverted", most, "--json", tmp_path / "j")
        assert code == 0, err
        assert {r[0] for r in records(out) if int(r[1]) & 512} == failed
        assert json.loads((tmp_path / "j").read_text())["conversion"]["unconverted_reads"] == 2 * len(failed)


def test_filled_in_bases_do_not_count(tmp_path: Path, cli: Cli) -> None:
    """A fragment between two sites of MspI, C^CGG: its ends are filled in with CG, which is not methylated.

    The strands' first bases, CGG, are their own; the two at their ends are not.
    """
    inner = random_genome(71, 76).replace("CCGG", "CAGG")
    left, right = random_genome(72, 300), random_genome(73, 300)
    genome = left + "CCGG" + inner + "CCGG" + right
    begin, end = len(left) + 1, len(left) + 4 + len(inner) + 3  # CGG … CCG
    piece = genome[begin:end]
    top, bottom = bisulfite(piece, "CpG")[:-2] + "TG", bisulfite(reverse_complement(piece), "CpG")[:-2] + "TG"
    reads = [("t", top, "I" * len(top)), ("b", bottom, "I" * len(bottom))]
    fasta, fastq = write_fasta(tmp_path / "g.fa", g=genome), write_fastq(tmp_path / "r.fq", *reads)
    words = ("map", "--meth", fasta, fastq, "-o", tmp_path / "o.bam", "--sort", "--min-mapq", 0)
    found = {}
    for options in ((), ("--rrbs",)):
        assert cli(*words, *options, "--methylation", tmp_path / "m.bedgraph", "--json", tmp_path / "j")[0] == 0
        rows = [line.split("\t") for line in (tmp_path / "m.bedgraph").read_text().splitlines()[1:]]
        found[options] = {int(row[1]): (int(row[4]), int(row[5])) for row in rows}
        totals = json.loads((tmp_path / "j").read_text())
        assert totals["conversion"]["CpG"] == list(totals["methylation"]["CpG"].values())
    filled = {end - 2: (0, 1), begin + 1: (0, 1)}
    assert found[()] == found["--rrbs",] | filled
    assert not set(filled) & set(found["--rrbs",])
    assert found["--rrbs",][begin] == (1, 0)
    assert found["--rrbs",][end - 1] == (1, 0)
