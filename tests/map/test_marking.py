"""`map --mark-duplicates` from file to file: flags, tags, metrics, in any form and order of the output."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from tests.helpers.files import write_fasta
from tests.helpers.paths import GENOMES
from tests.helpers.sam import records, tags
from tests.helpers.sequences import reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
DUPLICATE = 0x400
#: pairs by their template: 0 three times, 1 twice, the rest once; the second copy of 0 lies next to the first
PLACES = [0, 1, 2, 0, 3, 0, 1, 4]
COORDINATES = [
    "1:1000:1000",
    "1:1000:9000",
    "1:5000:5000",
    "1:1040:1060",
    "1:1:1",
    "2:1000:1000",
    "1:30000:9000",
    "1:7:7",
]
#: of the copies of a template the first has the best bases, but the last of template 1
QUALITIES = ["I", "5", "I", "H", "I", "H", "I", "I"]
EXPECTED = {3: "SQ", 5: "LB", 1: "LB"}  # by hand: pair to DT


def name_of(pair: int, barcode: str = "") -> str:
    return f"m:1:flow:1:110{COORDINATES[pair]}{barcode}"


@pytest.fixture
def pairs(tmp_path: Path) -> tuple[Path, Path]:
    return write_pairs(tmp_path)


def write_pairs(
    folder: Path, barcodes: list[str] | None = None, comments: list[str] | None = None
) -> tuple[Path, Path]:
    with pysam.FastaFile(str(GENOMES)) as genome:
        contig = genome.fetch(genome.references[0]).upper()
    paths = folder / "r_1.fq", folder / "r_2.fq"
    texts = ["", ""]
    for pair, number in enumerate(PLACES):
        begin = 200 + 300 * number
        mates = contig[begin : begin + 100], reverse_complement(contig[begin + 150 : begin + 250])
        name = name_of(pair, "" if barcodes is None else ":" + barcodes[pair])
        comment = "" if comments is None else f" {comments[pair]}"
        for mate, bases in enumerate(mates):
            texts[mate] += f"@{name}{comment}\n{bases}\n+\n{QUALITIES[pair] * 100}\n"
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def marked(lines: list[list[str]]) -> dict[str, str]:
    """Names of duplicates and their DT, which both records must have."""
    found: dict[str, set[str]] = {}
    for line in lines:
        found.setdefault(line[0], set()).add(tags(line).get("DT", "?") if int(line[1]) & DUPLICATE else "")
    assert all(len(kinds) == 1 for kinds in found.values())
    return {name: kind for name, (kind,) in ((name, tuple(kinds)) for name, kinds in found.items()) if kind}


@pytest.mark.parametrize("sort", [[], ["--sort"]])
@pytest.mark.parametrize("form", ["sam", "bam", "cram"])
def test_duplicates_are_marked(cli: Cli, tmp_path: Path, pairs: tuple[Path, Path], sort: list[str], form: str) -> None:
    plain, path = tmp_path / "plain.sam", tmp_path / f"x.{form}"
    assert cli("map", GENOMES, *pairs, "-I", "250", "-o", plain)[0] == 0
    code, _, error = cli("map", GENOMES, *pairs, "-I", "250", *sort, "--mark-duplicates", "-o", path)
    assert code == 0, error
    assert "6 duplicates (37.50 %)" in error
    lines = records(str(pysam.samtools.view("-T", str(GENOMES), str(path))).encode())
    assert marked(lines) == {name_of(pair): kind for pair, kind in EXPECTED.items()}
    order = sorted(records(plain.read_bytes()), key=lambda line: (line[2], int(line[3]), int(line[1]) & 16))
    names = [line[0] for line in (order if sort else records(plain.read_bytes()))]
    assert [line[0] for line in lines] == names
    header = str(pysam.samtools.view("-H", str(path)))
    assert ("SO:coordinate" if sort else "SO:unsorted\tGO:query") in header


def test_duplicates_are_left_out(cli: Cli, tmp_path: Path, pairs: tuple[Path, Path]) -> None:
    code, out, _ = cli("map", GENOMES, *pairs, "-I", "250", "--remove-duplicates")
    assert code == 0
    kept = [name_of(pair) for pair in range(len(PLACES)) if pair not in EXPECTED]
    assert [line[0] for line in records(out)] == [name for name in kept for _ in range(2)]


@pytest.mark.parametrize("optical", ["0", "30", "39", "40", "60", "100"])
def test_optical_distance(cli: Cli, pairs: tuple[Path, Path], optical: str) -> None:
    """The copies lie 40 and 60 pixels apart."""
    _, out, _ = cli("map", GENOMES, *pairs, "-I", "250", "--mark-duplicates", "--optical-distance", optical)
    kinds = EXPECTED if int(optical) >= 60 else dict.fromkeys(EXPECTED, "LB")
    assert marked(records(out)) == {name_of(pair): kind for pair, kind in kinds.items()}


def test_barcodes_tell_templates_apart(cli: Cli, tmp_path: Path) -> None:
    barcodes = ["ACGT", "GGGG", "ACGT", "ACGT", "ACGT", "CCCC", "TTTT", "ACGT"]
    reads = write_pairs(tmp_path, barcodes)
    _, out, _ = cli("map", GENOMES, *reads, "-I", "250", "--mark-duplicates", "--barcode-name")
    assert marked(records(out)) == {name_of(3, ":ACGT"): "SQ"}
    reads = write_pairs(tmp_path, comments=[f"RX:Z:{barcode}" for barcode in barcodes])
    _, out, _ = cli("map", GENOMES, *reads, "-I", "250", "--mark-duplicates", "-C", "--barcode-tag", "RX")
    assert marked(records(out)) == {name_of(3): "SQ"}


def test_templates_without_a_barcode_are_told_of(cli: Cli, tmp_path: Path) -> None:
    barcodes = ["RX:Z:ACGT", "RX:Z:GGGG", "", "x", "RX:Z:ACGT", "RX:Z:ACGT", "RX:Z:TTTT", "RX:Z:ACGT"]
    report, page = tmp_path / "r.json", tmp_path / "r.html"
    common = ["-I", "250", "--mark-duplicates", "--json", report, "--report", page]
    for of_reads, options, missing in (
        ({"comments": barcodes}, ["-C", "--barcode-tag", "RX"], 2),
        ({}, ["--barcode-name"], 8),
        ({"barcodes": ["A"] * 8}, ["--barcode-name"], 0),
    ):
        code, _, error = cli(
            "map", GENOMES, *write_pairs(tmp_path, **of_reads), *common, *options, "-o", tmp_path / "x.bam"
        )
        assert code == 0, error
        assert json.loads(report.read_text())["duplicates"]["without_barcode"] == missing
        sentence = f"warning: no barcode was found for {missing} templates: these were compared with each other"
        for text, part in ((error, sentence), (error, f", {missing} templates without a barcode")):
            assert (part in text) == (missing > 0)
        assert ("templates without a barcode" in page.read_text()) == (missing > 0)


def test_read_groups_tell_templates_apart(cli: Cli, tmp_path: Path) -> None:
    """Copies 3 and 5 of pair 0 are of another read group of its library, and now copies of each other."""
    reads = write_pairs(tmp_path)
    header = {"RG": [{"ID": f"g{n}", "LB": "x", "SM": "s"} for n in range(2)]}
    path = tmp_path / "r.bam"
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        mates = zip(*(pysam.FastxFile(str(file)) for file in reads), strict=True)
        for pair, ends in enumerate(mates):
            for flag, read in zip((0x4D, 0x8D), ends, strict=True):
                record = pysam.AlignedSegment(out.header)
                record.query_name, record.flag, record.query_sequence = read.name, flag, read.sequence
                record.query_qualities = pysam.qualitystring_to_array(read.quality)
                record.set_tag("RG", "g1" if pair in (3, 5) else "g0")
                out.write(record)
    for options, expected in (([], {3, 5, 1}), (["--use-read-groups"], {5, 1})):
        code, out, error = cli("map", GENOMES, path, "-I", "250", "--mark-duplicates", *options)
        assert code == 0, error
        assert set(marked(records(out))) == {name_of(pair) for pair in expected}


def test_metrics_and_reports(cli: Cli, tmp_path: Path, pairs: tuple[Path, Path]) -> None:
    metrics, report, page = tmp_path / "m.txt", tmp_path / "r.json", tmp_path / "r.html"
    options = ["--mark-duplicates", "--duplicate-metrics", metrics, "--json", report, "--report", page]
    group = ["-R", r"@RG\tID:a\tSM:s\tLB:lib"]
    assert cli("map", GENOMES, *pairs, "-I", "250", *options, *group, "-o", tmp_path / "x.bam")[0] == 0
    lines = metrics.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("LIBRARY\t"))
    row = dict(zip(lines[at].split("\t"), lines[at + 1].split("\t"), strict=True))
    counts = {"LIBRARY": "lib", "READ_PAIRS_EXAMINED": "8", "READ_PAIR_DUPLICATES": "3"}
    counts |= {"READ_PAIR_OPTICAL_DUPLICATES": "1", "PERCENT_DUPLICATION": "0.375", "UNPAIRED_READS_EXAMINED": "0"}
    assert {name: row[name] for name in counts} == counts
    (library,) = json.loads(report.read_text())["duplicates"]["libraries"]
    assert (library["library"], library["read_pairs"], library["pair_duplicates"]) == ("lib", 8, 3)
    assert "6 (37.50 %)" in page.read_text()


def test_bytes_do_not_depend_on_threads_batches_or_memory(cli: Cli, tmp_path: Path) -> None:
    rng = random.Random(5)
    with pysam.FastaFile(str(GENOMES)) as genome:
        contig = genome.fetch(genome.references[0]).upper()
    reference = write_fasta(tmp_path / "one.fa", g=contig)
    reads = tmp_path / "many.fq"
    with reads.open("w") as file:
        for i in range(6000):
            begin = rng.randrange(400)
            file.write(f"@m:1:f:1:1101:{rng.randrange(99)}:{i}\n{contig[begin : begin + 100]}\n+\n{'I' * 100}\n")
    for sort in ([], ["--sort"]):
        outputs = []
        for more in (["-t", 1], ["-t", 3, "--batch-size", "30K", "--sort-memory", "1M"]):
            path = tmp_path / "x.sam"
            assert cli("map", reference, reads, *sort, "--mark-duplicates", *more, "-o", path)[0] == 0
            outputs.append([line for line in path.read_text().splitlines() if not line.startswith("@PG")])
        assert outputs[0] == outputs[1]
        assert sum(int(line.split("\t")[1]) & DUPLICATE > 0 for line in outputs[0] if line[0] != "@") == 5600


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--optical-distance", "10"], "--optical-distance needs --mark-duplicates or --remove-duplicates"),
        (["--barcode-tag", "RX"], "--barcode-tag needs --mark-duplicates"),
        (["--barcode-name"], "--barcode-name needs --mark-duplicates"),
        (["--use-read-groups"], "--use-read-groups needs --mark-duplicates"),
        (["--duplicate-metrics", "m.txt"], "--duplicate-metrics needs --mark-duplicates"),
        (["--mark-duplicates", "--paf"], "PAF has no flags for duplicates"),
        (["--mark-duplicates", "--optical-distance", "-1"], "optical distance must be from 0"),
        (["--mark-duplicates", "--barcode-tag", "R"], "a tag is a letter and a letter or digit"),
        (["--mark-duplicates", "--barcode-tag", "RX", "--barcode-name"], "not in both"),
        (["--mark-duplicates", "--barcode-tag", "RX"], "have no tags for --barcode-tag (-C copies them"),
        (["--mark-duplicates", "--write-index", "-o", "x.bam"], "add --sort"),
        (["--coverage", "x.bg"], "coverage needs records in the order of coordinates (add --sort)"),
        (["--sort", "--coverage", "x.bg", "-o", "x.bg"], "two outputs are named x.bg"),
        (["--sort", "--coverage", "x", "--json", "x.mosdepth.summary.txt"], "two outputs are named x.mosdepth"),
        (["--mark-duplicates", "-o", "x.bam", "--duplicate-metrics", "x.bam"], "two outputs are named x.bam"),
        (["--sort", "--write-index", "-o", "x.bam", "--json", "x.bam.bai"], "two outputs are named x.bam.bai"),
        (["--sort", "--write-index", "-o", "x.bam", "--un", "x.bam.csi"], "two outputs are named x.bam.csi"),
        (["--sort", "--write-index", "-o", "x.cram", "--report", "x.cram.crai"], "two outputs are named x.cram.crai"),
        (["--mark-duplicates", "--duplicate-metrics", "-"], "two outputs go to standard output"),
        (["-o", "-", "--json", "-"], "two outputs go to standard output"),
        (["--sort", "--coverage", "-", "-o", "x.bam"], "coverage goes to files"),
    ],
)
def test_options_that_do_not_go_together(
    cli: Cli,
    tmp_path: Path,
    pairs: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    code, out, error = cli("map", GENOMES, *pairs, *options)
    assert (code, out) == (2, b"")
    assert sentence in error
    assert sorted(tmp_path.iterdir()) == before


def test_coverage_leaves_duplicates_out(cli: Cli, tmp_path: Path, pairs: tuple[Path, Path]) -> None:
    """Five templates of two mates of 100 bases."""
    depths, report = tmp_path / "x.bedgraph", tmp_path / "r.json"
    options = ["--sort", "--mark-duplicates", "--coverage", depths, "--json", report, "-o", tmp_path / "x.bam"]
    assert cli("map", GENOMES, *pairs, "-I", "250", *options)[0] == 0
    rows = [line.split("\t") for line in depths.read_text().splitlines()]
    assert sum((int(end) - int(begin)) * int(depth) for _, begin, end, depth in rows) == 1000
    loci = [begin for number in range(5) for begin in (200 + 300 * number, 350 + 300 * number)]
    assert [(int(begin), int(end)) for _, begin, end, depth in rows if depth == "1"] == [(p, p + 100) for p in loci]
    assert json.loads(report.read_text())["coverage"]["bases"] == 1000
    options[3] = tmp_path / "all"
    assert cli("map", GENOMES, *pairs, "-I", "250", *options)[0] == 0
    assert {path.name for path in tmp_path.glob("all*")} == {
        "all.mosdepth.summary.txt",
        "all.mosdepth.global.dist.txt",
        "all.thresholds.bed.gz",
    }
