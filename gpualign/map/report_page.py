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
:root { color-scheme: light dark; --back: #fff; --text: #222; --soft: #555; --line: #ddd; --bar: #2f6f9f; }
:root { --on: #d07020; --second: #b4560f; --third: #3c8a4a; --box: #f5f5f5; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16191d; --text: #e4e4e4; --soft: #a9adb3; --line: #3a3f46; --bar: #6fb1e0; --on: #f0a050; }
  :root { --second: #f0a050; --third: #7fcf8c; --box: #20242a; }
}
body { font: 15px/1.45 system-ui, sans-serif; color: var(--text); background: var(--back); }
body { max-width: 62rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 0 0 .3rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: 0 0 1rem; }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top; font-weight: normal; }
td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; } th { color: var(--soft); min-width: 7rem; }
.plots { display: grid; gap: 1.6rem; margin: 1.6rem 0; }
.plots { grid-template-columns: repeat(auto-fit, minmax(min(27rem, 100%), 1fr)); } figure { margin: 0; }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
.bar { fill: var(--bar); } .bar:hover { fill: var(--on); } .grid { stroke: var(--line); } .axis { stroke: var(--soft); }
.curve { fill: none; stroke-width: 1.8; } .c0 { stroke: var(--bar); } .c1 { stroke: var(--second); }
.c1 { stroke-dasharray: 6 3; } .c2 { stroke: var(--third); stroke-dasharray: 2 2; }
pre { overflow-x: auto; font-size: 12px; background: var(--box); padding: .8rem; }
p.note { color: var(--soft); margin: .2rem 0; } details { margin: .8rem 0; }
"""
#: size and margins of a plot, in units of its view box
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 460, 230, 62, 38, 10, 50
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
        fixed: the axis has all bins, also empty ones at its ends.
    """

    title: str
    x_label: str
    y_label: str
    counts: Sequence[int]
    first: float = 0.0
    width: float = 1.0
    decimals: int = 0
    logarithmic: bool = False
    fixed: bool = False

    def label(self, value: float) -> str:
        return f"{value:.{self.decimals}f}"

    def shown(self) -> Histogram:
        """The histogram without empty bins at its ends, and with bins joined to at most :data:`_MAX_BARS`."""
        filled = [i for i, count in enumerate(self.counts) if count]
        if not filled or self.fixed:
            return self
        counts = list(self.counts[filled[0] : filled[-1] + 1])
        joined = -(-len(counts) // _MAX_BARS)
        counts = [sum(counts[i : i + joined]) for i in range(0, len(counts), joined)]
        values = vars(self) | {"counts": counts, "first": self.first + filled[0] * self.width}
        return Histogram(**(values | {"width": self.width * joined}))


@dataclass(frozen=True)
class Curves:
    """Lines on common axes, from 0 to 100 %.

    Attributes:
        title, x_label: texts.
        lines: (name, per cent at each position from 1 on); None: unknown there.
        note: what stands below the title.
    """

    title: str
    x_label: str
    lines: Sequence[tuple[str, Sequence[float | None]]]
    note: str


def report_page(report: dict[str, Any]) -> str:
    """The page for a report of `map` (the JSON report's fields)."""
    return page_of(f"gpualign map: {report['sample']}", _summary(report), report)


def page_of(title: str, summary: str, report: dict[str, Any], with_plots: bool = True) -> str:
    """A page with a summary, the plots of a report, what it lacks, and its fields."""
    plots = "".join(_figure(drawn) for drawn in drawings(report)) if with_plots else ""
    lacking = "".join(f"<li>{escape(line)}</li>\n" for line in left_out(report)) if with_plots else ""
    lacking = f"<h2>Not on this page</h2>\n<ul>\n{lacking}</ul>\n" if lacking else ""
    return f"""<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head><meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1" />
<title>{escape(title)}</title><style>{_STYLE}</style></head>
<body>
<h1>{escape(title)}</h1>
<div class="wide">{summary}</div>
<div class="plots">
{plots}</div>
{lacking}<h2>The run</h2>
<div class="wide">{_run(report)}</div>
<details><summary>For developers: where the time went</summary>
<div class="wide">{_seconds(report)}</div></details>
<details><summary>The report as JSON</summary>
<pre>{escape(json.dumps(report, indent=1), quote=False)}</pre></details>
</body>
</html>
"""


def write_page(page: str, path: str) -> None:
    """Save a page; file names in it need not be UTF-8."""
    with open_output(path) as out:
        out.write(page.encode(errors="backslashreplace"))


def drawings(report: dict[str, Any]) -> list[Histogram | Curves]:
    """The report's plots, of what it has."""
    found: list[Histogram | Curves] = list(histograms(report))
    for mate, contexts in report.get("conversion", {}).get("by_position", {}).items():
        found.append(_methylation_by_position(mate, contexts))
    return found


def histograms(report: dict[str, Any]) -> list[Histogram]:
    """The report's histograms; insert sizes only if there are pairs."""
    rates, sizes = report["error_rate_histogram"], report["insert_size_histogram"]
    found = [
        Histogram("Mapping quality", "MAPQ", "mapped reads", report["mapq_histogram"], logarithmic=True, fixed=True),
        Histogram("Edit distance", "edits in a read", "reads", report["edit_distance_histogram"], logarithmic=True),
        Histogram("Error rate", "edits, % of the read's length", "reads", rates["counts"], width=100 * rates["bin"]),
    ]
    if sizes["counts"]:
        found.append(
            Histogram("Insert size", "outer distance of a pair, bases", "pairs", sizes["counts"], width=sizes["bin"])
        )
    if "coverage" in report:
        depths = report["coverage"]["depth_histogram"]
        found.append(Histogram("Coverage", "depth", "positions", depths, logarithmic=True))
    if "read_length_histogram" in report:
        lengths = report["read_length_histogram"]
        found.append(Histogram("Read length", "bases", "reads", lengths["counts"], width=lengths["bin"]))
    for name, title, label in (
        ("gc_histogram", "GC content", "C and G, % of the read's bases"),
        ("quality_histogram", "Base quality", "mean of the read, Phred"),
    ):
        if name in report:
            counts = report[name] if name[0] == "g" else [*report[name], *[0] * (42 - len(report[name]))]
            found.append(Histogram(title, label, "reads", counts, fixed=True))
    return found


def left_out(report: dict[str, Any]) -> list[str]:
    """What a page could have shown, and why it does not."""
    lines = []
    if not report["insert_size_histogram"]["counts"]:
        paired = "insert_size" in report or "pairing" in report
        lines.append("Insert sizes: " + ("no pair is sure of its position." if paired else "the reads are not paired."))
    if "coverage" not in report:
        lines.append("Coverage: --sort --coverage counts it.")
    if "duplicates" not in report:
        lines.append("Duplicates: --mark-duplicates finds them.")
    if "read_length_histogram" not in report:
        lines.append("Lengths, GC content and base qualities: the pages of single samples have them.")
    elif "gc_histogram" not in report:
        lines.append("GC content and base qualities: a GPU parsed the reads; --device cpu counts them.")
    elif "quality_histogram" not in report:
        lines.append("Base qualities: the reads have none.")
    return lines


def _methylation_by_position(mate: str, contexts: dict[str, list[list[int]]]) -> Curves:
    """Per cent of methylated bases at each position of a read (M-bias), a line for each context."""
    lines, notes = [], []
    for context in CONTEXTS:
        counts = contexts[context]
        lines.append((context, [_percent(m, c) if m + c else None for m, c in counts]))
        total = sum(m for m, _ in counts), sum(c for _, c in counts)
        notes.append(f"{context} {_percent(*total):.2f} % of {sum(total):,} bases")
    return Curves(f"Methylation along {mate}", "base of the read", lines, "; ".join(notes))


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
        **_introns(report),
        **_conversion(report),
        "mean MAPQ": f"{report['mean_mapq']:.2f}",
        "edits per base": f"{100 * report['error_rate']:.3f} %",
    }
    return _rows(rows)


def _rows(rows: dict[str, Any]) -> str:
    lines = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>\n" for name, value in rows.items())
    return f"<table>\n{lines}</table>"


def _run(report: dict[str, Any]) -> str:
    """What was run, on which files, when and where."""
    rows = {
        "command line": report.get("command_line") or "a Python function",
        "inputs": ", ".join(report.get("inputs", ())),
        "reference": report.get("reference") or "",
        "outputs": ", ".join(report.get("outputs", ())),
        "date": report.get("date", ""),
        "version": f"gpualign {report['version']}",
        "device, threads": f"{report['device']}, {report['threads']}",
        "seconds": f"{report['wall_s']:,.1f}",
        "peak memory": f"{report['peak_rss_mb']:,} MiB",
    }
    return _rows({name: value for name, value in rows.items() if value})


def _seconds(report: dict[str, Any]) -> str:
    """Seconds of the stages, and of the steps of all threads."""
    rows = {f"stage: {name}": f"{seconds} s" for name, seconds in report.get("seconds", {}).items()}
    rows |= {f"all threads: {name}": f"{seconds} s" for name, seconds in report.get("thread_seconds", {}).items()}
    return _rows(rows)


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


def _introns(report: dict[str, Any]) -> dict[str, str]:
    """Rows of the summary on introns of spliced reads, and on the signals at their ends."""
    if "introns" not in report:
        return {}
    found, crossed = report["introns"], max(1, report["introns"]["of_reads"])
    signals = ", ".join(f"{name} {100 * count / crossed:.2f} %" for name, count in found["signals"].items())
    return {"introns": f"{found['distinct']:,}, crossed {found['of_reads']:,} times by reads", "signals": signals}


def _figure(drawn: Histogram | Curves) -> str:
    if isinstance(drawn, Curves):
        note, drawing = drawn.note, _curves(drawn)
    else:
        note = f"{sum(drawn.counts):,} {drawn.y_label}" + (", logarithmic heights" if drawn.logarithmic else "")
        drawing = _svg(drawn.shown())
    return f"<figure><h2>{escape(drawn.title)}</h2><p class='note'>{escape(note)}</p>\n{drawing}</figure>\n"


def _curves(drawn: Curves) -> str:
    """Lines of per cent on axes from 0 to 100 %, with a legend."""
    top = _TOP + 18  # below the legend
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - top - _BOTTOM
    last = max((len(values) for _, values in drawn.lines), default=1)
    parts = []
    for tick in range(0, 101, 20):
        y = top + height * (1 - tick / 100)
        parts.append(f"<line class='grid' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{y:.1f}' y2='{y:.1f}' />")
        parts.append(f"<text x='{_LEFT - 6}' y='{y + 4:.1f}' text-anchor='end'>{tick} %</text>")

    def x(position: int) -> float:
        return _LEFT + width * (position - 1) / max(1, last - 1)

    for number, (name, values) in enumerate(drawn.lines):
        known = [(x(i + 1), value) for i, value in enumerate(values) if value is not None]
        points = " ".join(f"{at:.1f},{top + height * (1 - value / 100):.1f}" for at, value in known)
        parts.append(f"<polyline class='curve c{number}' points='{points}'><title>{escape(name)}</title></polyline>")
        at, y = _LEFT + 70 * number, _TOP
        parts.append(f"<line class='curve c{number}' x1='{at}' x2='{at + 22}' y1='{y}' y2='{y}' />")
        parts.append(f"<text x='{at + 27}' y='{y + 4}'>{escape(name)}</text>")
    step = next(n for n in (1, 2, 5, 10, 20, 50, 100, 1000, 10_000) if last <= 9 * n or n == 10_000)
    for position in (1, *range(step, last + 1, step)):
        if position != 1 or step > 1:
            parts.append(f"<text x='{x(position):.1f}' y='{_HEIGHT - 22}' text-anchor='middle'>{position}</text>")
    return _framed(parts, drawn.title, drawn.x_label)


def _framed(parts: list[str], title: str, x_label: str) -> str:
    """A drawing with its horizontal axis."""
    bottom, middle = _HEIGHT - _BOTTOM, _LEFT + (_WIDTH - _LEFT - _RIGHT) / 2
    parts.append(f"<line class='axis' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{bottom}' y2='{bottom}' />")
    parts.append(f"<text x='{middle}' y='{_HEIGHT - 5}' text-anchor='middle'>{escape(x_label)}</text>")
    drawing = "\n".join(parts)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' "
        f"aria-label='{escape(title, quote=True)}'>\n{drawing}\n</svg>"
    )


def _svg(histogram: Histogram) -> str:
    counts = histogram.counts
    ticks = _ticks(max(counts, default=0), histogram.logarithmic)
    plot_width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    top = _scaled(ticks[-1], histogram.logarithmic)

    def y(count: float) -> float:
        return _TOP + height * (1 - _scaled(count, histogram.logarithmic) / top)

    step, total = plot_width / max(1, len(counts)), sum(counts)
    parts = []
    for tick in ticks:
        parts.append(f"<line class='grid' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{y(tick):.1f}' y2='{y(tick):.1f}' />")
        parts.append(f"<text x='{_LEFT - 6}' y='{y(tick) + 4:.1f}' text-anchor='end'>{tick:,}</text>")
        if 1e-4 * total <= tick <= total and tick:
            share = f"{100 * tick / total:.2g} %" if 10 * tick < total else f"{100 * tick / total:.0f} %"
            parts.append(f"<text x='{_WIDTH - _RIGHT + 4}' y='{y(tick) + 4:.1f}'>{share}</text>")
    for i, count in enumerate(counts):
        if count:
            parts.append(
                f"<rect class='bar' x='{_LEFT + i * step:.2f}' y='{y(count):.2f}' width='{max(0.5, 0.88 * step):.2f}' "
                f"height='{_TOP + height - y(count):.2f}'><title>{_range(histogram, i)}: {count:,} "
                f"({100 * count / total:.3g} %)</title></rect>"
            )
    for i in range(0, len(counts), next(n for n in _LABEL_STEPS if len(counts) <= 9 * n)):
        value = histogram.label(histogram.first + i * histogram.width)
        x = _LEFT + (i + 0.44) * step
        parts.append(f"<text x='{x:.1f}' y='{_HEIGHT - 22}' text-anchor='middle'>{value}</text>")
    return _framed(parts, histogram.title, histogram.x_label)


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
