"""``gpualign verify``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.io.paths import listed_files
from gpualign.options import default_of, run_options, take_run_options
from gpualign.verify.params import MODES, STRANDS, VerifyFiles, VerifyParams


@click.command("verify")
@click.argument("reference", metavar="REF")
@click.argument("queries", metavar="QUERIES")
@click.option(
    "-c",
    "--candidates",
    metavar="FILE",
    help="Candidate regions: TSV (query, target, start, end, strand; 1-based), BED6, PAF or SAM/BAM; '-' is standard "
    "input. Without it the records of QUERIES and REF are paired one by one.",
)
@click.option("-k", "--max-errors", type=int, metavar="INT", help="Most errors of a pair; -1: no limit.")
@click.option(
    "-e",
    "--error-rate",
    type=float,
    default=default_of(VerifyParams, "error_rate"),
    show_default=True,
    metavar="RATE",
    help="Most errors as a share of the query's length, rounded down; -k goes before it.",
)
@click.option(
    "-m",
    "--mode",
    type=click.Choice(MODES),
    default=default_of(VerifyParams, "mode"),
    show_default=True,
    help="Where the query lies: anywhere in the region, from its start on, or on all of it (edlib's HW, SHW, NW).",
)
@click.option(
    "--strand",
    type=click.Choice(STRANDS),
    default=default_of(VerifyParams, "strand"),
    show_default=True,
    help="As the candidates say ('.' or nothing: both, the better one is written), or this for all.",
)
@click.option("-p", "--cigar", is_flag=True, help="Also write the alignment: = X I D, I consumes the query.")
@click.option(
    "-n",
    "--best",
    type=int,
    metavar="INT",
    help="Write the INT nearest candidates of each query, nearest first; a query's lines must stand together.",
)
@click.option("-a", "--all", "all_pairs", is_flag=True, help="Also write pairs beyond the limit, with distance -1.")
@click.option("--no-header", is_flag=True, help="No line of column names.")
@run_options
def command(**values: Any) -> None:
    """Verify candidate regions: the edit distance of each query to its region, within a limit.

    QUERIES are reads in any format of `map`; mates that have one name there are named with /1 and /2 here.

    Writes query, target, strand, tstart, tend, qlen, distance and identity, 1-based and inclusive, a line a candidate
    in input order. QUERIES may be several files with commas between them. Of several best places the one with the
    first end is written, and for that end the first start. Letters other than A, C, G, T and U match nothing. Identity
    is 100 * (1 - distance / L) where L is the longer of the query and its place.

    \b
    Examples:
      gpualign verify ref.fa reads.fq -c candidates.tsv -e 0.05 -o out.tsv
      minimap2 -x sr ref.fa reads.fq | gpualign verify ref.fa reads.fq -c - -p --best 1
    """
    options = take_run_options(values)
    from gpualign.verify.run import run_verify

    reference, queries = values.pop("reference"), listed_files(values.pop("queries"))
    files = VerifyFiles(reference, queries, values.pop("candidates"), header=not values.pop("no_header"))
    run_verify(VerifyParams(**values), files, options)
