"""Parameters of ``derep``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.fields import check_choices, parameter

_equal, _written = partial(parameter, under="Equal sequences"), partial(parameter, under="Sequences that are written")
_abundances, _output = partial(parameter, under="Abundances"), partial(parameter, under="Output")
#: abundances have 63 bits
_LARGEST = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class DerepParams:
    """Which sequences are equal, and which are written."""

    prefix: bool = _equal(False, "--prefix", "Also join a sequence to a longer one that begins with it.")
    strand: Literal["plus", "both"] = _equal("plus", "--strand", "both: reverse complements are equal.")
    min_length: int = _equal(1, "--min-length --min-seq-length", "Leave shorter sequences out.")
    max_length: int | None = _equal(None, "--max-length", "Leave longer sequences out.")
    size_in: bool = _abundances(False, "--sizein", "Count a sequence as often as its ;size=N says.")
    min_size: int = _written(1, "--min-unique-size", "Write only sequences of at least this abundance.")
    max_size: int | None = _written(None, "--max-unique-size", "Write only sequences of at most this abundance.")
    top: int | None = _written(None, "--top", "Write only the N most abundant ones.", metavar="N")

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_choices(self)
        check_range("min length", self.min_length, 0)
        if self.max_length is not None:
            check_range("max length", self.max_length, self.min_length)
        check_range("min unique size", self.min_size, 1, _LARGEST)
        if self.max_size is not None:
            check_range("max unique size", self.max_size, self.min_size, _LARGEST)
        if self.top is not None:
            check_range("top", self.top, 1)
        if self.prefix and self.strand == "both":
            raise UsageError("--prefix compares beginnings: it cannot be used with --strand both")


@dataclass(frozen=True, kw_only=True)
class DerepFiles:
    """What is read and written.

    Attributes:
        sequences: FASTA or FASTQ files, "-" for standard input.
    """

    sequences: tuple[str, ...]
    size_out: bool = _abundances(False, "--sizeout", "Add ;size=N to the names.")
    counts: str | None = _abundances(
        None,
        "--biom-tsv --otutab",
        "Write the abundance of each sequence in each sample, as ;sample= or the beginning of a name says.",
        metavar="FILE",
    )
    relabel: str | None = _output(None, "--relabel", "Name sequences TEXT1, TEXT2, ...", metavar="TEXT")
    uc: str | None = _output(
        None, "--uc", "Write which sequences were equal, in records S, H and C as vsearch does.", metavar="FILE"
    )
