"""Names of reads beyond the 254 characters that BAM holds: whole in text, refused where they cannot be written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records

Cli = Callable[..., tuple[int, bytes, str]]
GENOME = "GATTACAGGCTTAACCGTAGGATCCATTTGCAGCATCGGATTTCACGGATGCCCTATACGAATTGGCA"
#: alike in all the characters that BAM holds
NAMES = ["n" * 254 + "a", "n" * 254 + "b", "m" * 5000]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    reads = [(name, GENOME[10:50], "I" * 40) for name in NAMES]
    return write_fasta(tmp_path / "ref.fa", chr1=GENOME), write_fastq(tmp_path / "reads.fq", *reads)


def test_sam_and_paf_have_whole_names(cli: Cli, files: tuple[Path, Path]) -> None:
    code, sam, _ = cli("map", *files)
    assert code == 0
    assert [record[0] for record in records(sam)] == NAMES
    assert [line.split(b"\t")[0].decode() for line in cli("map", *files, "--paf")[1].splitlines()] == NAMES


@pytest.mark.parametrize("options", [["-o", "x.bam"], ["-o", "x.cram"], ["--sort", "-o", "x.sam"], ["--bam"]])
def test_what_htslib_holds_is_refused(
    cli: Cli, files: tuple[Path, Path], options: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, error = cli("map", *files, *options)
    assert code == 3
    assert error == (
        f"gpualign map: error: {files[1]}: a read's name has 255 characters, BAM, CRAM and sorted output hold 254: "
        f"{'n' * 40}… (shorten it, or write SAM)\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reads.fq", "ref.fa"]


def test_the_longest_name_of_bam(cli: Cli, files: tuple[Path, Path], tmp_path: Path) -> None:
    reads = write_fastq(tmp_path / "fit.fq", ("n" * 254, GENOME[10:50], "I" * 40))
    assert cli("map", files[0], reads, "-o", tmp_path / "x.bam")[0] == 0


def test_mates_of_long_names(cli: Cli, files: tuple[Path, Path], tmp_path: Path) -> None:
    ends = [
        write_fastq(tmp_path / f"{end}.fq", *((f"{name}/{end}", GENOME[10:50], "I" * 40) for name in NAMES))
        for end in (1, 2)
    ]
    code, sam, _ = cli("map", files[0], *ends)
    assert code == 0
    assert [record[0] for record in records(sam)] == [name for name in NAMES for _ in ends]
    assert cli("map", files[0], *ends, "--bam")[0] == 3


@pytest.mark.parametrize(
    ("command", "column"),
    [
        ("verify {reads} {reads}", 0),
        ("pairwise {reads}", 1),
        ("lcs-filter -n 0 --input-order --query {one} {reads}", 2),
    ],
)
def test_tables_have_whole_names(cli: Cli, files: tuple[Path, Path], tmp_path: Path, command: str, column: int) -> None:
    one = write_fasta(tmp_path / "one.fa", q=GENOME)
    words = command.format(reads=files[1], one=one).split()
    code, table, _ = cli(*words, "--no-header")
    assert code == 0
    found = [line.split(b"\t")[column].decode() for line in table.splitlines()]
    assert set(found) == set(NAMES[1:] if command.startswith("pairwise") else NAMES)
