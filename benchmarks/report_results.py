"""The committed results, by the name of their benchmark and the machine; numbers and tables as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent / "results"
#: what harness.slug makes: "2-core-xeon", "h200"
_MACHINE = r"\d+-core-[a-z0-9_]+|[a-z]+[0-9][a-z0-9-]*"
_NAME = re.compile(rf"(?P<name>.+?)-(?P<machine>{_MACHINE})\.json")


class Result(NamedTuple):
    """One file: its name, what it was measured on, and the figures."""

    file: str
    machine: dict[str, Any]
    figures: Any

    @property
    def source(self) -> str:
        """Where and when, as a line under a table."""
        facts = self.machine
        on_cpu = re.search(r"-\d+-core-", self.file) or not facts.get("gpus")
        device = facts.get("processor", facts.get("cpu")) if on_cpu else facts["gpus"][0].split(",")[0]
        link = f"[{self.file}](../benchmarks/results/{self.file})"
        return f"{link}: {device}, {facts['cores']} cores, gpualign {facts['gpualign']}, {facts['date']}."


class Results:
    """All result files, by the name of the benchmark."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._by_name: dict[str, list[Result]] = {}
        for path in sorted(folder.glob("*.json")):
            found = _NAME.fullmatch(path.name)
            if found is None:
                raise ValueError(f"{path.name} is not named after a benchmark and a machine")
            data = json.loads(path.read_text())
            figures = data.get("results", {key: value for key, value in data.items() if key != "machine"})
            self._by_name.setdefault(found["name"], []).append(Result(path.name, data["machine"], figures))

    def names(self) -> list[str]:
        return sorted(self._by_name)

    def all(self, name: str) -> list[Result]:
        """A benchmark's results on all machines; none where it was not run."""
        return self._by_name.get(name, [])

    def __getitem__(self, name: str) -> Result:
        """A benchmark's result on the first machine by name."""
        return self._by_name[name][0]


def value(row: Any, path: str) -> Any:
    """What stands at ``path``, keys with slashes between them; None where nothing does."""
    for key in path.split("/") if path else ():
        row = row[int(key)] if isinstance(row, list) else row.get(key)
        if row is None:
            return None
    return row


def entries(figures: Any, depth: int) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """The rows below ``depth`` levels of names, each with its names; what is no row is left out."""
    if depth == 0:
        yield from (([], row) for row in ([figures] if isinstance(figures, dict) else figures))
        return
    for name, below in figures.items():
        if isinstance(below, dict):
            yield from (([name, *names], row) for names, row in entries(below, depth - 1))


def cell(content: Any, digits: int = 4) -> str:
    """``digits`` significant digits, whole numbers all of theirs; thousands with commas."""
    if content is None or isinstance(content, str):
        return content or "–"
    if isinstance(content, bool):
        return "yes" if content else "no"
    whole = isinstance(content, int) or abs(content) >= 10 ** (digits - 1)
    return f"{content:,.0f}" if whole else f"{content:.{digits}g}"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell(one).replace("|", "\\|") for one in line) + " |\n" for line in lines)
