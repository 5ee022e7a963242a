"""``gpualign sort``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.fields import take
from gpualign.markdup.options import output_options, samtools_options, take_layout, take_samtools_options
from gpualign.markdup.params import NAME_ORDERS, RecordFiles
from gpualign.options import command_line, headed, local_run_options, take_run_options
from gpualign.records.record_sorter import RecordOrder


@click.command("sort")
@click.argument("records", metavar="IN")
@headed(
    "Order",
    click.option("-n", "--by-name", is_flag=True, help="Sort by name: as samtools sort -n does, or by --name-order."),
    click.option(
        "--name-order",
        type=click.Choice(NAME_ORDERS),
        help="natural: runs of digits compare as numbers (samtools sort -n); lexicographic: by bytes (samtools sort "
        "-N); picard: by bytes, and records of one name as Picard sorts them. Implies -n.",
    ),
    click.option(
        "--template",
        is_flag=True,
        help="Put the records of each template next to each other, templates in any order: faster than by name.",
    ),
    click.option(
        "--template-coordinate",
        is_flag=True,
        help="As samtools sort --template-coordinate, for fgbio and fgumi: templates by the outer ends of their mates, "
        "library, cell (CB), molecule (MI) and name. Mates need the tag MC.",
    ),
)
@output_options
@headed("As in samtools sort", samtools_options)
@local_run_options
def command(
    by_name: bool, name_order: RecordOrder | None, template: bool, template_coordinate: bool, **values: Any
) -> None:
    """Sort the records of a SAM, BAM or CRAM file by coordinate, by name or by template.

    IN is a file, or '-' for standard input. As with samtools sort, records are ordered by contig, position, and forward
    before reverse strand; records that are equal in these stay in the order of the input.

    \b
    Examples:
      gpualign sort in.bam --write-index -o out.bam
      bwa mem ref.fa reads.fq | gpualign sort - -o out.bam
      gpualign sort -n in.cram --reference ref.fa -o by_name.bam
    """
    if template + template_coordinate + bool(by_name or name_order) > 1:
        raise click.UsageError("records are sorted by name or by template, not both")
    order: RecordOrder = "template" if template else "template-coordinate" if template_coordinate else "coordinate"
    if by_name or name_order:
        order = name_order or "natural"
    files = take(RecordFiles, values)
    take_samtools_options(values, besides=0)
    options = take_run_options(values)
    layout = take_layout(values)
    from gpualign.markdup.run import run_sort
    from gpualign.run.malloc_tuning import reuse_memory

    reuse_memory(one_heap=True)  # chunks of the same size again and again
    run_sort(files, options, layout(order), command_line())
