"""ALT contigs: reads map to the primary assembly, and better hits on ALT contigs are reported as well, as bwa does."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from gpualign.errors import InputError
from gpualign.map.index import alt_contigs
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records, tags
from tests.helpers.sequences import random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
BEGIN, END = 20_000, 30_000  # of the primary contig, of which ALT contigs have edited copies


def substituted(seed: int, text: str, every: int) -> str:
    """One of about so many bases is another one."""
    rng = random.Random(seed)
    swap = {"A": "C", "C": "G", "G": "T", "T": "A"}
    return "".join(swap[operation] if rng.random() < 1 / every else operation for operation in text)


@pytest.fixture(scope="module")
def contigs() -> dict[str, str]:
    primary = random_genome(70, 60_000)
    copy = primary[BEGIN:END]
    return {
        "chr1": primary,
        "chr1_x_alt": substituted(1, copy, 60),
        "decoy": random_genome(71, 8_000),
        "HLA-A*01": reverse_complement(substituted(2, copy[:4000], 30)),
    }


@pytest.fixture
def ref(tmp_path: Path, contigs: dict[str, str]) -> Path:
    return write_fasta(tmp_path / "hs.fa", contigs.items())


def pairs_of(text: str, name: str, count: int, seed: int) -> list[tuple[tuple[str, str, str], tuple[str, str, str]]]:
    rng = random.Random(seed)
    made = []
    for i in range(count):
        start = rng.randrange(0, len(text) - 400)
        a, b = text[start : start + 100], reverse_complement(text[start + 250 : start + 350])
        if i % 2:
            a, b = b, a
        made.append(((f"{name}.{start}.{i}", a, "I" * 100), (f"{name}.{start}.{i}", b, "I" * 100)))
    return made


@pytest.fixture
def reads(tmp_path: Path, contigs: dict[str, str]) -> list[Path]:
    pairs = [
        *pairs_of(contigs["chr1"][BEGIN:END], "primary", 100, 1),
        *pairs_of(contigs["chr1_x_alt"], "alt", 100, 2),
        *pairs_of(contigs["decoy"], "decoy", 20, 3),
        *pairs_of(contigs["chr1"][:15_000], "alone", 50, 4),
    ]
    return [write_fastq(tmp_path / f"{end + 1}.fq", *(pair[end] for pair in pairs)) for end in (0, 1)]


def test_reads_are_placed_on_the_primary_assembly(cli: Cli, ref: Path, reads: list[Path]) -> None:
    code, sam, error = cli("mem", ref, *reads)
    assert code == 0, error
    with_alt = found = 0
    for record in records(sam):
        origin, start = record[0].split(".")[:2]
        flag, own = int(record[1]), tags(record)
        if flag & 0x900:
            assert (record[2], flag & 0x900) in (("chr1_x_alt", 0x800), ("HLA-A*01", 0x800))
            assert "pa" not in own
            with_alt += origin == "alt"
            continue
        assert record[2] == ("decoy" if origin == "decoy" else "chr1")
        assert int(record[4]) >= 30  # copies on ALT contigs do not count
        assert flag & 0x2
        base = {"primary": BEGIN, "alt": BEGIN, "decoy": 0, "alone": 0}[origin]
        assert base + int(start) - 5 <= int(record[3]) <= base + int(start) + 255
        if origin == "primary":
            assert "pa" not in own
            found += "chr1_x_alt" in own.get("XA", "")
        if "pa" in own:
            assert origin == "alt"
            better = next(part for part in own["SA"].split(";") if part.split(",")[0] in ("chr1_x_alt", "HLA-A*01"))
            assert 0 < float(own["pa"]) < 1
            assert better
    assert with_alt > 120
    assert found > 170  # some copies have too many edits for XA


def test_the_share_of_an_alt_contig_is_written_once(
    cli: Cli, tmp_path: Path, ref: Path, contigs: dict[str, str]
) -> None:
    """Basecallers have a pa of another type."""
    text = "@HD\tVN:1.6\n"
    for i, (mate, _) in enumerate(pairs_of(contigs["chr1_x_alt"], "alt", 60, 2)):
        text += f"r{i}\t4\t*\t0\t0\t*\t*\t0\t0\t{mate[1]}\t{mate[2]}\tBC:Z:x\tpa:B:i,1\tts:i:7\n"
    (tmp_path / "r.sam").write_text(text)
    for form in ("sam", "bam"):
        out = tmp_path / f"out.{form}"
        assert cli("mem", ref, tmp_path / "r.sam", "-o", out)[0] == 0
        lines = records(str(pysam.samtools.view(str(out))).encode())
        assert all(len(tags(line)) == len(line) - 11 for line in lines)
        assert all(tags(line)["BC"] == "x" and "ts:i:7" in line for line in lines)
        assert any("pa:f:" in "\t".join(line) for line in lines)


def test_one_contig_as_good_as_another_without_them(cli: Cli, ref: Path, reads: list[Path]) -> None:
    """-j: ALT contigs are primary ones, whose reads are in doubt or on them."""
    code, sam, error = cli("mem", "-j", ref, *reads)
    assert code == 0, error
    loci = {record[2] for record in records(sam) if not int(record[1]) & 0x900}
    assert "chr1_x_alt" in loci
    assert not any("pa" in tags(record) for record in records(sam))
    (ref.parent / "hs.fa.alt").write_text("@SQ\tSN:x\nHLA-A*01\t0\tchr1\n")
    code, sam, _ = cli("mem", ref, *reads)  # the file says which they are, not the names
    assert code == 0
    assert "chr1_x_alt" in {record[2] for record in records(sam) if not int(record[1]) & 0x900}


def test_reads_of_alt_contigs_alone(cli: Cli, tmp_path: Path) -> None:
    """Where the primary assembly has nothing like them they are there, primary."""
    primary, alt = random_genome(1, 5000), random_genome(2, 3000)
    ref = write_fasta(tmp_path / "r.fa", chr1=primary, c_alt=alt)
    fastq = write_fastq(tmp_path / "r.fq", ("x", alt[100:200], "I" * 100), ("y", primary[100:200], "I" * 100))
    found = records(cli("map", ref, fastq, "--alt", "names")[1])
    assert [(r[0], r[1], r[2], r[4]) for r in found] == [("x", "0", "c_alt", "60"), ("y", "0", "chr1", "60")]


def test_flags_and_qualities_compared_with_bwa(cli: Cli, ref: Path, reads: list[Path]) -> None:
    """With the same .alt file: mapped alike, sure at least as often, and the same hits on ALT contigs."""
    if shutil.which("bwa") is None:
        pytest.skip("needs bwa")
    (ref.parent / "hs.fa.alt").write_text("chr1_x_alt\t0\tchr1\nHLA-A*01\t16\tchr1\n")
    subprocess.run(["bwa", "index", str(ref)], capture_output=True, check=True)
    theirs = records(subprocess.run(["bwa", "mem", str(ref), *map(str, reads)], capture_output=True, check=True).stdout)
    code, out, error = cli("mem", ref, *reads)
    assert code == 0, error
    ours = records(out)

    def primary(found: list[list[str]]) -> list[list[str]]:
        return [record for record in found if not int(record[1]) & 0x900]

    def loci(record: list[str]) -> set[tuple[str, str]]:
        hits = [hit.split(",") for tag in ("XA", "SA") for hit in tags(record).get(tag, "").split(";") if hit]
        return {(hit[0], hit[1].lstrip("+-")) for hit in hits if hit[0] != "chr1"}

    pairs = list(zip(primary(ours), primary(theirs), strict=True))
    assert all(mine[0] == other[0] for mine, other in pairs)
    assert sum(mine[1:4] == other[1:4] for mine, other in pairs) > 0.97 * len(pairs)
    sure = [sum(int(record[4]) >= 30 for record in side) for side in zip(*pairs, strict=True)]
    assert sure[0] >= sure[1]
    supplementary = [{(r[0], int(r[1]) & 0xC0, r[2]) for r in found if int(r[1]) & 0x800} for found in (ours, theirs)]
    assert len(supplementary[0] & supplementary[1]) > 0.9 * len(supplementary[1])
    assert sum(loci(mine) >= loci(other) for mine, other in pairs) > 0.9 * len(pairs)


def test_which_contigs_are_alt(tmp_path: Path) -> None:
    names = ["chr1", "chr1_KI270762v1_alt", "HLA-A*01:01:01:01", "hs38d1", "alt", "_alt"]
    assert alt_contigs(names, None).tolist() == [0, 1, 1, 0, 0, 0]
    path = tmp_path / "x.alt"
    path.write_text("@SQ\tSN:chr1\nhs38d1\t0\tchr1\t1\n\nalt\n")
    assert alt_contigs(names, str(path)).tolist() == [0, 0, 0, 1, 1, 0]
    path.write_text("other\n")
    with pytest.raises(InputError, match="names no contig of the reference"):
        alt_contigs(names, str(path))
