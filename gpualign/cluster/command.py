"""``gpualign cluster``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.align.score.gap_penalties import GapPenalty, parse_penalty
from gpualign.align.score.options import PENALTY, identity_definition_option
from gpualign.align.score.params import PairwiseParams
from gpualign.cluster.params import LINKAGES, ORDERS, ClusterFiles, ClusterParams, alignment_params
from gpualign.errors import UsageError
from gpualign.options import SIZE, option_of, run_options, table_option, take_run_options


@click.command("cluster", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("sequences", metavar="SEQS")
@click.option("--id", "identity", type=float, required=True, metavar="FLOAT", help="Minimum identity, 0 to 1.")
@identity_definition_option
@option_of(
    ClusterParams,
    "--order",
    type=click.Choice(ORDERS),
    help="Which sequences come first: the longest, the most abundant (;size=N), or as in the input.",
)
@click.option("--first", is_flag=True, help="Join the first centroid that is near enough, not the nearest.")
@option_of(
    ClusterParams,
    "--linkage",
    type=click.Choice(LINKAGES),
    help="single: join sequences that reach the identity, directly or through others.",
)
@option_of(
    PairwiseParams, "--strand", type=click.Choice(["plus", "both"]), help="both: try the reverse complement as well."
)
@option_of(ClusterParams, "--min-length", help="Leave shorter sequences out.")
@click.option("--max-length", type=int, metavar="INT", help="Leave longer sequences out.")
@option_of(
    ClusterParams,
    "--min-coverage",
    help="Minimum share of the longer of two sequences that is aligned to symbols of the other, 0 to 1.",
)
@click.option("--match", type=int, metavar="INT", help="Score of equal nucleotides.  [default: 2]")
@click.option("--mismatch", type=int, metavar="INT", help="Score of different nucleotides.  [default: -4]")
@click.option("--matrix", metavar="NAME", help="Substitution matrix, which proteins need: BLOSUM62, ... or a file.")
@click.option(
    "--gapopen",
    type=PENALTY,
    metavar="INT",
    help="Penalty for the first symbol of a gap; 20I/2E is 20 inside, 2 at the ends.  [default: 20I/2E; with "
    "--matrix 12]",
)
@click.option(
    "--gapext",
    type=PENALTY,
    metavar="INT",
    help="Penalty for each further symbol.  [default: 2I/1E; with --matrix 1]",
)
@click.option("-p", "--path", is_flag=True, help="Write the alignment with the centroid, too, as a CIGAR.")
@click.option("--uc", metavar="FILE", help="Write records S, H and C as vsearch and USEARCH do.")
@click.option("--centroids", metavar="FILE", help="Write the centroids as FASTA.")
@click.option("--sizein", "size_in", is_flag=True, help="Count a sequence as often as its ;size=N says.")
@click.option("--sizeout", "size_out", is_flag=True, help="Add ;size=N to the names of centroids.")
@click.option("--relabel", metavar="TEXT", help="Name centroids TEXT1, TEXT2, ...; the table has the names as label.")
@click.option("--members", metavar="DIR", help="Write the members of each cluster to DIR/NUMBER.fasta.")
@click.option(
    "--biom-tsv",
    "counts",
    metavar="FILE",
    help="Write the abundance of each cluster in each sample, which ;sample= or the beginning of a name tells.",
)
@click.option("--plot", metavar="FILE", help="Draw the sizes of the clusters (.png or .svg).")
@click.option("--resume", metavar="DIR", help="Save finished batches in DIR, and resume from those already there.")
@click.option("--max-memory", type=SIZE, default="1G", show_default=True, help="Host memory for alignment matrices.")
@click.option("--no-header", is_flag=True, help="Write no header line.")
@table_option
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

    fields = ("sequences", "path", "uc", "centroids", "size_out", "relabel", "members", "counts", "plot", "resume")
    files = ClusterFiles(header=not values.pop("no_header"), **{name: values.pop(name) for name in fields})
    run_cluster(_take_params(values), files, options)


def _take_params(values: dict[str, Any]) -> ClusterParams:
    if values["matrix"] is not None and (values["match"], values["mismatch"]) != (None, None):
        raise UsageError("--matrix has all scores: leave out --match and --mismatch")
    names = ("match", "mismatch", "matrix", "identity_definition", "strand", "max_memory")
    given = {name: values.pop(name) for name in names}
    gaps = _gaps(values.pop("gapopen"), values.pop("gapext"), given["matrix"] is not None)
    return ClusterParams(alignment=alignment_params(values.pop("identity"), **given, **gaps), **values)


#: vsearch's defaults, and BLAST's (11/1) with a matrix
_GAPS = {False: ("20I/2E", "2I/1E"), True: ("12", "1")}


def _gaps(open_: GapPenalty | None, extend: GapPenalty | None, matrix: bool) -> dict[str, Any]:
    """The penalties, where one is given: what it does not name stays as it is by default, as in vsearch."""
    if open_ is None and extend is None:
        return {}
    fields: dict[str, Any] = {}
    for name, text, given in zip(("gap_open", "gap_extend"), _GAPS[matrix], (open_, extend), strict=True):
        default = parse_penalty(text)
        penalty = given or default
        fields[name] = default.inside if penalty.inside is None else penalty.inside
        ends = zip(penalty.ends, default.ends, strict=True)
        fields[f"end_{name}"] = tuple(other if end is None else end for end, other in ends)
    return fields
