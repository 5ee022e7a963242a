"""Options of the commands that write records."""

from __future__ import annotations

from typing import Any

import click

from gpualign.options import SIZE, default_of, tmp_dir_option, together
from gpualign.records.duplicates import DuplicateMarking


class UmiDistance(click.ParamType):  # type: ignore[type-arg]
    """A whole number, or "auto"."""

    name = "distance"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == "auto" or isinstance(value, int):
            return value  # type: ignore[no-any-return]
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor auto.", param, ctx)


#: add those of :class:`AlignmentLayout` that all of them have; collect them with :func:`take_layout_options`
layout_options = together(
    click.option(
        "--sort-memory",
        type=SIZE,
        metavar="SIZE",
        help="Memory for sorting and marking; beyond it records go to temporary files.  "
        "[default: 1G per thread, at most a quarter of the free memory]",
    ),
    tmp_dir_option,
    click.option(
        "--write-index", is_flag=True, help="Write .bai, .csi or .crai next to an output that is sorted by coordinate."
    ),
    click.option(
        "--compression-level",
        type=int,
        metavar="INT",
        help="Compression of BAM and CRAM, from 0 (none) to 9 (slowest); 6 makes BAM as small as samtools does.  "
        "[default: 1 for BAM; 6 for BAM of sort, unless a GPU compresses; htslib's for CRAM]",
    ),
)


def take_layout_options(values: dict[str, Any]) -> dict[str, Any]:
    """Remove these options from the command's keyword arguments; fields of :class:`AlignmentLayout`."""
    return {name: values.pop(name) for name in ("sort_memory", "tmp_dir", "write_index", "compression_level")}


#: add the options of the read group, which :func:`take_read_group` collects
read_group_options = together(
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


#: add the options of :class:`DuplicateMarking`, which :func:`take_marking` collects, and of what goes with it
marking_options = together(
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
        callback=lambda context, option, tags: None if tags is None else tuple(tags.split(",")),
        help="Only reads with the same text in this tag, such as RX, are duplicates.",
    ),
    click.option(
        "--barcode-name",
        is_flag=True,
        help="Only reads with the same UMI at the end of their names are duplicates: the eighth field, or what follows "
        "the last ':', '_' or '#'.",
    ),
    click.option(
        "--use-read-groups",
        is_flag=True,
        help="Find duplicates within a read group (RG), not within a library.",
    ),
    click.option(
        "--by-strand",
        is_flag=True,
        help="Bisulfite reads: find duplicates within each original strand, which the tag YD names (from bwa-meth or "
        "map --meth). Always on with map --meth.",
    ),
    click.option(
        "--umi-distance",
        type=UmiDistance(),
        metavar="INT|auto",
        help="Allow for errors in UMIs. INT: a UMI seen n times is an error of one that differs in at most INT bases "
        "and is seen at least 2 n - 1 times (UMI-tools' directional method). auto: as 1, and two or three bases where "
        "an error is likelier than chance. If there are several tags, the last is the UMI.  "
        f"[default: {default_of(DuplicateMarking, 'umi_distance')}]",
    ),
    click.option(
        "--duplex",
        is_flag=True,
        help="UMIs have two parts (AAAA+CCCC), in the other order on the second strand of a molecule.",
    ),
    click.option(
        "--group",
        is_flag=True,
        help="Write the number of each template's molecule as MI; with --duplex it ends in /A or /B for the strand.",
    ),
    click.option(
        "--duplicate-count", is_flag=True, help="Write dc: how many templates a kept one stands for, itself included."
    ),
    click.option(
        "--keep",
        type=click.Choice(("best", "first")),
        default="best",
        show_default=True,
        callback=lambda context, option, kept: kept == "first",
        help="Which of the duplicates to keep: the one with the largest sum of base qualities, or the first.",
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


#: of `map`, which need not mark
mark_option = click.option(
    "--mark-duplicates",
    is_flag=True,
    help="Flag duplicates (0x400): all copies of a template but the best. DT:Z:SQ marks optical ones, DT:Z:LB others.",
)
#: options that only marking has -> fields of :class:`DuplicateMarking`
_ONLY_MARKING = {
    "optical_distance": "optical_distance",
    "barcode_tag": "barcode_tags",
    "barcode_name": "barcode_in_name",
    "use_read_groups": "by_read_group",
    "by_strand": "by_strand",
    "umi_distance": "umi_distance",
    "duplex": "duplex",
    "group": "group",
    "duplicate_count": "count",
    "keep": "keep_first",
}


def take_marking(values: dict[str, Any], mark: bool, tag_kind: bool = True) -> DuplicateMarking | None:
    """Remove these options, but for --duplicate-metrics, from the command's keyword arguments.

    Args:
        mark: whether duplicates are marked even where they are not removed.
        tag_kind: as of :class:`DuplicateMarking`.

    Returns:
        None: nothing is marked.
    """
    remove = values.pop("remove_duplicates")
    all_values = {name: values.pop(name) for name in _ONLY_MARKING}
    given = {name: value for name, value in all_values.items() if value is not None and value is not False}
    if mark or remove:
        fields = {_ONLY_MARKING[name]: value for name, value in given.items()}
        return DuplicateMarking(remove=remove, tag_kind=tag_kind, **fields)
    for name in (*given, *(["duplicate_metrics"] if values["duplicate_metrics"] is not None else [])):
        raise click.UsageError(f"--{name.replace('_', '-')} needs --mark-duplicates or --remove-duplicates")
    return None
