"""Parameters of `mems`, and the choice of an index for them."""

from __future__ import annotations

from dataclasses import dataclass

from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.seeds.index.file import check_index_path
from gpualign.seeds.index.minimizers import LONGEST_KMER, IndexParams

KINDS = ("mumreference", "mum", "maxmatch")
STRANDS = ("forward", "reverse", "both")
#: consecutive seeds further apart than this save no memory worth having and cost look-ups in repeats
_WIDEST_WINDOW = 96
#: seeds of unique matches this short are repeated too often in genomes to look at each of their positions
_LONGEST_SORTED = 31


@dataclass(frozen=True)
class MemsParams:
    """Parameters of a run of `mems`.

    Attributes:
        min_length: shortest match in bases, at least 1.
        kind: "mumreference": the matching string occurs once in the reference; "mum": once in the strand of the
            query record as well; "maxmatch": all matches.
        max_occ: with "maxmatch", leave out matches whose string occurs more often than this in the reference; 1 is
            "mumreference". None: however often.
        strands: "forward", "reverse" or "both" strands of the queries.
        only_acgt: say nothing when bases other than A, C, G and T, which never match here, would in MUMmer.
        four_columns: name the reference record on every line; always so with several of them.
        lengths: print the query's length in its header.
        strings: print the matching string below each match.
        forward_coordinates: give matches of the reverse strand by their position on the forward strand.
        table: tab-separated columns with a header instead of MUMmer's lines.
        header: with ``table``, print the header line.
        index: a saved index to use instead of building one, or None.
        save_index: write the index here, or None.
        dotplot: .png or .svg file for a dot plot of the matches, or None.
    """

    min_length: int = 20
    kind: str = "mumreference"
    max_occ: int | None = None
    strands: str = "forward"
    only_acgt: bool = False
    four_columns: bool = False
    lengths: bool = False
    strings: bool = False
    forward_coordinates: bool = False
    table: bool = False
    header: bool = True
    index: str | None = None
    save_index: str | None = None
    dotplot: str | None = None

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_index_path(self.save_index)
        check_range("the minimum length of a match (-l)", self.min_length, 1)
        if self.kind not in KINDS:
            raise UsageError(f"the kind of matches must be one of {', '.join(KINDS)}, not {self.kind!r}")
        check_range("the most occurrences of a match (--max-occ)", 1 if self.max_occ is None else self.max_occ, 1)
        if self.max_occ is not None and self.kind != "maxmatch":
            raise UsageError(f"--max-occ needs -maxmatch: the matches of -{self.kind} occur once")
        if self.strands not in STRANDS:
            raise UsageError(f"strands must be one of {', '.join(STRANDS)}, not {self.strands!r}")
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
        return STRANDS.index(self.strands) + 1


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
