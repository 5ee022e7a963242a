"""``gpualign pairwise``: the command line of global, semi-global, local and bounded-gap alignment."""

from __future__ import annotations

from typing import Any

import click

from gpualign.align.pair_inputs import PairFiles, PairSelection
from gpualign.align.score.gap_penalties import GapPenalty
from gpualign.align.score.options import PENALTY
from gpualign.align.score.params import PairwiseParams
from gpualign.errors import UsageError
from gpualign.fields import take
from gpualign.options import headed, options_of, run_options, table_options, take_run_options
from gpualign.pairwise.bounded_gaps.params import GapsParams
from gpualign.pairwise.database.params import DatabaseParams, HitFiles
from gpualign.pairwise.params import PairwiseOutput, take_params


@click.command(name="pairwise", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("queries", metavar="A.fa")
@click.argument("targets", metavar="[B.fa]", required=False)
@options_of(PairSelection)
@options_of(PairwiseParams, "strand", "mode")
@headed(
    "Alignment",
    click.option(
        "--free-ends",
        metavar="LIST",
        help="Ends without penalty in semi-global mode: any of query-start,query-end,target-start,target-end.  "
        "[default: all four; with --max-gaps target-end]",
    ),
    options_of(PairwiseParams, "match", "mismatch", "matrix"),
    click.option(
        "--gapopen",
        type=PENALTY,
        metavar="INT",
        help=f"Penalty for the first symbol of a gap. As in vsearch, 20I/2E is 20 inside, 2 at the ends.  "
        f"[default: {PairwiseParams.gap_open}]",
    ),
    click.option(
        "--gapext",
        type=PENALTY,
        metavar="INT",
        help=f"Penalty for each further symbol; also 2I/1E.  [default: {PairwiseParams.gap_extend}]",
    ),
    click.option("--gap", type=PENALTY, metavar="INT", help="Linear gaps: penalty for every symbol of a gap."),
)
@options_of(PairwiseParams, "identity", "identity_definition")
@headed("Identity", click.option("--acceptall", is_flag=True, help="Keep every pair (the default without --id)."))
@options_of(DatabaseParams)
@options_of(HitFiles)
@options_of(GapsParams, "max_gaps", "free_start", "best")
@options_of(PairwiseParams, "score_only")
@headed(
    "Columns and formats",
    click.option("--userfields", metavar="A+B+…", help="Columns, by vsearch's names or as in the default header."),
    click.option("--paf", is_flag=True, help="Write PAF with NM, AS and cg tags."),
    click.option("--blast6", is_flag=True, help="Write BLAST's twelve columns."),
)
@table_options
@options_of(PairwiseOutput)
@options_of(PairwiseParams, "max_memory", "kernel")
@run_options
def command(**values: Any) -> None:
    """Align all against all: every pair of A.fa, or every sequence of A.fa with every one of B.fa.

    A gap of length L costs GAPOPEN + (L - 1) * GAPEXT, as in EMBOSS needle, vsearch and parasail (`map` follows bwa:
    open + L * extend). Penalties may have a minus or not: --mismatch 4 is --mismatch -4. U counts as T, case
    is ignored, and an ambiguity code never matches.

    Gaps at the ends of sequences may cost less than gaps inside: --gapopen 20I/2E. Instead of 2E, 2L and 2R name the
    left and the right end, 2QE and 2TE the query and the target. Other ends cost as much as inner gaps.

    With --top, --evalue, --min-bits or --min-score, B.fa is a database to search: FASTA of any size, or a file of
    `gpualign makedb`. Each query's hits come best first, equal scores in input order, with E-values and bit scores
    where NCBI publishes the constants. BLAST's gap costs 11/1 are --gapopen 12 --gapext 1 here. Low complexity is not
    masked. With --top and --id the hits are the best by identity, and nothing is missed: those of
    `vsearch --usearch_global --maxaccepts 0 --maxrejects 0`. Ambiguity codes match where they have a base in common.

    I in a CIGAR consumes the query, as in SAM; vsearch's caln has it the other way round. Coordinates are 1-based and
    inclusive, except in PAF.

    \b
    Examples:
      gpualign pairwise genes.fa --id 0.97 -o similar.tsv
      gpualign pairwise a.fa b.fa --matrix BLOSUM62 --gapopen 11 --gapext 1
      gpualign pairwise --mode local --top 10 --evalue 1e-3 --matrix BLOSUM62 --gapopen 12 --gapext 1 q.fa db.fa.gz
      gpualign pairwise asvs.fa refs.fa --id 0.97 --top 1 --top-ties --gapopen 20I/2E --gapext 2I/1E --lca taxa.tsv
      gpualign pairwise --mode semi-global --max-gaps 2 patterns.fa texts.fa
      gpualign pairwise genes.fa --gapopen 20I/2E --gapext 2I/1E --id 0.97 --iddef 2
    """
    options = take_run_options(values)
    values["selection"] = take(PairSelection, values)
    files = take(PairFiles, values)
    output = _take_output(values)
    search, hit_files = take(DatabaseParams, values), take(HitFiles, values)
    params = _take_params(values)
    output.check(files, params, options.output_format)
    by_identity = search.given and isinstance(params, PairwiseParams) and params.identity is not None
    hit_files.check(by_identity, options.output)
    if isinstance(params, GapsParams):
        search.refuse_bounded_gaps()
        from gpualign.pairwise.bounded_gaps.run import run_max_gaps

        run_max_gaps(files, params, options, output.header, output.resume)
    elif by_identity:
        from gpualign.pairwise.database.nearest import run_nearest

        run_nearest(files, params, search, output, hit_files, options)
    elif search.given:
        from gpualign.pairwise.database.run import run_search

        run_search(files, params, search, output, options)
    else:
        output.check_no_search()
        from gpualign.pairwise.run import run_pairwise

        run_pairwise(files, params, output, options)


def _take_params(values: dict[str, Any]) -> PairwiseParams | GapsParams:
    gaps = _gap_penalties(values.pop("gap"), values.pop("gapopen"), values.pop("gapext"))
    given = {name: value for name, value in values.items() if value is not None}
    if "matrix" in given and (scores := [name for name in ("match", "mismatch") if name in given]):
        raise UsageError(f"--matrix has all scores: leave out --{scores[0]}")
    if given.pop("acceptall") and "identity" in given:
        raise UsageError("--id and --acceptall are mutually exclusive")
    if "free_ends" in given:
        given["free_ends"] = frozenset(x.strip() for x in given["free_ends"].split(",") if x)
    return take_params(**gaps, **given)


def _take_output(values: dict[str, Any]) -> PairwiseOutput:
    layouts = [name for name in ("paf", "blast6") if values.pop(name)]
    layouts += ["matrix"] if values["matrix_shape"] else []
    if len(layouts) > 1:
        raise UsageError("choose one of --paf, --blast6 and --matrix-out")
    userfields = values.pop("userfields")
    if userfields is not None and layouts:
        raise UsageError(f"--userfields cannot be used with --{'matrix-out' if layouts[0] == 'matrix' else layouts[0]}")
    values["layout"] = layouts[0] if layouts else None
    values["columns"] = None if userfields is None else tuple(userfields.split("+"))
    return take(PairwiseOutput, values)


def _gap_penalties(linear: GapPenalty | None, open_: GapPenalty | None, extend: GapPenalty | None) -> dict[str, Any]:
    if linear is not None:
        if open_ is not None or extend is not None:
            raise UsageError("--gap sets both --gapopen and --gapext: give one or the other")
        open_ = extend = linear
    fields: dict[str, Any] = {}
    for name, penalty in (("gap_open", open_ or GapPenalty()), ("gap_extend", extend or GapPenalty())):
        default = getattr(PairwiseParams, name)
        fields[name] = default if penalty.inside is None else penalty.inside
        fields[f"end_{name}"] = penalty.at_ends(default)
    return fields
