"""Pages in a real browser, headless Chromium: figures are drawn, nothing is wider than the window, no script fails."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.paths import GENOMES, READS, ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
Cli = Callable[..., tuple[int, bytes, str]]
WIDTHS = {"wide": 1280, "narrow": 360}
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

#: shows a page in a frame of a given width and writes down what it measures there
FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0"><pre id="told"></pre>
<iframe id="frame" style="border:0;width:WIDTHpx;height:2000px" src="PAGE"></iframe><script>
const frame = document.getElementById("frame");
frame.onload = () => setTimeout(() => {
  const page = frame.contentDocument, root = page.documentElement;
  const article = page.querySelector("article#furo-main-content") || page.body;
  const drawn = [...article.querySelectorAll("img, svg")];
  const missing = drawn.filter(figure => figure.tagName === "IMG"
    ? !figure.naturalWidth || !figure.getBoundingClientRect().width
    : !figure.getBoundingClientRect().width || !figure.querySelector("path, rect, circle, polyline, line"));
  document.getElementById("told").textContent = JSON.stringify({
    title: page.title, overflow: root.scrollWidth - frame.clientWidth, figures: drawn.length,
    missing: missing.map(figure => figure.outerHTML.slice(0, 200)), text: page.body.innerText.length});
}, 300);
</script>"""


def shown(page: Path, width: int, scratch: Path) -> dict[str, Any]:
    """What the browser tells of a page; fails on a script's error or what it could not load."""
    frame = scratch / f"frame-{width}.html"
    frame.write_text(FRAME.replace("PAGE", page.as_uri()).replace("WIDTH", str(width)))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    options += [f"--user-data-dir={scratch / 'profile'}", "--virtual-time-budget=5000", "--enable-logging=stderr"]
    done = subprocess.run(
        [str(CHROMIUM), *options, frame.as_uri()], capture_output=True, text=True, timeout=240, check=True
    )
    complaints = re.findall(r"^\[.*CONSOLE.*\] .*(?:[Ee]rror|Failed|Refused).*$", done.stderr, re.MULTILINE)
    assert complaints == []
    told = re.search(r'<pre id="told">(.+?)</pre>', done.stdout, re.DOTALL)
    assert told is not None, "the page did not load"
    facts: dict[str, Any] = json.loads(html.unescape(told[1]))
    return facts


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_the_report_of_map(width: int, cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert cli("map", GENOMES, READS, "-o", tmp_path / "out.sam", "--report", page)[0] == 0
    facts = shown(page, width, tmp_path)
    assert facts["figures"] >= 3
    assert facts["missing"] == []
    assert facts["overflow"] <= 0
    assert facts["text"] > 200


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("myst_parser") is None or importlib.util.find_spec("furo") is None:
        pytest.skip("Sphinx and what the site takes are not installed: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs/site", ".", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr  # a broken link among others
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize(
    ("page", "figures"),
    [
        ("README", 2),
        ("docs/commands/map", 0),
        ("docs/guides/germline", 1),
        ("docs/site/python", 0),
        ("docs/benchmarks", 6),
    ],
)
def test_pages_of_the_site(page: str, figures: int, width: int, site: Path, tmp_path: Path) -> None:
    facts = shown(site / f"{page}.html", width, tmp_path)
    assert facts["figures"] >= figures
    assert facts["missing"] == []
    assert facts["overflow"] <= 0
    assert facts["text"] > 1000
