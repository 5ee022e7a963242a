#!/usr/bin/env python3
"""From run reports of gpualign (--json) to a table that MultiQC shows (custom content, *_mqc.json).

    gpualign map ref.fa a.fq.gz -o a.bam --json a.json
    gpualign map ref.fa --samples sheet.csv -o mapped --json all.json
    python gpualign_to_multiqc.py *.json > gpualign_mqc.json && multiqc .

A sample is named after its report's file; those of ``--samples`` have the names of the sheet.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

#: column -> (title, description, MultiQC's options)
COLUMNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "mapped_percent": ("% mapped", "reads that are mapped", {"suffix": "%", "max": 100, "min": 0, "scale": "Greens"}),
    "reads": ("Reads", "reads read", {"format": "{:,.0f}", "scale": "Blues"}),
    "proper_percent": ("% proper", "reads in proper pairs", {"suffix": "%", "max": 100, "min": 0, "scale": "Greens"}),
    "mean_mapq": ("MAPQ", "mean mapping quality of mapped reads", {"format": "{:,.1f}", "min": 0, "max": 60}),
    "error_percent": ("% edits", "edits per base", {"suffix": "%", "format": "{:,.2f}", "min": 0, "scale": "Reds"}),
    "cpg_percent": ("% mCpG", "methylated bases of CpG", {"suffix": "%", "max": 100, "min": 0, "scale": "Oranges"}),
    "converted_percent": ("% converted", "converted C outside CpG", {"suffix": "%", "max": 100, "min": 0}),
    "insert_mean": ("Insert size", "mean of the proper pairs, bases", {"format": "{:,.0f}", "scale": "Purples"}),
    "wall_s": ("Seconds", "by the clock", {"format": "{:,.1f}", "scale": "Greys"}),
    "peak_rss_mb": ("Peak MiB", "largest resident set", {"format": "{:,.0f}", "scale": "Greys"}),
}


def row(report: dict[str, Any]) -> dict[str, float]:
    """One sample's values; what a report does not have stays out."""
    values = {name: report[name] for name in ("reads", "mean_mapq", "wall_s", "peak_rss_mb") if name in report}
    if "error_rate" in report:
        values["error_percent"] = 100 * report["error_rate"]
    if report.get("reads"):
        for name, column in (("mapped", "mapped_percent"), ("properly_paired", "proper_percent")):
            if name in report:
                values[column] = 100 * report[name] / report["reads"]
    if "conversion" in report:
        methylated, converted = report["conversion"]["CpG"]
        if methylated + converted:
            values["cpg_percent"] = 100 * methylated / (methylated + converted)
        values["converted_percent"] = 100 * report["conversion"]["rate_outside_cpg"]
    if "insert_size" in report:
        values["insert_mean"] = report["insert_size"]["mean"]
    return values


def runs(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The names and reports of a report's samples; none of other files, nor of samples that failed."""
    report = json.loads(path.read_text())
    if not isinstance(report, dict) or report.get("tool") != "gpualign":
        return []
    if "samples" not in report:
        return [(path.name.removesuffix(".json"), report)]
    return [(sample["sample"], sample) for sample in report["samples"] if "error" not in sample]


def table(paths: list[Path]) -> dict[str, Any]:
    """The custom content: one row a report, the columns that any of them has."""
    data = {name: row(report) for path in paths for name, report in runs(path)}
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
