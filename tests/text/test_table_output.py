"""Tables as Parquet and Arrow: what the TSV holds, whole or absent, the same bytes whatever batches and threads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from gpualign.text import table_output
from tests.helpers.paths import EXAMPLES

Cli = Callable[..., tuple[int, bytes, str]]
AMPLICONS, GENOMES = EXAMPLES / "amplicons.fa", EXAMPLES / "genomes.fa"
VERIFY = ("verify", GENOMES, GENOMES, "-p")
FIELDS = "query+target+id+raw+alnlen+ids+mism+opens+gaps+exts+ql+qlo+qhi+tl+tstrand+caln+pairs+pctgaps+qcov+id4"
COMMANDS: dict[str, tuple[object, ...]] = {
    "verify": VERIFY,
    "verify without cigars": ("verify", GENOMES, GENOMES, "--no-header"),
    "pairwise": ("pairwise", AMPLICONS, "--id", "0.9", "--strand", "both"),
    "pairwise scores": ("pairwise", AMPLICONS, "--score-only", "--matrix", "NUC.4.4"),
    "pairwise fields": ("pairwise", AMPLICONS, "--id", "0.97", "--userfields", FIELDS),
    "bounded gaps": ("pairwise", AMPLICONS, "--max-gaps", "1"),
    "bounded gaps, none": ("pairwise", AMPLICONS, "--max-gaps", "0"),
    "bounded gaps, scores": ("pairwise", AMPLICONS, "--max-gaps", "2", "--score-only"),
    "lcs": ("lcs-filter", "-Q", "{one}", AMPLICONS, "-n", "9", "--strand", "both", "--subsequence"),
    "lcs in order": ("lcs-filter", "-Q", "{one}", AMPLICONS, "-n", "0", "--input-order"),
    "mems": ("mems", "-maxmatch", "-b", "-l", "20", GENOMES, GENOMES),
    "nothing": ("pairwise", "{one}"),
}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first amplicon."""
    path = tmp_path_factory.mktemp("one") / "one.fa"
    path.write_text("\n".join(AMPLICONS.read_text().splitlines()[:2]) + "\n")
    return path


def words(name: str, one: Path) -> list[object]:
    return [one if word == "{one}" else word for word in COMMANDS[name]]


def value(text: str, kind: pa.DataType) -> Any:
    if kind == pa.string():
        return text
    return None if text == "*" else int(text) if kind == pa.int64() else float(text)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_formats_hold_what_tsv_holds(cli: Cli, name: str, one: Path, tmp_path: Path) -> None:
    tsv = tmp_path / "t.tsv"
    given = words(name, one)
    assert cli(*given, "-q", "-o", tsv, *(["--tsv"] if "mems" in given else []))[0] == 0
    lines = [line.split("\t") for line in tsv.read_text().splitlines()]
    for form, read in (("parquet", pa.parquet.read_table), ("arrow", pa.feather.read_table)):
        assert cli(*given, "-q", "-o", tmp_path / f"t.{form}")[0] == 0
        code, printed, _ = cli(*given, "-q", "--output-format", form)
        assert (code, printed) == (0, (tmp_path / f"t.{form}").read_bytes())
        table = read(tmp_path / f"t.{form}")
        body = lines
        if "--no-header" not in given:
            assert table.column_names == lines[0]
            body = lines[1:]
        expected = [[value(text, kind) for text, kind in zip(line, table.schema.types, strict=True)] for line in body]
        assert [list(row.values()) for row in table.to_pylist()] == expected
        assert (len(expected) > 0) == (name != "nothing")


def test_kinds_of_columns(cli: Cli, one: Path, tmp_path: Path) -> None:
    cli(*words("lcs in order", one), "-q", "-o", tmp_path / "t.parquet")
    table = pa.parquet.read_table(tmp_path / "t.parquet")
    assert dict(zip(table.column_names, map(str, table.schema.types), strict=True)) == {
        "rank": "int64",
        "query": "string",
        "subject": "string",
        "lcs": "int64",
        "qlen": "int64",
        "slen": "int64",
        "qcov": "double",
        "scov": "double",
    }
    assert table["rank"].null_count == len(table) == 120


def test_row_groups_do_not_depend_on_the_run(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_output, "GROUP_BYTES", 10_000)
    written = set()
    for number, run in enumerate([("-t", 1), ("-t", 2, "--batch-size", "2K"), ("-t", 2, "--batch-size", "16K")]):
        path = tmp_path / f"{number}.parquet"
        assert cli("pairwise", AMPLICONS, "--score-only", "-q", *run, "-o", path)[0] == 0
        written.add(path.read_bytes())
    assert len(written) == 1
    file = pa.parquet.ParquetFile(path)
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    assert sum(sizes) == 120 * 119 // 2
    assert len(sizes) > 20
    longest = max(len(line) for line in cli("pairwise", AMPLICONS, "--score-only", "-q")[1].splitlines()) + 1
    assert all((size - 1) * 50 < 10_000 + longest for size in sizes)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_nothing_is_left_of_a_failed_run(cli: Cli, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_output, "GROUP_BYTES", 1000)
    texts = GENOMES.read_text()
    (tmp_path / "bad.fa").write_text(texts + ">x\nAC!GT\n")
    folder = tmp_path / "out"
    folder.mkdir()
    for output in (folder / f"t.{form}", "-"):
        code, printed, error = cli(
            "mems", "-maxmatch", "-l", "12", GENOMES, tmp_path / "bad.fa", "-q", "--batch-size", "1K",
            "--output-format", form, "-o", output,
        )  # fmt: skip
        assert code == 3
        assert "bad.fa" in error
        assert b"PAR1" not in printed[4:]  # what is printed does not end as a file does
        assert not printed.endswith(b"ARROW1")
    assert list(folder.iterdir()) == []
    code, _, error = cli("pairwise", AMPLICONS, "--output-format", form, "-o", "/dev/full")
    assert (code, error) == (1, "gpualign pairwise: error: cannot write /dev/full: No space left on device\n")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (("pairwise", AMPLICONS, "--paf", "-o", "x.parquet"), "--paf is text: it cannot be used with parquet"),
        (("pairwise", AMPLICONS, "--matrix-out", "lower", "--output-format", "arrow"), "--matrix-out is text"),
        (("pairwise", AMPLICONS, "--userfields", "id+id", "--output-format", "arrow"), "--userfields names one twice"),
        (("lcs-filter", "-Q", AMPLICONS, AMPLICONS, "--fasta", "-o", "x.arrow"), "--fasta is text"),
        (
            ("pairwise", AMPLICONS, "--output-format", "tsv", "-o", "x.parquet"),
            "x.parquet is named as parquet, not as tsv",
        ),
        (("pairwise", AMPLICONS, "-o", "x.parquet.gz"), "Parquet and Arrow are compressed already"),
        (("pairwise", AMPLICONS, "-o", "x.gz", "--output-format", "arrow"), "are compressed already"),
        (("mems", "-s", GENOMES, GENOMES, "-o", "x.arrow"), "it cannot be used with -s"),
    ],
)
def test_what_is_no_table(cli: Cli, given: tuple[object, ...], what: str) -> None:
    code, _, error = cli(*given)
    assert code == 2
    assert what in error


def test_without_pyarrow(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, error = cli(*VERIFY, "-o", tmp_path / "t.parquet")
    assert code == 2
    assert "parquet needs pyarrow (pip install 'gpualign[tables]')" in error
    assert cli(*VERIFY, "-q", "-o", tmp_path / "t.txt")[0] == 0


def test_names_that_are_no_utf8(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.fa").write_bytes(">é\nACGT\n".encode() + b">\xe9\x85\"'\nACGA\n")
    cli("pairwise", tmp_path / "a.fa", "-q", "-o", tmp_path / "t.parquet")
    table = pa.parquet.read_table(tmp_path / "t.parquet")
    assert (table["query"].to_pylist(), table["target"].to_pylist()) == (["é"], ["\\xe9\\x85\"'"])


def test_mems_writes_a_table_where_a_format_is_given(cli: Cli) -> None:
    given = ("mems", "-maxmatch", "-l", "30", GENOMES, GENOMES, "-q")
    assert cli(*given, "--output-format", "tsv")[1] == cli(*given, "--tsv")[1]
