"""Options of ``gpualign map`` for its output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from gpualign.fields import take
from gpualign.map.inputs import CS_FORMS, TagOptions
from gpualign.options import headed, options_of, output_option
from gpualign.records.alignment_output import FORMATS, AlignmentLayout
from gpualign.records.options import coverage_option

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
    coverage_option,
)


def take_layout(values: dict[str, Any]) -> AlignmentLayout:
    """Remove these options from the command's keyword arguments and make them an :class:`AlignmentLayout`."""
    forms = {name for name in ("bam", "paf") if values.pop(name)} | {values["format"]} - {None}
    if len(forms) > 1:
        raise click.UsageError(f"only one form of output can be written, not {' and '.join(sorted(forms))}")
    values["format"] = next(iter(forms), None)
    values["order"] = "coordinate" if values.pop("sort") else None
    return take(AlignmentLayout, values)


#: of the tags; collect them with :func:`take_tags`
xa_option = headed(
    "Which alignments",
    click.option(
        "--xa",
        type=click.IntRange(min=0),
        metavar="INT",
        help="Write secondary alignments with at least 80 % of the best score to XA of the primary record, not as "
        "records, if there are at most INT.",
    ),
)
tag_options = headed(
    "Records and tags",
    click.option("--cs", type=click.Choice(CS_FORMS[1:]), help="Write the cs tag, as minimap2 does."),
    click.option(
        "--tags",
        metavar="LIST",
        help="Write some of XS (best score of a secondary alignment), HN (alignments that compete) and ms (sum of "
        "the mate's base qualities), with --meth also Bismark's XM, XR and XG, separated by commas.",
    ),
)


def take_tags(values: dict[str, Any]) -> TagOptions:
    """Remove the options of tags from the command's keyword arguments.

    Unless secondary alignments are reported, they are searched only if a tag needs them.
    """
    extra = tuple(tag.strip() for tag in (values.pop("tags") or "").split(",") if tag.strip())
    tags = TagOptions(xa=values.pop("xa") or 0, extra=extra, cs=values.pop("cs") or "none")
    if tags.xa and values["secondary"]:
        raise click.UsageError("--xa reports secondary alignments as a tag; -N, -a and --strata as records: choose one")
    if values["secondary"]:
        return tags
    values["secondary"] = tags.needed
    return replace(tags, secondary_records=False)
