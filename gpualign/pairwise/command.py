"""``gpualign pairwise``: the command line of global, semi-global, local and bounded-gap alignment."""

from __future__ import annotations

from typing import Any

import click

from gpualign.align.pair_inputs import PairFiles, PairSelection
from gpualign.align.score.gap_penalties import GapPenalty
from gpualign.align.score.options import PENALTY, identity_definition_option
from gpualign.align.score.params import KERNELS, MODES, PairwiseParams
from gpualign.errors import UsageError
from gpualign.options import SIZE, default_of, option_of, run_options, table_option, take_run_options
from gpualign.pairwise.bounded_gaps.params import GapsParams
from gpualign.pairwise.database.params import SearchParams
from gpualign.pairwise.params import MATRIX_SHAPES, MATRIX_VALUES, PairwiseOutput, take_params


def _default(name: str) -> Any:
    return default_of(PairwiseParams, name)


@click.command(name="pairwise", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("queries", metavar="A.fa")
@click.argument("targets", metavar="[B.fa]", required=False)
@click.option(
    "--pairs", metavar="FILE", help="Align only the pairs listed in FILE (names of query and target on a line)."
)
@click.option("--one-to-one", is_flag=True, help="Align record i of A.fa with record i of B.fa.")
@click.option("--self", "include_self", is_flag=True, help="With one file: also align each sequence with itself.")
@option_of(
    PairwiseParams, "--mode", type=click.Choice(MODES), help="End to end, with free ends, or the best-scoring segments."
)
@click.option(
    "--free-ends",
    metavar="LIST",
    help="Ends without penalty in semi-global mode: any of query-start,query-end,target-start,target-end.  "
    "[default: all four; with --max-gaps target-end]",
)
@click.option("--match", type=int, help=f"Score of equal nucleotides.  [default: {_default('match')}]")
@click.option("--mismatch", type=int, help=f"Score of different nucleotides.  [default: {_default('mismatch')}]")
@click.option("--matrix", metavar="NAME", help="Substitution matrix: BLOSUM62, PAM250, NUC.4.4, … or a file.")
@click.option(
    "--gapopen",
    type=PENALTY,
    metavar="INT",
    help=f"Penalty for the first symbol of a gap. As in vsearch, 20I/2E is 20 inside, 2 at the ends.  "
    f"[default: {_default('gap_open')}]",
)
@click.option(
    "--gapext",
    type=PENALTY,
    metavar="INT",
    help=f"Penalty for each further symbol; also 2I/1E.  [default: {_default('gap_extend')}]",
)
@click.option("--gap", type=PENALTY, metavar="INT", help="Linear gaps: penalty for every symbol of a gap.")
@click.option("--id", "identity", type=float, metavar="FLOAT", help="Keep pairs of at least this identity (0 to 1).")
@identity_definition_option
@click.option("--acceptall", is_flag=True, help="Keep every pair (the default without --id).")
@option_of(
    PairwiseParams,
    "--strand",
    type=click.Choice(["plus", "both"]),
    help="both: use the reverse complement of the query if it scores better.",
)
@click.option("--score-only", is_flag=True, help="Scores without alignments (fastest).")
@click.option("--userfields", metavar="A+B+…", help="Columns, by vsearch's names or those of the default header.")
@click.option("--paf", is_flag=True, help="Write PAF with NM, AS and cg tags.")
@click.option("--blast6", is_flag=True, help="Write BLAST's twelve columns.")
@click.option("--matrix-out", "matrix_shape", type=click.Choice(MATRIX_SHAPES), help="Write a PHYLIP matrix.")
@option_of(
    PairwiseOutput,
    "--matrix-value",
    type=click.Choice(MATRIX_VALUES),
    help="What --matrix-out prints; distance is 1 - identity.",
)
@click.option("--plot", metavar="FILE", help="Also draw a heat map of the identities: .png or .svg.")
@click.option("--no-header", is_flag=True, help="Write no header line.")
@click.option("--top", type=int, metavar="N", help="Search: write the N best targets of each query, best first.")
@click.option("--evalue", type=float, metavar="FLOAT", help="Search: only local alignments of at most this E-value.")
@click.option(
    "--min-bits", type=float, metavar="FLOAT", help="Search: only local alignments of at least this bit score."
)
@click.option("--min-score", type=float, metavar="FLOAT", help="Search: only targets of at least this score.")
@click.option("--max-gaps", type=int, metavar="K", help="Allow at most K gaps, of any length, in an alignment.")
@click.option("--free-start", is_flag=True, help="With --max-gaps: start anywhere in the target.")
@click.option("--best", is_flag=True, help="With --max-gaps: write only the best target of each query.")
@click.option("--resume", metavar="DIR", help="Save finished tiles in DIR, and resume from those already there.")
@click.option("--max-memory", type=SIZE, default="1G", show_default=True, help="Host memory for alignment matrices.")
@click.option("--kernel", type=click.Choice(KERNELS), default=_default("kernel"), hidden=True)
@table_option
@run_options
def command(**values: Any) -> None:
    """Align all against all: every pair of A.fa, or every sequence of A.fa with every one of B.fa.

    A gap of length L costs GAPOPEN + (L - 1) * GAPEXT, as in EMBOSS needle, vsearch and parasail (`map` follows bwa:
    open + L * extend). Penalties may have a minus or not: --mismatch 4 is --mismatch -4. U counts as T, case
    is ignored, and an ambiguity code never matches.

    Gaps at the ends of sequences may cost less than those inside: --gapopen 20I/2E. Instead of 2E, 2L and 2R name the
    left and the right end, 2QE and 2TE the query and the target. Other ends cost as much as inner gaps.

    With --top, --evalue, --min-bits or --min-score, B.fa is a database to search: FASTA of any size, or a file of
    `gpualign makedb`. Each query's hits come best first, equal scores in input order, with E-values and bit scores
    where NCBI publishes the constants. BLAST's gap costs 11/1 are --gapopen 12 --gapext 1 here. Low complexity is not
    masked.

    I in a CIGAR consumes the query, as in SAM; vsearch's caln has it the other way round. Coordinates are 1-based and
    inclusive, except in PAF.

    \b
    Examples:
      gpualign pairwise genes.fa --id 0.97 -o similar.tsv
      gpualign pairwise a.fa b.fa --matrix BLOSUM62 --gapopen 11 --gapext 1
      gpualign pairwise --mode local --top 10 --evalue 1e-3 --matrix BLOSUM62 --gapopen 12 --gapext 1 q.fa db.fa.gz
      gpualign pairwise --mode semi-global --max-gaps 2 patterns.fa texts.fa
      gpualign pairwise genes.fa --gapopen 20I/2E --gapext 2I/1E --id 0.97 --iddef 2
    """
    options = take_run_options(values)
    selection = PairSelection(values.pop("pairs"), values.pop("one_to_one"), values.pop("include_self"))
    files = PairFiles(values.pop("queries"), values.pop("targets"), selection)
    output = _take_output(values)
    search = SearchParams(**{name: values.pop(name) for name in ("top", "evalue", "min_bits", "min_score")})
    params = _take_params(values)
    output.check(files, params, options.output_format)
    if isinstance(params, GapsParams):
        search.refuse_bounded_gaps()
        from gpualign.pairwise.bounded_gaps.run import run_max_gaps

        run_max_gaps(files, params, options, output.header, output.resume)
    elif search.given:
        from gpualign.pairwise.database.run import run_search

        run_search(files, params, search, output, options)
    else:
        output.check_no_search()
        from gpualign.pairwise.run import run_pairwise

        run_pairwise(files, params, output, options)


def _take_params(values: dict[str, Any]) -> PairwiseParams | GapsParams:
    gaps = _gap_penalties(values.pop("gap"), values.pop("gapopen"), values.pop("gapext"))
    given = {name: score for name in ("match", "mismatch") if (score := values.pop(name)) is not None}
    if given and values["matrix"] is not None:
        raise UsageError(f"--matrix has all scores: leave out --{next(iter(given))}")
    if values.pop("acceptall") and values["identity"] is not None:
        raise UsageError("--id and --acceptall are mutually exclusive")
    free_ends = values.pop("free_ends")
    ends = None if free_ends is None else frozenset(x.strip() for x in free_ends.split(",") if x)
    return take_params(free_ends=ends, **gaps, **given, **values)


def _take_output(values: dict[str, Any]) -> PairwiseOutput:
    shape = values.pop("matrix_shape")
    layouts: list[Any] = [name for name in ("paf", "blast6") if values.pop(name)]
    layouts += ["matrix"] if shape else []
    if len(layouts) > 1:
        raise UsageError("choose one of --paf, --blast6 and --matrix-out")
    userfields = values.pop("userfields")
    if userfields is not None and layouts:
        raise UsageError(f"--userfields cannot be used with --{'matrix-out' if layouts[0] == 'matrix' else layouts[0]}")
    return PairwiseOutput(
        layout=layouts[0] if layouts else "tsv",
        columns=None if userfields is None else tuple(userfields.split("+")),
        header=not values.pop("no_header"),
        matrix_shape=shape or default_of(PairwiseOutput, "matrix_shape"),
        **{name: values.pop(name) for name in ("matrix_value", "plot", "resume")},
    )


def _gap_penalties(linear: GapPenalty | None, open_: GapPenalty | None, extend: GapPenalty | None) -> dict[str, Any]:
    if linear is not None:
        if open_ is not None or extend is not None:
            raise UsageError("--gap sets both --gapopen and --gapext: give one or the other")
        open_ = extend = linear
    fields: dict[str, Any] = {}
    for name, penalty in (("gap_open", open_ or GapPenalty()), ("gap_extend", extend or GapPenalty())):
        default = _default(name)
        fields[name] = default if penalty.inside is None else penalty.inside
        fields[f"end_{name}"] = penalty.at_ends(default)
    return fields
