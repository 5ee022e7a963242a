"""``gpualign markdup``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.fields import take
from gpualign.markdup.options import output_options, samtools_options, take_layout, take_samtools_options
from gpualign.markdup.params import Marking, RecordFiles
from gpualign.options import command_line, headed, local_run_options, options_of, take_run_options
from gpualign.records.options import (
    marking_options,
    read_group_options,
    take_marking,
    take_read_group,
)
from gpualign.records.record_sorter import RECORD_ORDERS, RecordOrder


@click.command("markdup")
@click.argument("records", metavar="IN")
@marking_options
@headed(
    "Duplicates",
    click.option(
        "--tag-duplicates",
        is_flag=True,
        help="Write the kind of each duplicate as DT: SQ for optical ones, LB for others.",
    ),
)
@headed(
    "Order",
    click.option("--sort", is_flag=True, help="Sort the output by coordinate; same as --order coordinate."),
    click.option(
        "--order",
        type=click.Choice(RECORD_ORDERS),
        help="Order of the output: the input's, or one of the orders of gpualign sort.  [default: input]",
    ),
)
@read_group_options
@headed(
    "Records and tags",
    click.option(
        "--mate-tags/--no-mate-tags",
        default=None,
        help="Add MC, MQ and ms to mates that lack them, as samtools fixmate -m does.  [default: unless the input is "
        "sorted by coordinate]",
    ),
)
@output_options
@headed("Output", options_of(RecordFiles, "coverage"))
@headed("As in samtools", samtools_options)
@local_run_options
def command(sort: bool, order: RecordOrder | None, tag_duplicates: bool, mate_tags: bool | None, **values: Any) -> None:
    """Mark duplicates (0x400) in a SAM, BAM or CRAM file of any aligner.

    IN is a file, or '-' for standard input: sorted by coordinate, or with the records of each template next to each
    other, as aligners write them. The rules are Picard MarkDuplicates'. Earlier marks are removed, and
    mates that lack MC, MQ and ms get them. Records do not change otherwise, except for tags that you ask for.

    \b
    Examples:
      bwa mem ref.fa r1.fq r2.fq | gpualign markdup - --sort --write-index -o out.bam
      gpualign markdup sorted.bam --duplicate-metrics metrics.txt -o marked.bam
      gpualign markdup in.bam --barcode-tag RX --umi-distance auto --group --order template -o grouped.bam
    """
    if sort and order not in (None, "coordinate"):
        raise click.UsageError(f"--sort is --order coordinate, not --order {order}")
    wanted: RecordOrder = "coordinate" if sort else order or "input"
    marking = take_marking(values, True, tag_duplicates)
    assert marking is not None
    files = take(RecordFiles, values)
    read_group = take_read_group(values)
    take_samtools_options(values, besides=1)
    options = take_run_options(values)
    layout = take_layout(values, hold=True)
    from gpualign.markdup.run import run_markdup
    from gpualign.run.malloc_tuning import reuse_memory

    reuse_memory(one_heap=True)  # chunks of the same size again and again
    what = Marking(marking, mate_tags, read_group)
    run_markdup(files, what, options, wanted, layout, command_line())
