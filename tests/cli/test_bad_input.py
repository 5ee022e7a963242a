"""The cells of the bad-input table (tests/helpers/bad_input.py), by file and by standard input, and other trouble.

``pytest tests/cli/test_bad_input.py --soak -s`` prints the whole matrix at its end.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers import bad_input, good_input
from tests.helpers.bad_input import ALL, NONE, SAME, Role, Row, Situation
from tests.helpers.soak import some_of

Cli = Callable[..., tuple[int, bytes, str]]
GOOD = Row("good", lambda role: role.good, {"": SAME})


@dataclass(frozen=True)
class Outcome:
    """Exit code, output file (None: there is none), standard error, and the report's count of records."""

    code: int
    output: bytes | None
    error: str
    count: int | None


Run = Callable[[str, Path, "str | None"], Outcome]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good")
    good_input.write_good_inputs(path)
    return path


@pytest.fixture(scope="module")
def matrix() -> Iterator[dict[tuple[str, str], list[str]]]:
    """What each cell gave, printed at the end."""
    outcomes: dict[tuple[str, str], list[str]] = {}
    yield outcomes
    print()
    for (row, role), shown in outcomes.items():
        print(f"{row:32} {role:22} {' '.join(shown)}")


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], None]]:
    """Make bytes this process's standard input, through a pipe."""
    opened = []

    def give(data: bytes) -> None:
        reading, writing = os.pipe()
        with os.fdopen(writing, "wb") as pipe:
            assert len(data) < 1 << 16  # what a pipe holds without a reader
            pipe.write(data)
        opened.append(io.TextIOWrapper(os.fdopen(reading, "rb")))
        monkeypatch.setattr(sys, "stdin", opened[-1])

    yield give
    for stream in opened:
        stream.close()


@pytest.fixture
def run(cli: Cli) -> Run:
    def one(arguments: str, here: Path, counted: str | None = None) -> Outcome:
        (here / "out").mkdir(parents=True, exist_ok=True)
        words = arguments.split()
        output, report = here / "out" / "output", here / "report"
        if words[0] == "index":
            words += ["-d", str(output)]
        else:
            words += ["-o", str(output), "--json", str(report)]
        code, text, error = cli(*words, "-t", 1)
        assert text == b""
        assert os.listdir(here / "out") == (["output"] if code == 0 else [])
        count = json.loads(report.read_bytes())[counted] if code == 0 and counted else None
        return Outcome(code, output.read_bytes() if code == 0 else None, error, count)

    return one


@pytest.fixture(scope="module")
def good_outcomes() -> dict[str, Outcome]:
    return {}


def records_in(content: bytes, kind: str) -> int:
    """Counted as one would in a shell: four lines a FASTQ record, one '>' a FASTA record, one line a table's row."""
    lines = content.removesuffix(b"\n").split(b"\n")
    if kind == "table":
        return len(lines)
    return len(lines) // 4 if content.startswith(b"@") else sum(line.startswith(b">") for line in lines)


def without_command_line(output: bytes | None) -> list[bytes] | None:
    """SAM's @PG line and the first line of a delta file hold the paths, and an index size and checksum of its
    reference's file."""
    if output is None:
        return None
    if output.startswith(b"gpualign"):
        length = int.from_bytes(output[12:16], "little")
        header = json.loads(output[20 : 20 + length]) | {"source": None}
        return [json.dumps(header).encode(), output[20 + length :].lstrip(b"\0")]
    lines = output.split(b"\n")
    return [line for line in lines[lines[1:2] == [b"NUCMER"] :] if not line.startswith(b"@PG\t")]


def assert_one_sentence(outcome: Outcome, command: str) -> None:
    assert outcome.error.startswith(f"gpualign {command}: error: ")
    assert outcome.error.count("\n") == 1
    assert "Traceback" not in outcome.error
    assert "internal error" not in outcome.error


@pytest.mark.parametrize(
    ("row", "role", "way"),
    some_of(bad_input.cells(), bad_input.for_every_run),
    ids=lambda part: getattr(part, "name", part),
)
def test_cell(
    run: Run,
    tmp_path: Path,
    folder: Path,
    standard_input: Callable[[bytes], None],
    good_outcomes: dict[str, Outcome],
    matrix: dict[tuple[str, str], list[str]],
    row: Row,
    role: Role,
    way: str,
) -> None:
    content, expected, path = row.make(role), row.expects(role), tmp_path / "input"
    if content is not None:
        path.write_bytes(content)
    if way == "stdin":
        standard_input(content or b"")
    outcome = run(role.arguments.format(input=path if way == "file" else "-", folder=folder), tmp_path, role.counted)
    shown = f"{outcome.code}" if outcome.count is None else f"{outcome.code} ({outcome.count})"
    matrix.setdefault((row.name, role.name), []).append(f"{way}: {shown}")
    if isinstance(expected, int):
        assert outcome.code == expected, outcome.error
        assert_one_sentence(outcome, role.command)
        assert ("standard input" if way == "stdin" else str(path)) in outcome.error
        assert row.sentence in outcome.error
        return
    assert outcome.code == 0, outcome.error
    if expected == NONE:
        assert not outcome.count
        assert outcome.error.count("warning: ") == 1
        return
    if role.name not in good_outcomes:
        path.write_bytes(role.good)
        good_outcomes[role.name] = run(role.arguments.format(input=path, folder=folder), tmp_path, role.counted)
    good = good_outcomes[role.name]
    assert good.code == 0, good.error
    if role.counted is not None:
        assert outcome.count == records_in(role.good, role.kind)  # no row but the empty ones changes the number
    if expected == SAME:
        assert without_command_line(outcome.output) == without_command_line(good.output)
    else:
        assert expected == ALL


@pytest.mark.parametrize("situation", bad_input.SITUATIONS, ids=lambda one: f"{one.name}-{one.arguments[:16]}")
def test_situation(run: Run, tmp_path: Path, folder: Path, situation: Situation) -> None:
    outcome = run(situation.arguments.format(folder=folder), tmp_path, None)
    assert outcome.code == situation.code, outcome.error
    if situation.code != 0:
        assert_one_sentence(outcome, situation.command)
        assert situation.sentence in outcome.error


def test_gzip_checks_use_what_gzip_reads() -> None:
    """The rows about gzip are about good gzip files made bad in one way each."""
    role = bad_input.ROLES[0]
    rows = {row.name: row for row in bad_input.ROWS}
    for name in (".gz", "several .gz members", "bgzf, end-of-file block inside"):
        assert gzip.decompress(rows[name].make(role) or b"") == role.good
    for name in ("truncated .gz", "wrong CRC in .gz", "damaged block in .gz"):
        with pytest.raises((OSError, EOFError, zlib.error)):
            gzip.decompress(rows[name].make(role) or b"")
