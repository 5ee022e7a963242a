"""``gpualign makedb``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.fields import take
from gpualign.options import debug_option, headed, options_of
from gpualign.params import RunOptions
from gpualign.records.alignment_output import AlignmentLayout


@click.command("makedb", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("sequences", metavar="SEQUENCES")
@headed(
    "Output",
    click.option("-o", "--output", metavar="FILE.gpdb", required=True, help="Where to save the database."),
    options_of(AlignmentLayout, "tmp_dir"),
    options_of(RunOptions, "quiet", "json"),
    debug_option,
)
def command(sequences: str, tmp_dir: str | None, debug: bool, **values: Any) -> None:
    """Prepare a database for `pairwise --top`, which is read faster than FASTA.

    It holds residues and names, with checksums, and works with any matrix.

    \b
    Examples:
      gpualign makedb proteins.fa.gz -o proteins.gpdb
      gpualign pairwise --mode local --top 10 --matrix BLOSUM62 queries.fa proteins.gpdb
    """
    from gpualign.pairwise.database.makedb import make_database

    make_database(sequences, take(RunOptions, values), tmp_dir)
