"""``gpualign makedb``."""

from __future__ import annotations

import click

from gpualign.options import debug_option, quiet_option, tmp_dir_option


@click.command("makedb", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("sequences", metavar="SEQUENCES")
@click.option("-o", "--output", metavar="FILE.gpdb", required=True, help="Where to save the database.")
@tmp_dir_option
@quiet_option
@click.option("--json", metavar="FILE", help="Write a run report as JSON.")
@debug_option
def command(sequences: str, output: str, tmp_dir: str | None, quiet: bool, json: str | None, debug: bool) -> None:
    """Prepare a database for `pairwise --top`, which is read faster than FASTA.

    It holds residues and names, with checksums, and works with any matrix.

    \b
    Examples:
      gpualign makedb proteins.fa.gz -o proteins.gpdb
      gpualign pairwise --mode local --top 10 --matrix BLOSUM62 queries.fa proteins.gpdb
    """
    from gpualign.pairwise.database.makedb import make_database
    from gpualign.params import RunOptions

    make_database(sequences, RunOptions(output=output, quiet=quiet, json=json), tmp_dir)
