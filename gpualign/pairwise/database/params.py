"""Parameters of ``pairwise --top``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from gpualign.align.pair_inputs import PairFiles
from gpualign.align.score.params import PairwiseParams
from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError
from gpualign.fields import parameter
from gpualign.pairwise.database.statistics import ScoreStatistics
from gpualign.pairwise.params import PairwiseOutput
from gpualign.sequences.matrices import Scoring

_search = partial(parameter, under="Database search")


@dataclass(frozen=True, kw_only=True)
class HitFiles:
    """What a search by identity writes besides its rows."""

    uc: str | None = _search(
        None, "--uc", "Write each query's best hit in records H and N, as vsearch does.", metavar="FILE"
    )
    counts: str | None = _search(
        None,
        "--biom-tsv --otutab",
        "Write the abundance of each target in each sample (;size=N, ;sample=): queries count for their best hit.",
        metavar="FILE",
    )
    lca: str | None = _search(
        None, "--lca", "Write the ranks that each query's best hits, which tie, have in common.", metavar="FILE"
    )
    lca_cutoff: float = _search(1.0, "--lca-cutoff", "Share of these hits that must agree on a rank, above 0.5.")
    taxonomy: str | None = _search(
        None,
        "--taxonomy",
        "Table with a target's name and its ranks on a line, in place of ;tax=.",
        metavar="FILE",
    )
    matched: str | None = _search(None, "--matched", "Write the queries with a hit as FASTA.", metavar="FILE")
    unmatched: str | None = _search(None, "--unmatched --notmatched", "Write those without as FASTA.", metavar="FILE")

    def __post_init__(self) -> None:
        if not 0.5 < self.lca_cutoff <= 1:
            raise UsageError(f"lca cutoff must be above 0.5 and at most 1, not {self.lca_cutoff:g}")

    @property
    def outputs(self) -> tuple[str | None, ...]:
        """All files that are written besides the rows."""
        return (self.uc, self.counts, self.lca, self.matched, self.unmatched)

    def check(self, by_identity: bool, output: str | None) -> None:
        """Refuse outputs that this run has not.

        Args:
            by_identity: it is a search with an identity.
            output: the file of the rows, None for standard output.

        Raises:
            UsageError: the option.
        """
        given = [path for path in (*self.outputs, self.taxonomy) if path is not None]
        if given and not by_identity:
            raise UsageError(
                "--uc, --biom-tsv, --lca, --taxonomy, --matched and --unmatched are for a search with --top and --id"
            )
        if given and (output in (None, "-")) + given.count("-") > 1:
            raise UsageError("two outputs go to standard output: name files for them (-o FILE for the rows)")
        if self.taxonomy is not None and self.lca is None and self.counts is None:
            raise UsageError("--taxonomy needs --lca or --biom-tsv")


@dataclass(frozen=True, kw_only=True)
class DatabaseParams:
    """Selects the hits of each query: the best by score, or with --id by identity; of equal ones the earlier targets.

    Attributes:
        top: hits of each query at most; 0: all that reach the identity.
    """

    top: int | None = _search(
        None, "--top", "Search: write the N best targets of each query, best first; 0 with --id: all.", metavar="N"
    )
    top_ties: bool = _search(False, "--top-ties", "Search: also write targets as good as the N-th.")
    evalue: float | None = _search(None, "--evalue", "Search: only local alignments of at most this E-value.")
    min_bits: float | None = _search(None, "--min-bits", "Search: only local alignments of at least this bit score.")
    min_score: float | None = _search(None, "--min-score", "Search: only targets of at least this score.")
    query_cov: float | None = _search(
        None,
        "--query-cov",
        "Search with --id: minimum share of the query that is aligned to bases of the target.",
    )
    target_cov: float | None = _search(
        None,
        "--target-cov",
        "Search with --id: minimum share of the target that is aligned to bases of the query.",
    )

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        if self.top is not None and self.top < 0:
            raise UsageError(f"top must be at least 1, not {self.top}")
        for name, share in (("query cov", self.query_cov), ("target cov", self.target_cov)):
            if share is not None and not 0 <= share <= 1:
                raise UsageError(f"{name} must be from 0 to 1, not {share:g}")
        if self.evalue is not None and not self.evalue > 0:
            raise UsageError(f"evalue must be above 0, not {self.evalue:g}")
        for name, value in (("min score", self.min_score), ("min bits", self.min_bits)):
            if value is not None and not math.isfinite(value):
                raise UsageError(f"{name} must be a number, not {value}")

    @property
    def given(self) -> bool:
        """Whether this is a search at all."""
        return any(value is not None for value in (self.top, self.evalue, self.min_bits, self.min_score))

    def refuse_bounded_gaps(self) -> None:
        """Raises UsageError: a search has alignments with any gaps."""
        if self.given:
            raise UsageError(
                "--top, --evalue, --min-score and --min-bits cannot be used with --max-gaps (which has --best)"
            )

    def check(self, files: PairFiles, params: PairwiseParams, output: PairwiseOutput) -> None:
        """Refuse what a search has no meaning for.

        Raises:
            UsageError: the option.
        """
        if files.targets is None:
            raise UsageError(
                "--top, --evalue, --min-score and --min-bits search a database: give it as the second file"
            )
        refused = {
            "--pairs": files.selection.listed is not None,
            "--one-to-one": files.selection.one_to_one,
            "--matrix-out": output.layout == "matrix",
            "--plot": output.plot is not None,
            "--resume": output.resume is not None,
        }
        for option, given in refused.items():
            if given:
                raise UsageError(f"{option} cannot be used with a search (--top, --evalue, --min-score, --min-bits)")
        if params.identity is not None:
            self.check_by_identity(params, output)
            return
        if self.top == 0:
            raise UsageError("top must be at least 1, not 0 (0 is for --id)")
        for option, share in (("--query-cov", self.query_cov), ("--target-cov", self.target_cov)):
            if share is not None:
                raise UsageError(f"{option} needs --id")
        if params.mode != "local":
            for option, limit in (("--evalue", self.evalue), ("--min-bits", self.min_bits)):
                if limit is not None:
                    raise UsageError(f"{option} is for local alignments: give --mode local")

    def check_by_identity(self, params: PairwiseParams, output: PairwiseOutput) -> None:
        """Refuse what a search by identity has no meaning for.

        Raises:
            UsageError: the option.
        """
        if self.top is None:
            raise UsageError("a search with --id needs --top (0: all that reach the identity)")
        for option, limit in (
            ("--evalue", self.evalue),
            ("--min-bits", self.min_bits),
            ("--min-score", self.min_score),
        ):
            if limit is not None:
                raise UsageError(f"{option} cannot be used with --id: hits are chosen by identity")
        if params.mode != "global":
            raise UsageError("a search with --id has global alignments: give --mode global")
        if output.names_statistics:
            raise UsageError("E-values and bit scores are for local alignments: give --mode local")

    def statistics(self, params: PairwiseParams, scoring: Scoring, named: bool) -> ScoreStatistics | None:
        """Those of the scores, None where they are neither known nor wanted.

        Args:
            named: the output has columns of them.

        Raises:
            UsageError: they are wanted and not known.
        """
        wanted = named or self.evalue is not None or self.min_bits is not None
        if params.mode != "local":
            if named:
                raise UsageError("E-values and bit scores are for local alignments: give --mode local")
            return None
        try:
            return ScoreStatistics.of(scoring, params.gap_open, params.gap_extend)
        except UsageError:
            if wanted:
                raise
            return None
