"""Where a command reads and writes: outputs that would overwrite something or cannot be, pipes, closed streams."""

from __future__ import annotations

import gzip
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpualign.errors import GpualignError
from gpualign.seeds.index.file import load_index
from gpualign.text.output_file import open_output
from tests.helpers import good_input
from tests.helpers.command_lines import GOOD
from tests.helpers.commands import program

Cli = Callable[..., tuple[int, bytes, str]]
DEADLINE_S = 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good")
    good_input.write_good_inputs(path)
    return path


def output_options(command: str) -> list[str]:
    """Every option of a command that names a file to write; of those that want a suffix, with it."""
    more = {"map": ["--save-index", "--un", "--al", "--report"], "mems": ["--save-index", "--dotplot"]}
    more["pairwise"] = ["--plot"]
    return ["-d"] if command == "index" else ["-o", "--json", *more.get(command, [])]


@pytest.mark.parametrize("command", list(GOOD))
def test_output_over_an_input_is_refused(cli: Cli, tmp_path: Path, command: str) -> None:
    good_input.write_good_inputs(tmp_path)
    words = GOOD[command].format(folder=tmp_path).split()
    for path in [Path(word) for word in words if word.startswith(str(tmp_path))]:
        picture = path.with_suffix(".svg")
        before = path.read_bytes()
        for make in (Path.symlink_to, Path.hardlink_to):
            make(picture, path)
            for option in output_options(command):
                for name in (path, picture) if option not in ("--plot", "--dotplot") else (picture,):
                    code, _, error = cli(*words, option, name)
                    assert code == 2, (option, error)
                    assert f"the output {name} is also an input" in error
                    assert path.read_bytes() == before
            picture.unlink()


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ("pairwise {folder}/reads.fq --pairs {input}", "pairs.tsv"),
        ("pairwise {folder}/reads.fq --matrix {input}", "matrix"),
        ("verify {folder}/ref.fa {folder}/reads.fq --candidates {input}", "places.tsv"),
        ("mems -i {input} {folder}/ref.fa {folder}/reads.fq", "ref.gpi"),
        ("mems {input} {folder}/reads.fq", "ref.gpi"),
        ("map {input} {folder}/reads.fq", "ref.gpi"),
        ("map {folder}/ref.fa {folder}/reads.fq {input}", "mates.fq"),
    ],
)
def test_output_over_an_input_of_another_kind_is_refused(cli: Cli, tmp_path: Path, arguments: str, path: str) -> None:
    good_input.write_good_inputs(tmp_path)
    (tmp_path / "matrix").write_bytes(good_input.MATRIX)
    before = (tmp_path / path).read_bytes()
    for option in ("-o", "--json"):
        code, _, error = cli(*arguments.format(folder=tmp_path, input=tmp_path / path).split(), option, tmp_path / path)
        assert (code, "is also an input" in error) == (2, True), error
    assert (tmp_path / path).read_bytes() == before


@pytest.mark.parametrize("command", [command for command in GOOD if command != "index"])
def test_two_outputs_in_one_file_are_refused(cli: Cli, tmp_path: Path, folder: Path, command: str) -> None:
    words = GOOD[command].format(folder=folder).split()
    (tmp_path / "link.svg").symlink_to("output.svg")
    for option in output_options(command)[1:]:
        code, _, error = cli(*words, "-o", tmp_path / "output.svg", option, tmp_path / "link.svg")
        assert code == 2, (option, error)
        assert "two outputs are named" in error
        assert cli(*words, "-o", os.devnull, "--json", os.devnull)[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["link.svg"]


@pytest.mark.parametrize("command", list(GOOD))
@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing/x.svg", "No such file"), ("reads.fq/x.svg", "Not a directory"), ("x" * 300 + ".svg", "name too long")],
)
def test_output_that_cannot_be_is_refused_before_the_run(
    cli: Cli, tmp_path: Path, folder: Path, command: str, name: str, reason: str
) -> None:
    (tmp_path / "reads.fq").write_text("")
    words = GOOD[command].format(folder=folder).split()
    for option in output_options(command):
        more = [] if option in ("-o", "-d") else ["-o", tmp_path / "whole"]
        code, _, error = cli(*words, *more, option, tmp_path / name)
        assert code == 1, (option, error)
        assert f"cannot write {tmp_path / name}: " in error
        assert reason in error
        assert [path.name for path in tmp_path.iterdir()] == ["reads.fq"]


def test_folder_that_may_not_be_written(
    cli: Cli, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    code, _, error = cli("map", folder / "ref.fa", folder / "reads.fq", "-o", tmp_path / "out.sam")
    assert (code, error) == (1, f"gpualign map: error: cannot write {tmp_path / 'out.sam'}: Permission denied\n")


@pytest.mark.parametrize("command", list(GOOD))
def test_file_that_may_not_be_written(
    cli: Cli, tmp_path: Path, folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder may: no output takes the place of what somebody has protected."""
    path = tmp_path / "x.svg"
    path.write_text("protected")
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda what, mode: str(what) != str(path))  # root may write everywhere
    words = GOOD[command].format(folder=folder).split()
    for option in output_options(command):
        more = [] if option in ("-o", "-d") else ["-o", tmp_path / "whole"]
        code, _, error = cli(*words, *more, option, path)
        assert (code, error) == (1, f"gpualign {words[0]}: error: cannot write {path}: Permission denied\n")
        assert (path.read_text(), path.stat().st_mode & 0o777) == ("protected", 0o444)
    with pytest.raises(GpualignError, match="Permission denied"), open_output(str(path)):
        pass


@pytest.mark.parametrize("command", list(GOOD))
def test_a_file_keeps_its_permissions(cli: Cli, tmp_path: Path, folder: Path, command: str) -> None:
    """What is private stays so."""
    words = GOOD[command].format(folder=folder).split()
    for option in output_options(command):
        path = tmp_path / f"{option.strip('-')}.svg"
        path.write_text("former")
        path.chmod(0o600)
        more = [] if option in ("-o", "-d") else ["-o", os.devnull]
        assert cli(*words, *more, option, path)[0] == 0
        assert path.read_bytes() != b"former"
        assert path.stat().st_mode & 0o777 == 0o600


def test_permissions_of_new_and_replaced_files(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "replaced")
    (tmp_path / "replaced").touch(0o640)
    umask = os.umask(0o027)
    try:
        for name in ("link", "new"):
            with open_output(str(tmp_path / name)) as out:
                out.write(b"text")
    finally:
        os.umask(umask)
    assert (tmp_path / "link").is_symlink()
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("replaced", "new")] == [0o640, 0o640]
    (tmp_path / "replaced").chmod(0o664)
    with open_output(str(tmp_path / "link")) as out:
        out.write(b"text")
    assert (tmp_path / "replaced").stat().st_mode & 0o777 == 0o664


@pytest.mark.parametrize("command", list(GOOD))
def test_empty_names(cli: Cli, tmp_path: Path, folder: Path, command: str) -> None:
    words = GOOD[command].format(folder=folder).split()
    option = output_options(command)[0]
    for arguments in ([*words, option, ""], [*words[:-1], "", option, tmp_path / "output"]):
        code, _, error = cli(*arguments)
        assert code == 2, error
        assert "a file's name is empty" in error


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ("map {input} {folder}/reads.fq -o {output}", "ref.fa"),
        ("map {folder}/ref.fa {input} -o {output}", "reads.fq"),
        ("map {folder}/ref.fa {input} {folder}/mates.fq -o {output}", "reads.fq"),
        ("map {folder}/ref.fa {input} -o {output}", "reads.bam"),
        ("verify {folder}/ref.fa {folder}/reads.fq --candidates {input} -o {output}", "reads.bam"),
        ("mems {input} {folder}/reads.fq -o {output}", "ref.fa"),
        ("index {input} -d {output}", "ref.fa"),
        ("verify {input} {folder}/reads.fq --candidates {folder}/places.tsv -o {output}", "ref.fa"),
        ("verify {folder}/ref.fa {folder}/reads.fq --candidates {input} -o {output}", "places.tsv"),
        ("pairwise {input} -o {output}", "reads.fq"),
        ("lcs-filter -Q {input} {folder}/reads.fq -o {output}", "one.fq"),
    ],
)
def test_named_pipes(tmp_path: Path, folder: Path, arguments: str, name: str) -> None:
    """What is read of a pipe is gone, so it is opened once; as with <(zcat …) in a shell."""
    if not (folder / "reads.bam").exists():
        words = f"map {folder}/ref.fa {folder}/reads.fq -o {folder}/reads.bam".split()
        subprocess.run(program(*words), check=True, capture_output=True)
    pipe, output = tmp_path / "pipe", tmp_path / "output"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes((folder / name).read_bytes()), daemon=True)
    writer.start()
    outputs: list[Any] = []
    for path in (pipe, folder / name):
        words = arguments.format(input=path, folder=folder, output=output).split()
        done = subprocess.run(program(*words), capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 0, done.stderr
        if words[0] == "index":  # which knows what it was built from, but no pipe
            index = load_index(str(output))
            outputs.append((index.reference.names, index.reference.words.tobytes(), index.entries.tobytes()))
            continue
        lines = output.read_bytes().split(b"\n")
        outputs.append([line for line in lines if not line.startswith(b"@PG\t")])
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("closing", "arguments", "code", "sentence"),
    [
        (">&-", "map {folder}/ref.fa {folder}/reads.fq", 1, "cannot write standard output: Bad file descriptor"),
        (">&-", "--help", 1, ""),
        ("<&-", "map {folder}/ref.fa -", 3, "standard input: "),
        ("2>&-", "map {folder}/ref.fa {folder}/reads.fq -o {output}", 0, ""),
        ("<&- >&- 2>&-", "map {folder}/ref.fa {folder}/reads.fq -o {output}", 0, ""),
        ("<&- >&-", "map {folder}/ref.fa {folder}/reads.fq -o {output}", 0, "21 mapped"),
    ],
)
def test_closed_streams(tmp_path: Path, folder: Path, closing: str, arguments: str, code: int, sentence: str) -> None:
    output = tmp_path / "output"
    words = arguments.format(folder=folder, output=output).split()
    shell = ["sh", "-c", f'exec "$@" {closing}', "sh", *program(*words)]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert output.exists() == ("{output}" in arguments)


@pytest.mark.parametrize("form", ["bam", "cram", "sam.gz", "sam"])
def test_alignments_from_a_pipe_end_as_they_should(tmp_path: Path, folder: Path, form: str) -> None:
    """What a pipe gives is whole, or refused: cut where htslib sees no fault, in front of the end-of-file marker."""
    whole = tmp_path / f"whole.{form.removesuffix('.gz')}"
    options = ["-q"]
    map_it = program("map", folder / "ref.fa", *options)
    subprocess.run([*map_it, folder / "reads.fq", "-o", whole], check=True)
    data = gzip.compress(whole.read_bytes()) if form == "sam.gz" else whole.read_bytes()
    for content, code in (
        (data, 0),
        (data[: {"bam": -28, "cram": -38}.get(form, len(data))], 0 if "sam" in form else 3),
    ):
        done = subprocess.run([*map_it, "-"], input=content, capture_output=True, timeout=DEADLINE_S)
        assert done.returncode == code, done.stderr
        assert code == 0 or b"no end-of-file marker" in done.stderr
