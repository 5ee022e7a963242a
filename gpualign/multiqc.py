"""Run reports (--json) in MultiQC: a plugin, which MultiQC finds where it is installed next to gpualign.

    gpualign map ref.fa a.fq.gz -o a.bam --json a.json
    gpualign map ref.fa --samples sheet.csv -o mapped --json all.json
    multiqc .

For a MultiQC elsewhere the same table is custom content:

    python -m gpualign.multiqc *.json > gpualign_mqc.json && multiqc .

A sample is named after its report's file; samples of ``--samples`` have the names of the sheet.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_HOME = "https://pypi.org/project/gpualign"
_WHAT = "reads mapped by gpualign"
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
    values: dict[str, float] = {
        name: report[name] for name in ("reads", "mean_mapq", "wall_s", "peak_rss_mb") if name in report
    }
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


def samples(name: str, text: str) -> Iterable[tuple[str, dict[str, float]]]:
    """Names and values of a report's samples, but for samples that failed; nothing of other files.

    Args:
        name: of a report of one sample.
    """
    try:
        report = json.loads(text)
    except ValueError:
        return
    if not isinstance(report, dict) or report.get("tool") != "gpualign":
        return
    for sample in report.get("samples", [{**report, "sample": name}]):
        if "error" not in sample and "reads" in sample:
            yield sample["sample"], row(sample)


def headers(data: dict[str, dict[str, float]]) -> dict[str, dict[str, Any]]:
    """The columns that any sample has."""
    used = [name for name in COLUMNS if any(name in values for values in data.values())]
    return {name: {"title": COLUMNS[name][0], "description": COLUMNS[name][1], **COLUMNS[name][2]} for name in used}


def table(paths: Iterable[Path]) -> dict[str, Any]:
    """The custom content: one row a sample."""
    found = (samples(path.name.removesuffix(".json"), path.read_text()) for path in paths)
    data = {name: values for each in found for name, values in each}
    return {
        "id": "gpualign",
        "section_name": "gpualign",
        "description": _WHAT,
        "plot_type": "table",
        "pconfig": {"id": "gpualign_table", "title": "gpualign: runs", "namespace": "gpualign"},
        "headers": headers(data),
        "data": data,
    }


def search() -> None:
    """Tell MultiQC which files are reports (a hook of its configuration)."""
    from multiqc import config

    pattern = {"fn": "*.json", "contents": '"tool": "gpualign"', "num_lines": 4}
    config.update_dict(config.sp, {"gpualign": pattern})


def module() -> Any:
    """MultiQC's module: the samples' columns in its general statistics.

    Raises:
        ModuleNoSamplesFound: MultiQC's, there is no report.
    """
    from multiqc.base_module import BaseMultiqcModule, ModuleNoSamplesFound

    made = BaseMultiqcModule(name="gpualign", anchor="gpualign", href=_HOME, info="Maps reads on GPUs and CPUs.")
    data: dict[str, dict[str, float]] = {}
    for file in made.find_log_files("gpualign"):
        for name, values in samples(file["s_name"], file["f"]):
            data[made.clean_s_name(name, file)] = values
            made.add_data_source(file, name)
    data = made.ignore_samples(data)
    if not data:
        raise ModuleNoSamplesFound
    made.general_stats_addcols(data, headers(data))
    made.write_data_file(data, "multiqc_gpualign")
    return made


if __name__ == "__main__":
    print(json.dumps(table(map(Path, sys.argv[1:])), indent=1))
