"""Parameters of ``pairwise``, of the plain alignment and of the bounded-gap one alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gpualign.errors import UsageError, check_range
from gpualign.io.matrices import load_matrix
from gpualign.sequences.matrices import Scoring, match_mismatch

Mode = Literal["global", "semi-global", "local"]
Kernel = Literal["auto", "lazy", "rscan", "dscan", "tiled"]
MatrixShape = Literal["square", "lower"]
MatrixValue = Literal["distance", "identity", "score"]

MODES: tuple[str, ...] = get_args(Mode)
KERNELS: tuple[str, ...] = get_args(Kernel)
MATRIX_SHAPES: tuple[str, ...] = get_args(MatrixShape)
MATRIX_VALUES: tuple[str, ...] = get_args(MatrixValue)
#: the four sequence ends, in the order of the free-end flags
ENDS = ("query-start", "query-end", "target-start", "target-end")

DEFAULT_COLUMNS = (
    *("query", "target", "identity", "score", "alnlen", "matches", "mismatches", "gapopens", "gaps"),
    *("qlen", "qstart", "qend", "tlen", "tstart", "tend", "strand", "cigar"),
)
SCORE_COLUMNS = ("query", "target", "score", "qlen", "tlen", "strand")
#: columns that a score is enough for
_SCORED = {*SCORE_COLUMNS, "qstrand", "tstrand"}
#: vsearch's names of user fields and the columns they are here
VSEARCH_FIELDS = {
    "query": "query",
    "target": "target",
    "id": "identity",
    "raw": "score",
    "alnlen": "alnlen",
    "ids": "matches",
    "mism": "mismatches",
    "opens": "gapopens",
    "gaps": "gaps",
    "exts": "gapexts",
    "ql": "qlen",
    "qlo": "qstart",
    "qhi": "qend",
    "tl": "tlen",
    "tlo": "tstart",
    "thi": "tend",
    "qs": "qlen",
    "ts": "tlen",
    "qstrand": "qstrand",
    "tstrand": "tstrand",
    "caln": "caln",
    "pairs": "pairs",
    "pctgaps": "pctgaps",
    "qcov": "qcov",
    "tcov": "tcov",
    "id0": "id0",
    "id1": "id1",
    "id2": "id2",
    "id3": "id3",
    "id4": "id4",
}
USER_FIELDS = sorted(set(VSEARCH_FIELDS) | set(DEFAULT_COLUMNS))


@dataclass(frozen=True)
class PairwiseParams:
    """What to align and how to score it.

    A gap of length l costs ``gap_open + (l - 1) * gap_extend``, as in EMBOSS, vsearch and parasail; linear gaps are
    the case where both are equal.

    Attributes:
        queries: FASTA or FASTQ path.
        targets: second path (every query against every target); None: every i < j of the first file.
        pairs: path of a list of pairs to align instead, or None.
        one_to_one: pair record i of the first file with record i of the second.
        include_self: with one file, also i = i.
        mode: "global", "semi-global" (end gaps free, see ``free_ends``) or "local".
        free_ends: which of ``ENDS`` cost nothing in semi-global mode; None: all four, and with ``max_gaps`` the
            target's end (with ``free_start`` its start too).
        match, mismatch: scores of equal and of different nucleotides.
        matrix: name or path of a substitution matrix instead.
        gap_open, gap_extend: positive penalties.
        end_gap_open, end_gap_extend: penalties of gaps at the ends of sequences, at most as high: one, or one for each
            of ``ENDS``; None: as elsewhere. Ends that are free cost nothing.
        identity: keep pairs of at least this identity (0 to 1); None: keep all.
        identity_definition: vsearch's --iddef, 0 to 4 (see ``gpualign.sequences.identity``).
        strand: "plus", or "both": the reverse complement of the query is tried as well.
        score_only: no traceback; the output has scores alone.
        columns: output columns; None: the default ones.
        layout: "tsv", "paf", "blast6" or "matrix".
        matrix_shape, matrix_value: what "matrix" prints.
        header: write the header line (tsv only).
        kernel: force one GPU kernel, for benchmarks.
        max_memory: bytes of host memory for the tables under way.
        max_gaps: at most this many gaps (runs) in an alignment; None: any number.
        free_start: with ``max_gaps``: the alignment may begin anywhere in the target.
        best: with ``max_gaps``: only the best target of each query.
        plot: .png or .svg file for a heat map of the identities, or None.
        resume: folder that keeps finished tiles, from which an interrupted run goes on, or None.
    """

    queries: str
    targets: str | None = None
    pairs: str | None = None
    one_to_one: bool = False
    include_self: bool = False
    mode: Mode = "global"
    free_ends: frozenset[str] | None = None
    match: int = 5
    mismatch: int = -4
    matrix: str | None = None
    gap_open: int = 10
    gap_extend: int = 1
    end_gap_open: int | tuple[int, ...] | None = None
    end_gap_extend: int | tuple[int, ...] | None = None
    identity: float | None = None
    identity_definition: int = 1
    strand: Literal["plus", "both"] = "plus"
    score_only: bool = False
    columns: tuple[str, ...] | None = None
    layout: Literal["tsv", "paf", "blast6", "matrix"] = "tsv"
    matrix_shape: MatrixShape = "square"
    matrix_value: MatrixValue = "distance"
    header: bool = True
    kernel: Kernel = "auto"
    max_memory: int = 1 << 30
    max_gaps: int | None = None
    free_start: bool = False
    best: bool = False
    plot: str | None = None
    resume: str | None = None

    def __post_init__(self) -> None:
        self._check_inputs()
        self._check_scores()
        if self.identity is not None and not 0 <= self.identity <= 1:
            hint = f" (did you mean {self.identity / 100:g}?)" if 1 < self.identity <= 100 else ""
            raise UsageError(f"id must be between 0 and 1, not {self.identity:g}{hint}")
        if self.identity_definition not in range(5):
            raise UsageError(f"iddef must be 0 to 4, not {self.identity_definition}")
        if self.mode not in MODES:
            raise UsageError(f"mode must be one of {', '.join(MODES)}, not {self.mode!r}")
        if self.free_ends is not None and self.mode != "semi-global":
            raise UsageError("free ends belong to --mode semi-global")
        for end in self.free_ends or ():
            if end not in ENDS:
                raise UsageError(f"{end!r} is not an end (expected {', '.join(ENDS)})")
        for column in self.columns or ():
            if column not in USER_FIELDS:
                raise UsageError(f"no field {column!r} (known: {' '.join(USER_FIELDS)})")
        self._check_score_only()
        check_range("max memory", self.max_memory, 1 << 20, 1 << 50)
        self._check_max_gaps()
        self._check_end_gaps()

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """Paths of what is read; a matrix may also be a name."""
        return (self.queries, self.targets, self.pairs, self.matrix)

    def _check_inputs(self) -> None:
        if self.one_to_one and self.targets is None:
            raise UsageError("--one-to-one needs two files")
        if self.one_to_one and self.pairs is not None:
            raise UsageError("--one-to-one and --pairs exclude each other")
        if self.include_self and (self.targets is not None or self.pairs is not None):
            raise UsageError("--self belongs to one file, all against all")
        if self.inputs.count("-") > 1:
            raise UsageError("only one input can be standard input")
        if self.layout == "matrix" and self.pairs is not None:
            raise UsageError("--matrix-out needs every pair: leave out --pairs")
        if self.layout == "matrix" and self.identity is not None:
            raise UsageError("--matrix-out needs every pair: leave out --id")
        if self.layout == "matrix" and self.matrix_shape == "lower" and self.targets is not None:
            raise UsageError("--matrix-out lower needs one file")

    def _check_scores(self) -> None:
        if self.gap_open < 0 or self.gap_extend < 0:
            raise UsageError("gap penalties are given as positive numbers (10 means a score of -10)")
        if self.gap_open < self.gap_extend and self.max_gaps is None:  # counted gaps are never cut in two
            raise UsageError(f"gapopen ({self.gap_open}) must be at least gapext ({self.gap_extend})")
        if self.matrix is None and self.match < self.mismatch:
            raise UsageError(f"match ({self.match}) must be at least mismatch ({self.mismatch})")
        if max(abs(self.match), abs(self.mismatch), self.gap_open) > 10_000:
            raise UsageError("scores and penalties must be within ±10,000")

    def _check_end_gaps(self) -> None:
        if self.end_gap_open is None and self.end_gap_extend is None:
            return
        if self.mode == "local":
            raise UsageError("local alignments have no gaps at their ends: leave out the penalties of end gaps")
        if self.max_gaps is not None:
            raise UsageError("--max-gaps has one penalty for all gaps: leave out those of end gaps")
        for penalty in (self.end_gap_open, self.end_gap_extend):
            if isinstance(penalty, tuple) and len(penalty) != len(ENDS):
                raise UsageError(f"gaps at the ends have one penalty or {len(ENDS)}, not {len(penalty)}")
        for end, (open_, extend) in zip(ENDS, self.end_gaps(), strict=True):
            if min(open_, extend) < 0:
                raise UsageError("gap penalties are given as positive numbers (10 means a score of -10)")
            if open_ > self.gap_open or extend > self.gap_extend:
                raise UsageError(f"a gap at {end} must not cost more than inside (gapopen, gapext)")
            if open_ < extend:
                raise UsageError(f"gapopen ({open_}) at {end} must be at least gapext ({extend})")

    def end_gaps(self) -> tuple[tuple[int, int], ...]:
        """The penalties of a gap's first and further letters at each of ``ENDS``, where it is not free."""
        both = (self.end_gap_open, self.gap_open), (self.end_gap_extend, self.gap_extend)
        each = (elsewhere if at_ends is None else at_ends for at_ends, elsewhere in both)
        of_all = (penalty if isinstance(penalty, tuple) else (penalty,) * len(ENDS) for penalty in each)
        return tuple(zip(*of_all, strict=True))

    def _check_score_only(self) -> None:
        if not self.score_only:
            return
        if self.identity is not None or self.plot is not None:
            raise UsageError("--score-only finds no identity: leave out --id and --plot")
        if self.layout in ("paf", "blast6"):
            raise UsageError(f"--score-only finds no alignment: leave out --{self.layout}")
        if self.layout == "matrix" and self.matrix_value != "score":
            raise UsageError(f"--score-only finds no {self.matrix_value}: give --matrix-value score")
        for column in self.columns or ():
            if VSEARCH_FIELDS.get(column, column) not in _SCORED:
                raise UsageError(f"--score-only finds no {column!r}")

    def _check_max_gaps(self) -> None:
        if self.max_gaps is None:
            if self.free_start:
                raise UsageError("--free-start belongs to --max-gaps (semi-global mode has --free-ends)")
            if self.best:
                raise UsageError("--best belongs to --max-gaps")
            return
        if self.max_gaps < 0:
            raise UsageError(f"max gaps must not be negative, not {self.max_gaps}")
        if self.mode == "local":
            raise UsageError("--max-gaps has no local mode")
        if self.free_start and self.mode != "semi-global":
            raise UsageError("--free-start belongs to --mode semi-global")

    def load_scoring(self) -> Scoring:
        """The scoring that these parameters name; may read a matrix file."""
        return load_matrix(self.matrix) if self.matrix is not None else match_mismatch(self.match, self.mismatch)

    def ends(self) -> tuple[bool, bool, bool, bool]:
        """Which of ``ENDS`` are free in this mode (local alignment frees them in its own way)."""
        if self.mode != "semi-global":
            return (False, False, False, False)
        free = set(ENDS) if self.free_ends is None else self.free_ends
        return (ENDS[0] in free, ENDS[1] in free, ENDS[2] in free, ENDS[3] in free)
