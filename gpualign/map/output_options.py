"""Options of ``gpualign map`` for its output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from gpualign.fields import take
from gpualign.map.inputs import TagOptions
from gpualign.options import headed, options_of, output_option
from gpualign.records.alignment_output import FORMATS, AlignmentLayout
from gpualign.records.side_files import SideFiles

#: of :class:`AlignmentLayout`; collect them with :func:`take_layout`
output_options = headed(
    "Output",
    output_option,
    click.option(
        "--output-format",
        "format",
        type=click.Choice(FORMATS, case_sensitive=False),
        help="Format of the output.  [default: by the extension of -o, else sam]",
    ),
    click.option("--bam", is_flag=True, help="Same as --output-format bam."),
    click.option("--paf", is_flag=True, help="Same as --output-format paf; PAF has no unmapped reads."),
    options_of(AlignmentLayout, "compression_level"),
)
#: of the same
sorting_options = headed(
    "Sorting and coverage",
    click.option("--sort", is_flag=True, help="Sort the output by coordinate."),
    options_of(AlignmentLayout, "sort_memory", "tmp_dir", "write_index"),
    options_of(SideFiles, "coverage"),
)


def take_layout(values: dict[str, Any]) -> AlignmentLayout:
    """Remove these options from the command's keyword arguments and make them an :class:`AlignmentLayout`."""
    forms = {name for name in ("bam", "paf") if values.pop(name)} | {values["format"]} - {None}
    if len(forms) > 1:
        raise click.UsageError(f"only one form of output can be written, not {' and '.join(sorted(forms))}")
    values["format"] = next(iter(forms), None)
    values["order"] = "coordinate" if values.pop("sort") else None
    return take(AlignmentLayout, values)


def take_tags(values: dict[str, Any]) -> TagOptions:
    """Remove the options of tags from the command's keyword arguments.

    Unless secondary alignments are reported, they are searched only if a tag needs them.
    """
    tags = take(TagOptions, values)
    if tags.xa and values["secondary"]:
        raise click.UsageError("--xa reports secondary alignments as a tag; -N, -a and --strata as records: choose one")
    if values["secondary"]:
        return tags
    values["secondary"] = tags.needed
    return replace(tags, secondary_records=False)
