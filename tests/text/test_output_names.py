"""Outputs are what their names say: compressed where they end in .gz or .bgz, BAM in .ubam; or they are refused."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from tests.helpers import good_input
from tests.helpers.command_lines import GOOD
from tests.helpers.sam import without_program

Cli = Callable[..., tuple[int, bytes, str]]
#: of each command that writes text, with another layout here and there
TEXTS = {
    **{name: text for name, text in GOOD.items() if name != "index"},
    "map --paf": GOOD["map"] + " --paf",
    "map --sort": GOOD["map"] + " --sort",
    "pairwise --matrix-out": GOOD["pairwise"] + " --matrix-out square",
    "mems --tsv": GOOD["mems"] + " --tsv",
}
EXTENSION = {"map": ".sam", "map --paf": ".paf", "map --sort": ".sam"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good")
    good_input.write_good_inputs(path)
    return path


@pytest.fixture
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(cli: Cli, folder: Path, text: str, *more: object) -> tuple[int, str]:
    code, out, error = cli(*text.format(folder=folder).split(), *more)
    assert out == b""
    return code, error


@pytest.mark.parametrize("packed", [".gz", ".BGZ"])
@pytest.mark.parametrize("name", TEXTS)
def test_gz_is_bgzf(cli: Cli, tmp_path: Path, folder: Path, name: str, packed: str) -> None:
    plain, small = (tmp_path / f"x{EXTENSION.get(name, '.tsv')}{extension}" for extension in ("", packed))
    for path, threads in ((plain, 1), (small, 3)):
        assert run(cli, folder, TEXTS[name], "-o", path, "-t", threads)[0] == 0
    data = small.read_bytes()
    assert data[:4] == b"\x1f\x8b\x08\x04"
    assert data.endswith(bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000"))
    assert without_program(gzip.decompress(data)) == without_program(plain.read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([plain.name, small.name])


def test_samtools_reads_sam_gz(cli: Cli, tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "x.sam.gz"
    assert run(cli, folder, GOOD["map"], "-o", path)[0] == 0
    assert int(pysam.samtools.view("-c", str(path))) == len(good_input.READS)


@pytest.mark.parametrize("option", ["--un", "--al", "--json", "--report"])
def test_other_outputs_too(cli: Cli, tmp_path: Path, folder: Path, option: str) -> None:
    plain, small = tmp_path / "plain", tmp_path / "small.gz"
    for path in (plain, small):
        assert run(cli, folder, GOOD["map"], "-o", tmp_path / "x.sam", option, path)[0] == 0
    text = gzip.decompress(small.read_bytes())
    assert len(text.splitlines()) == len(plain.read_bytes().splitlines())


def test_a_named_pipe_is_compressed(cli: Cli, tmp_path: Path, folder: Path) -> None:
    pipe, read = tmp_path / "x.gz", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert run(cli, folder, GOOD["verify"], "-o", pipe)[0] == 0
    reader.join(30)
    assert gzip.decompress(read[0]).startswith(b"query\t")


@pytest.mark.parametrize("extension", [".bz2", ".xz", ".zst", ".Z", ".zip"])
@pytest.mark.parametrize("name", TEXTS)
def test_what_is_not_written_is_refused(cli: Cli, tmp_path: Path, folder: Path, name: str, extension: str) -> None:
    path = tmp_path / f"x.tsv{extension}"
    code, error = run(cli, folder, TEXTS[name], "-o", path)
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert f"{path}: this compression is not written (.gz is" in error


@pytest.mark.parametrize(
    "options", ["--un {0}.bz2", "--al {0}.xz", "--json {0}.zst", "--report {0}.zip", "-d {0}.gpi.gz", "-d {0}.gpi.bz2"]
)
def test_further_outputs_are_refused(cli: Cli, tmp_path: Path, folder: Path, options: str) -> None:
    words = options.format(tmp_path / "x").split()
    code, error = run(cli, folder, GOOD["map"], *words, "-o", tmp_path / "x.sam")
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert f"{words[1]}: " in error
    assert "compress" in error


@pytest.mark.parametrize("option", ["--un", "--al", "--json", "--report", "-d", "--duplicate-metrics"])
@pytest.mark.parametrize("name", ["x.bam", "x.UBAM", "x.cram", "x.sam", "x.parquet", "x.arrow"])
def test_other_outputs_hold_no_alignments(cli: Cli, tmp_path: Path, folder: Path, option: str, name: str) -> None:
    more = ["--mark-duplicates"] if option == "--duplicate-metrics" else []
    code, error = run(cli, folder, GOOD["map"], option, tmp_path / name, *more, "-o", tmp_path / "out.sam")
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert f"{tmp_path / name} is named as a format that it cannot have" in error


@pytest.mark.parametrize("name", [*GOOD, "makedb"])
def test_other_commands_write_no_alignments(cli: Cli, tmp_path: Path, folder: Path, name: str) -> None:
    words = GOOD.get(name, "makedb {folder}/ref.fa").format(folder=folder).split()
    output = tmp_path / ("x.parquet" if name in ("map", "index", "makedb") else "x.bam")
    code, out, error = cli(*words, "-d" if name == "index" else "-o", output)
    assert (code, out, list(tmp_path.iterdir())) == (2, b"", [])
    assert f"{output} is named as a format that it cannot have" in error


@pytest.mark.parametrize("command", ["index {folder}/ref.fa -d", "mems {folder}/ref.fa {folder}/one.fq -save"])
def test_an_index_is_not_compressed(cli: Cli, tmp_path: Path, folder: Path, command: str) -> None:
    words = command.format(folder=folder).split()
    code, out, error = cli(*words, tmp_path / "x.gpi.gz")
    assert (code, out, list(tmp_path.iterdir())) == (2, b"", [])
    assert "an index is not compressed" in error


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["-o", "x.ubam"], 0, ""),
        (["-o", "x.UBAM"], 0, ""),
        (["-o", "x.bam", "--bam"], 0, ""),
        (["-o", "x.bam.gz"], 2, "BAM is already compressed"),
        (["-o", "x.cram.gz"], 2, "CRAM is already compressed"),
        (["-o", "x.gz", "--bam"], 2, "BAM is already compressed"),
        (["-o", "x.bam", "--paf"], 2, "x.bam is named as BAM, but the output format is paf"),
        (["-o", "x.sam", "--output-format", "cram"], 2, "x.sam is named as SAM, but the output format is cram"),
        (["-o", "x.sam.gz", "--paf"], 2, "x.sam.gz is named as SAM, but the output format is paf"),
    ],
)
def test_names_of_alignments(
    cli: Cli, folder: Path, in_tmp_path: None, options: list[str], code: int, sentence: str
) -> None:
    found, error = run(cli, folder, GOOD["map"], *options)
    assert found == code, error
    assert sentence in error
    if code == 0:
        assert gzip.decompress(Path(options[1]).read_bytes()).startswith(b"BAM\1")


def test_compression_fails_with_the_disk(cli: Cli, tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "x.gz"
    path.symlink_to("/dev/full")
    code, error = run(cli, folder, GOOD["verify"], "-o", path)
    assert code == 1
    assert f"cannot write {path}: No space left on device" in error
