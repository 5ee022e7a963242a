"""Parameters of ``pairwise``: what is computed, and what is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from gpualign.align.pair_inputs import PairFiles
from gpualign.align.score.params import NO_IDENTITY, PairwiseParams
from gpualign.errors import UsageError
from gpualign.fields import parameter
from gpualign.pairwise.bounded_gaps.params import GapsParams
from gpualign.params import header_field

MatrixShape = Literal["square", "lower"]
MatrixValue = Literal["distance", "identity", "score"]

DEFAULT_COLUMNS = (
    *("query", "target", "identity", "score", "alnlen", "matches", "mismatches", "gapopens", "gaps"),
    *("qlen", "qstart", "qend", "tlen", "tstart", "tend", "strand", "cigar"),
)
SCORE_COLUMNS = ("query", "target", "score", "qlen", "tlen", "strand")
#: columns that a score is enough for
_SCORED = {*SCORE_COLUMNS, "qstrand", "tstrand", "evalue", "bits"}
#: vsearch's and BLAST's (``-outfmt 6``) names of columns, where they are others here
_COLUMN_OF = {
    "id": "identity",
    "raw": "score",
    "ids": "matches",
    "mism": "mismatches",
    "opens": "gapopens",
    "exts": "gapexts",
    "ql": "qlen",
    "qlo": "qstart",
    "qhi": "qend",
    "tl": "tlen",
    "tlo": "tstart",
    "thi": "tend",
    "qs": "qlen",
    "ts": "tlen",
    "qseqid": "query",
    "sseqid": "target",
    "length": "alnlen",
    "mismatch": "mismatches",
    "gapopen": "gapopens",
    "sstart": "tstart",
    "send": "tend",
    "slen": "tlen",
    "nident": "matches",
    "bitscore": "bits",
}
#: vsearch's columns that are not written unless named
_OTHER_FIELDS = ("qstrand", "tstrand", "caln", "pairs", "pctgaps", "qcov", "tcov", "id0", "id1", "id2", "id3", "id4")
#: columns of a search alone
SEARCH_FIELDS = ("evalue", "bits")
USER_FIELDS = sorted({*_COLUMN_OF, *_OTHER_FIELDS, *DEFAULT_COLUMNS, *SEARCH_FIELDS, "pident"})


def column_of(field: str) -> str:
    """The column that vsearch's, BLAST's or our own name means."""
    return _COLUMN_OF.get(field, field)


def take_params(
    max_gaps: int | None = None, free_start: bool = False, best: bool = False, **fields: Any
) -> PairwiseParams | GapsParams:
    """The parameters of plain alignment, or with ``max_gaps`` the parameters of bounded-gap alignment.

    Args:
        max_gaps, free_start, best: see :class:`GapsParams`.
        fields: of :class:`PairwiseParams`.

    Raises:
        UsageError: a parameter that breaks a rule, or that the other of the two has.
    """
    if max_gaps is None:
        if free_start:
            raise UsageError("--free-start belongs to --max-gaps (semi-global mode has --free-ends)")
        if best:
            raise UsageError("--best belongs to --max-gaps")
        return PairwiseParams(**fields)
    if fields.pop("identity", None) is not None:
        raise UsageError("--id cannot be used with --max-gaps")
    if fields.pop("strand", "plus") != "plus":
        raise UsageError("--strand both cannot be used with --max-gaps")
    if [fields.pop(name, None) for name in ("end_gap_open", "end_gap_extend")] != [None, None]:
        raise UsageError("--max-gaps has one penalty for all gaps: leave out penalties of end gaps")
    for name in ("identity_definition", "kernel", "max_memory"):  # these do not affect the result
        fields.pop(name, None)
    return GapsParams(max_gaps=max_gaps, free_start=free_start, best=best, **fields)


_columns = partial(parameter, under="Columns and formats")


@dataclass(frozen=True, kw_only=True)
class PairwiseOutput:
    """Output options.

    Attributes:
        layout: "tsv", "paf", "blast6" or "matrix".
        columns: of a table; None: the default ones.
    """

    layout: Literal["tsv", "paf", "blast6", "matrix"] = "tsv"
    columns: tuple[str, ...] | None = None
    header: bool = header_field()
    matrix_shape: MatrixShape = _columns("square", "--matrix-out", "Write a PHYLIP matrix.", show_default=False)
    matrix_value: MatrixValue = _columns(
        "distance", "--matrix-value", "What --matrix-out prints; distance is 1 - identity."
    )
    plot: str | None = _columns(None, "--plot", "Also draw a heat map of the identities: .png or .svg.", metavar="FILE")
    resume: str | None = parameter(
        None,
        "--resume",
        "Save finished tiles in DIR, and resume from those already there.",
        under="Running",
        metavar="DIR",
    )

    def __post_init__(self) -> None:
        for column in self.columns or ():
            if column not in USER_FIELDS:
                raise UsageError(f"no field {column!r} (known: {' '.join(USER_FIELDS)})")

    def check(self, files: PairFiles, params: PairwiseParams | GapsParams, table_format: str = "tsv") -> None:
        """Refuse what these pairs and parameters have no output for.

        Raises:
            UsageError: the option.
        """
        if table_format != "tsv":
            self._check_no_text(table_format)
        if isinstance(params, GapsParams):
            self._check_bounded_gaps()
            return
        if self.layout == "matrix":
            for option, given in (("--pairs", files.selection.listed), ("--id", params.identity)):
                if given is not None:
                    raise UsageError(f"--matrix-out needs every pair: leave out {option}")
            if self.matrix_shape == "lower" and files.targets is not None:
                raise UsageError("--matrix-out lower needs one file")
        if params.score_only:
            self._check_score_only()

    def _check_no_text(self, table_format: str) -> None:
        if self.layout != "tsv":
            option = "matrix-out" if self.layout == "matrix" else self.layout
            raise UsageError(f"--{option} is text: it cannot be used with {table_format}")
        if len(set(self.columns or ())) < len(self.columns or ()):
            raise UsageError(f"{table_format} cannot have two columns of one name: --userfields names one twice")

    def _check_bounded_gaps(self) -> None:
        refused = {
            "--plot": self.plot is not None,
            "--paf, --blast6 and --matrix-out": self.layout != "tsv",
            "--userfields": self.columns is not None,
        }
        for option, given in refused.items():
            if given:
                raise UsageError(f"{option} cannot be used with --max-gaps")

    def _check_score_only(self) -> None:
        if self.plot is not None:
            raise UsageError(NO_IDENTITY)
        if self.layout in ("paf", "blast6"):
            raise UsageError(f"--score-only finds no alignment: leave out --{self.layout}")
        if self.layout == "matrix" and self.matrix_value != "score":
            raise UsageError(f"--score-only finds no {self.matrix_value}: give --matrix-value score")
        for column in self.columns or ():
            if column_of(column) not in _SCORED:
                raise UsageError(f"--score-only finds no {column!r}")

    def check_no_search(self) -> None:
        """Raises UsageError: a column that only a search has."""
        for column in self.columns or ():
            if column_of(column) in SEARCH_FIELDS:
                raise UsageError(f"{column} is for a search: give --top, --evalue, --min-bits or --min-score")

    @property
    def names_statistics(self) -> bool:
        """Whether a column is an E-value or a bit score."""
        return any(column_of(column) in SEARCH_FIELDS for column in self.columns or ())

    def needed(self, params: PairwiseParams) -> PairwiseParams:
        """The parameters, for scores alone where nothing else is written."""
        scores = self.layout == "matrix" and self.matrix_value == "score" and self.plot is None
        return replace(params, score_only=True) if scores else params
