"""Parameters of ``lcs-filter``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from gpualign.align.lcs.query import Alphabet
from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError
from gpualign.fields import REQUIRED, check_choices, parameter
from gpualign.params import header_field

Strand = Literal["plus", "both"]
RatioOf = Literal["query", "subject", "shorter", "longer"]
_input, _selection = partial(parameter, under="Query and subjects"), partial(parameter, under="Selection")
_columns = partial(parameter, under="Columns and formats")


@dataclass(frozen=True)
class LcsFilterParams:
    """Parameters of the comparison."""

    alphabet: Alphabet = _input(
        "dna",
        "--alphabet",
        "dna: only A C G T match, U is T, in any case; protein: residues in any case, X matches nothing; bytes: any.  "
        "[default: dna; with --lines bytes]",
    )
    strand: Strand = _input("plus", "--strand", "both: the better of the query and its reverse complement.")
    top: int = _selection(10, "-n --top", "Keep the N best subjects, ties in input order; 0 keeps all.", metavar="N")
    keep_ties: bool = _selection(False, "--keep-ties", "Keep every subject that ties with rank N, too.")
    min_length: int = _selection(0, "--min-length", "Minimum length of the common subsequence.")
    min_ratio: float = _selection(
        0.0, "--min-ratio", "Minimum length as a share of the query's (see --ratio-of), 0 to 1."
    )
    ratio_of: RatioOf = _selection("query", "--ratio-of", "The length that --min-ratio refers to.")
    invert: bool = _selection(False, "--invert", "Keep the subjects below the minimum instead.")
    subsequence: bool = _columns(
        False, "--subsequence", "Add a column with the longest common subsequence, the leftmost in the query."
    )
    whole_records: bool = _columns(
        False, "--fasta", "Write the kept records instead of a table, with lcs= and rank= in their headers."
    )
    input_order: bool = _columns(False, "--input-order", "Write subjects in input order instead of by rank.")

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        if self.top < 0:
            raise UsageError(f"top must be 0 (all) or more, not {self.top}")
        if self.min_length < 0:
            raise UsageError(f"min length must not be negative, not {self.min_length}")
        if not 0.0 <= self.min_ratio <= 1.0:
            hint = " (a ratio, not a percentage)" if 1.0 < self.min_ratio <= 100.0 else ""
            raise UsageError(f"min ratio must be from 0 to 1, not {self.min_ratio:g}{hint}")
        check_choices(self)
        if self.invert and not (self.min_length or self.min_ratio):
            raise UsageError("--invert needs a threshold: give --min-length or --min-ratio")
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
        subjects: files of the subjects, "-" for standard input.
    """

    subjects: tuple[str, ...]
    query: str = _input(REQUIRED, "-Q --query", "The query: a file with exactly one record.", metavar="FILE")
    multi_query: bool = _input(False, "--multi-query", "Rank the subjects for every record of the query file.")
    lines: bool = _input(False, "--lines", "Read plain text: each line is a sequence, named by its number.")
    header: bool = header_field()

    def __post_init__(self) -> None:
        if not self.subjects:
            raise UsageError("name at least one file of subjects")
        if self.inputs.count("-") > 1:
            raise UsageError("standard input can be read only once")

    @property
    def inputs(self) -> tuple[str, ...]:
        """All paths that are read."""
        return (self.query, *self.subjects)
