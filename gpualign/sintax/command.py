"""``gpualign sintax``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.fields import take
from gpualign.options import command_line, debug_option, options_of, output_option
from gpualign.params import RunOptions
from gpualign.sintax.params import SintaxFiles, SintaxParams


@click.command("sintax", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("queries", metavar="SEQS")
@options_of(SintaxFiles)
@options_of(SintaxParams)
@output_option
@options_of(RunOptions, "threads", "progress", "quiet", "json")
@debug_option
def command(debug: bool, **values: Any) -> None:
    """Classify the sequences of SEQS by taxonomy, with the SINTAX algorithm.

    Of 32 random words of 8 bases, 100 times, the reference that has most votes for its taxonomy; of equal ones the
    shortest, then the first. What is random follows from the sequence alone, so that runs repeat.

    Columns: name; ranks with the share of votes, such as d:Bacteria(1.00),p:Firmicutes(0.98); strand; with --cutoff
    the ranks that reach it. No header line, as in vsearch and USEARCH.

    \b
    Examples:
      gpualign sintax asvs.fa --db references.fa --cutoff 0.8 -o taxonomy.tsv
      gpualign sintax asvs.fa --db silva.fa --taxonomy silva.tsv --strand both
    """
    from gpualign.sintax.run import run_sintax

    files, params = take(SintaxFiles, values), take(SintaxParams, values)
    run_sintax(params, files, take(RunOptions, values | {"command_line": command_line()}))
