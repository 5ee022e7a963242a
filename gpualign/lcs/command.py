"""``gpualign lcs-filter``: the command line of the longest-common-subsequence filter."""

from __future__ import annotations

from typing import Any

import click

from gpualign.errors import UsageError
from gpualign.fields import take
from gpualign.lcs.params import LcsFilterFiles, LcsFilterParams
from gpualign.options import options_of, run_options, table_options, take_run_options
from gpualign.text.paths import listed_files


@click.command(name="lcs-filter", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("subjects", nargs=-1, required=True, metavar="SUBJECTS.fa...")
@options_of(LcsFilterFiles, "query", "multi_query")
@options_of(LcsFilterParams, "alphabet")
@options_of(LcsFilterFiles, "lines")
@options_of(LcsFilterParams, "strand", "top", "keep_ties", "min_length", "min_ratio", "ratio_of", "invert")
@options_of(LcsFilterParams, "subsequence", "whole_records", "input_order")
@table_options
@options_of(LcsFilterFiles, "header")
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
    values["subjects"] = tuple(file for text in values["subjects"] for file in listed_files(text))
    files = take(LcsFilterFiles, values)
    if files.lines and values["alphabet"] is None:
        values["alphabet"] = "bytes"
    params = take(LcsFilterParams, values)
    if params.whole_records and options.output_format != "tsv":
        raise UsageError(f"--fasta is text: it cannot be used with {options.output_format}")
    run_lcs_filter(params, files, options)
