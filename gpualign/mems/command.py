"""``gpualign mems``: MUMmer's command line, with single or double dashes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from gpualign.errors import UsageError
from gpualign.fields import take
from gpualign.options import headed, options_of, run_options, table_options, take_run_options
from gpualign.seeds.matches.params import MemsParams
from gpualign.text.paths import listed_files

F = TypeVar("F", bound=Callable[..., Any])

_KINDS = {
    "mumreference": ("mumcand",),
    "mum": (),
    "maxmatch": (),
}


def _kind(name: str, text: str) -> Callable[[F], F]:
    spellings = [f"{dash}{word}" for word in (name, *_KINDS[name]) for dash in ("-", "--")]
    return headed("Which matches", click.option(*spellings, f"kind_{name}", is_flag=True, help=text))


class _EitherDash(click.Command):
    """Accepts one-letter options with two dashes; the longer ones name both spellings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [re.sub("^--([A-Za-z])$", r"-\1", word) for word in args])


@click.command(
    name="mems",
    cls=_EitherDash,
    context_settings={"help_option_names": ["-h", "-help", "--help"], "max_content_width": 100},
)
@click.argument("reference", metavar="REF")
@click.argument("queries", metavar="QUERY...", nargs=-1, required=True)
@_kind("mumreference", "Matches that are unique in the reference (default).")
@_kind("mum", "Matches that are unique in the reference and in their strand of the query record.")
@_kind("maxmatch", "All maximal matches.")
@options_of(MemsParams, "min_length", "max_occ")
@headed(
    "Which matches",
    click.option("-b", "both", is_flag=True, help="Match both strands of the queries."),
    click.option("-r", "reverse", is_flag=True, help="Match only the reverse strand of the queries."),
)
@options_of(MemsParams, "only_acgt", "four_columns", "lengths", "strings", "forward_coordinates")
@options_of(MemsParams, "index", "save_index", "table", "dotplot")
@table_options
@options_of(MemsParams, "header")
@click.option("-k", "sampling", type=int, metavar="INT", hidden=True)
@click.option("-qthreads", "--qthreads", "-threads", "qthreads", type=click.IntRange(min=1), metavar="INT", hidden=True)
@run_options
def command(**values: Any) -> None:
    """Find the maximal exact matches between REF and the queries: a drop-in for mummer.

    By default matches must be unique in REF, as in MUMmer; -maxmatch finds all. Options may have one dash or two. Only
    A, C, G and T match; U counts as T, and case is ignored. Queries may be FASTA, FASTQ, SAM, BAM or CRAM; files may be
    compressed; '-' is standard input.

    Matches are ordered by query record, strand, query start, reference record and position. Positions are 1-based.
    Positions of reverse matches count on the reverse strand; with -c they are the forward position of the match's
    right-most base.

    \b
    Examples:
      gpualign mems -maxmatch -b -l 50 ref.fa query.fa > matches.txt
      gpualign mems -mum -b -c genome1.fa genome2.fa
      gpualign mems --tsv -maxmatch -l 30 -o matches.tsv ref.fa reads.fq.gz
    """
    threads = values.pop("qthreads")
    if threads is not None and values["threads"] is None:
        values["threads"] = threads
    is_table = values["output_format"] is not None
    options = take_run_options(values)
    values["table"] = values["table"] or is_table or options.output_format != "tsv"
    reference = values.pop("reference")
    queries = tuple(file for text in values.pop("queries") for file in listed_files(text))
    params = _take_params(values)
    from gpualign.mems.run import run_mems

    run_mems(reference, queries, params, options)


def _take_params(values: dict[str, Any]) -> MemsParams:
    from gpualign.report import warn

    kinds = [name for name in _KINDS if values.pop(f"kind_{name}")]
    if len(kinds) > 1:
        raise UsageError(f"-{kinds[0]} and -{kinds[1]} are mutually exclusive")
    both, reverse = values.pop("both"), values.pop("reverse")
    if both and reverse:
        raise UsageError("-b and -r are mutually exclusive")
    if values.pop("sampling") is not None:
        warn("mems", "-k is ignored: the index's sampling follows from -l and never changes the result")
    values["kind"] = kinds[0] if kinds else None
    values["strands"] = "both" if both else "reverse" if reverse else None
    return take(MemsParams, values)
