"""The options of ``gpualign map`` that say in what form its output is written."""

from __future__ import annotations

from typing import Any

import click

from gpualign.cli.options import SIZE, F, default_of
from gpualign.io.alignment_output import FORMATS, AlignmentLayout


def output_options(command: F) -> F:
    """Add the options of :class:`AlignmentLayout`; collect them with :func:`take_layout`."""
    memory = default_of(AlignmentLayout, "sort_memory")
    decorators = [
        click.option(
            "--output-format",
            type=click.Choice(FORMATS, case_sensitive=False),
            help="Form of the output.  [default: by the extension of -o, else sam]",
        ),
        click.option("--bam", is_flag=True, help="The same as --output-format bam."),
        click.option("--sort", is_flag=True, help="Write in order of coordinates."),
        click.option(
            "--sort-memory",
            type=SIZE,
            default=memory,
            show_default=f"{memory >> 20}M",
            metavar="SIZE",
            help="Records held for sorting; more go to temporary files beside the output.",
        ),
        click.option("--write-index", is_flag=True, help="With --sort: write .bai, .csi or .crai beside the output."),
    ]
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def take_layout(values: dict[str, Any]) -> AlignmentLayout:
    """Remove these options from the command's keyword arguments and make them an :class:`AlignmentLayout`."""
    bam, named = values.pop("bam"), values.pop("output_format")
    if bam and named not in (None, "bam"):
        raise click.UsageError(f"--bam contradicts --output-format {named}")
    return AlignmentLayout(
        format="bam" if bam else named,
        sort=values.pop("sort"),
        sort_memory=values.pop("sort_memory"),
        write_index=values.pop("write_index"),
    )
