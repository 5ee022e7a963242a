"""What is wrong with SAM, BAM and GenBank that are cut, or hold what cannot be read: said, with the line."""

from __future__ import annotations

import gzip
import io
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest
from Bio import SeqIO
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

import gpualign
from tests.helpers.commands import program
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sequences import random_genome, reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
GENOME = random_genome(2, 5000)
HEADER = "@HD\tVN:1.6\n@SQ\tSN:g\tLN:5000\n@CO\tx\n"


def sam_line(name: str = "r", **changed: str) -> str:
    fields = {
        "flag": "0",
        "rname": "g",
        "pos": "1",
        "mapq": "60",
        "cigar": "4M",
        "rnext": "*",
        "pnext": "0",
        "tlen": "0",
    }
    fields |= {"seq": "ACGT", "qual": "IIII"} | changed
    return "\t".join([name, *fields.values()]) + "\n"


def refused(cli: Cli, folder: Path, *arguments: object) -> str:
    """The message of a run that must fail and leave no file."""
    code, _, error = cli("map", *arguments, "-o", folder / "out.sam")
    assert code == 3
    assert not (folder / "out.sam").exists()
    return error


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    return write_fasta(tmp_path / "g.fa", g=GENOME)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (sam_line(flag="x"), "FLAG is 'x', not a number from 0 to 65,535"),
        (sam_line(flag="99999"), "FLAG is '99999', not a number from 0 to 65,535"),
        (sam_line(qual="III"), "SEQ has 4 bases, QUAL 3 qualities"),
        (sam_line(cigar="5M"), "CIGAR is of 5 bases, SEQ of 4"),
        (sam_line(cigar="4Q"), "CIGAR is '4Q'"),
        (sam_line(pos="-7x"), "POS is '-7x', not a number"),
        ("r\t0\tg\t1\t60\n", "a record of SAM has 11 columns, and this one 5"),
        (sam_line(qual="I II"), "a quality in a SAM line is not a printable character"),
        (sam_line(qual="IIII\tXH:H:1AE"), "a tag with half a byte"),
    ],
)
@pytest.mark.parametrize("dress", ["plain", "gzip"])
@pytest.mark.parametrize("before", [0, 2])
def test_a_line_of_sam(
    cli: Cli, tmp_path: Path, reference: Path, line: str, what: str, dress: str, before: int
) -> None:
    text = (HEADER + sam_line("a", flag="256") * before + line + sam_line("b")).encode()
    path = tmp_path / "r.sam"
    path.write_bytes(text if dress == "plain" else gzip.compress(text))
    error = refused(cli, tmp_path, reference, path)
    assert f"r.sam:{4 + before}: " in error
    assert what in error
    assert "truncated" not in error


def test_a_header_without_contigs(cli: Cli, tmp_path: Path, reference: Path) -> None:
    path = tmp_path / "r.sam"
    path.write_text("@HD\tVN:1.6\n" + sam_line(rname="chr7"))
    error = refused(cli, tmp_path, reference, path)
    assert "r.sam:2: RNAME is 'chr7', which no @SQ line of the header names" in error


def test_a_file_that_is_cut(cli: Cli, tmp_path: Path, reference: Path) -> None:
    path = tmp_path / "r.sam"
    path.write_text(HEADER + sam_line("a") + sam_line("b")[:-5])
    error = cli("map", reference, path)[2]
    assert "r.sam:5: the file is cut short within this record" in error


def test_sam_by_a_pipe(tmp_path: Path, reference: Path) -> None:
    text = (HEADER + sam_line("a") + sam_line(flag="x")).encode()
    done = subprocess.run(program("map", reference, "-"), input=text, capture_output=True, timeout=60)
    assert done.returncode == 3
    assert b"standard input:5: FLAG is 'x', not a number" in done.stderr


@pytest.mark.parametrize("flag", ["0", "16"])
@pytest.mark.parametrize("form", ["sam", "bam"])
def test_bases_that_are_those_of_the_reference(cli: Cli, tmp_path: Path, reference: Path, form: str, flag: str) -> None:
    path = tmp_path / "r.sam"
    path.write_text(HEADER + sam_line("a") + sam_line("e", seq="A=GT", flag=flag))
    if form == "bam":
        pysam.view("-b", "-o", str(tmp_path / "r.bam"), str(path), catch_stdout=False)
        path = tmp_path / "r.bam"
    error = refused(cli, tmp_path, reference, path)
    assert "record 'e' has = for bases" in error


@pytest.mark.parametrize("command", ["map {ref} {sam}", "mems {ref} {sam}", "verify {ref} {ref} -c {sam}"])
def test_sam_without_a_header(cli: Cli, tmp_path: Path, reference: Path, command: str) -> None:
    path = tmp_path / "r.sam"
    for line in (sam_line(), sam_line(flag="4", rname="*", pos="0", mapq="0", cigar="*"), sam_line(rname="1")):
        path.write_text(line * 2)
        code, _, error = cli(*command.format(ref=reference, sam=path).split())
        assert code == 3
        assert "SAM without a header (samtools view -h writes one)" in error


@pytest.mark.parametrize("dress", ["pipe", "gzip"])
def test_an_index_that_is_piped_or_compressed(tmp_path: Path, reference: Path, dress: str) -> None:
    index, reads = tmp_path / "g.gpi", write_fastq(tmp_path / "r.fq", ("r", GENOME[:100], "I" * 100))
    subprocess.run(program("index", reference, "-d", index), check=True, capture_output=True, timeout=60)
    packed = tmp_path / "g.gpi.gz"
    packed.write_bytes(gzip.compress(index.read_bytes()))
    words = ("-", reads) if dress == "pipe" else (packed, reads)
    done = subprocess.run(program("map", *words), input=index.read_bytes(), capture_output=True, timeout=60)
    assert done.returncode == 3
    assert b"a saved index (" in done.stderr


def flat_file(kind: str) -> str:
    rng = random.Random(4)
    made = [
        SeqRecord(
            Seq("".join(rng.choices("ACGT", k=300))), id=f"c{i}", name=f"c{i}", annotations={"molecule_type": "DNA"}
        )
        for i in (1, 2)
    ]
    out = io.StringIO()
    SeqIO.write(made, out, kind)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["genbank", "embl"])
def test_a_flat_file_that_is_cut_anywhere(tmp_path: Path, kind: str) -> None:
    from gpualign.text.references import read_reference

    text, path = flat_file(kind), tmp_path / "r.gb"
    whole = [i for i in range(len(text) + 1) if text[:i].rstrip().endswith("\n//")]
    for cut in range(10, len(text) + 1, 7):
        if cut not in whole:
            path.write_text(text[:cut])
            with pytest.raises(gpualign.InputError, match=r"cut short"):
                read_reference(str(path))
    path.write_text(text)
    assert read_reference(str(path)).names == ["c1", "c2"]


def test_a_record_that_lacks_bases(cli: Cli, tmp_path: Path) -> None:
    """Its last lines, but not its end."""
    lines = flat_file("genbank").splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith("//"))
    path = tmp_path / "r.gb"
    path.write_text("".join(lines[: at - 2] + lines[at:]))
    code, _, error = cli("index", path, "-d", tmp_path / "o.gpi")
    assert code == 3
    assert "cannot be read as GenBank: a record says that it has 300 bases, and has 180" in error
    assert error.count("\n") == 1


def test_no_warnings_of_biopython(tmp_path: Path) -> None:
    path, reads = tmp_path / "r.gb", write_fastq(tmp_path / "r.fq", ("r", "ACGT", "IIII"))
    path.write_text(flat_file("genbank")[:900])
    done = subprocess.run(program("map", path, reads), capture_output=True, timeout=60)
    assert done.returncode == 3
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("batch", ["16M", "300"])
def test_verify_of_pairs(cli: Cli, tmp_path: Path, reference: Path, batch: str) -> None:
    """Mates in two files have one name, and are NAME/1 and NAME/2."""
    sides: list[list[tuple[str, str, str]]] = [[], []]
    for i in range(5):
        at = 500 * i + 100
        sides[0].append((f"p{i}", GENOME[at : at + 80], "I" * 80))
        sides[1].append((f"p{i}", reverse_complement(GENOME[at + 150 : at + 230]), "I" * 80))
    sides[1].append(("alone", GENOME[3000:3080], "I" * 80))
    files = [write_fastq(tmp_path / f"{i}.fq", *side) for i, side in enumerate(sides)]
    pairs = [write_fastq(tmp_path / f"p{i}.fq", *side[:5]) for i, side in enumerate(sides)]
    sam = tmp_path / "p.sam"
    assert cli("map", "-I", "230,20", reference, *pairs, "-o", sam)[0] == 0
    code, out, error = cli(
        "verify", reference, f"{files[0]},{files[1]}", "-c", sam, "--no-header", "--batch-size", batch
    )
    assert code == 0, error
    rows = [line.split("\t") for line in out.decode().splitlines()]
    assert [row[0] for row in rows] == [f"p{i}/{mate}" for i in range(5) for mate in (1, 2)]
    assert {row[6] for row in rows} == {"0"}
    lines = tmp_path / "c.tsv"
    lines.write_text("p3/2\tg\t1700\t1900\t.\nalone\tg\t2950\t3100\t+\n")
    code, out, error = cli("verify", reference, f"{files[0]},{files[1]}", "-c", lines, "--no-header")
    assert code == 0, error
    assert [line.split("\t")[0::6] for line in out.decode().splitlines()] == [["p3/2", "0"], ["alone", "0"]]


def test_verify_of_single_reads_that_lost_their_number(cli: Cli, tmp_path: Path, reference: Path) -> None:
    reads = [(f"x{i}/1", GENOME[100 * i : 100 * i + 80], "I" * 80) for i in range(3)]
    path, sam = write_fastq(tmp_path / "r.fq", *reads), tmp_path / "o.sam"
    assert cli("map", reference, path, "-o", sam)[0] == 0
    code, out, error = cli("verify", reference, path, "-c", sam, "--no-header")
    assert code == 0, error
    assert [line.split("\t")[0] for line in out.decode().splitlines()] == ["x0/1", "x1/1", "x2/1"]
    both = write_fastq(tmp_path / "b.fq", *reads, *((name[:-1] + "2", *rest) for name, *rest in reads))
    code, _, error = cli("verify", reference, both, "-c", sam)
    assert code == 3
    assert "two queries are named 'x0', 'x0/1' or 'x0/2'" in error
