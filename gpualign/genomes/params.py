"""Parameters of `align`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from gpualign.align.genomes.cpu import JoinParams
from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.fields import check_choices, parameter
from gpualign.seeds.matches.params import Kind, MemsParams

Strands = Literal["forward", "reverse", "both"]
Filter = Literal["1", "m", "q", "r"]
_clusters, _extension = partial(parameter, under="Clusters"), partial(parameter, under="Extension")
_selection, _tables = partial(parameter, under="Selection"), partial(parameter, under="Other outputs")
#: options of show-coords and show-snps that --coords-style and --snps-style take
COORDS_STYLES, SNPS_STYLES = "rqcldTH", "rqClTHI"


@dataclass(frozen=True)
class AlignParams:
    """How genomes are aligned: nucmer's options and defaults.

    Attributes:
        kind: which exact matches are used; "mumreference": those that are unique in the reference.
        strands: of the queries.
    """

    kind: Kind = "mumreference"
    strands: Strands = "both"
    min_match: int = parameter(20, "-l --minmatch", "Minimum length of an exact match.", under="Matches")
    max_seed_occurrences: int | None = parameter(
        None,
        "--max-seed-occ",
        "With repetitive references: leave out matches whose seed occurs more often; 0: none.  [default: 16 if seeds "
        "occur more than 64 times on average]",
        under="Matches",
    )
    min_cluster: int = _clusters(65, "-c --mincluster", "Minimum bases in the matches of a cluster.")
    max_gap: int = _clusters(90, "-g --maxgap", "Maximum bases between neighbouring matches of a cluster.")
    diagonal_difference: int = _clusters(
        5, "-D --diagdiff", "Maximum difference between the diagonals of neighbouring matches, in bases."
    )
    diagonal_factor: float = _clusters(0.12, "-d --diagfactor", "The same as a share of the gap, if that is more.")
    break_length: int = _extension(
        200, "-b --breaklen", "Bases that an extension goes through without a better score before it ends."
    )
    extend: bool = _extension(True, "--noextend", "Do not extend clusters at their ends.")
    optimize: bool = _extension(
        True, "--nooptimize", "Let extensions that come to the end of a sequence end there, whatever they score."
    )
    simplify: bool = _extension(
        True, "--nosimplify", "Keep clusters that an alignment covers: for repeats within one sequence."
    )
    min_length: int = _selection(0, "-L --minalign", "Minimum length of an alignment, in bases of either sequence.")
    filter: Filter | None = _selection(
        None,
        "--filter",
        "Keep the best alignments by length and identity, as delta-filter: 1 one-to-one, m many-to-many, q of each "
        "position of the query, r of each position of the reference.",
    )

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_choices(self)
        check_range("the minimum length of a match (-l)", self.min_match, 1)
        check_range("the most occurrences of a seed (--max-seed-occ)", self.max_seed_occurrences or 0, 0)
        check_range("the minimum of a cluster (-c)", self.min_cluster, 1)
        check_range("the maximum gap (-g)", self.max_gap, 0)
        check_range("the difference of diagonals (-D)", self.diagonal_difference, 0)
        check_range("the break length (-b)", self.break_length, 1, 1 << 16)
        check_range("the minimum length of an alignment (-L)", self.min_length, 0)
        if not 0 <= self.diagonal_factor < float("inf"):
            raise UsageError(f"the diagonal factor (-d) must be 0 or more, not {self.diagonal_factor:g}")

    @property
    def matching(self) -> MemsParams:
        return MemsParams(min_length=self.min_match, kind=self.kind, strands=self.strands, only_acgt=True)

    @property
    def joining(self) -> JoinParams:
        return JoinParams(
            self.min_cluster,
            self.max_gap,
            self.diagonal_difference,
            self.diagonal_factor,
            self.break_length,
            self.extend,
            self.simplify,
            not self.optimize,
        )


@dataclass(frozen=True)
class AlignOutputs:
    """Files besides the main output; None: not wanted."""

    coords: str | None = _tables(None, "--coords", "Write the alignments' coordinates, as show-coords.", metavar="FILE")
    coords_style: str = _tables(
        "",
        "--coords-style",
        "Letters of show-coords' options: r or q (sorted), c, l, d (columns), T (tabs), H (no header), such as rclTH.",
        metavar="LETTERS",
    )
    snps: str | None = _tables(None, "--snps", "Write the bases that differ, as show-snps.", metavar="FILE")
    snps_style: str = _tables(
        "",
        "--snps-style",
        "Letters of show-snps' options: C (only where one alignment lies), I (no indels), r, q, l, T, H, such as CTH.",
        metavar="LETTERS",
    )

    report: str | None = _tables(
        None,
        "--report",
        "Write dnadiff's report: bases, alignments, rearrangements and differences. Not of filtered alignments.",
        metavar="FILE",
    )
    vcf: str | None = _tables(
        None, "--vcf", "Write substitutions, indels and what lies between alignments as VCF.", metavar="FILE"
    )
    bed: str | None = _tables(
        None,
        "--callable",
        "Write the reference's regions that one alignment covers, where variants are called, as BED.",
        metavar="FILE",
    )
    dotplot: str | None = _tables(
        None,
        "--dotplot",
        "Draw the 20,000 longest alignments, the query's records in the reference's order: .png or .svg.",
        metavar="FILE",
    )
    resume: str | None = parameter(
        None,
        "--resume",
        "Save the alignments of finished batches of the query in DIR, and resume from those already there.",
        under="Running",
        metavar="DIR",
    )

    def __post_init__(self) -> None:
        for option, given, known in (
            ("--coords-style", self.coords_style, COORDS_STYLES),
            ("--snps-style", self.snps_style, SNPS_STYLES),
        ):
            if unknown := set(given) - set(known):
                raise UsageError(f"{option}: {min(unknown)!r} is none of {known}")

    @property
    def files(self) -> tuple[str | None, ...]:
        """All of them."""
        return self.coords, self.snps, self.report, self.vcf, self.bed, self.dotplot

    @property
    def bases(self) -> bool:
        """Whether the sequences are needed."""
        return any(path is not None for path in (self.snps, self.report, self.vcf))
