#!/usr/bin/env python3
"""Turn all results into docs/{benchmarks,benchmark-tables,reliability-tables}.md, their figures, the README's block.

    python benchmarks/report.py            # write
    python benchmarks/report.py --check    # exit 1 where a text or a figure is not what the results say

Nothing is measured here and no measured number is written down here or in templates/, which hold the text of the pages:
each comes out of a committed result file. Equal results give equal bytes.
"""

from __future__ import annotations

import argparse
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from report_figures import FIGURES, mapped_sets, ratios, symbols
from report_tables import (
    Results,
    Row,
    broken_promises,
    cell,
    cluster,
    copmem_ratio,
    cpu_ratio,
    curves,
    entries,
    grid,
    promises,
    span,
    table,
    two_gpus,
)

FOLDER = Path(__file__).resolve().parent
DOCS = FOLDER.parent / "docs"
README = FOLDER.parent / "README.md"
_BLOCK = re.compile(r"(<!-- figures:begin -->\n).*?(<!-- figures:end -->)", re.DOTALL)


def leads(sets: dict[str, dict[str, Row]], peer: str) -> list[float]:
    """By how many percent of the reads gpualign has more of them right than a peer, in each set."""
    rows = [tools[peer] for tools in sets.values() if peer in tools]
    return [100 * (row["correct_by_gpualign_alone"] - row["correct_here_alone"]) / row["reads"] for row in rows]


def traceback_shares(gpu: dict[str, Any]) -> list[float]:
    """What tracing back on the GPU costs, of what it costs on the host."""
    rows = [row["all texts"] for (name,), row in entries(gpu, 1) if name.startswith("traceback table")]
    return [(row["gpu"] - row["alignment only"]) / (row["hybrid"] - row["alignment only"]) for row in rows]


def contents(results: Results) -> dict[Path, str]:
    """Every file that the report writes, with what is in it."""
    loader, spaces = FileSystemLoader(FOLDER / "templates"), ("trim_blocks", "lstrip_blocks", "keep_trailing_newline")
    environment = Environment(loader=loader, undefined=StrictUndefined, **dict.fromkeys(spaces, True))
    filters = (cell, span, symbols, broken_promises, copmem_ratio, cpu_ratio)
    functions = (
        entries,
        leads,
        mapped_sets,
        ratios,
        traceback_shares,
        cluster,
        curves,
        grid,
        promises,
        two_gpus,
    )
    environment.filters |= {one.__name__: one for one in filters}
    environment.globals |= {one.__name__: one for one in functions}
    environment.globals |= {"results": results, "table": partial(table, results)}

    def page(name: str) -> str:
        return re.sub(r"\n{3,}", "\n\n", environment.get_template(name).render()).rstrip() + "\n"

    block = page("readme.md")
    return {
        **{DOCS / "figures" / f"{name}.svg": str(figure(results)) for name, figure in FIGURES.items()},
        **{DOCS / name: page(name) for name in ("benchmarks.md", "benchmark-tables.md", "reliability-tables.md")},
        README: _BLOCK.sub(lambda found: f"{found[1]}{block}{found[2]}", README.read_text()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    files = contents(Results())
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if check and stale:
        sys.exit(f"not what benchmarks/results says: {', '.join(path.name for path in stale)} (run make report)")
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(files[path])


if __name__ == "__main__":
    main()
