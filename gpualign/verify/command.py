"""``gpualign verify``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.fields import take
from gpualign.options import options_of, run_options, table_options, take_run_options
from gpualign.text.paths import listed_files
from gpualign.verify.params import VerifyFiles, VerifyParams


@click.command("verify")
@click.argument("reference", metavar="REF")
@click.argument("queries", metavar="QUERIES")
@options_of(VerifyFiles, "candidates")
@options_of(VerifyParams)
@table_options
@options_of(VerifyFiles, "header")
@run_options
def command(**values: Any) -> None:
    """Verify candidate regions: the edit distance of each query to its region, exact or within a limit.

    QUERIES are reads in any format that `map` reads, or several files separated by commas. Mates that share a
    name are called NAME/1 and NAME/2 here.

    Columns: query, target, strand, tstart, tend, qlen, distance, identity; 1-based and inclusive; one line for each
    candidate, in input order. Of several best alignments the first to end is written, and of several with this end the
    first to start. Only A, C, G, T and U match. Identity is 100 * (1 - distance / L), where L is the length of the
    query or of the aligned region, whichever is longer.

    \b
    Examples:
      gpualign verify ref.fa reads.fq -c candidates.tsv -e 0.05 -o out.tsv
      minimap2 -x sr ref.fa reads.fq | gpualign verify ref.fa reads.fq -c - -p --best 1
    """
    options = take_run_options(values)
    from gpualign.verify.run import run_verify

    values["queries"] = listed_files(values["queries"])
    files = take(VerifyFiles, values)
    run_verify(take(VerifyParams, values), files, options)
