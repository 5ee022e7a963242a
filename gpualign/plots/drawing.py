"""Shared by all pictures: the check before a run, an empty figure, and the file at the end."""

from __future__ import annotations

import importlib.util
import io
from typing import Any

from gpualign.errors import UsageError
from gpualign.text.output_file import open_output

_FORMATS = ("png", "svg")
_LONGEST_NAME = 40
#: text stays text in SVG, and the same figure gives the same bytes
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gpualign",
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "text.parse_math": False,  # a name may hold a $
}


def check_plot(path: str) -> None:
    """Refuse before the run what could not be drawn after it.

    Raises:
        UsageError: the name ends in neither .png nor .svg, or matplotlib is not installed.
    """
    if _format(path) not in _FORMATS:
        raise UsageError(f"a picture's name must end in .png or .svg, and {path!r} does not")
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("pictures need matplotlib (pip install 'gpualign[plot]')")


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure; sizes in inches."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update(_STYLE)
    return Figure(figsize=(width, height), layout="constrained")


def shown_name(name: str) -> str:
    """A record's name as it can be drawn: not too long, and without what XML may not hold."""
    printable = "".join(character if character.isprintable() else "?" for character in name)
    return printable if len(printable) <= _LONGEST_NAME else f"{printable[: _LONGEST_NAME - 3]}..."


def save_figure(figure: Any, path: str) -> None:
    """Write the figure under ``path``, whole or not at all.

    Raises:
        GpualignError: the file cannot be written.
    """
    kind = _format(path)
    picture = io.BytesIO()
    nothing = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(picture, format=kind, dpi=150, facecolor="white", metadata=nothing)
    with open_output(path) as out:
        out.write(picture.getvalue())


def _format(path: str) -> str:
    return path.rpartition(".")[2].lower() if "." in path else ""
