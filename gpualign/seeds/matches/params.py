"""Parameters of `mems`, and the choice of an index for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.fields import check_choices, parameter
from gpualign.params import header_field
from gpualign.seeds.index.file import check_index_path
from gpualign.seeds.index.minimizers import LONGEST_KMER, IndexParams

Kind = Literal["mumreference", "mum", "maxmatch"]
Strands = Literal["forward", "reverse", "both"]
#: consecutive seeds further apart than this save no memory worth having and cost look-ups in repeats
_WIDEST_WINDOW = 96
#: seeds of unique matches this short are repeated too often in genomes to look at each of their positions
_LONGEST_SORTED = 31
_which, _format = partial(parameter, under="Which matches"), partial(parameter, under="MUMmer's format")
_index, _output = partial(parameter, under="Index"), partial(parameter, under="Output")


@dataclass(frozen=True)
class MemsParams:
    """Parameters of a run of `mems`.

    Attributes:
        kind: "mumreference": the matching string occurs once in the reference; "mum": once in the strand of the
            query record as well; "maxmatch": all matches.
        strands: of the queries.
    """

    min_length: int = _which(20, "-l", "Minimum length of a match.")
    kind: Kind = "mumreference"
    strands: Strands = "forward"
    max_occ: int | None = _which(
        None, "-max-occ --max-occ", "With -maxmatch: leave out matches that occur more than INT times in the reference."
    )
    only_acgt: bool = _which(
        False, "-n", "Match only a, c, g and t. This is always done; -n silences the warning about it."
    )
    four_columns: bool = _format(False, "-F", "Write four columns even if there is only one reference record.")
    lengths: bool = _format(False, "-L", "Write the length of the query in its header line.")
    strings: bool = _format(False, "-s", "Write the matching sequences.")
    forward_coordinates: bool = _format(False, "-c", "Write forward-strand positions of reverse matches.")
    index: str | None = _index(
        None, "-i --index -load --load", "Use a saved index of REF (or give the index as REF).", metavar="FILE"
    )
    save_index: str | None = _index(None, "--save-index -save --save", "Save the index.", metavar="FILE")
    table: bool = _output(False, "-tsv --tsv", "Write a table, with 1-based forward coordinates and a strand column.")
    header: bool = header_field("With --tsv: write no header line.")
    dotplot: str | None = _output(
        None, "-dotplot --dotplot", "Also draw a dot plot of the 20,000 longest matches: .png or .svg.", metavar="FILE"
    )

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_index_path(self.save_index)
        check_range("the minimum length of a match (-l)", self.min_length, 1)
        check_choices(self)
        check_range("the most occurrences of a match (--max-occ)", 1 if self.max_occ is None else self.max_occ, 1)
        if self.max_occ is not None and self.kind != "maxmatch":
            raise UsageError(f"--max-occ needs -maxmatch: the matches of -{self.kind} occur once")
        if self.forward_coordinates and self.strands == "forward":
            raise UsageError("-c gives positions of reverse matches: it needs -b or -r")
        if self.table and (self.strings or self.four_columns or self.lengths or self.forward_coordinates):
            raise UsageError("--tsv has fixed columns: it cannot be used with -s, -F, -L or -c")

    @property
    def max_occurrences(self) -> int:
        """Maximum occurrences of a match's string in the reference; 0: unlimited."""
        return (self.max_occ or 0) if self.kind == "maxmatch" else 1

    @property
    def by_suffix_array(self) -> bool:
        """Whether a suffix array suits the search better than a minimizer index."""
        return self.max_occurrences == 1 and self.min_length <= _LONGEST_SORTED

    @property
    def strand_bits(self) -> int:
        """The strands as native functions take them: 1 forward, 2 reverse, 3 both."""
        return get_args(Strands).index(self.strands) + 1


def choose_index(min_length: int, bases: int) -> IndexParams:
    """k and w for matches of at least ``min_length`` bases (w + k - 1 <= min_length) in a reference of ``bases``.

    A k-mer should be rare by chance in the reference, which takes a little more than log4(bases) bases; what is left
    of the length goes to the window, because a k-mer of it that need not be stored need not be looked up either.
    Repeats of real genomes want more than chance does: a heuristic five eighths of a long match are spent on k.
    """
    rare = (bases.bit_length() + 1) // 2 + 1
    maximum = min(LONGEST_KMER, min_length - 1 if min_length < 16 else min_length - min_length // 5)
    k = min(max(rare, min_length * 5 // 8) | 1, maximum)
    k = max(1, k - (1 - k % 2))
    return IndexParams(k, min(min_length - k + 1, _WIDEST_WINDOW))
