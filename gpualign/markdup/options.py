"""Options that `sort` and `markdup` share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from gpualign.fields import take
from gpualign.markdup.params import RecordFiles
from gpualign.options import SIZE, headed, options_of, output_option, together
from gpualign.params import available_cores
from gpualign.records.alignment_output import AlignmentLayout
from gpualign.records.record_sorter import RecordOrder

FORMATS = ("sam", "bam", "cram")

#: the output's form; collect it with :func:`take_layout`
output_options = headed(
    "Output",
    output_option,
    click.option(
        "-O",
        "--output-format",
        "format",
        type=click.Choice(FORMATS, case_sensitive=False),
        help="Format of the output.  [default: by the extension of -o, else sam]",
    ),
    options_of(AlignmentLayout, "compression_level", "write_index", "sort_memory", "tmp_dir"),
    options_of(RecordFiles, "reference"),
)
#: of samtools, which :func:`take_samtools_options` turns into ours
samtools_options = together(
    click.option("-@", "samtools_threads", type=click.IntRange(min=0), metavar="INT", help="Same as -t."),
    click.option("-m", "thread_memory", type=SIZE, metavar="SIZE", help="--sort-memory for each thread."),
    click.option(
        "-T",
        "prefix",
        metavar="PREFIX",
        help="Folder of temporary files, as --tmp-dir, or a prefix, of which only the folder counts.",
    ),
)


def take_samtools_options(values: dict[str, Any], besides: int) -> None:
    """Replace samtools' options in the command's keyword arguments by ours.

    Args:
        besides: threads that -@ does not count: 0 in samtools sort, 1 in samtools markdup.
    """
    threads, memory, prefix = (values.pop(name) for name in ("samtools_threads", "thread_memory", "prefix"))
    ours = {"-@": (threads, "threads"), "-m": (memory, "sort_memory"), "-T": (prefix, "tmp_dir")}
    for name, (value, field) in ours.items():
        if value is not None and values[field] is not None:
            raise click.UsageError(f"{name} and --{field.replace('_', '-')} are one option: give one of them")
    if threads is not None:
        values["threads"] = max(1, threads + besides)
    if memory is not None:
        values["sort_memory"] = memory * (values["threads"] or available_cores())
    if prefix is not None:
        values["tmp_dir"] = prefix if os.path.isdir(prefix) else os.path.dirname(prefix) or "."


def take_layout(values: dict[str, Any], hold: bool = False) -> Callable[[RecordOrder], AlignmentLayout]:
    """Remove the options of the output's form from the command's keyword arguments; that form for an order."""
    taken = {field.name: values.pop(field.name) for field in fields(AlignmentLayout) if field.name in values}
    return lambda order: take(AlignmentLayout, {**taken, "hold": hold, "order": order})
