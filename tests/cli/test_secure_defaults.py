"""Paths of any spelling, temporary files that are private and next to the output, no shell, no pickle of data."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpualign.cli import main
from gpualign.records import samtools
from gpualign.text.output_file import open_output
from tests.helpers import good_input
from tests.helpers.command_lines import GOOD
from tests.helpers.paths import ROOT

Cli = Callable[..., tuple[int, bytes, str]]
PACKAGE = ROOT / "gpualign"
ODD = "a b\n\tc é 語 'q' \"d\" $(touch x); *? %s {0}"


def run(cli: Cli, command: str, folder: Path, output: Path) -> tuple[int, str]:
    words = GOOD[command].split()
    words = [word.format(folder=folder) for word in words]  # formatted after split: the folder has spaces
    words += ["-d", str(output)] if command == "index" else ["-o", str(output)]
    code, text, error = cli(*words)
    assert text == b""
    return code, error


@pytest.mark.parametrize("command", list(GOOD))
def test_odd_paths(cli: Cli, tmp_path: Path, command: str) -> None:
    outputs = []
    for name in ("plain", ODD):
        folder = tmp_path / name
        folder.mkdir()
        good_input.write_good_inputs(folder)
        before = sorted(path.name for path in folder.iterdir())
        output = folder / f"{name[:30]}.out"
        code, error = run(cli, command, folder, output)
        assert code == 0, error
        assert sorted(path.name for path in folder.iterdir()) == sorted([*before, output.name])
        lines = output.read_bytes().split(b"\n")
        if command == "align":  # a delta file names the genomes' files
            del lines[0]
        outputs.append([line for line in lines if not line.startswith(b"@PG\t")])
    assert outputs[0] == outputs[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["plain", ODD])


@pytest.mark.parametrize("command", list(GOOD))
def test_messages_about_odd_paths_are_one_line(cli: Cli, tmp_path: Path, command: str) -> None:
    code, error = run(cli, command, tmp_path / ODD, tmp_path / "output")
    assert code == 3
    assert error.count("\n") == 1
    assert "No such file" in error


@pytest.mark.parametrize("name", ["o" * 255, "é" * 127, "." * 200])
def test_longest_names(tmp_path: Path, name: str) -> None:
    with open_output(str(tmp_path / name)) as out:
        out.write(b"text")
    assert (tmp_path / name).read_bytes() == b"text"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_nobody_else_reads_a_file_before_it_is_whole(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with open_output(str(tmp_path / "output")) as out:
            out.write(b"text")
            (temporary,) = tmp_path.iterdir()  # next to the output, so that the rename is within one file system
            assert temporary.name.startswith(".output.")
            assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        (output,) = tmp_path.iterdir()
        assert stat.S_IMODE(output.stat().st_mode) == 0o666 & ~umask
    finally:
        os.umask(before)


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_samtools_writes_its_temporary_files_where_nobody_else_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    """As map has it sort CRAM, next to the output."""
    good_input.write_good_inputs(tmp_path)
    seen: list[tuple[Path, int]] = []
    run_samtools = samtools.run_samtools

    def watched(arguments: list[str], drain: Any, folder: str, environment: dict[str, str]) -> Any:
        seen.append((Path(folder), stat.S_IMODE(os.stat(folder).st_mode)))
        return run_samtools(arguments, drain, folder, environment)

    monkeypatch.setattr(samtools, "run_samtools", watched)
    (tmp_path / "out").mkdir()
    words = ["map", f"{tmp_path}/ref.fa", f"{tmp_path}/reads.fq", "--sort", "-o", f"{tmp_path}/out/sorted.cram"]
    before = os.umask(umask)
    try:
        with pytest.raises(SystemExit, match=r"^0$"):
            main([*words, "--device", "cpu", "--quiet"])
    finally:
        os.umask(before)
    assert {(folder.parent, mode) for folder, mode in seen} == {(tmp_path / "out", 0o700)}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["sorted.cram"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "output")
    with open_output(str(tmp_path / "link")) as out:
        out.write(b"text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "output").read_bytes() == b"text"


@pytest.mark.parametrize("name", ["chr_é語", "chr~1"])
@pytest.mark.parametrize(
    "command",
    [
        "map {ref} {read}",
        "map {index} {read}",
        "mems -F {ref} {read}",
        "verify {ref} {read} --candidates {places}",
        "pairwise {read} {ref}",
        "lcs-filter -Q {read} {ref}",
    ],
)
def test_names_come_out_as_they_went_in(cli: Cli, tmp_path: Path, command: str, name: str) -> None:
    contig = good_input.CONTIGS[0][1]
    files = {key: tmp_path / key for key in ("ref", "read", "places", "index")}
    files["ref"].write_text(f">{name}\n{contig}\n", "utf-8")
    files["read"].write_text(f">read\n{contig[100:200]}\n")
    files["places"].write_text(f"read\t{name}\t90\t210\n", "utf-8")
    assert cli("index", files["ref"], "-d", files["index"])[0] == 0
    code, output, error = cli(*command.format(**files).split())
    assert code == 0, error
    assert name.encode() in output


def calls() -> Iterator[tuple[str, ast.Call, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield str(path.relative_to(PACKAGE)), node, ast.unparse(node.func)


def test_no_shell_and_no_code_from_data() -> None:
    for path, node, name in calls():
        assert name not in ("eval", "exec", "os.system", "os.popen", "marshal.loads", "tempfile.mktemp"), path
        assert not any(keyword.arg == "shell" for keyword in node.keywords), path
        if name.endswith(("pickle.load", "pickle.loads")) or name == "pickle.Unpickler":
            assert path == "run/dask/shards.py"  # between the machines of a cluster, see docs/guides/dask.md
        if name in ("np.load", "numpy.load"):
            assert [ast.unparse(k.value) for k in node.keywords if k.arg == "allow_pickle"] == ["False"], path


def test_only_the_cluster_pickles() -> None:
    users = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if {"pickle", "cloudpickle", "marshal", "shelve"} & set(names):
                users.add(path.parent.name)
    assert users <= {"dask"}
