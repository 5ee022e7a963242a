"""Parameters of ``lcs-filter``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gpualign.align.lcs.query import ALPHABETS, Alphabet
from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError

Strand = Literal["plus", "both"]
RatioOf = Literal["query", "subject", "shorter", "longer"]
STRANDS: tuple[Strand, ...] = get_args(Strand)
RATIOS_OF: tuple[RatioOf, ...] = get_args(RatioOf)


@dataclass(frozen=True)
class LcsFilterParams:
    """Parameters of the comparison.

    Attributes:
        top: keep this many subjects a query; 0: all.
        keep_ties: keep every subject that equals the last kept one.
        min_length: least LCS length.
        min_ratio: least LCS length divided by the length that ``ratio_of`` names, 0 to 1.
        ratio_of: "query", "subject", "shorter" or "longer" of the two.
        invert: keep the subjects below the cut instead.
        alphabet: "dna", "protein" or "bytes".
        strand: "plus", or "both": the better of the query and its reverse complement.
        subsequence: give the common subsequence itself.
        whole_records: keep the subjects with their comments.
        input_order: give them in their order instead of by rank.
    """

    top: int = 10
    keep_ties: bool = False
    min_length: int = 0
    min_ratio: float = 0.0
    ratio_of: RatioOf = "query"
    invert: bool = False
    alphabet: Alphabet = "dna"
    strand: Strand = "plus"
    subsequence: bool = False
    whole_records: bool = False
    input_order: bool = False

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        if self.top < 0:
            raise UsageError(f"top must be 0 (all) or more, not {self.top}")
        if self.min_length < 0:
            raise UsageError(f"min length must not be negative, not {self.min_length}")
        if not 0.0 <= self.min_ratio <= 1.0:
            hint = " (a ratio, not a percentage)" if 1.0 < self.min_ratio <= 100.0 else ""
            raise UsageError(f"min ratio must be from 0 to 1, not {self.min_ratio:g}{hint}")
        if self.ratio_of not in RATIOS_OF:
            raise UsageError(f"ratio of must be one of {', '.join(RATIOS_OF)}, not {self.ratio_of!r}")
        if self.invert and not (self.min_length or self.min_ratio):
            raise UsageError("--invert needs a threshold: give --min-length or --min-ratio")
        if self.alphabet not in ALPHABETS:
            raise UsageError(f"alphabet must be one of {', '.join(ALPHABETS)}, not {self.alphabet!r}")
        if self.strand not in STRANDS:
            raise UsageError(f"strand must be plus or both, not {self.strand!r}")
        if self.strand == "both" and self.alphabet != "dna":
            raise UsageError(
                f"only dna has another strand: --strand both cannot be used with --alphabet {self.alphabet}"
            )
        if self.whole_records and self.subsequence:
            raise UsageError("--fasta writes whole records: it cannot be used with --subsequence")

    @property
    def streams(self) -> bool:
        """Nothing is ranked, so every subject is written as soon as it is scored."""
        return self.top == 0 and self.input_order


@dataclass(frozen=True)
class LcsFilterFiles:
    """Files and formats of a run.

    Attributes:
        query: file of the query.
        subjects: files of the subjects, "-" for standard input.
        multi_query: the query file may hold several records.
        lines: read plain text, one sequence a line.
        header: begin the table with a line of column names.
    """

    query: str
    subjects: tuple[str, ...]
    multi_query: bool = False
    lines: bool = False
    header: bool = True

    def __post_init__(self) -> None:
        if not self.subjects:
            raise UsageError("name at least one file of subjects")
        if self.inputs.count("-") > 1:
            raise UsageError("standard input can be read only once")

    @property
    def inputs(self) -> tuple[str, ...]:
        """All paths that are read."""
        return (self.query, *self.subjects)
