"""Options of ``gpualign map`` for its output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from gpualign.io.alignment_output import FORMATS, AlignmentLayout
from gpualign.map.duplicates import DuplicateMarking
from gpualign.map.inputs import CS_FORMS, TagOptions
from gpualign.options import SIZE, default_of, together

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
    click.option(
        "--sort-memory",
        type=SIZE,
        metavar="SIZE",
        help="Memory for sorting and marking; beyond it records go to temporary files next to the output.  "
        "[default: 768M per thread, at most a quarter of the free memory]",
    ),
    click.option("--write-index", is_flag=True, help="With --sort: write .bai, .csi or .crai next to the output."),
    click.option(
        "--compression-level",
        type=int,
        metavar="INT",
        help="Compression of BAM and CRAM, from 0 (none) to 9 (slowest); 5 makes BAM as small as samtools does.  "
        "[default: 1 for BAM, htslib's for CRAM]",
    ),
)


def take_layout(values: dict[str, Any]) -> AlignmentLayout:
    """Remove these options from the command's keyword arguments and make them an :class:`AlignmentLayout`."""
    forms = {name for name in ("bam", "paf") if values.pop(name)} | {values.pop("output_format")} - {None}
    if len(forms) > 1:
        raise click.UsageError(f"only one form of output can be written, not {' and '.join(sorted(forms))}")
    return AlignmentLayout(
        format=next(iter(forms), None),
        sort=values.pop("sort"),
        sort_memory=values.pop("sort_memory"),
        write_index=values.pop("write_index"),
        compression_level=values.pop("compression_level"),
    )


#: add the options of :class:`DuplicateMarking`, which :func:`take_marking` collects, and --coverage
marking_options = together(
    click.option(
        "--mark-duplicates",
        is_flag=True,
        help="Flag duplicates (0x400): all copies of a template but the best. DT:Z:SQ marks optical ones, DT:Z:LB "
        "others.",
    ),
    click.option("--remove-duplicates", is_flag=True, help="Leave duplicates out."),
    click.option(
        "--optical-distance",
        type=int,
        metavar="INT",
        help="Maximum distance of optical duplicates, in pixels; 2500 for patterned flow cells, 0: none.  "
        f"[default: {default_of(DuplicateMarking, 'optical_distance')}]",
    ),
    click.option(
        "--barcode-tag",
        metavar="TAG[,TAG]",
        help="Only reads with the same text in this tag, such as RX, are duplicates (-C copies tags of FASTQ).",
    ),
    click.option(
        "--barcode-name",
        is_flag=True,
        help="Only reads with the same UMI at the end of their names are duplicates: the eighth field, or what follows "
        "the last ':', '_' or '#'.",
    ),
    click.option(
        "--use-read-groups", is_flag=True, help="Find duplicates within a read group (RG), not within a library."
    ),
    click.option(
        "--duplicate-metrics", metavar="FILE", help="Write counts of duplicates as Picard's MarkDuplicates does."
    ),
    click.option(
        "--coverage",
        metavar="FILE",
        help="With --sort: write the depth of coverage, as bedGraph (FILE.bedgraph, .bg or .bed, or with .gz), "
        "or as mosdepth does, to FILE.mosdepth.summary.txt and others.",
    ),
)


def take_marking(values: dict[str, Any]) -> DuplicateMarking | None:
    """Remove these options, except --duplicate-metrics, from the command's keyword arguments.

    Returns:
        the parameters of marking; None: do not mark.
    """
    mark, remove = values.pop("mark_duplicates"), values.pop("remove_duplicates")
    distance, tags, in_name = (values.pop(name) for name in ("optical_distance", "barcode_tag", "barcode_name"))
    by_read_group = values.pop("use_read_groups")
    if mark or remove:
        given = {} if distance is None else {"optical_distance": distance}
        tags = () if tags is None else tuple(tags.split(","))
        barcodes = {"barcode_tags": tags, "barcode_in_name": in_name, "by_read_group": by_read_group}
        return DuplicateMarking(remove=remove, **barcodes, **given)
    options = {
        "--optical-distance": distance is not None,
        "--barcode-tag": tags is not None,
        "--barcode-name": in_name,
        "--use-read-groups": by_read_group,
        "--duplicate-metrics": values["duplicate_metrics"] is not None,
    }
    for name in (name for name, is_given in options.items() if is_given):
        raise click.UsageError(f"{name} needs --mark-duplicates or --remove-duplicates")
    return None


#: add the options of :class:`RecordOptions` that choose and complete records
record_options = together(
    click.option("-C", "--copy-comments", is_flag=True, help="Copy fields of comments that are SAM tags (XX:T:value)."),
    click.option(
        "-U",
        "--no-unal",
        "--sam-hit-only",
        "no_unmapped",
        is_flag=True,
        help="Leave out unmapped reads, and pairs of which neither mate is mapped.",
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
        help="Report secondary alignments with at least 80 % of the best score in XA of the primary record, if "
        "there are at most INT, instead of as records.",
    ),
    click.option("--cs", type=click.Choice(CS_FORMS[1:]), help="Write the cs tag, as minimap2 does."),
    click.option(
        "--tags",
        metavar="LIST",
        help="Write some of XS (best score of a secondary alignment), HN (alignments that compete) and ms (sum of "
        "the mate's base qualities), separated by commas.",
    ),
    click.option(
        "--hic",
        is_flag=True,
        help="Hi-C: map mates one by one; of a split read the alignment at its 5' end is primary (bwa's -5SP).",
    ),
    click.option("-R", "--read-group", metavar="STR", help=r"Read group: '@RG\tID:x\tSM:y'."),
    click.option("--rg-id", metavar="ID", help="ID of the read group, instead of -R."),
    click.option(
        "--rg",
        "rg_fields",
        metavar="TAG:VALUE",
        multiple=True,
        help="A field of the read group, such as SM:y; repeatable.",
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


def take_read_group(values: dict[str, Any]) -> str | None:
    """Remove the options of the read group and make one @RG line of them."""
    line, identifier, rg_fields = (values.pop(name) for name in ("read_group", "rg_id", "rg_fields"))
    if identifier is None and not rg_fields:
        return line  # type: ignore[no-any-return]
    if line is not None:
        raise click.UsageError("give the read group by -R or by --rg-id and --rg, not both")
    if identifier is None:
        raise click.UsageError("--rg needs --rg-id")
    return "\t".join(["@RG", f"ID:{identifier}", *rg_fields])
