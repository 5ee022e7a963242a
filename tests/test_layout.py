"""What the tests share stands in tests/helpers and tests/reference, once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.helpers.paths import TESTS

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


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@pytest.mark.parametrize("path", [*MODULES, *SHARED], ids=lambda path: str(path.relative_to(TESTS)))
def test_no_module_imports_a_test_module(path: Path) -> None:
    nodes = list(ast.walk(tree(path)))
    imported = [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    imported += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    ours = [name for name in imported if name.split(".")[0] == "tests"]
    assert [name for name in ours if name.split(".")[1:2] not in (["helpers"], ["reference"])] == []
    assert not any(isinstance(node, ast.ImportFrom) and node.level for node in nodes)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_helper_is_written_again(path: Path) -> None:
    defined = {node.name for node in tree(path).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert defined & HELPERS == set()
    assert "__file__" not in {node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name)}
