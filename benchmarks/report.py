#!/usr/bin/env python3
"""Turn all results into docs/benchmarks.md, docs/benchmark-tables.md, their figures and the README's block of figures.

    python benchmarks/report.py            # write
    python benchmarks/report.py --check    # exit 1 where a text or a figure is not what the results say

Nothing is measured here and no measured number is written down here: each comes out of a committed result file.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

from report_figures import draw_all
from report_page import benchmarks_page, overview_lines, overview_ratios
from report_results import Results
from report_sections import tables_page

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
_BLOCK = re.compile(r"(<!-- figures:begin -->\n).*?(<!-- figures:end -->)", re.DOTALL)
_TABLES = """# All tables

`make report` writes this page from [benchmarks/results](../benchmarks/results). [benchmarks.md](benchmarks.md) has the
figures that matter most, what they say, and the units.
"""


def readme(results: Results) -> str:
    """The README with its block of figures renewed."""
    picture = "![How many times as fast as a peer in the same run](docs/figures/overview.svg)"
    return _BLOCK.sub(lambda found: f"{found[1]}{picture}\n\n{overview_lines(results)}{found[2]}", README.read_text())


def contents(results: Results) -> dict[Path, str]:
    """Every file that the report writes, with what is in it."""
    with tempfile.TemporaryDirectory() as folder:
        draw_all(results, overview_ratios(results), Path(folder))
        figures = {ROOT / "docs" / "figures" / path.name: path.read_text() for path in sorted(Path(folder).iterdir())}
    return figures | {
        ROOT / "docs" / "benchmarks.md": benchmarks_page(results),
        ROOT / "docs" / "benchmark-tables.md": "\n".join([_TABLES, *tables_page(results)]),
        README: readme(results),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    files = contents(Results())
    if parser.parse_args().check:
        stale = [path.name for path, text in files.items() if not path.exists() or path.read_text() != text]
        sys.exit(f"not what benchmarks/results says: {', '.join(stale)} (run make report)" if stale else 0)
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
