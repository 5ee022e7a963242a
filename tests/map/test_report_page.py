"""The report of `map`: the JSON's figures against the records, the page against the JSON."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pysam
import pytest

from gpualign.map.report_page import Curves, Histogram, drawings, histograms, left_out
from tests.helpers.files import write_fasta
from tests.helpers.paths import GENOMES
from tests.helpers.sam import records, tags

Cli = Callable[..., tuple[int, bytes, str]]
HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"


def counted(values: list[int], length: int = 0) -> list[int]:
    """Histogram with bins of one, by hand."""
    counts = Counter(values)
    return [counts[i] for i in range(max([length - 1, *values]) + 1)]


@pytest.mark.parametrize("paired", [False, True])
def test_figures_follow_from_the_records(
    cli: Cli,
    tmp_path: Path,
    some_reads: Path,
    files: tuple[Path, Path, Path],
    paired: bool,
) -> None:
    path = tmp_path / "report.json"
    inputs = files if paired else (GENOMES, some_reads)
    code, sam, _ = cli("map", *inputs, "--json", path, "-R", r"@RG\tID:x\tSM:honey")
    assert code == 0
    report = json.loads(path.read_text())
    everything = records(sam)
    rows = [row for row in everything if not int(row[1]) & 0x900]
    assert report["supplementary"] == sum(bool(int(row[1]) & 0x800) for row in everything)
    assert report["secondary"] == sum(bool(int(row[1]) & 0x100) for row in everything)
    mapped = [row for row in rows if not int(row[1]) & 4]
    assert (report["tool"], report["command"], report["sample"]) == ("gpualign", "map", "honey")
    assert (report["reads"], report["mapped"], report["unmapped"]) == (len(rows), len(mapped), len(rows) - len(mapped))
    assert report["bases"] == sum(len(row[9]) for row in rows)
    assert report["properly_paired"] == sum(bool(int(row[1]) & 2) for row in rows)
    assert report["mapq_histogram"] == counted([int(row[4]) for row in mapped], 61)
    assert report["mean_mapq"] == pytest.approx(sum(int(row[4]) for row in mapped) / len(mapped), abs=0.001)
    measured = [row for row in mapped if "ed" in tags(row)]
    edits = [int(tags(row)["ed"]) for row in measured]
    assert report["edit_distance_histogram"] == counted(edits)
    assert report["error_rate"] == pytest.approx(sum(edits) / sum(len(row[9]) for row in measured), abs=1e-6)
    rates = [int(100 * edit / len(row[9]) + 1e-9) for edit, row in zip(edits, measured, strict=True)]
    assert report["error_rate_histogram"] == {"bin": 0.01, "counts": counted(rates)}
    pairs = zip(mapped[::2], mapped[1::2], strict=True) if paired else ()
    sizes = [abs(int(a[8])) // 10 for a, b in pairs if min(int(a[4]), int(b[4])) >= 20]
    assert report["insert_size_histogram"] == {"bin": 10, "counts": counted(sizes)}
    assert set(report["seconds"]) == {"index", "device", "insert sizes", "mapping", "output"}
    assert set(report["thread_seconds"]) == {"parse", "wait", "map", "format"}
    assert (report["device"], report["gpu_items"], report["cpu_items"]) == ("cpu", 0, len(rows))


def test_the_page_shows_what_the_json_says(cli: Cli, tmp_path: Path, files: tuple[Path, Path, Path]) -> None:
    page, path = tmp_path / "report.html", tmp_path / "report.json"
    assert cli("map", *files, "-R", "@RG\tID:x\tSM:<b>&'", "--json", path, "--report", page)[0] == 0
    report = json.loads(path.read_text())
    root = ElementTree.fromstring(page.read_text())
    assert root.findtext(f".//{HTML}h1") == "gpualign map: <b>&'"
    assert json.loads(root.findtext(f".//{HTML}pre") or "") == report
    cells = {row[0].text: row[1].text or "" for row in root.iter(f"{HTML}tr")}
    assert cells["reads"] == f"{report['reads']:,}"
    assert cells["mapped"].startswith(f"{report['mapped']:,} (")
    drawn = {svg.get("aria-label"): bars(svg) for svg in root.iter(f"{SVG}svg")}
    of_reads = ["Read length", "GC content", "Base quality"]
    assert list(drawn) == ["Mapping quality", "Edit distance", "Error rate", "Insert size", *of_reads]
    reads = [(record.sequence, record.quality) for path in files[1:] for record in pysam.FastxFile(str(path))]
    assert drawn["Read length"] == {str(n): count for n, count in Counter(len(bases) for bases, _ in reads).items()}
    known = [(len(re.findall("[CG]", bases)), len(re.findall("[ACGT]", bases))) for bases, _ in reads]
    assert report["gc_histogram"] == counted([round(100 * gc / acgt) for gc, acgt in known if acgt], 101)
    means = [round(sum(map(ord, quality)) / len(quality) - 33) for _, quality in reads]
    assert report["quality_histogram"] == counted(means)
    assert cells["command line"] == report["command_line"]
    assert cells["inputs"] == ", ".join(map(str, files[1:]))
    assert (cells["reference"], cells["date"]) == (str(files[0]), report["date"])
    assert cells["version"] == f"gpualign {report['version']}"
    missing = [item.text for item in root.iter(f"{HTML}li")]
    assert missing == ["Coverage: --sort --coverage counts it.", "Duplicates: --mark-duplicates finds them."]
    expected = {str(value): count for value, count in enumerate(report["mapq_histogram"]) if count}
    assert drawn["Mapping quality"] == expected
    sizes = report["insert_size_histogram"]["counts"]
    assert drawn["Insert size"] == {f"{10 * i} to {10 * i + 10}": count for i, count in enumerate(sizes) if count}


def bars(svg: ElementTree.Element) -> dict[str, int]:
    """What the bars say of themselves; their heights must order as their counts do."""
    found: list[tuple[str, int, float]] = []
    shares: list[tuple[int, float]] = []
    for bar in svg.iter(f"{SVG}rect"):
        told = re.fullmatch(r"(.+): ([\d,]+) \((.+) %\)", bar.findtext(f"{SVG}title") or "")
        assert told is not None
        values, count, share = told.groups()
        found.append((values, int(count.replace(",", "")), float(bar.get("height", 0))))
        shares.append((found[-1][1], float(share)))
    total = sum(count for _, count, _ in found)
    assert all(share == pytest.approx(100 * count / total, rel=0.01) for count, share in shares)
    assert all((a[1] <= b[1]) == (a[2] <= b[2] + 0.011) or a[1] > b[1] for a in found for b in found)
    return {values: count for values, count, _ in found}


def test_the_page_needs_nothing_from_outside(cli: Cli, tmp_path: Path, some_reads: Path) -> None:
    page = tmp_path / "report.html"
    assert cli("map", GENOMES, some_reads, "-o", tmp_path / "o.sam", "--report", page)[0] == 0
    text = page.read_text()
    root = ElementTree.fromstring(text)
    assert not [element.tag for element in root.iter() if element.tag.endswith(("script", "link", "img", "iframe"))]
    assert not [name for element in root.iter() for name in element.keys() if name in ("src", "href")]  # noqa: SIM118
    assert not {"url(", "@import"} & set(text.split())
    assert text.count("://") == text.count("xmlns=")


def test_a_page_of_no_reads(cli: Cli, tmp_path: Path) -> None:
    reads, page = write_fasta(tmp_path / "none.fa"), tmp_path / "report.html"
    assert cli("map", GENOMES, reads, "-o", tmp_path / "o.sam", "--report", page)[0] == 0
    assert ElementTree.fromstring(page.read_text()).findtext(f".//{HTML}h1") == "gpualign map: none"


def test_a_file_name_that_is_not_utf8(
    cli: Cli, tmp_path: Path, some_reads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for the page, nor for CRAM's UR, nor for the command line in the metrics."""
    reads, page, metrics = tmp_path / os.fsdecode(b"bee\xff.fq"), tmp_path / "report.html", tmp_path / "metrics.txt"
    genomes = tmp_path / os.fsdecode(b"genomes\xff.fa")
    reads.write_bytes(some_reads.read_bytes())
    genomes.write_bytes(GENOMES.read_bytes())
    monkeypatch.setattr("sys.argv", ["gpualign", "map", str(genomes), str(reads)])
    options = ["--report", page, "--mark-duplicates", "--duplicate-metrics", metrics]
    code, _, error = cli("map", genomes, reads, "-o", tmp_path / "o.cram", *options)
    assert code == 0, error
    assert "bee .fq" in metrics.read_text()
    assert ElementTree.fromstring(page.read_text()).findtext(f".//{HTML}h1") == r"gpualign map: bee\udcff"


def test_the_page_is_no_input(cli: Cli, some_reads: Path) -> None:
    code, _, error = cli("map", GENOMES, some_reads, "-o", "/dev/null", "--report", some_reads)
    assert code == 2
    assert "is also an input" in error


def test_bins_are_joined_where_there_are_many() -> None:
    histogram = Histogram("t", "x", "y", [0] * 7 + [1] * 1000 + [0] * 5, first=3.0, width=2.0)
    shown = histogram.shown()
    assert len(shown.counts) == 112
    assert sum(shown.counts) == 1000
    assert (shown.first, shown.width) == (17.0, 18.0)


def test_what_a_page_lacks_is_said() -> None:
    none: dict[str, Any] = {"bin": 1, "counts": []}
    base: dict[str, Any] = {"insert_size_histogram": none, "duplicates": {}, "coverage": {}}
    counted_reads = {"read_length_histogram": none, "gc_histogram": [1], "quality_histogram": [1]}
    assert left_out({**base, **counted_reads}) == ["Insert sizes: the reads are not paired."]
    assert left_out({**base, **counted_reads, "pairing": {}}) == ["Insert sizes: no pair is sure of its position."]
    base["insert_size_histogram"] = {"bin": 1, "counts": [1]}
    assert left_out({**base, **counted_reads}) == []
    del counted_reads["quality_histogram"]
    assert left_out({**base, **counted_reads}) == ["Base qualities: the reads have none."]
    del counted_reads["gc_histogram"]
    assert "a GPU parsed the reads" in left_out({**base, **counted_reads})[0]
    assert "single samples" in left_out(base)[0]


def test_the_axes_of_qualities_and_shares_are_whole() -> None:
    """From 0 to 60, whatever the reads have; other bins without reads at the ends are left out."""
    some = [0] * 30 + [5] + [0] * 30
    report = {"mapq_histogram": some, "edit_distance_histogram": some, "gc_histogram": [0] * 50 + [1] + [0] * 50}
    binned = {"bin": 1, "counts": [1]}
    report |= {"error_rate_histogram": binned, "insert_size_histogram": binned}
    shown = {histogram.title: len(histogram.shown().counts) for histogram in histograms(report)}
    assert (shown["Mapping quality"], shown["Edit distance"], shown["GC content"]) == (61, 1, 101)


def test_methylation_is_drawn_as_lines_on_common_axes() -> None:
    contexts = {"CpG": [[3, 1], [0, 0], [1, 0]], "CHG": [[0, 4], [0, 4], [1, 3]], "CHH": [[0, 1], [0, 1], [0, 1]]}
    none: dict[str, Any] = {"bin": 1, "counts": []}
    report = {"mapq_histogram": [1], "edit_distance_histogram": [1], "error_rate_histogram": none}
    report |= {"insert_size_histogram": none, "conversion": {"by_position": {"R1": contexts, "R2": contexts}}}
    first, second = drawings(report)[-2:]
    assert isinstance(first, Curves)
    assert (first.title, second.title) == ("Methylation along R1", "Methylation along R2")
    assert list(first.lines) == [("CpG", [75, None, 100]), ("CHG", [0, 0, 25]), ("CHH", [0, 0, 0])]
    assert first.note.startswith("CpG 80.00 % of 5 bases; CHG 8.33 % of 12 bases")


def test_the_page_fits_phones_and_dark_screens(cli: Cli, tmp_path: Path, some_reads: Path) -> None:
    """Browsers show it in tests/test_browser.py."""
    page = tmp_path / "report.html"
    assert cli("map", GENOMES, some_reads, "-o", tmp_path / "o.sam", "--report", page)[0] == 0
    head = page.read_text().partition("</head>")[0]
    assert '<meta name="viewport" content="width=device-width, initial-scale=1" />' in head
    assert "@media (prefers-color-scheme: dark)" in head


def test_pairs_alone_have_insert_sizes() -> None:
    none = {"bin": 1, "counts": []}
    report = {"mapq_histogram": [1], "edit_distance_histogram": [1], "error_rate_histogram": none}
    assert len(histograms({**report, "insert_size_histogram": none})) == 3
