"""``gpualign sintax``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.fields import take
from gpualign.options import options_of, output_option, run_options, take_run_options
from gpualign.sintax.params import SintaxFiles, SintaxParams


@click.command("sintax", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("queries", metavar="SEQS")
@options_of(SintaxFiles)
@options_of(SintaxParams)
@output_option
@run_options
def command(**values: Any) -> None:
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
    options = take_run_options(values)
    from gpualign.sintax.run import run_sintax

    run_sintax(take(SintaxParams, values), take(SintaxFiles, values), options)
