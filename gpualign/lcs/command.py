"""``gpualign lcs-filter``: the command line of the longest-common-subsequence filter."""

from __future__ import annotations

from typing import Any

import click

from gpualign.align.lcs.query import ALPHABETS
from gpualign.errors import UsageError
from gpualign.lcs.params import RATIOS_OF, STRANDS, LcsFilterFiles, LcsFilterParams
from gpualign.options import default_of, option_of, run_options, table_option, take_run_options
from gpualign.text.paths import listed_files


def _default(name: str) -> Any:
    return default_of(LcsFilterParams, name)


@click.command(name="lcs-filter", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("subjects", nargs=-1, required=True, metavar="SUBJECTS.fa...")
@click.option("-Q", "--query", required=True, metavar="FILE", help="The query: a file with exactly one record.")
@option_of(
    LcsFilterParams, "-n", "--top", metavar="N", help="Keep the N best subjects, ties in input order; 0 keeps all."
)
@click.option("--keep-ties", is_flag=True, help="Keep every subject that ties with rank N, too.")
@option_of(LcsFilterParams, "--min-length", help="Minimum length of the common subsequence.")
@option_of(LcsFilterParams, "--min-ratio", help="Minimum length as a share of the query's (see --ratio-of), 0 to 1.")
@option_of(LcsFilterParams, "--ratio-of", type=click.Choice(RATIOS_OF), help="The length that --min-ratio refers to.")
@click.option("--invert", is_flag=True, help="Keep the subjects below the minimum instead.")
@click.option(
    "--alphabet",
    type=click.Choice(ALPHABETS),
    help="dna: only A C G T match, U is T, in any case; protein: residues in any case, X matches nothing; bytes: any.  "
    "[default: dna; with --lines bytes]",
)
@option_of(
    LcsFilterParams,
    "--strand",
    type=click.Choice(STRANDS),
    help="both: the better of the query and its reverse complement.",
)
@click.option(
    "--subsequence",
    is_flag=True,
    help="Add a column with the longest common subsequence, the leftmost in the query.",
)
@click.option(
    "--fasta", is_flag=True, help="Write the kept records instead of a table, with lcs= and rank= in their headers."
)
@click.option("--input-order", is_flag=True, help="Write subjects in input order instead of by rank.")
@click.option("--multi-query", is_flag=True, help="Rank the subjects for every record of the query file.")
@click.option("--lines", is_flag=True, help="Read plain text: each line is a sequence, named by its number.")
@click.option("--no-header", is_flag=True, help="Write no header line.")
@table_option
@run_options
def command(**values: Any) -> None:
    """Rank subjects by their longest common subsequence (not substring) with a query.

    A common subsequence keeps the order of its symbols but may skip any of them in both sequences; `gpualign mems`
    finds common substrings. Columns: rank, query, subject, lcs (length), qlen, slen, qcov and scov (lcs as percent of
    the query and of the subject), strand (with --strand both). With -n 0 --input-order, subjects are written as soon
    as they are scored, in constant memory, and rank is '*'.

    \b
    Examples:
      gpualign lcs-filter -Q gene.fa amplicons.fa.gz -n 100 -o best.tsv
      gpualign lcs-filter -Q protein.fa --alphabet protein --min-ratio 0.5 -n 0 proteome.fa
      gpualign lcs-filter -Q signature.txt --lines server.log -n 20 --subsequence
    """
    from gpualign.lcs.run import run_lcs_filter

    options = take_run_options(values)
    files = LcsFilterFiles(
        query=values.pop("query"),
        subjects=tuple(file for text in values.pop("subjects") for file in listed_files(text)),
        multi_query=values.pop("multi_query"),
        lines=values.pop("lines"),
        header=not values.pop("no_header"),
    )
    if values["fasta"] and options.output_format != "tsv":
        raise UsageError(f"--fasta is text: it cannot be used with {options.output_format}")
    values["alphabet"] = values["alphabet"] or ("bytes" if files.lines else "dna")
    run_lcs_filter(LcsFilterParams(whole_records=values.pop("fasta"), **values), files, options)
