"""Options of the commands that write records."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import click

from gpualign.fields import option_of, take
from gpualign.options import headed, options_of, together
from gpualign.records.duplicates import DuplicateMarking
from gpualign.records.side_files import SideFiles

#: add the options of the read group, which :func:`take_read_group` collects
read_group_options = headed(
    "Records and tags",
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
    options_of(DuplicateMarking, "remove", "optical_distance", "by_read_group", "by_strand"),
    headed(
        "Duplicates",
        click.option(
            "--keep",
            type=click.Choice(("best", "first")),
            help="Which of the duplicates to keep: the one with the largest sum of base qualities, or the first.  "
            "[default: best]",
        ),
        options_of(DuplicateMarking, "count"),
        options_of(SideFiles, "duplicate_metrics"),
    ),
    options_of(DuplicateMarking, "barcode_tags", "barcode_in_name", "umi_distance", "duplex", "group"),
)
#: of `map`, which need not mark
mark_option = headed(
    "Duplicates",
    click.option(
        "--mark-duplicates",
        is_flag=True,
        help="Flag duplicates (0x400): all copies of a template but the best. DT:Z:SQ marks optical ones, DT:Z:LB "
        "others.",
    ),
)


def take_marking(values: dict[str, Any], mark: bool, tag_kind: bool = True) -> DuplicateMarking | None:
    """Remove these options, but for --duplicate-metrics, from the command's keyword arguments.

    Args:
        mark: whether duplicates are marked even where they are not removed.
        tag_kind: as of :class:`DuplicateMarking`.

    Returns:
        None: nothing is marked.
    """
    values["keep_first"] = True if values.pop("keep") == "first" else None
    marked = mark or values["remove"]
    spelled = {"keep_first": "--keep", "duplicate_metrics": "--duplicate-metrics"}
    spelled |= {
        each.name: found.names[-1] for each in fields(DuplicateMarking) if (found := option_of(each)) is not None
    }
    given = [name for name in spelled if values[name] is not None]
    if given and not marked:
        raise click.UsageError(f"{spelled[given[-1]]} needs --mark-duplicates or --remove-duplicates")
    marking = take(DuplicateMarking, values)
    return replace(marking, tag_kind=tag_kind) if marked else None
