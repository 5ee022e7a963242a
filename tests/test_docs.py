"""The documents: figures come out of committed results, links lead somewhere, and what they name exists."""

from __future__ import annotations

import ast
import doctest
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gpualign.cli import COMMANDS
from tests.helpers.paths import ROOT

_SVG = "{http://www.w3.org/2000/svg}"
BENCHMARKS = ROOT / "benchmarks"
EXAMPLES_PAGE = ROOT / "examples" / "README.md"
FOLDERS = [ROOT / "docs" / name for name in ("", "guides", "commands", "drop-ins", "internals")]
DOCS = [page for folder in FOLDERS for page in sorted(folder.glob("*.md"))]
PAGES = [ROOT / "README.md", ROOT / "CHANGES.md", *DOCS, BENCHMARKS / "README.md", EXAMPLES_PAGE]
#: a number with the unit of something that was measured
_MEASURED = re.compile(r"\d[\d.,]*\s?(?:[TGM]CUPS|10¹² cells|reads/s|pairs/s|ms\b|MiB\b|times (?:as fast|faster))")
_GENERATED = re.compile(r"<!-- figures:begin -->.*?<!-- figures:end -->", re.DOTALL)
#: files and folders of this repository in backquotes: what has a suffix of ours, or a slash at its end
_NAMED = re.compile(r"`([\w*-][\w./*-]*(?:\.(?:py|hpp|cuh|cu|cpp|toml)|/))`")
_SOURCES = ("gpualign", "cuda", "tests", "benchmarks", "fuzz", "packaging")
#: idiom of our own, where the glossary has the field's word
PRIVATE = re.compile(r"\b(?:behind|beside|under way|the cores|letters|as a whole|fits? nowhere|falls? into parts)\b")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_report_says_what_the_results_say() -> None:
    """benchmarks/report.py makes all pages of figures, their pictures and the README's block of the results."""
    done = run("benchmarks/report.py", "--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_measured_figures_are_generated_ones(page: Path) -> None:
    """Elsewhere no measured number is written by hand: it belongs into a result, and from there into the report."""
    text = _GENERATED.sub("", page.read_text())
    assert page.name.startswith("benchmark") or _MEASURED.findall(text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    anchored = re.findall(r"\]\(((?!https?:)[^)#]*)#([^)]+)\)", text)
    missing += [f"{file}#{at}" for file, at in anchored if at not in _anchors(page.parent / file if file else page)]
    missing += [name for name in set(_NAMED.findall(text)) if not _in_the_tree(name, page.parent)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_the_words_of_the_glossary(page: Path) -> None:
    """docs/developing.md has the glossary; names of rows in reliability-tables.md are those of its test data."""
    text = (
        re.sub(r"^\|.*$", "", page.read_text(), flags=re.MULTILINE)
        if page.stem.endswith("tables")
        else page.read_text()
    )
    assert PRIVATE.findall(" ".join(text.split())) == []


def test_makefile_names_tests_that_exist() -> None:
    named = re.findall(r"tests/[\w/]+\.py", (ROOT / "Makefile").read_text())
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).exists()] == []


def _anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub links to them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _in_the_tree(name: str, folder: Path) -> bool:
    """A path from the root, from gpualign or cuda, or from the page's folder; or a bare name; NAME is any primitive."""
    name = name.rstrip("/").replace("NAME", "lcs")
    starts = (ROOT, ROOT / "gpualign", ROOT / "cuda", folder)
    found = any(next(start.glob(name), None) for start in starts)
    return found or ("/" not in name and any(next((ROOT / top).rglob(name), None) for top in _SOURCES))


def test_figures_are_small_and_have_labels() -> None:
    """That they show what the results say, byte for byte, the report's own check holds."""
    figures = sorted((ROOT / "docs" / "figures").glob("*.svg"))
    assert len(figures) > 5
    for path in figures:
        text = path.read_text()
        assert len(text.splitlines()) < 300, path.name
        labels = ["".join(element.itertext()) for element in ElementTree.fromstring(text).iter(f"{_SVG}text")]
        assert len(labels) > 5, path.name
        assert f"figures/{path.name})" in (ROOT / "docs" / "benchmarks.md").read_text()


def test_every_result_is_in_the_report() -> None:
    pages = "".join((ROOT / "docs" / name).read_text() for name in ("benchmark-tables.md", "reliability-tables.md"))
    results = list((BENCHMARKS / "results").iterdir())
    assert len(results) > 30
    assert [path.name for path in results if path.name not in pages] == []
    assert sum(len(path.read_text().splitlines()) for path in results) <= 6000  # rows of tables, not single runs


def test_every_benchmark_is_in_the_harness() -> None:
    """Scripts that write results are named in run.py's table."""
    listed = run("benchmarks/run.py", "--list")
    assert listed.returncode == 0, listed.stderr
    table = (BENCHMARKS / "run.py").read_text()
    writing = re.compile(r"\bharness\.save\(|^\s+record\(|= record\(", re.MULTILINE)
    scripts = [path.name for path in sorted(BENCHMARKS.glob("*.py")) if writing.search(path.read_text())]
    assert len(scripts) > 5
    assert [script for script in scripts if f'"{script}"' not in table] == []
    named = set(re.findall(r"`(\w+\.py)`", (BENCHMARKS / "README.md").read_text()))
    assert named <= {path.name for path in BENCHMARKS.glob("*.py")}
    assert set(scripts) <= named


def test_quick_benchmark_writes_a_result(tmp_path: Path) -> None:
    done = run("benchmarks/run.py", "--quick", "--results", str(tmp_path), "verification")
    assert done.returncode == 0, done.stderr
    (result,) = tmp_path.iterdir()
    assert result.name.split("-")[0] == "verification"
    figures = json.loads(result.read_text())
    assert figures["machine"]["command"] == "verification.py --pairs 2000 --rounds 1"
    assert set(figures["near"]["pairs_per_s"]) > {"gpualign", "edlib"}
    rows = [line for line in result.read_text().splitlines() if "gpualign_locations" in line]
    assert len(rows) == 2  # a row of a table a line


def run_lines(lines: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """In a folder that has nothing but the examples."""
    (folder / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "completion"])
def test_every_command_has_an_example_with_a_picture(command: str) -> None:
    section = re.search(rf"^## {command}\n(.*?)(?=^## |\Z)", EXAMPLES_PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert section is not None
    assert f"gpualign {command}" in section[1]
    assert "<img src=" in section[1] or command in ("devices", "makedb", "derep", "chimeras", "sintax")


@pytest.mark.slow
def test_example_lines_run_as_they_stand(tmp_path: Path) -> None:
    done = run_lines("\n".join(re.findall(r"```sh\n(.*?)```", EXAMPLES_PAGE.read_text(), re.DOTALL)), tmp_path)
    assert "kernel cache" in done.stdout
    tables = {path.name: len(path.read_text().splitlines()) for path in tmp_path.glob("*.tsv")}
    assert tables["best.tsv"] == 121  # all genes and a header
    assert tables["all.tsv"] > tables["similar.tsv"] > 2
    assert all(path.stat().st_size > 10_000 for path in (*tmp_path.glob("*.bam"), *tmp_path.glob("*.png")))


def test_the_demo_says_what_it_did_how_fast_and_what_next(tmp_path: Path) -> None:
    done = run_lines(f"{sys.executable} examples/demo.py", tmp_path)
    assert "of 25,000 reads of a honey bee, 23," in done.stdout
    assert re.search(r"How fast: [\d.]+ s on .+; [\d,]+ reads a second with start-up\.", done.stdout)
    assert "gpualign map --help" in done.stdout.partition("What next:")[2]
    assert [path.name for path in tmp_path.iterdir() if path.name != "examples"] == ["demo.sam"]


@pytest.mark.slow
def test_readme_lines_run_as_they_stand(tmp_path: Path) -> None:
    """The one-liners of the README."""
    lines = re.search(r"<!-- tried: .*?-->\n```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert lines is not None
    assert len(lines[1].splitlines()) == 7
    done = run_lines(lines[1], tmp_path)
    assert len(done.stdout.splitlines()) == 6  # the header and five rows of lcs-filter
    assert {path.name for path in tmp_path.iterdir()} == {
        "examples",
        "bee.sam",
        "near.tsv",
        "similar.png",
        "similar.tsv",
        "exact.txt",
        "sites.tsv",
        "otus.fa",
        "clusters.tsv",
    }


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "completion"])
def test_every_command_has_a_page(command: str) -> None:
    """With limits, exit codes and all options, which docs/generate.py takes from the command itself."""
    text = " ".join((ROOT / "docs" / "commands" / f"{command}.md").read_text().split())
    assert text.startswith(f"# gpualign {command}")
    assert "xit code" in text or "map.md#limits" in text
    assert f"(docs/commands/{command}.md)" in (ROOT / "README.md").read_text()


def test_tables_of_options_are_what_help_says() -> None:
    done = run("docs/generate.py", "--check")
    assert done.returncode == 0, done.stderr


def test_a_table_that_differs_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs" / "guides", tmp_path / "docs" / "guides")
    shutil.copytree(ROOT / "benchmarks" / "results", tmp_path / "benchmarks" / "results")
    (tmp_path / "docs" / "commands").mkdir()
    for path in (ROOT / "docs" / "commands").glob("*.md"):
        (tmp_path / "docs" / "commands" / path.name).write_text(path.read_text().replace("Seed length", "Length"))
    script = tmp_path / "docs" / "generate.py"
    script.write_text((ROOT / "docs" / "generate.py").read_text())
    done = run(str(script), "--check")
    assert done.returncode == 1
    assert "index.md" in done.stderr
    assert run(str(script)).returncode == 0
    assert run(str(script), "--check").returncode == 0


def _messages() -> list[str]:
    """Every text in the source; what is filled in is an ellipsis."""
    texts = []
    for path in (ROOT / "gpualign").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values]
                texts.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    for path in (ROOT / "gpualign" / "native").rglob("*.?pp"):
        texts += re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text())
    return texts


def test_messages_in_troubleshooting_exist() -> None:
    """Literally; an ellipsis stands for what is filled in."""
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    quoted = [double or single for double, single in re.findall(r"^\| (?:``(.+?)``|`([^`]+)`) \|", page, re.MULTILINE)]
    assert len(quoted) > 40
    source = "\n".join(_messages())
    assert [text for text in quoted if not re.search(".*".join(map(re.escape, text.split("…"))), source)] == []


def test_pages_for_users_are_short() -> None:
    """Pages for users, without their tables."""
    others = ("benchmark-tables", "reliability-tables", "developing")
    pages = [page for page in DOCS if page.parent.name != "internals" and page.stem not in others]
    lines = [line for page in pages for line in page.read_text().splitlines()]
    assert len([line for line in lines if not line.startswith("|")]) < 2800


def test_pictures_of_pages_are_small() -> None:
    """Those that docs/pictures.py draws."""
    drawn = re.findall(r'IMAGES / "([\w.-]+)"', (ROOT / "docs" / "pictures.py").read_text())
    assert len(drawn) == 5
    assert [name for name in drawn if (ROOT / "docs" / "images" / name).stat().st_size > 60_000] == []


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_python_in_pages_runs(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(ROOT / page), module_relative=False)
    assert result.attempted > 3
    assert result.failed == 0


def test_files_that_comments_name_exist() -> None:
    folders = [ROOT / "cuda", ROOT / "gpualign" / "native"]
    sources = [
        path for folder in folders for path in folder.rglob("*.*") if path.suffix in (".hpp", ".cpp", ".cu", ".cuh")
    ]
    files = {f"/{path.relative_to(ROOT)}" for folder in _SOURCES for path in (ROOT / folder).rglob("*.*")}
    named = re.compile(r"[\w./-]*\w\.(?:py|hpp|cuh|cu|cpp)\b")
    comments = {path: re.findall(r"//(.*)", path.read_text()) for path in sources}
    missing = [
        (path.name, name)
        for path, lines in comments.items()
        for name in named.findall("\n".join(lines))
        if not any(file.endswith(f"/{name}") for file in files)
    ]
    assert missing == []


def test_names_stand_in_the_files_that_are_named_with_them() -> None:
    """As in "`Lanes` (`reads/lanes.py`)": a read's life in docs/developing.md is told by such names."""
    page = (ROOT / "docs" / "developing.md").read_text()
    named = re.findall(r"`([A-Za-z]\w*(?:\.\w+)*)`\s(?:\(|\| )`([\w/]+\.py)`", page)
    assert {("Lanes", "reads/lanes.py"), ("Reads", "reads/reads.py"), ("Mapping.on_cpu", "map/stage.py")} <= set(named)
    missing = []
    for name, file in named:
        nodes = ast.walk(ast.parse((ROOT / "gpualign" / file).read_text()))
        defined = {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        if not set(name.split(".")) <= defined:
            missing.append((name, file))
    assert missing == []
