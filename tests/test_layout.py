"""What the tests share stands in tests/helpers and tests/reference, once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gpualign import _native
from gpualign.cli import COMMANDS
from tests.helpers import command_lines
from tests.helpers import native as native_tests
from tests.helpers.commands import on_device
from tests.helpers.paths import ROOT, TESTS

SHARED = [*(TESTS / "helpers").glob("*.py"), *(TESTS / "reference").glob("*.py")]
#: which runs alone, as a script
MODULES = sorted(path for path in TESTS.rglob("*.py") if path.name != "baseline.py" and path not in SHARED)
HELPERS = {
    node.name
    for path in SHARED
    if path.name in ("sequences.py", "files.py", "sam.py", "fake_cuda.py", "stand_ins.py")
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.FunctionDef | ast.ClassDef)
}


def test_no_module_imports_a_test_module() -> None:
    """By the text, as its syntax trees take seconds."""
    for path in (*MODULES, *SHARED):
        text = path.read_text()
        ours = re.findall(r"^ *(?:from|import) (tests\b[\w.]*)", text, re.MULTILINE)
        assert [name for name in ours if name.split(".")[1:2] not in (["helpers"], ["reference"])] == [], path
        assert not re.search(r"^ *from \.", text, re.MULTILINE), path


def test_no_helper_is_written_again() -> None:
    for path in MODULES:
        text = path.read_text()
        assert set(re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE)) & HELPERS == set(), path
        assert not re.search(r"(?<![\w.])_{2}file_{2}\b", text), path


@pytest.mark.parametrize("table", command_lines.LEFT_OUT)
def test_every_command_is_in_the_tables(table: str) -> None:
    """Or it is said why not. ``mem`` is ``map``, and ``makedb`` is ``index``."""
    lines = [line if isinstance(line, str) else line[0] for line in getattr(command_lines, table).values()]
    listed = {line.split()[0] if isinstance(line, str) else line[0] for line in lines}
    left_out = set(command_lines.LEFT_OUT[table])
    assert listed & left_out == set()
    assert (listed | left_out | {"mem", "makedb", "devices", "completion"}) == set(COMMANDS)


@pytest.mark.parametrize("command", ["map", "mems", "verify", "pairwise", "lcs-filter"])
def test_commands_run_on_the_cpu_unless_told_otherwise(command: str) -> None:
    assert on_device(command, "x") == [command, "x", "--device", "cpu"]
    assert on_device(command, "x", device="cuda:0") == [command, "x", "--device", "cuda:0"]
    for words in ((command, "x", "--device", "cuda"), (command, "x", "--dask", "local:1"), (command, "--help")):
        assert on_device(*words) == list(words)
    assert on_device(command, "x", device=None) == [command, "x"]


@pytest.mark.parametrize("words", [("index", "x"), ("devices",), ("--version",), (), ("nonsense", "x")])
def test_commands_without_a_device_are_left_alone(words: tuple[str, ...]) -> None:
    assert on_device(*words) == list(words)


def test_processes_are_run_with_a_device_of_their_own() -> None:
    """By helpers/commands.py, which names one."""
    for path in MODULES:
        assert not re.search(r"""["']-m["'],\s*["']gpualign["']""", path.read_text()), path


def test_what_only_tests_call_is_not_in_the_shipped_module() -> None:
    names = {name for name in dir(native_tests) if not name.startswith("_")}
    assert {"align_affine", "map_scalar"} <= names
    assert not any(hasattr(_native._module, name) for name in names)


def expanded(pattern: str) -> list[str]:
    """``a{b,c}`` as a shell has it."""
    braces = re.match(r"(.*)\{(.*)\}(.*)", pattern)
    return [pattern] if braces is None else [f"{braces[1]}{word}{braces[3]}" for word in braces[2].split(",")]


def test_the_table_of_tests_names_every_test_file_and_every_folder() -> None:
    """docs/developing.md says which tests cover what: each test file once, and only files and folders that exist."""
    page = (ROOT / "docs" / "developing.md").read_text()
    section = page.split("## Which tests cover what")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    code, tests = (re.findall(r"`([^`]+/[^`]*)`", " ".join(row[column] for row in rows)) for column in (0, 1))
    patterns = [pattern for given in tests for pattern in expanded(given)]
    named = [path for pattern in patterns for path in ROOT.glob(pattern)]
    assert sorted(named) == sorted(TESTS.rglob("test_*.py"))
    assert [pattern for pattern in patterns if not list(ROOT.glob(pattern))] == []
    assert [folder for folder in code if not (ROOT / folder).is_dir()] == []
    parts = {part for folder in code for part in Path(folder).parts}
    tops = [ROOT / "gpualign", ROOT / "gpualign" / "native", ROOT / "cuda" / "algo"]
    folders = {path.parent.name for top in tops for path in top.glob("*/*.[chp]*")} - {"__pycache__"}
    assert sorted(folders - parts) == []


def test_make_soak_runs_every_file_that_leaves_something_to_it() -> None:
    makefile = (ROOT / "Makefile").read_text()
    tests = [path for path in MODULES if path.name.startswith("test_") and path != TESTS / "test_layout.py"]
    leaving = [path for path in tests if re.search(r"some_of\(|mark\.soak|\bsoaking\b", path.read_text())]
    assert [path for path in leaving if str(path.relative_to(ROOT)) not in makefile] == []
