"""Parameters of ``search``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Literal

from gpualign.checks import set_penalties, set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.fields import check_choices, parameter
from gpualign.params import header_field

Alphabet = Literal["dna", "protein", "bytes"]
Strand = Literal["plus", "minus", "both"]
Hits = Literal["local", "all", "best", "first"]
Ends = Literal["fixed", "free"]
#: symbols of a pattern, at most
LONGEST_PATTERN = 10_000
#: bases of a product of primers, at most
LONGEST_PRODUCT = 1_000_000
_patterns, _errors, _which = (partial(parameter, under=heading) for heading in ("Patterns", "Errors", "Which hits"))
_columns = partial(parameter, under="Columns and formats")
_pcr = partial(parameter, under="In-silico PCR")
_output = partial(parameter, under="Output")


@dataclass(frozen=True)
class SearchParams:
    """What counts as a hit."""

    alphabet: Alphabet = _patterns(
        "dna",
        "--alphabet",
        "dna: IUPAC codes, U is T, any case; protein: any case, B J X Z of a pattern match several residues; "
        "bytes: each byte matches itself.",
    )
    pam: str | None = _patterns(
        None,
        "--pam",
        "A motif next to each pattern that must match exactly: NGG after it, or 5:TTTV before it.",
        metavar="SEQ",
    )
    fixed: str | None = _patterns(
        None,
        "--fixed",
        "Parts of the patterns that must match exactly: 3:NGG (their end), 5:TTTV, or positions such as 1-4,20.",
        metavar="PARTS",
    )
    max_errors: int | None = _errors(
        None,
        "-k --max-errors",
        "Maximum number of errors of a hit; a pattern of at most INT symbols (without a PAM) fits everywhere.",
    )
    error_rate: float | None = _errors(
        None,
        "-e --error-rate",
        "Maximum errors as a share of the pattern's length (without a PAM), rounded down; -k overrides it.",
        metavar="RATE",
    )
    mismatches_only: bool = _errors(False, "--mismatches-only", "No insertions and deletions (Hamming distance).")
    max_bulges: int | None = _errors(None, "--max-bulges", "Maximum insertions and deletions among the errors.")
    max_ambiguous: int = _errors(
        0,
        "--max-n",
        "Maximum ambiguous bases of the target in a hit; each matches any base of its code. With 0 they match only "
        "codes of a pattern that include them, as N does.",
    )
    ends: Ends = _errors("fixed", "--ends", "free: patterns may hang over the ends of targets.")
    overhang_cost: float = _errors(
        0.5,
        "--overhang-cost",
        "With --ends free: cost in errors of each base beyond an end, 0 to 1. The sum is rounded down and counts "
        "towards -k; with 0.5 one base is free, with 0 a single base at an end is a hit.",
    )
    hits: Hits = _which(
        "local",
        "--hits",
        "local: ends where the distance is lowest; all: every end within the limit; best: of each "
        "pattern in each target the hit with the fewest errors; first: the first one.",
    )
    strand: Strand | None = _which(None, "--strand", "Strands of the targets.  [default: both of dna, else plus]")
    within: int | None = _which(None, "--within", "Search only INT bases at either end of each target.")
    merge: bool = _which(
        False,
        "--merge/--no-merge",
        "Overlapping hits of a pattern on one strand count as one, the leftmost of the hits with the fewest errors.  "
        "[default: --merge with --counts, --summary or --plot]",
    )
    best_per_target: bool = _which(
        False, "--best-per-target", "Write one hit per target, of the pattern with the fewest errors."
    )
    margin: int = _which(
        1, "--margin", "With --best-per-target: errors by which the best pattern must beat every other one."
    )
    path: bool = _columns(
        False, "-p --path", "Also write the alignment (= X I D; I consumes the pattern) and the matched text."
    )

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
        check_choices(self)
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
        form: "table", "bed" or "paf".
    """

    patterns: str | None
    targets: tuple[str, ...]
    given: tuple[str, ...] = ()
    form: str = "table"
    candidates: str | None = _patterns(
        None,
        "--candidates",
        "Instead of PATTERNS: all guides of the targets next to this PAM (NGG, 5:TTTV), described in --summary. It is "
        "also --pam, unless that is given.",
        metavar="PAM",
    )
    regions: str | None = _patterns(
        None,
        "--in",
        "With --candidates: only guides in the exons of GTF or GFF3, or the intervals of BED.",
        metavar="FILE",
    )
    guide_length: int = _patterns(20, "--guide-length", "With --candidates: bases of a guide without its PAM.")
    split: str | None = _columns(
        None,
        "--split",
        "With --best-per-target: also write the targets, to NAME.fastq or NAME.fasta for each pattern, and the others "
        "to unassigned.fastq or .fasta.",
        metavar="DIR",
    )
    counts: str | None = _columns(
        None, "--counts", "Write the number of hits of each pattern by distance.", metavar="FILE"
    )
    plot: str | None = _columns(
        None, "--plot", "Draw the hits of each pattern by distance (.png or .svg).", metavar="FILE"
    )
    summary: str | None = _columns(
        None,
        "--summary",
        "Write a row for each guide: its loci by mismatches and bulges (m1b0, ...), with --score their sum and the "
        "guide's specificity.",
        metavar="FILE",
    )
    score: str | None = _columns(
        None,
        "--score",
        "Also write how likely each site is cut: mit (Hsu et al. 2013), or by a table of factors such as CFD's. Turns "
        "-p on.",
        metavar="mit|FILE",
    )
    matched: Literal["upper", "lower"] = _columns(
        "upper", "--matched", "lower: what differs from the pattern is in lower case. Turns -p on."
    )
    annotate: str | None = _columns(
        None,
        "--annotate",
        "Also write each hit's gene, whether it is in an exon, an intron or between genes, and the distance of the "
        "nearest gene; of GTF, GFF3 or BED.",
        metavar="FILE",
    )
    variants: str | None = _columns(
        None,
        "--variants",
        "Also find sites that only alleles of a VCF or BCF file make, and write which alleles.",
        metavar="FILE",
    )
    pairs: str | None = _pcr(
        None,
        "--pairs",
        "PATTERNS are pairs of primers, one after the other, or lines with a name, the forward and the reverse primer: "
        "write what they amplify, of this size with the primers.",
        metavar="MIN-MAX",
    )
    amplicons: str | None = _pcr(None, "--amplicons", "Write the products as FASTA, too.", metavar="FILE")
    header: bool = header_field()
    reference: str | None = _output(None, "--reference", "FASTA for targets in CRAM.", metavar="FILE")

    def __post_init__(self) -> None:
        if not self.targets:
            raise UsageError("name at least one file of targets")
        if self.candidates is None and (self.regions or self.guide_length != SearchFiles.guide_length):
            raise UsageError("--in and --guide-length are for guides that are designed: give --candidates")
        check_range("guide length", self.guide_length, 1, 1000)
        if self.amplicons is not None and self.pairs is None:
            raise UsageError("--amplicons are the products of primers: give --pairs")
        if self.candidates is not None:
            if self.patterns is not None or self.given or self.summary is None:
                raise UsageError(
                    "--candidates finds guides in all files and describes them in --summary: give no patterns"
                )
            if "-" in self.targets:
                raise UsageError("--candidates reads the targets twice: standard input cannot be one of them")
        elif (self.patterns is None) == (not self.given):
            raise UsageError("give patterns in a file or with --pattern, not both")
        check_choices(self)
        set_whole_numbers(self)
        if self.inputs.count("-") > 1:
            raise UsageError("standard input can be read only once")

    @property
    def product_sizes(self) -> tuple[int, int]:
        """The least and the most bases of a product.

        Raises:
            UsageError: they are not given as MIN-MAX.
        """
        sizes = re.fullmatch(r"(\d{1,9})-(\d{1,9})", self.pairs or "")
        if sizes is None or not 0 < int(sizes[1]) <= int(sizes[2]) <= LONGEST_PRODUCT:
            raise UsageError(
                f"--pairs is MIN-MAX, at most {LONGEST_PRODUCT:,} bases, such as 100-1000, not {self.pairs!r}"
            )
        return int(sizes[1]), int(sizes[2])

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """All paths that are read."""
        return (
            self.patterns,
            *self.targets,
            None if self.score == "mit" else self.score,
            self.annotate,
            self.variants,
            self.regions,
        )
