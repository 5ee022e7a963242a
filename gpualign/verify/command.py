"""``gpualign verify``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.options import option_of, run_options, table_option, take_run_options
from gpualign.text.paths import listed_files
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
@click.option("-k", "--max-errors", type=int, metavar="INT", help="Maximum number of errors; -1: no limit.")
@click.option(
    "-e",
    "--error-rate",
    type=float,
    metavar="RATE",
    help="Maximum errors as a share of the query's length, rounded down; -k overrides it. Without either, every "
    "distance is exact, however large.",
)
@option_of(
    VerifyParams,
    "-m",
    "--mode",
    type=click.Choice(MODES),
    help="The query lies anywhere in the region, begins at its start, or covers all of it (edlib's HW, SHW, NW).",
)
@option_of(
    VerifyParams,
    "--strand",
    type=click.Choice(STRANDS),
    help="given: the candidate's strand ('.' or none: both). both: write the better one.",
)
@click.option(
    "-p", "--cigar", is_flag=True, help="Also write the alignment as a CIGAR of = X I D; I consumes the query."
)
@click.option(
    "-n",
    "--best",
    type=int,
    metavar="INT",
    help="Write the INT nearest candidates of each query, nearest first; its lines must be adjacent.",
)
@click.option("-a", "--all", "all_pairs", is_flag=True, help="Also write pairs beyond the limit, with distance -1.")
@click.option("--no-header", is_flag=True, help="Write no header line.")
@table_option
@run_options
def command(**values: Any) -> None:
    """Verify candidate regions: the edit distance of each query to its region, exact or within a limit.

    QUERIES are reads in any format that `map` reads, or several files separated by commas. Mates that share a
    name are called NAME/1 and NAME/2 here.

    Columns: query, target, strand, tstart, tend, qlen, distance, identity; 1-based and inclusive; one line for each
    candidate, in input order. Of several best alignments the one that ends first is written, and of those the one that
    starts first. Only A, C, G, T and U match. Identity is 100 * (1 - distance / L), where L is the length of the query
    or of the aligned region, whichever is longer.

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
