"""Options that `sort` and `markdup` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from gpualign.io.record_sorter import RecordOrder
from gpualign.options import together
from gpualign.records.alignment_output import AlignmentLayout
from gpualign.records.options import take_layout_options

FORMATS = ("sam", "bam", "cram")

input_options = together(
    click.option("--reference", metavar="FILE", help="FASTA of CRAM files.  [default: what their header names]"),
    click.option(
        "-O",
        "--output-format",
        type=click.Choice(FORMATS, case_sensitive=False),
        help="Format of the output.  [default: by the extension of -o, else sam]",
    ),
)


def take_layout(values: dict[str, Any], hold: bool = False) -> Callable[[RecordOrder], AlignmentLayout]:
    """Remove the options of the output's form from the command's keyword arguments; that form for an order."""
    form = values.pop("output_format")
    fields = {"format": form, "hold": hold, **take_layout_options(values)}
    return lambda order: AlignmentLayout(order=order, **fields)
