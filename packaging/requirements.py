"""Prints the packages that gpualign needs with an extra, one a line: ``python packaging/requirements.py dev``.

So they can be installed while gpualign itself is compiled.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def needed_by(extra: str) -> Iterator[str]:
    """Requirements of an extra, and of the extras that it consists of."""
    for line in PROJECT["optional-dependencies"][extra]:
        if line.startswith("gpualign["):
            for part in line.removeprefix("gpualign[").removesuffix("]").split(","):
                yield from needed_by(part)
        else:
            yield line


if __name__ == "__main__":
    print(*PROJECT["dependencies"], *needed_by(sys.argv[1]), sep="\n")
