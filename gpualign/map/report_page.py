"""`map --report`: the JSON report as an HTML page with histograms.

The page is XHTML with inline SVG, without scripts, external resources or libraries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from gpualign.records.methylation import CONTEXTS
from gpualign.text.output_file import open_output

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.05rem; margin: 0 0 .3rem; }
table { border-collapse: collapse; } th, td { padding: .15rem .8rem .15rem 0; text-align: left; font-weight: normal; }
td { font-variant-numeric: tabular-nums; } th { color: #555; }
.plots { display: grid; gap: 1.6rem; margin: 1.6rem 0; }
.plots { grid-template-columns: repeat(auto-fit, minmax(min(27rem, 100%), 1fr)); }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: #555; }
.bar { fill: #2f6f9f; } .bar:hover { fill: #d07020; } .grid { stroke: #ddd; } .axis { stroke: #888; }
pre { overflow-x: auto; font-size: 12px; background: #f6f6f6; padding: .8rem; } p.note { color: #555; margin: .2rem 0; }
"""
#: size and margins of a plot, in units of its view box
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 460, 230, 62, 38, 10, 12
#: parts of the names of controls: names, and accessions of GenBank and RefSeq
_CONTROLS = ("lambda", "puc19", "j02459", "nc_001416", "l09137", "m77789")
_MAX_BARS = 120  # beyond this, neighbouring bins are joined
#: bars from one label of the horizontal axis to the next
_LABEL_STEPS = (1, 2, 5, 10, 20)


@dataclass(frozen=True)
class Histogram:
    """Counts of equal bins.

    Attributes:
        title, x_label, y_label: texts.
        first: value of the first bin; width: of each bin.
        decimals: of the values.
        logarithmic: use a logarithmic scale of counts.
        note: what stands below the title; empty: the sum of the counts.
    """

    title: str
    x_label: str
    y_label: str
    counts: Sequence[int]
    first: float = 0.0
    width: float = 1.0
    decimals: int = 0
    logarithmic: bool = False
    note: str = ""

    def label(self, value: float) -> str:
        return f"{value:.{self.decimals}f}"

    def shown(self) -> Histogram:
        """The histogram without empty bins at its ends, and with bins joined to at most :data:`_MAX_BARS`."""
        filled = [i for i, count in enumerate(self.counts) if count]
        if not filled:
            return self
        counts = list(self.counts[filled[0] : filled[-1] + 1])
        joined = -(-len(counts) // _MAX_BARS)
        counts = [sum(counts[i : i + joined]) for i in range(0, len(counts), joined)]
        values = vars(self) | {"counts": counts, "first": self.first + filled[0] * self.width}
        return Histogram(**(values | {"width": self.width * joined}))


def report_page(report: dict[str, Any]) -> str:
    """The page for a report of `map` (the JSON report's fields)."""
    return page_of(f"gpualign map: {report['sample']}", _summary(report), report)


def page_of(title: str, summary: str, report: dict[str, Any], with_plots: bool = True) -> str:
    """A page with a summary, the plots of a report and its fields."""
    plots = "".join(_figure(histogram.shown()) for histogram in histograms(report)) if with_plots else ""
    return f"""<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head><meta charset="utf-8" /><title>{escape(title)}</title><style>{_STYLE}</style></head>
<body>
<h1>{escape(title)}</h1>
{summary}
<div class="plots">
{plots}</div>
<details><summary>The report as JSON</summary>
<pre>{escape(json.dumps(report, indent=1), quote=False)}</pre></details>
</body>
</html>
"""


def write_page(page: str, path: str) -> None:
    """Save a page; file names in it need not be UTF-8."""
    with open_output(path) as out:
        out.write(page.encode(errors="backslashreplace"))


def histograms(report: dict[str, Any]) -> list[Histogram]:
    """The report's histograms; insert sizes only if there are pairs."""
    rates, sizes = report["error_rate_histogram"], report["insert_size_histogram"]
    found = [
        Histogram("Mapping quality", "MAPQ", "mapped reads", report["mapq_histogram"], logarithmic=True),
        Histogram("Edit distance", "edits in a read", "reads", report["edit_distance_histogram"], logarithmic=True),
        Histogram("Error rate", "edits, % of the read's length", "reads", rates["counts"], width=100 * rates["bin"]),
    ]
    if sizes["counts"]:
        found.append(
            Histogram("Insert size", "outer distance of a pair, bases", "pairs", sizes["counts"], width=sizes["bin"])
        )
    for mate, contexts in report.get("conversion", {}).get("by_position", {}).items():
        for context in CONTEXTS:
            found.append(_methylation_by_position(context, mate, contexts[context]))
    return found


def _methylation_by_position(context: str, mate: str, counts: list[list[int]]) -> Histogram:
    """Per cent of methylated bases at each position of a read (M-bias), of neighbours where there are too many."""
    joined = -(-len(counts) // _MAX_BARS)
    pieces = [counts[i : i + joined] for i in range(0, len(counts), joined)]
    shares = [_percent(sum(m for m, _ in piece), sum(c for _, c in piece)) for piece in pieces]
    title = f"Methylation of {context} in {mate}"
    total = sum(m for m, _ in counts), sum(c for _, c in counts)
    note = f"{_percent(*total):.2f} % of {sum(total):,} bases methylated"
    heights = [round(share) for share in shares]
    return Histogram(title, "base of the read", "% methylated", heights, 1, joined, note=note)


def _percent(part: int, rest: int) -> float:
    return 100 * part / max(1, part + rest)


def _conversion(report: dict[str, Any]) -> dict[str, str]:
    """Rows of the summary on bisulfite reads, of all contigs and of those that are controls."""
    if "conversion" not in report:
        return {}
    found = report["conversion"]
    rows = {
        "methylated": found,
        **{f"methylated, {name}": of for name, of in found["contigs"].items() if _control(name)},
    }
    shown = {
        title: ", ".join(f"{context} {_percent(*of[context]):.2f} %" for context in CONTEXTS)
        for title, of in rows.items()
    }
    return shown | {
        "converted outside CpG": f"{100 * found['rate_outside_cpg']:.2f} %",
        "unconverted reads": f"{found['unconverted_reads']:,}",
    }


def _control(name: str) -> bool:
    """Whether a contig is the genome of phage lambda or the plasmid pUC19."""
    return any(part in name.lower() for part in _CONTROLS)


def _summary(report: dict[str, Any]) -> str:
    reads = report["reads"]

    def share(name: str) -> str:
        count = report[name]
        return f"{count:,} ({100 * count / reads:.2f} %)" if reads else f"{count:,}"

    rows = {"reads": f"{reads:,}", "bases": f"{report['bases']:,}", "mapped": share("mapped")}
    if "insert_size" in report:
        size = report["insert_size"]
        rows["in proper pairs"] = share("properly_paired")
        rows["insert size"] = f"{size['mean']:.1f} ± {size['sd']:.1f} ({size['min']} to {size['max']} are proper)"
    elif "pairing" in report:
        rows["insert size"] = "the pairs share none: no pair is proper"
    rows |= {
        "unmapped": share("unmapped"),
        "secondary records": f"{report['secondary']:,}",
        "supplementary records": f"{report['supplementary']:,}",
        **_duplicates(report),
        **_coverage(report),
        **_conversion(report),
        "mean MAPQ": f"{report['mean_mapq']:.2f}",
        "edits per base": f"{100 * report['error_rate']:.3f} %",
        "seconds": f"{report['wall_s']} ("
        + ", ".join(f"{name} {seconds}" for name, seconds in report["seconds"].items())
        + ")",
        "seconds of all threads": ", ".join(f"{name} {s}" for name, s in report["thread_seconds"].items()),
        "device, threads": f"{report['device']}, {report['threads']}",
        "peak memory": f"{report['peak_rss_mb']:,} MiB",
        "version": report["version"],
    }
    lines = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>\n" for name, value in rows.items())
    return f"<table>\n{lines}</table>"


def _duplicates(report: dict[str, Any]) -> dict[str, str]:
    """Rows of the summary on duplicates, if they were marked."""
    if "duplicates" not in report:
        return {}
    found = report["duplicates"]
    rows = {"duplicates": f"{found['reads']:,} ({100 * found['share']:.2f} %)"}
    if found.get("without_barcode"):
        rows["templates without a barcode"] = f"{found['without_barcode']:,}"
    for library in found["libraries"]:
        optical, size = library["optical_pair_duplicates"], library["estimated_library_size"]
        molecules = "" if size is None else f", about {size:,} molecules"
        rows[f"library {library['library']}"] = (
            f"{library['pair_duplicates']:,} of {library['read_pairs']:,} pairs, {optical:,} of them optical; "
            f"{library['unpaired_duplicates']:,} of {library['unpaired_reads']:,} single reads{molecules}"
        )
    return rows


def _coverage(report: dict[str, Any]) -> dict[str, str]:
    if "coverage" not in report:
        return {}
    found = report["coverage"]
    covered = f"{100 * found['at_least_1'] / max(1, found['positions']):.2f} %"
    return {"mean depth": f"{found['mean']:.2f}, {covered} of {found['positions']:,} positions covered"}


def _figure(histogram: Histogram) -> str:
    total = sum(histogram.counts)
    note = histogram.note or f"{total:,} {histogram.y_label}" + (
        ", logarithmic heights" if histogram.logarithmic else ""
    )
    return (
        f"<figure style='margin:0'><h2>{escape(histogram.title)}</h2><p class='note'>{escape(note)}</p>\n"
        f"{_svg(histogram)}</figure>\n"
    )


def _svg(histogram: Histogram) -> str:
    counts = histogram.counts
    ticks = _ticks(max(counts, default=0), histogram.logarithmic)
    plot_width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    top = _scaled(ticks[-1], histogram.logarithmic)

    def y(count: float) -> float:
        return _TOP + height * (1 - _scaled(count, histogram.logarithmic) / top)

    step = plot_width / max(1, len(counts))
    parts = []
    for tick in ticks:
        parts.append(f"<line class='grid' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{y(tick):.1f}' y2='{y(tick):.1f}' />")
        parts.append(f"<text x='{_LEFT - 6}' y='{y(tick) + 4:.1f}' text-anchor='end'>{tick:,}</text>")
    for i, count in enumerate(counts):
        if count:
            parts.append(
                f"<rect class='bar' x='{_LEFT + i * step:.2f}' y='{y(count):.2f}' width='{max(0.5, 0.88 * step):.2f}' "
                f"height='{_TOP + height - y(count):.2f}'><title>{_range(histogram, i)}: {count:,}</title></rect>"
            )
    for i in range(0, len(counts), next(n for n in _LABEL_STEPS if len(counts) <= 9 * n)):
        value = histogram.label(histogram.first + i * histogram.width)
        x = _LEFT + (i + 0.44) * step
        parts.append(f"<text x='{x:.1f}' y='{_HEIGHT - 22}' text-anchor='middle'>{value}</text>")
    bottom = _TOP + height
    parts.append(f"<line class='axis' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{bottom}' y2='{bottom}' />")
    label = escape(histogram.x_label)
    parts.append(f"<text x='{_LEFT + plot_width / 2}' y='{_HEIGHT - 5}' text-anchor='middle'>{label}</text>")
    name = escape(histogram.title, quote=True)
    drawing = "\n".join(parts)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='{name}'>\n"
        f"{drawing}\n</svg>"
    )


def _range(histogram: Histogram, i: int) -> str:
    """The value of a bin, or its range."""
    start = histogram.first + i * histogram.width
    if histogram.width == 1:
        return histogram.label(start)
    return f"{histogram.label(start)} to {histogram.label(start + histogram.width)}"


def _scaled(count: float, logarithmic: bool) -> float:
    return math.log10(1 + count) if logarithmic else count


def _ticks(highest: int, logarithmic: bool) -> list[int]:
    """Round numbers from 0 up to at least ``highest``."""
    if logarithmic:
        powers = range(len(str(max(1, highest - 1))) + 1)
        return [0, *(10**power for power in powers if power or len(powers) < 6)]  # 0 and 1 lie close together
    step = 10 ** max(0, len(str(max(1, highest))) - 1)
    step = next(part for part in (step // 5, step // 2, step, 2 * step) if part and highest <= 6 * part)
    return list(range(0, highest + step, step)) if highest else [0, 1]
