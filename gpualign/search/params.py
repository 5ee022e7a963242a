"""Parameters of ``search``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gpualign.checks import set_penalties, set_whole_numbers
from gpualign.errors import UsageError, check_range

Alphabet = Literal["dna", "protein", "bytes"]
Strand = Literal["plus", "minus", "both"]
Hits = Literal["local", "all", "best", "first"]
Ends = Literal["fixed", "free"]
ALPHABETS: tuple[Alphabet, ...] = get_args(Alphabet)
STRANDS: tuple[Strand, ...] = get_args(Strand)
HITS: tuple[Hits, ...] = get_args(Hits)
ENDS: tuple[Ends, ...] = get_args(Ends)
#: symbols of a pattern, at most
LONGEST_PATTERN = 10_000


@dataclass(frozen=True)
class SearchParams:
    """What counts as a hit.

    Attributes:
        max_errors: most errors of a hit, at most the pattern's length without its PAM; None: ``error_rate`` decides.
        error_rate: most errors as a share of the pattern's length, without its PAM, rounded down.
        mismatches_only: no insertions and deletions.
        max_bulges: most insertions and deletions of a hit; None: no limit besides that of errors.
        strand: "plus", "minus" or "both"; None: both for dna, else plus.
        hits: "local" minima of the distance, "all" ends, or of each pattern and target the "best" or the "first".
        alphabet: "dna" with IUPAC codes, "protein" or "bytes".
        max_ambiguous: ambiguous bases of a target in a hit, which match what they share a base with; 0: a target's
            ambiguous base matches only a code that covers it.
        pam: a motif that must match exactly next to every pattern, after it, or with "5:" before it.
        fixed: parts of the patterns that must match exactly: "3:NGG", "5:TTTV" or 1-based positions "1-4,20".
        ends: "free": patterns may hang over the ends of targets.
        overhang_cost: of each base beyond an end, rounded down in sum.
        best_per_target: one hit a target, the best of all patterns.
        margin: errors by which the next best pattern must be worse there.
        merge: overlapping hits of a pattern on one strand are one: that with the fewest errors, of these the leftmost.
        within: hits lie in so many bases of either end of a target; None: anywhere.
        path: also give the alignment and the matched text.
    """

    max_errors: int | None = None
    error_rate: float | None = None
    mismatches_only: bool = False
    max_bulges: int | None = None
    strand: Strand | None = None
    hits: Hits = "local"
    alphabet: Alphabet = "dna"
    max_ambiguous: int = 0
    pam: str | None = None
    fixed: str | None = None
    ends: Ends = "fixed"
    overhang_cost: float = 0.5
    best_per_target: bool = False
    margin: int = 1
    merge: bool = False
    within: int | None = None
    path: bool = False

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        set_penalties(self, "overhang_cost")
        if self.max_errors is None and self.error_rate is None:
            raise UsageError("give the most errors: -k (a number) or -e (a share of a pattern's length)")
        if self.max_errors is not None:
            check_range("max errors", self.max_errors, 0, LONGEST_PATTERN)
        if self.error_rate is not None and not 0.0 <= self.error_rate <= 1.0:
            hint = " (a share, not a percentage)" if 1.0 < self.error_rate <= 100.0 else ""
            raise UsageError(f"error rate must be from 0 to 1, not {self.error_rate:g}{hint}")
        for name, value, choices in (
            ("strand", self.strand, (None, *STRANDS)),
            ("hits", self.hits, HITS),
            ("alphabet", self.alphabet, ALPHABETS),
            ("ends", self.ends, ENDS),
        ):
            if value not in choices:
                raise UsageError(f"{name} must be one of {', '.join(filter(None, choices))}, not {value!r}")
        if self.max_bulges is not None:
            check_range("max bulges", self.max_bulges, 0, LONGEST_PATTERN)
            if self.mismatches_only and self.max_bulges > 0:
                raise UsageError("--mismatches-only allows no bulges: it cannot be used with --max-bulges")
        check_range("max ambiguous", self.max_ambiguous, 0, 1 << 20)
        check_range("margin", self.margin, 0, LONGEST_PATTERN)
        if self.within is not None:
            check_range("within", self.within, 1, 1 << 30)
        if not 0.0 <= self.overhang_cost <= 1.0:
            raise UsageError(f"overhang cost must be from 0 to 1, not {self.overhang_cost:g}")
        if self.alphabet != "dna":
            self._check_other_alphabet()
        if self.ends == "free" and (self.pam or self.fixed):
            raise UsageError(
                "a part that must match exactly cannot hang over an end: --ends free cannot be used with it"
            )
        if self.best_per_target and self.hits != "local":
            raise UsageError(f"--best-per-target keeps one hit a target: it cannot be used with --hits {self.hits}")
        if self.margin != SearchParams.margin and not self.best_per_target:
            raise UsageError("--margin compares the best patterns of a target: it needs --best-per-target")
        if self.overhang_cost != SearchParams.overhang_cost and self.ends != "free":
            raise UsageError("--overhang-cost is for patterns that hang over an end: it needs --ends free")

    def _check_other_alphabet(self) -> None:
        if self.strand not in (None, "plus"):
            raise UsageError(f"only dna has another strand: --strand {self.strand} cannot be used with {self.alphabet}")
        if self.pam:
            raise UsageError(f"a PAM is of dna: --pam cannot be used with --alphabet {self.alphabet}")
        if self.max_ambiguous:
            raise UsageError(f"only dna has ambiguous bases: --max-n cannot be used with --alphabet {self.alphabet}")

    @property
    def strands(self) -> int:
        """A bit for plus and one for minus."""
        strand = self.strand or ("both" if self.alphabet == "dna" else "plus")
        return {"plus": 1, "minus": 2, "both": 3}[strand]

    @property
    def bulges(self) -> int:
        """-1: no limit of their own."""
        if self.mismatches_only:
            return 0
        return -1 if self.max_bulges is None else self.max_bulges


@dataclass(frozen=True)
class SearchFiles:
    """Files of a run, and the form of its output.

    Attributes:
        patterns: file of the patterns; None: ``given`` has them.
        targets: files of the targets, "-" for standard input.
        given: patterns of the command line.
        header: begin the table with a line of column names.
        form: "table", "bed" or "paf".
        split: folder of a file for each pattern with the targets that have it.
        counts: table of the hits of each pattern by distance.
        plot: picture of the same.
        reference: FASTA for CRAM.
    """

    patterns: str | None
    targets: tuple[str, ...]
    given: tuple[str, ...] = ()
    header: bool = True
    form: str = "table"
    split: str | None = None
    counts: str | None = None
    plot: str | None = None
    reference: str | None = None

    def __post_init__(self) -> None:
        if not self.targets:
            raise UsageError("name at least one file of targets")
        if (self.patterns is None) == (not self.given):
            raise UsageError("give patterns in a file or with --pattern, not both")
        if self.inputs.count("-") > 1:
            raise UsageError("standard input can be read only once")

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """All paths that are read."""
        return (self.patterns, *self.targets)
