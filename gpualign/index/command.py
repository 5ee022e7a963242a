"""``gpualign index``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.options import debug_option, quiet_option, seed_options, threads_option
from gpualign.params import RunOptions


@click.command("index")
@click.argument("reference", metavar="REF")
@click.option("-d", "--save-index", "output", metavar="FILE.gpi", required=True, help="Where to save the index.")
@seed_options
@click.option("--meth", is_flag=True, help="For bisulfite and EM-seq reads: an index for `map --meth`.")
@threads_option
@quiet_option
@debug_option
def command(threads: int | None, quiet: bool, debug: bool, **values: Any) -> None:
    """Build the minimizer index of a reference and save it for `map`, `mems` and `search`.

    \b
    Examples:
      gpualign index ref.fa -d ref.gpi
      gpualign map ref.gpi reads.fq.gz -o out.sam
    """
    from gpualign.seeds.index.run import run_index

    run_index(options=RunOptions(threads=threads or 0, quiet=quiet), **values)
