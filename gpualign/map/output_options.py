"""Options of ``gpualign map`` for its output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from gpualign.map.inputs import CS_FORMS, TagOptions
from gpualign.options import together
from gpualign.records.alignment_output import FORMATS, AlignmentLayout
from gpualign.records.options import layout_options, read_group_options, take_layout_options

#: add the options of :class:`AlignmentLayout`; collect them with :func:`take_layout`
output_options = together(
    click.option(
        "--output-format",
        type=click.Choice(FORMATS, case_sensitive=False),
        help="Format of the output.  [default: by the extension of -o, else sam]",
    ),
    click.option("--bam", is_flag=True, help="Same as --output-format bam."),
    click.option("--paf", is_flag=True, help="Same as --output-format paf; PAF has no unmapped reads."),
    click.option("--sort", is_flag=True, help="Sort the output by coordinate."),
    layout_options,
)


def take_layout(values: dict[str, Any]) -> AlignmentLayout:
    """Remove these options from the command's keyword arguments and make them an :class:`AlignmentLayout`."""
    forms = {name for name in ("bam", "paf") if values.pop(name)} | {values.pop("output_format")} - {None}
    if len(forms) > 1:
        raise click.UsageError(f"only one form of output can be written, not {' and '.join(sorted(forms))}")
    return AlignmentLayout(
        format=next(iter(forms), None),
        order="coordinate" if values.pop("sort") else "input",
        **take_layout_options(values),
    )


#: add the options of :class:`RecordOptions` that choose and complete records
record_options = together(
    click.option("-C", "--copy-comments", is_flag=True, help="Copy fields of comments that are SAM tags (XX:T:value)."),
    click.option(
        "-U",
        "--no-unal",
        "--sam-hit-only",
        "no_unmapped",
        is_flag=True,
        help="Leave out unmapped reads, and pairs if neither mate is mapped.",
    ),
    click.option(
        "--un",
        "unmapped_reads",
        metavar="FILE",
        help="Write unmapped reads, and pairs with no mapped mate, to this FASTQ file (.gz: compressed).",
    ),
    click.option(
        "--al",
        "mapped_reads",
        metavar="FILE",
        help="Write mapped reads to this FASTQ file, and pairs with at least one mapped mate.",
    ),
    click.option(
        "--report", "report_page", metavar="FILE.html", help="Write the run report as an HTML page with plots."
    ),
    click.option(
        "--xa",
        type=click.IntRange(min=0),
        metavar="INT",
        help="Write secondary alignments with at least 80 % of the best score to XA of the primary record, not as "
        "records, if there are at most INT.",
    ),
    click.option("--cs", type=click.Choice(CS_FORMS[1:]), help="Write the cs tag, as minimap2 does."),
    click.option(
        "--tags",
        metavar="LIST",
        help="Write some of XS (best score of a secondary alignment), HN (alignments that compete) and ms (sum of "
        "the mate's base qualities), with --meth also Bismark's XM, XR and XG, separated by commas.",
    ),
    click.option(
        "--hic",
        is_flag=True,
        help="Hi-C: map mates one by one; of a split read the alignment at its 5' end is primary (bwa's -5SP).",
    ),
    read_group_options,
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
