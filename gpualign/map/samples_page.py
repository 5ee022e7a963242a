"""The report of `map --samples`: sums over all samples, and an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import zip_longest
from typing import Any

from gpualign.map.report_page import page_of

_SUMMED = (
    "reads",
    "bases",
    "mapped",
    "unmapped",
    "properly_paired",
    "secondary",
    "supplementary",
    "gpu_items",
    "cpu_items",
)
_HISTOGRAMS = ("mapq_histogram", "edit_distance_histogram")
_BINNED = ("error_rate_histogram", "insert_size_histogram")


def totals(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts and histograms over the samples that did not fail, named as for one sample."""
    mapped = [fields for fields in samples if "error" not in fields]
    whole: dict[str, Any] = {name: sum(fields[name] for fields in mapped) for name in _SUMMED}
    for name in _HISTOGRAMS:
        whole[name] = _summed([fields[name] for fields in mapped])
    for name in _BINNED:
        if mapped:
            whole[name] = {
                "bin": mapped[0][name]["bin"],
                "counts": _summed([fields[name]["counts"] for fields in mapped]),
            }
    qualities = sum(i * count for i, count in enumerate(whole["mapq_histogram"]))
    return whole | {"mean_mapq": round(qualities / max(1, whole["mapped"]), 3)}


def _summed(counts: Sequence[Sequence[int]]) -> list[int]:
    return [sum(column) for column in zip_longest(*counts, fillvalue=0)]


def samples_page(report: dict[str, Any]) -> str:
    """The page for a report of `map --samples`."""
    title = f"gpualign map: {len(report['samples']):,} samples"
    return page_of(title, _table(report["samples"]), report, "error_rate_histogram" in report)


def _table(samples: Sequence[dict[str, Any]]) -> str:
    heads = ("sample", "reads", "mapped", "in proper pairs", "insert size", "mean MAPQ", "edits per base", "output")
    rows = ["".join(f"<th>{head}</th>" for head in heads)]
    for fields in samples:
        cells = [fields["sample"]]
        if "error" in fields:
            cells.append(f"failed: {fields['error']}")
            rows.append(f"<td>{escape(cells[0])}</td><td colspan='{len(heads) - 1}'>{escape(cells[1])}</td>")
            continue
        reads, size = fields["reads"], fields.get("insert_size")
        cells += [f"{reads:,}", _share(fields["mapped"], reads)]
        cells += (
            ["", ""]
            if size is None
            else [_share(fields["properly_paired"], reads), f"{size['mean']:.0f} ± {size['sd']:.0f}"]
        )
        cells += [f"{fields['mean_mapq']:.2f}", f"{100 * fields['error_rate']:.3f} %", fields["output"]]
        rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
    return "<table>\n" + "".join(f"<tr>{row}</tr>\n" for row in rows) + "</table>"


def _share(count: int, reads: int) -> str:
    return f"{100 * count / reads:.2f} %" if reads else ""
