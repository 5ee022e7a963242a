"""Names of contigs that SAM's readers would take for something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.files import write_fastq
from tests.helpers.sequences import random_genome

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
GENOME = random_genome(5, 2000)
#: allowed: the SAM specification's example of an HLA allele, and every character that a name may hold in its middle
ALLOWED = ["HLA-A*01:01:01", "a=b", "c!#$%&*+./:;=?@^_|~-9", "_x", "é"]
FORBIDDEN = ["*x", "=x", "a,b", "a\\b", *(f"a{character}b" for character in "()[]{}<>\"'`")]


@pytest.fixture
def reads(tmp_path: Path) -> Path:
    return write_fastq(tmp_path / "r.fq", ("r", GENOME[300:400], "I" * 100))


def write_reference(folder: Path, name: str) -> Path:
    path = folder / "ref.fa"
    path.write_text(f">{name}\n{GENOME}\n", "utf-8")
    return path


@pytest.mark.parametrize("name", ALLOWED)
def test_names_that_sam_allows(cli: Cli, tmp_path: Path, reads: Path, name: str) -> None:
    code, out, error = cli("map", write_reference(tmp_path, name), reads)
    assert code == 0, error
    assert out.splitlines()[-1].split(b"\t")[2] == name.encode()


@pytest.mark.parametrize("name", FORBIDDEN)
def test_names_that_sam_forbids(cli: Cli, tmp_path: Path, reads: Path, name: str) -> None:
    reference = write_reference(tmp_path, name)
    for command in ("map", "mem"):
        for output in ("x.sam", "x.bam", "x.cram"):
            code, _, error = cli(command, reference, reads, "-o", tmp_path / output)
            assert code == 3, error
            assert f"{reference}: SAM does not allow the contig name {name!r}" in error
            assert not (tmp_path / output).exists()
    code, out, error = cli("map", "--paf", reference, reads)
    assert code == 0, error
    assert out.split(b"\t")[5] == name.encode()


@pytest.mark.parametrize("command", ["map {0} {1} --paf", "mem {0} {1}", "index {0} -d {0}.gpi", "mems {0} {1} --tsv"])
@pytest.mark.parametrize(("name", "meaning"), [("*", "no contig"), ("=", "the mate's contig")])
def test_names_that_mean_something_else(
    cli: Cli, tmp_path: Path, reads: Path, command: str, name: str, meaning: str
) -> None:
    reference = write_reference(tmp_path, name)
    code, out, error = cli(*command.format(reference, reads).split())
    assert (code, out) == (3, b"")
    assert f"{reference}: a record is named '{name}', which means {meaning} in SAM" in error
