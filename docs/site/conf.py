"""The documentation as a site (`make docs`): the pages as they stand, the commands and the Python functions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gpualign

project, author, release = "gpualign", "The gpualign authors", gpualign.__version__
copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
include_patterns = [
    "README.md",
    "CHANGES.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "docs/guides/*.md",
    "docs/commands/*.md",
    "docs/drop-ins/*.md",
    "docs/internals/*.md",
    "docs/site/*.md",
    "benchmarks/README.md",
    "examples/README.md",
    "packaging/README.md",
]
root_doc = "docs/site/index"
html_theme = "furo"
smartquotes = False  # options are --so
html_title = f"gpualign {release}"
html_extra_path = ["root"]  # index.html, which leads to the root document
html_static_path: list[str] = []
html_show_sourcelink = False
html_copy_source = False
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
suppress_warnings = ["myst.header"]  # a table of one heading less than its page is not an error
autodoc_typehints = "none"  # the docstrings give shapes and units
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Keywords", "params_style")]  # of gpualign.fields.takes_keywords
linkcheck_anchors = False

_ROOT = Path(__file__).resolve().parents[2]


def _lead_to_listings(app: Any, page: str, text: list[str]) -> None:
    """What the site has no page for, files of the source and folders, is named and not linked."""
    folder = (_ROOT / page).parent

    def unlinked(match: re.Match[str]) -> str:
        target = folder / match[2].partition("#")[0]
        return match[0] if target.suffix in (".md", ".svg", ".png") or "://" in match[2] else match[1]

    text[0] = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+(?:#[^)]*)?)\)", unlinked, text[0])


def setup(app: Any) -> None:
    app.connect("source-read", _lead_to_listings)
