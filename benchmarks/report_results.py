"""The committed results, by the name of their benchmark and the machine."""

from __future__ import annotations

import json
import re
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
        on_cores = re.search(r"-\d+-core-", self.file) or not facts.get("gpus")
        device = facts.get("processor", facts.get("cpu")) if on_cores else facts["gpus"][0].split(",")[0]
        link = f"[{self.file}](../benchmarks/results/{self.file})"
        return f"{link}: {device}, {facts['cores']} cores, gpualign {facts['gpualign']}, {facts['date']}."


class Results:
    """All result files."""

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

    def first(self, name: str) -> Result | None:
        return next(iter(self.all(name)), None)

    def each(self, *names: str) -> list[Result]:
        """The first result of each name that has one."""
        return [found for name in names if (found := self.first(name))]

    def with_key(self, key: str) -> list[Result]:
        """Results of any name that hold ``key``: the same table for what was run more than once."""
        each = (one for name in self.names() for one in self._by_name[name])
        return [one for one in each if isinstance(one.figures, dict) and key in one.figures]
