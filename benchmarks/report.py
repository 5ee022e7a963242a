#!/usr/bin/env python3
"""Turn all results in benchmarks/results into docs/benchmarks.md and its figures, and the README's block of figures.

    python benchmarks/report.py            # write
    python benchmarks/report.py --check    # exit 1 where the texts are not what the results say

Nothing is measured here and no number is written down here: each comes out of a committed result file.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from report_overview import overview_lines, overview_ratios
from report_results import Results
from report_sections import SECTIONS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
FIGURES = ROOT / "docs" / "figures"
README = ROOT / "README.md"
_BLOCK = re.compile(r"(<!-- figures:begin -->\n).*?(<!-- figures:end -->)", re.DOTALL)

_INTRODUCTION = """# Benchmarks

Written by `make report` from the files in [benchmarks/results](../benchmarks/results): every number and every point of
a figure is in one of them, with the machine, the versions and the date. [benchmarks/README.md](../benchmarks/README.md)
says how they are taken; `python benchmarks/run.py --list` lists what can be run again.

TCUPS and GCUPS are 10¹² and 10⁹ cells of the dynamic program a second: length of one sequence times that of the other,
summed over the pairs. "Kernel" is the time of a GPU's kernels by its own events, "command" the whole program by the
clock.
"""


def page(results: Results) -> str:
    """The text of docs/benchmarks.md."""
    parts = [_INTRODUCTION, "## At a glance\n\n![ratios](figures/overview.svg)\n\n" + overview_lines(results)]
    for section in SECTIONS:
        if text := section(results):
            parts.append(text)
    return "\n".join(part.rstrip() + "\n" for part in parts)


def readme(results: Results) -> str:
    """The README with its block of figures renewed."""
    block = (
        f"![How many times as fast as a peer in the same run](docs/figures/overview.svg)\n\n{overview_lines(results)}"
    )
    return _BLOCK.sub(lambda found: found[1] + block + found[2], README.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    results = Results()
    texts = {PAGE: page(results), README: readme(results)}
    if parser.parse_args().check:
        stale = [path.name for path, text in texts.items() if not path.exists() or path.read_text() != text]
        sys.exit(f"not what benchmarks/results says: {', '.join(stale)} (run make report)" if stale else 0)
    from report_figures import draw_all

    for path, text in texts.items():
        path.write_text(text)
    FIGURES.mkdir(exist_ok=True)
    draw_all(results, overview_ratios(results), FIGURES)


if __name__ == "__main__":
    main()
