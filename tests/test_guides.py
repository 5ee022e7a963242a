"""The guides' commands run as they stand, on small files that are made up under the guides' names."""

from __future__ import annotations

import doctest
import gzip
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import pysam
import pytest

from tests.helpers.bisulfite import bisulfite
from tests.helpers.files import write_fasta
from tests.helpers.paths import ROOT
from tests.helpers.sequences import mutate, random_text, reverse_complement

GUIDES = ROOT / "docs" / "guides"
GENOME = random_text(random.Random(1), 40_000)


def write_reads(path: Path, reads: Iterable[str]) -> None:
    records = (f"@r{i}\n{bases}\n+\n{'I' * len(bases)}\n" for i, bases in enumerate(reads))
    path.write_bytes(gzip.compress("".join(records).encode()))


def write_pairs(folder: Path, first: str, second: str, genome: str = GENOME, meth: bool = False) -> None:
    """Two hundred pairs of 100 bases that face each other; bisulfite pairs show the forward strand, converted."""
    rng = random.Random(first)
    fragments = [
        genome[at : at + rng.randrange(250, 350)] for at in (rng.randrange(len(genome) - 350) for _ in range(200))
    ]
    shown = [bisulfite(fragment, "CpG") if meth else fragment for fragment in fragments]
    write_reads(folder / first, [mutate(rng, text[:100], 0.01) for text in shown])
    write_reads(folder / second, [mutate(rng, reverse_complement(text)[:100], 0.01) for text in shown])


def write_long_reads(path: Path, error: float) -> None:
    rng = random.Random(path.name)
    write_reads(path, [mutate(rng, GENOME[at : at + 5_000], error) for at in range(0, 35_000, 1_000)])


def write_calls(path: Path) -> None:
    """What a basecaller writes: reads without positions, with a tag."""
    with pysam.AlignmentFile(str(path), "wb", header={"HD": {"VN": "1.6"}}) as file:
        for at in range(0, 35_000, 5_000):
            read = pysam.AlignedSegment()
            read.query_name, read.flag, read.query_sequence = f"call{at}", 4, GENOME[at : at + 3_000]
            read.query_qualities = pysam.qualitystring_to_array("I" * 3_000)
            read.set_tag("qs", 20)
            file.write(read)


def germline(folder: Path) -> None:
    write_fasta(folder / "GRCh38.fa", [GENOME])
    for name in ("NA12878", "L1", "L2"):
        write_pairs(folder, f"{name}_R1.fastq.gz", f"{name}_R2.fastq.gz")


def long_reads(folder: Path) -> None:
    write_fasta(folder / "ref.fa", [GENOME])
    write_long_reads(folder / "ont.fastq.gz", 0.08)
    write_long_reads(folder / "hifi.fastq.gz", 0.005)
    write_calls(folder / "calls.bam")


def hi_c(folder: Path) -> None:
    """Mates from anywhere; each pore-C read is of three places."""
    rng = random.Random(2)
    write_fasta(folder / "ref.fa", [GENOME])
    for mate in ("R1", "R2"):
        places = [rng.randrange(39_000) for _ in range(200)]
        write_reads(folder / f"hic_{mate}.fastq.gz", [GENOME[at : at + 100] for at in places])
    triples = [[rng.randrange(39_000) for _ in range(3)] for _ in range(50)]
    write_reads(folder / "porec.fastq.gz", ["".join(GENOME[at : at + 800] for at in triple) for triple in triples])


def rna(folder: Path) -> None:
    exons, intron = [GENOME[5_000:5_300], GENOME[7_000:7_200], GENOME[9_000:9_400]], GENOME[30_000:31_000]
    write_fasta(folder / "ref.fa", [GENOME[:20_000] + f"GTAAGT{intron}TTTCAG".join(exons) + GENOME[20_000:]])
    for name in ("cdna", "direct_rna", "isoseq"):
        write_reads(folder / f"{name}.fastq.gz", ["".join(exons)[at:] for at in range(20)])
    starts = (20_001, 21_313, 22_525)
    rows = (
        f's0\tx\texon\t{start}\t{start + len(exon) - 1}\t.\t+\t.\tgene_id "g"; transcript_id "t";\n'
        for start, exon in zip(starts, exons, strict=True)
    )
    (folder / "genes.gtf").write_text("".join(rows))
    write_fasta(
        folder / "transcripts.fa", [GENOME[:2_000] + GENOME[3_000:4_000], GENOME[1_000:2_000] + GENOME[3_000:5_000]]
    )
    write_pairs(folder, "rna_R1.fastq.gz", "rna_R2.fastq.gz", GENOME[1_000:2_000] + GENOME[3_000:4_000])
    write_reads(folder / "small_rna.fastq.gz", [GENOME[at : at + 22] for at in range(0, 30_000, 300)])


def methylation(folder: Path) -> None:
    write_fasta(folder / "ref.fa", [GENOME])
    write_pairs(folder, "r_1.fq.gz", "r_2.fq.gz", meth=True)


def samples(folder: Path) -> None:
    write_fasta(folder / "ref.fa", [GENOME])
    for name in ("liver", "brain"):
        write_pairs(folder, f"{name}_R1.fastq.gz", f"{name}_R2.fastq.gz")


def genomes(folder: Path) -> None:
    """The second genome has a deletion, an inversion and one substitution in a hundred bases."""
    rng = random.Random(3)
    other = GENOME[:10_000] + GENOME[12_000:20_000] + reverse_complement(GENOME[20_000:25_000]) + GENOME[25_000:]
    write_fasta(folder / "genome1.fa", [GENOME])
    write_fasta(folder / "genome2.fa", ["".join(rng.choice("ACGT") if rng.random() < 0.01 else base for base in other)])
    genes = [GENOME[at : at + 500] for at in range(0, 10_000, 1_000)]
    write_fasta(folder / "genes1.fa", genes)
    write_fasta(folder / "genes2.fa", [mutate(rng, gene, 0.1) for gene in genes])


def reads(folder: Path) -> None:
    write_fasta(folder / "ref.fa", [GENOME])
    write_reads(folder / "reads.fq.gz", [GENOME[at : at + 100] for at in range(0, 30_000, 100)])


def nothing(folder: Path) -> None:
    """The guide takes the example data."""


#: guide -> (what makes its inputs, outputs with the fewest records or lines that they must have)
CASES: dict[str, tuple[Callable[[Path], None], dict[str, int]]] = {
    "germline": (
        germline,
        {
            "NA12878.bam": 400,
            "NA12878.bam.bai": 1,
            "NA12878.metrics.txt": 5,
            "NA12878.mosdepth.summary.txt": 3,
            "NA12878.html": 10,
            "NA12878.json": 1,
            "lanes.bam": 800,
            "NA12878.cram": 400,
        },
    ),
    "long-reads": (long_reads, {"ont.bam": 35, "hifi.bam": 35, "again.bam": 35, "mods.bam": 7, "ont.paf": 35}),
    "hi-c": (hi_c, {"hic.bam": 400, "hic.mem.bam": 400, "porec.bam": 100}),
    "rna": (
        rna,
        {
            "cdna.bam": 20,
            "cdna.SJ.out.tab": 2,
            "known.bam": 20,
            "direct.bam": 20,
            "isoseq.paf": 20,
            "transcripts.bam": 600,
            "small_rna.bam": 100,
        },
    ),
    "bisulfite": (methylation, {"sample.bam": 400, "sample.bedgraph": 200, "sample.html": 10}),
    "many-samples": (samples, {"mapped/liver.bam": 400, "mapped/brain.bam.bai": 1, "mapped.html": 10}),
    "search": (nothing, {"all_sites.tsv": 4, "counts.tsv": 4, "sites.png": 1, "motifs.tsv": 2, "adapters.bed": 0}),
    "cluster": (
        nothing,
        {
            "otus.fa": 10,
            "otus.tsv": 80,
            "taxonomy.tsv": 80,
            "lca.tsv": 80,
            "chimeras.tsv": 100,
            "otus.uc": 120,
            "sizes.png": 1,
            "representatives.fa": 50,
        },
    ),
    "compare-genomes": (
        genomes,
        {"dots.png": 1, "matches.txt": 50, "anchors.mums": 50, "contigs.paf": 3, "contigs.bam": 3, "orthologs.tsv": 11},
    ),
    "protein-search": (nothing, {"hits.tsv": 100, "hits.blast6": 12}),
    "dask": (reads, {"out.sam": 300}),
}
#: of more than five seconds; they run each night
_SLOW = {"dask", "search", "compare-genomes", "rna", "cluster"}


def commands_of(page: Path) -> str:
    return "\n".join(re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL))


def run_lines(lines: str, folder: Path) -> None:
    """As they stand, by a shell that finds gpualign, in a folder that also has the examples."""
    (folder / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["bash", "-euo", "pipefail", "-c", lines]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr


def size_of(path: Path) -> int:
    """Records of BAM and CRAM, lines of text, 1 for other files."""
    if path.suffix in (".bam", ".cram"):
        reference = str(path.with_name("GRCh38.fa")) if path.suffix == ".cram" else None
        with pysam.AlignmentFile(str(path), reference_filename=reference, check_sq=False) as file:
            return sum(1 for _ in file.fetch(until_eof=True))
    return 1 if path.suffix in (".png", ".bai") else len(path.read_text().splitlines())


def columns_of(path: Path, *names: str) -> list[tuple[str, ...]]:
    header, *rows = (line.split("\t") for line in path.read_text().splitlines())
    return [tuple(row[header.index(name)] for name in names) for row in rows]


def off_targets_primers_and_barcodes(folder: Path) -> None:
    """Each guide has its exact site, primers amplify what their paper says, and each read is with its barcode."""
    made = columns_of(folder / "with_variants.tsv", "pattern", "variants")
    assert {row for row in made if row[1] != "*"} == {("g1", "2474T>G"), ("g2", "7997C>T")}
    assert ("polyprotein", "exon") in columns_of(folder / "scored.tsv", "gene", "feature")
    library = columns_of(folder / "library.tsv", "pattern", "gene", "m0b0")
    assert {row[1] for row in library} == {"VP3", "polymerase"}
    assert all(int(row[2]) > 0 for row in library)
    assert len(library) == 41
    assert len((folder / "chosen.tsv").read_text().splitlines()) == 19
    assert set(columns_of(folder / "products.tsv", "pair", "strand", "size")) == {("DWV", "+", "395")}
    assert (folder / "products.fa").read_text().count(">DWV:") == 3
    assert len(columns_of(folder / "primer_reads.tsv", "target")) > 200
    header, *sites = (line.split("\t") for line in (folder / "sites.tsv").read_text().splitlines())
    exact = [row[header.index("pattern")] for row in sites if row[header.index("distance")] == "0"]
    assert {"g1", "g2", "g3"} == set(exact)
    by_barcode = {path.stem: path.read_text().count("\n") // 4 for path in (folder / "by_barcode").iterdir()}
    assert by_barcode == {"bc1": 334, "bc2": 333, "unassigned": 333}
    trimmed = {path.stem: path.read_text().split("\n")[1::4] for path in (folder / "trimmed_by_barcode").iterdir()}
    assert {name: len(reads) for name, reads in trimmed.items()} == by_barcode
    assert len({len(read) for read in trimmed["bc1"]}) < 3  # reads of one length, without their barcodes
    for name in ("t1", "t2"):
        assert gzip.decompress((folder / f"{name}.fastq.gz").read_bytes()).count(b"\n") > 2000
    assert (folder / "plate" / "unassigned_2.fastq").exists()


def an_otu_table(folder: Path) -> None:
    """All reads of both samples are in it but those without an OTU, and all OTUs, which have a taxonomy; one read is a
    chimera.
    """
    header, *rows = (line.split("\t") for line in (folder / "otus.tsv").read_text().splitlines())
    assert header == ["#OTU ID", "lake", "soil"]
    reads, lost = ((folder / name).read_text().count(">") for name in ("merged.fa", "lost.fa"))
    assert sum(int(count) for row in rows for count in row[1:]) == reads - lost > 400
    otus = re.findall(r">(.*)", (folder / "otus.fa").read_text())
    assert {row[0] for row in rows} == {name.split(";")[0] for name in otus}
    assert [line.split("\t")[0] for line in (folder / "taxonomy.tsv").read_text().splitlines()] == otus
    flags = [line.split("\t")[-1] for line in (folder / "chimeras.tsv").read_text().splitlines()]
    assert flags.count("Y") == 1


#: what else the outputs of a guide must be
CHECKS: dict[str, Callable[[Path], None]] = {"search": off_targets_primers_and_barcodes, "cluster": an_otu_table}


@pytest.mark.parametrize("guide", [pytest.param(name, marks=[pytest.mark.slow] * (name in _SLOW)) for name in CASES])
def test_commands_run_as_they_stand(guide: str, tmp_path: Path) -> None:
    """All lines of a guide; its outputs have as many records as the table says."""
    make_inputs, outputs = CASES[guide]
    make_inputs(tmp_path)
    run_lines(commands_of(GUIDES / f"{guide}.md"), tmp_path)
    found = {name: size_of(tmp_path / name) for name in outputs}
    assert {name: size for name, size in found.items() if size < outputs[name]} == {}
    CHECKS.get(guide, nothing)(tmp_path)


def test_every_guide_with_commands_is_run() -> None:
    pages = {page.stem for page in GUIDES.glob("*.md") if commands_of(page)}
    assert pages == set(CASES)


def test_every_guide_is_listed() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (GUIDES / "README.md").read_text()))
    assert listed == {page.name for page in GUIDES.glob("*.md")} - {"README.md"}


def test_the_primary_record_of_a_pore_c_read_comes_first(tmp_path: Path) -> None:
    """What the guide says of pore-C; places near each other may share a record."""
    hi_c(tmp_path)
    run_lines("gpualign map -x ont ref.fa porec.fastq.gz -o porec.sam", tmp_path)
    lines = [line.split("\t") for line in (tmp_path / "porec.sam").read_text().splitlines() if line[0] != "@"]
    flags: dict[str, list[int]] = {}
    for line in lines:
        flags.setdefault(line[0], []).append(int(line[1]) & 0x800)
    assert len(flags) == 50
    assert all(of_read[0] == 0 and all(of_read[1:]) for of_read in flags.values())
    assert len(lines) > 100


def test_a_spliced_read_is_split(tmp_path: Path) -> None:
    """What the guide says of RNA: two records, no N."""
    write_fasta(tmp_path / "ref.fa", [GENOME])
    write_reads(tmp_path / "read.fq.gz", [GENOME[1_000:1_080] + GENOME[3_000:3_070]])
    run_lines("gpualign map ref.fa read.fq.gz -o out.sam", tmp_path)
    lines = [line.split("\t") for line in (tmp_path / "out.sam").read_text().splitlines() if line[0] != "@"]
    assert sorted(int(line[3]) for line in lines) == [1_001, 3_001]
    assert not any("N" in line[5] for line in lines)
    assert all(any(field.startswith("SA:Z:") for field in line) for line in lines)


def test_the_rules_of_the_snakefile(tmp_path: Path) -> None:
    """The shell commands of its rules, with their fields filled in as Snakemake does."""
    (snakefile,) = re.findall(r"```\n(# Snakefile\n.*?)```", (GUIDES / "workflows.md").read_text(), re.DOTALL)
    index, mapping = re.findall(r"shell:\s*((?:\"[^\n]*\"\s*)+)", snakefile)
    write_fasta(tmp_path / "ref.fa", [GENOME])
    (tmp_path / "reads").mkdir()
    write_pairs(tmp_path / "reads", "a_1.fastq.gz", "a_2.fastq.gz")
    (tmp_path / "mapped").mkdir()
    output = SimpleNamespace(bam="mapped/a.bam", json="mapped/a.json")
    given = SimpleNamespace(ref="ref.gpi", reads="reads/a_1.fastq.gz reads/a_2.fastq.gz")
    lines = [
        text_of(index).format(input="ref.fa", output="ref.gpi", threads=2),
        text_of(mapping).format(input=given, output=output, threads=2, wildcards=SimpleNamespace(sample="a")),
    ]
    run_lines("\n".join(lines), tmp_path)
    with pysam.AlignmentFile(str(tmp_path / "mapped" / "a.bam")) as bam:
        assert bam.header.to_dict()["RG"] == [{"ID": "a", "SM": "a"}]
        assert sum(1 for _ in bam) >= 400


def text_of(literals: str) -> str:
    """Neighbouring string literals of Python as one text."""
    return "".join(part.replace("\\\\", "\\") for part in re.findall(r"\"([^\n]*)\"", literals))


def test_snakemake_runs_the_snakefile(tmp_path: Path) -> None:
    if not (Path(sys.executable).parent / "snakemake").exists():
        pytest.skip("needs snakemake (pip install snakemake)")
    (snakefile,) = re.findall(r"```\n(# Snakefile\n.*?)```", (GUIDES / "workflows.md").read_text(), re.DOTALL)
    (tmp_path / "Snakefile").write_text(snakefile)
    write_fasta(tmp_path / "ref.fa", [GENOME])
    (tmp_path / "reads").mkdir()
    for sample in "ab":
        write_pairs(tmp_path / "reads", f"{sample}_1.fastq.gz", f"{sample}_2.fastq.gz")
    run_lines("snakemake --cores 2 --resources gpu=1", tmp_path)
    assert all(size_of(tmp_path / "mapped" / f"{sample}.bam") >= 400 for sample in "ab")


@pytest.mark.parametrize("guide", ["edit-distances", "protein-search", "cluster"])
def test_python_in_guides_runs(guide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(GUIDES / f"{guide}.md"), module_relative=False)
    assert result.attempted > 2
    assert result.failed == 0
