"""``gpualign cluster``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.align.score.gap_penalties import GapPenalty
from gpualign.align.score.options import PENALTY
from gpualign.align.score.params import VSEARCH_SCORES
from gpualign.cluster.params import MATRIX, ClusterFiles, ClusterParams
from gpualign.errors import UsageError
from gpualign.fields import take
from gpualign.options import headed, options_of, run_options, table_options, take_run_options


@click.command("cluster", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("sequences", metavar="SEQS")
@options_of(ClusterParams)
@headed(
    "Scores",
    click.option(
        "--gapopen",
        type=PENALTY,
        metavar="INT",
        help="Penalty for the first symbol of a gap; 20I/2E is 20 inside, 2 at the ends.  [default: 20I/2E; with "
        "--matrix 12]",
    ),
    click.option(
        "--gapext",
        type=PENALTY,
        metavar="INT",
        help="Penalty for each further symbol.  [default: 2I/1E; with --matrix 1]",
    ),
)
@table_options
@options_of(ClusterFiles)
@run_options
def command(**values: Any) -> None:
    """Cluster the sequences of SEQS by exact identity, greedily around centroids.

    Each sequence in turn joins the centroid with the highest identity of at least --id, the first of equal ones, or
    founds a cluster. Filters leave out only pairs that cannot reach the identity.

    Columns: sequence, cluster (from 0), centroid, identity, strand, with -p cigar, with --relabel label; in the
    order in which sequences are taken.

    \b
    Examples:
      gpualign cluster amplicons.fa --id 0.97 --order size --sizein --centroids otus.fa --sizeout -o clusters.tsv
      gpualign cluster reads.fa --id 0.97 --uc clusters.uc --biom-tsv counts.tsv --relabel OTU
      gpualign cluster proteins.fa --id 0.9 --matrix BLOSUM62 --min-coverage 0.8 --centroids representatives.fa
    """
    options = take_run_options(values)
    from gpualign.cluster.run import run_cluster

    if values["matrix"] is not None and (values["match"], values["mismatch"]) != (None, None):
        raise UsageError("--matrix has all scores: leave out --match and --mismatch")
    gaps = values.pop("gapopen"), values.pop("gapext")
    values |= _gaps(*gaps, MATRIX if values["matrix"] is not None else VSEARCH_SCORES)
    files = take(ClusterFiles, values)
    run_cluster(take(ClusterParams, values), files, options)


def _gaps(open_: GapPenalty | None, extend: GapPenalty | None, defaults: dict[str, int]) -> dict[str, Any]:
    """The penalties, where one is given: what it does not name stays as it is by default, as in vsearch."""
    if open_ is None and extend is None:
        return {}
    fields: dict[str, Any] = {}
    for name, penalty in (("gap_open", open_ or GapPenalty()), ("gap_extend", extend or GapPenalty())):
        at_ends = defaults.get(f"end_{name}", defaults[name])
        fields[name] = defaults[name] if penalty.inside is None else penalty.inside
        fields[f"end_{name}"] = tuple(at_ends if end is None else end for end in penalty.ends)
    return fields
