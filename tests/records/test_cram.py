"""CRAM whose reference is missing or another one, or that is cut: what is wrong is said, and not in htslib's words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpualign.errors import GpualignError
from gpualign.records.cram_errors import SamtoolsFailed
from tests.helpers.record_files import records_of, write_sam

Cli = Callable[..., tuple[int, bytes, str]]
BASES = "ACGTTGCA" * 20
OTHER = "other.fa is not the one that it was made with: contig 'c0' has other bases"


@pytest.fixture
def cram(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose reference, ref.fa, its header names, and nothing else can find."""
    for name in ("REF_PATH", "REF_CACHE"):
        monkeypatch.setenv(name, "/nowhere")
    (tmp_path / "ref.fa").write_text(f">c0\n{BASES}\n")
    (tmp_path / "reads.fq").write_text(f"@r\n{BASES[:64]}\n+\n{'I' * 64}\n")
    assert cli("map", tmp_path / "ref.fa", tmp_path / "reads.fq", "-o", tmp_path / "in.cram")[0] == 0
    return tmp_path / "in.cram"


@pytest.mark.parametrize(
    ("command", "other", "what"),
    [
        ("sort", None, "no reference was found for its contig 'c0', nor {folder}/ref.fa, which its header names ("),
        ("markdup", None, "no reference was found for its contig 'c0'"),
        ("search -P ACGT -k 0", None, "no reference was found for its contig 'c0'"),
        (
            "sort",
            f">c0\n{BASES[:-1]}C\n{BASES[1:]}\n",
            OTHER,
        ),
        ("sort", f">c0\n{BASES[9:70]}\n", OTHER),
        ("sort", f">c1\n{BASES}\n", "other.fa lacks the contig 'c0', which it was made with"),
        (
            "search -P ACGT -k 0",
            f">c0\n{BASES[1:]}\n",
            OTHER,
        ),
        ("sort", "hello\n", "other.fa: cannot be the reference of CRAM (give FASTA"),
        ("sort", "", "other.fa: cannot be the reference of CRAM (give FASTA"),
    ],
)
def test_a_reference_that_is_missing_or_another(
    cli: Cli, tmp_path: Path, cram: Path, command: str, other: str | None, what: str
) -> None:
    """The file itself is whole."""
    (tmp_path / "ref.fa").rename(tmp_path / "moved.fa")
    words = [*command.split(), cram, "-o", tmp_path / ("out.tsv" if "search" in command else "out.sam")]
    if other is not None:
        (tmp_path / "other.fa").write_text(other)
        words += ["--reference", tmp_path / "other.fa"]
    code, _, error = cli(*words)
    assert code == 3
    assert what.format(folder=tmp_path) in error
    assert error.count("\n") == 1
    assert not any(word in error for word in ("truncated", "damaged", "error reading", "samtools view:", "returned"))
    if command == "sort":
        assert cli("sort", cram, "--reference", tmp_path / "moved.fa", "-o", tmp_path / "out.sam")[0] == 0
        assert len(records_of(tmp_path / "out.sam")) == 1


@pytest.mark.parametrize("keep", [0.2, 0.6, 0.95])
def test_a_file_that_is_cut(cli: Cli, tmp_path: Path, cram: Path, keep: float) -> None:
    data = cram.read_bytes()
    cram.write_bytes(data[: int(keep * len(data))])
    code, _, error = cli("sort", cram, "-o", tmp_path / "out.sam")
    assert code == 3
    assert error.startswith(f"gpualign sort: error: {cram}: truncated or damaged after 0 records: ")
    assert error.endswith((": CRAM that cannot be decoded\n", ": no end-of-file marker; it may be truncated\n"))


@pytest.mark.parametrize("command", ["sort", "markdup"])
def test_output_for_a_header_of_another_reference(cli: Cli, tmp_path: Path, cram: Path, command: str) -> None:
    header = ["@SQ\tSN:c0\tLN:160\tM5:" + "0" * 32]
    path = write_sam(tmp_path / "in.sam", ["r\t0\tc0\t1\t60\t8M\t*\t0\t0\tACGTTGCA\t*"], header)
    code, _, error = cli(command, path, "--reference", tmp_path / "ref.fa", "-o", tmp_path / "out.cram")
    assert code == 3
    assert "ref.fa is not the one in the header (M5): contig 'c0' has other bases" in error
    assert not (tmp_path / "out.cram").exists()


@pytest.mark.parametrize(
    ("said", "status", "what"),
    [
        ("", -9, "ended by signal 9"),
        ("Traceback (most recent call last):\n", 1, "pysam does not work"),
        ("samtools view: error closing", 1, "CRAM cannot be written (--debug shows why)"),
    ],
)
def test_other_failures_of_samtools(said: str, status: int, what: str) -> None:
    failed = SamtoolsFailed(said, status)
    assert said in str(failed)
    explained = failed.explained("CRAM cannot be written")
    assert type(explained) is GpualignError
    assert what in str(explained)
