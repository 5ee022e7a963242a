"""``gpualign index``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.fields import take
from gpualign.options import debug_option, headed, options_of
from gpualign.params import RunOptions
from gpualign.seeds.index.params import SeedParams


@click.command("index")
@click.argument("reference", metavar="REF")
@headed(
    "Index",
    click.option("-d", "--save-index", "output", metavar="FILE.gpi", required=True, help="Where to save the index."),
    options_of(SeedParams),
    click.option("--meth", is_flag=True, help="For bisulfite and EM-seq reads: an index for `map --meth`."),
)
@options_of(RunOptions, "threads", "quiet")
@debug_option
def command(debug: bool, **values: Any) -> None:
    """Build the minimizer index of a reference and save it for `map`, `mems` and `search`.

    \b
    Examples:
      gpualign index ref.fa -d ref.gpi
      gpualign map ref.gpi reads.fq.gz -o out.sam
    """
    from gpualign.seeds.index.run import run_index

    output = values.pop("output")
    run_index(output=output, options=take(RunOptions, values), **values)
