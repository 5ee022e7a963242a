#!/usr/bin/env python3
"""From run reports of gpualign (--json) to a table that MultiQC shows (custom content, *_mqc.json).

    gpualign map ref.fa a.fq.gz -o a.bam --json a.json
    python gpualign_to_multiqc.py *.json > gpualign_mqc.json && multiqc .

A sample is named after its report's file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

#: column -> (title, description, MultiQC's options)
COLUMNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "mapped_percent": ("% mapped", "reads that have a place", {"suffix": "%", "max": 100, "min": 0, "scale": "Greens"}),
    "reads": ("Reads", "reads read", {"format": "{:,.0f}", "scale": "Blues"}),
    "proper_percent": ("% proper", "reads in proper pairs", {"suffix": "%", "max": 100, "min": 0, "scale": "Greens"}),
    "insert_mean": ("Insert size", "mean of the proper pairs, bases", {"format": "{:,.0f}", "scale": "Purples"}),
    "wall_s": ("Seconds", "by the clock", {"format": "{:,.1f}", "scale": "Greys"}),
    "peak_rss_mb": ("Peak MiB", "largest resident set", {"format": "{:,.0f}", "scale": "Greys"}),
}


def row(report: dict[str, Any]) -> dict[str, float]:
    """One sample's values; what a report does not have stays out."""
    values = {name: report[name] for name in ("reads", "wall_s", "peak_rss_mb") if name in report}
    if report.get("reads"):
        for name, column in (("mapped", "mapped_percent"), ("properly_paired", "proper_percent")):
            if name in report:
                values[column] = 100 * report[name] / report["reads"]
    if "insert_size" in report:
        values["insert_mean"] = report["insert_size"]["mean"]
    return values


def table(paths: list[Path]) -> dict[str, Any]:
    """The custom content: one row a report, the columns that any of them has."""
    reports = {path.name.removesuffix(".json"): json.loads(path.read_text()) for path in paths}
    data = {name: row(report) for name, report in reports.items() if report.get("tool") == "gpualign"}
    used = [name for name in COLUMNS if any(name in values for values in data.values())]
    return {
        "id": "gpualign",
        "section_name": "gpualign",
        "description": "reads mapped by gpualign",
        "plot_type": "table",
        "pconfig": {"id": "gpualign_table", "title": "gpualign: runs", "namespace": "gpualign"},
        "headers": {
            name: {"title": COLUMNS[name][0], "description": COLUMNS[name][1], **COLUMNS[name][2]} for name in used
        },
        "data": data,
    }


if __name__ == "__main__":
    print(json.dumps(table([Path(name) for name in sys.argv[1:]]), indent=1))
