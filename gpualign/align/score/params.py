"""How pairs are aligned: what plain and bounded-gap alignment have in common, and plain alignment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from gpualign.align.score.matrices import load_matrix
from gpualign.checks import penalty, set_penalties, set_whole_numbers, several
from gpualign.errors import UsageError, check_range
from gpualign.fields import check_choices, parameter
from gpualign.sequences.matrices import Scoring, match_mismatch

Mode = Literal["global", "semi-global", "local"]

Kernel = Literal["auto", "lazy", "lanes", "rscan", "dscan", "tiled"]

#: the four sequence ends, in the order of the free-end flags
ENDS = ("query-start", "query-end", "target-start", "target-end")
#: vsearch's scores of nucleotides, with gaps that are cheaper at the ends
VSEARCH_SCORES: dict[str, Any] = {
    "match": 2,
    "mismatch": -4,
    "gap_open": 20,
    "gap_extend": 2,
    "end_gap_open": 2,
    "end_gap_extend": 1,
}
NO_IDENTITY = "--score-only finds no identity: leave out --id and --plot"

_pairs, _alignment = partial(parameter, under="Pairs"), partial(parameter, under="Alignment")
_columns = partial(parameter, under="Columns and formats")


def identity_definition_field(under: str) -> Any:
    """The field of what an identity is; also of `cluster`."""
    return parameter(
        1,
        "--iddef",
        "Identity = matches divided by: 0 the shorter sequence; 1, 4 all columns with end gaps; 2 columns without end "
        "gaps (vsearch's default). 3: 1 - (mismatches + gap openings) / the longer sequence.",
        under=under,
    )


def max_memory_field() -> Any:
    """The field of the memory for alignments; also of `cluster`."""
    return parameter(1 << 30, "--max-memory", "Host memory for alignment matrices.", under="Running", unit="bytes")


@dataclass(frozen=True, kw_only=True)
class PairParams:
    """How to score a pair.

    A gap of length l costs ``gap_open + (l - 1) * gap_extend``, as in EMBOSS, vsearch and parasail; linear gaps are
    the case where both are equal.

    Attributes:
        free_ends: which of ``ENDS`` cost nothing in semi-global mode; None: the command's own default.
        gap_open, gap_extend: penalties; 10 and -10 are the same, as are mismatches of 4 and -4.
    """

    mode: Mode = _alignment("global", "--mode", "End to end, with free ends, or the best-scoring segments.")
    free_ends: frozenset[str] | None = None
    match: int = _alignment(5, "--match", "Score of equal nucleotides.")
    mismatch: int = _alignment(-4, "--mismatch", "Score of different nucleotides.")
    matrix: str | None = _alignment(
        None, "--matrix", "Substitution matrix: BLOSUM62, PAM250, NUC.4.4, … or a file.", metavar="NAME"
    )
    gap_open: int = 10
    gap_extend: int = 1
    score_only: bool = _columns(False, "--score-only", "Scores without alignments (fastest).")

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        set_penalties(self, "gap_open", "gap_extend")
        object.__setattr__(self, "mismatch", -penalty(self.mismatch))
        if self.match < 0:
            raise UsageError(f"the score of a match must not be negative, not {self.match}")
        if max(self.match, -self.mismatch, self.gap_open) > 10_000:
            raise UsageError("scores and penalties must be within ±10,000")
        check_choices(self)
        if self.free_ends is not None and self.mode != "semi-global":
            raise UsageError("free ends belong to --mode semi-global")
        if self.free_ends is not None:
            object.__setattr__(self, "free_ends", frozenset(several("free_ends", self.free_ends)))
        for end in self.free_ends or ():
            if end not in ENDS:
                raise UsageError(f"{end!r} is not an end (expected {', '.join(ENDS)})")

    def load_scoring(self) -> Scoring:
        """The scoring that these parameters name; may read a matrix file."""
        return load_matrix(self.matrix) if self.matrix is not None else match_mismatch(self.match, self.mismatch)


@dataclass(frozen=True, kw_only=True)
class PairwiseParams(PairParams):
    """Parameters of the alignments. In semi-global mode all four ends are free unless ``free_ends`` says otherwise.

    Attributes:
        end_gap_open, end_gap_extend: penalties of gaps at the ends of sequences, at most as high: one, or one for each
            of ``ENDS``; None: as elsewhere. Ends that are free cost nothing.
        kernel: force one GPU kernel, for benchmarks.
    """

    end_gap_open: int | tuple[int, ...] | None = None
    end_gap_extend: int | tuple[int, ...] | None = None
    identity: float | None = parameter(None, "--id", "Keep pairs of at least this identity (0 to 1).", under="Identity")
    identity_definition: int = identity_definition_field("Identity")
    strand: Literal["plus", "both"] = _pairs(
        "plus", "--strand", "both: use the reverse complement of the query if it scores better."
    )
    kernel: Kernel = parameter("auto", "--kernel", "Force one GPU kernel.", under="Running", hidden=True)
    max_memory: int = max_memory_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        set_penalties(self, "end_gap_open", "end_gap_extend")
        if self.gap_open < self.gap_extend:
            raise UsageError(f"gapopen ({self.gap_open}) must be at least gapext ({self.gap_extend})")
        if self.identity is not None and not 0 <= self.identity <= 1:
            hint = f" (did you mean {self.identity / 100:g}?)" if 2 <= self.identity <= 100 else ""
            raise UsageError(f"id must be between 0 and 1, not {self.identity:g}{hint}")
        if self.identity_definition not in range(5):
            raise UsageError(f"iddef must be 0 to 4, not {self.identity_definition}")
        if self.score_only and self.identity is not None:
            raise UsageError(NO_IDENTITY)
        check_range("max memory", self.max_memory, 1 << 20, 1 << 50)
        self._check_end_gaps()

    def _check_end_gaps(self) -> None:
        if self.end_gap_open is None and self.end_gap_extend is None:
            return
        if self.mode == "local":
            raise UsageError("local alignments have no gaps at their ends: leave out the penalties of end gaps")
        for costs in (self.end_gap_open, self.end_gap_extend):
            if isinstance(costs, tuple) and len(costs) != len(ENDS):
                raise UsageError(f"gaps at the ends have one penalty or {len(ENDS)}, not {len(costs)}")
        for end, (open_, extend) in zip(ENDS, self.end_gaps(), strict=True):
            if open_ > self.gap_open or extend > self.gap_extend:
                raise UsageError(f"a gap at {end} must not cost more than inside (gapopen, gapext)")
            if open_ < extend:
                raise UsageError(f"gapopen ({open_}) at {end} must be at least gapext ({extend})")

    def end_gaps(self) -> tuple[tuple[int, int], ...]:
        """The penalties of a gap's first and further symbols at each of ``ENDS``, where it is not free."""
        both = (self.end_gap_open, self.gap_open), (self.end_gap_extend, self.gap_extend)
        each = (elsewhere if at_ends is None else at_ends for at_ends, elsewhere in both)
        of_all = (penalty if isinstance(penalty, tuple) else (penalty,) * len(ENDS) for penalty in each)
        return tuple(zip(*of_all, strict=True))

    def ends(self) -> tuple[bool, bool, bool, bool]:
        """Which of ``ENDS`` are free in this mode (local alignment frees them in its own way)."""
        if self.mode != "semi-global":
            return (False, False, False, False)
        free = set(ENDS) if self.free_ends is None else self.free_ends
        return (ENDS[0] in free, ENDS[1] in free, ENDS[2] in free, ENDS[3] in free)
