"""``gpualign chimeras``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.chimeras.params import ChimeraFiles, ChimeraParams
from gpualign.fields import take
from gpualign.options import options_of, run_options, table_options, take_run_options


@click.command("chimeras", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("sequences", metavar="SEQS")
@options_of(ChimeraFiles, "denovo", "reference")
@options_of(ChimeraParams)
@table_options
@options_of(ChimeraFiles, "header", "chimeras", "nonchimeras", "borderline")
@run_options
def command(**values: Any) -> None:
    """Find the chimeras among the sequences of SEQS, with the model and the scores of UCHIME.

    A chimera is joined from the beginning of one parent and the end of another. With --denovo the parents of a
    sequence are more abundant ones that are no chimeras themselves.

    Columns (as vsearch's --uchimeout): score, query, parent_a, parent_b, parent (the nearer), identities with the model
    (qm), the parents (qa, qb), of the parents (ab) and with the nearer (qt), votes yes, no and abstain on the left
    (ly, ln, la) and on the right (ry, rn, ra), div, flag (Y, N, or ? for borderline); the most abundant first.

    \b
    Examples:
      gpualign chimeras uniques.fa --denovo --nonchimeras clean.fa -o chimeras.tsv
      gpualign chimeras asvs.fa --ref silva.fa --chimeras chimeras.fa --nonchimeras clean.fa -o chimeras.tsv
    """
    options = take_run_options(values)
    from gpualign.chimeras.run import run_chimeras

    files = take(ChimeraFiles, values)
    run_chimeras(take(ChimeraParams, values), files, options)
