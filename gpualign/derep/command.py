"""``gpualign derep``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.derep.params import DerepFiles, DerepParams
from gpualign.fields import take
from gpualign.options import command_line, debug_option, options_of, output_option
from gpualign.params import RunOptions


@click.command("derep", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("sequences", metavar="SEQS...", nargs=-1, required=True)
@options_of(DerepParams)
@options_of(DerepFiles, "size_out", "counts")
@output_option
@options_of(DerepFiles, "relabel", "uc")
@options_of(RunOptions, "threads", "quiet", "json")
@debug_option
def command(sequences: tuple[str, ...], debug: bool, **values: Any) -> None:
    """Write equal sequences once, as FASTA: the most abundant first, of equal ones by name.

    A sequence has the name that it has where it is met first. U is T, and case does not count.

    \b
    Examples:
      gpualign derep merged.fa --sizeout --relabel uniq --min-unique-size 2 -o uniques.fa
      gpualign derep sample1.fa sample2.fa --sizein --sizeout --biom-tsv counts.tsv --uc uniques.uc -o uniques.fa
    """
    from gpualign.derep.run import run_derep

    files = take(
        DerepFiles,
        {**{name: values.pop(name) for name in ("size_out", "counts", "relabel", "uc")}, "sequences": sequences},
    )
    params = take(DerepParams, values)
    run_derep(params, files, take(RunOptions, values | {"command_line": command_line()}))
