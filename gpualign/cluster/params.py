"""Parameters of ``cluster``."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from gpualign.align.score.params import PairwiseParams
from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.sequences.matrices import Scoring, with_matching_codes

Order = Literal["length", "size", "input"]
Linkage = Literal["centroid", "single"]
ORDERS: tuple[Order, ...] = get_args(Order)
LINKAGES: tuple[Linkage, ...] = get_args(Linkage)
#: vsearch's scores of nucleotides, with gaps that are cheaper at the ends; BLAST's gaps (11/1) with a matrix
_NUCLEOTIDES = {"match": 2, "mismatch": -4, "gap_open": 20, "gap_extend": 2, "end_gap_open": 2, "end_gap_extend": 1}
_MATRIX = {"gap_open": 12, "gap_extend": 1}


def alignment_params(identity: float, **given: Any) -> PairwiseParams:
    """How pairs are aligned and their identity is counted.

    Args:
        given: fields of :class:`PairwiseParams`; None, or left out: the default of ``cluster``. Penalties inside that
            are given hold at the ends as well, unless those have their own.
    """
    given = {name: value for name, value in given.items() if value is not None}
    defaults = _NUCLEOTIDES if "matrix" not in given else _MATRIX
    if given.keys() & {"gap_open", "gap_extend"}:
        defaults = {name: value for name, value in defaults.items() if not name.startswith("end_")}
    return PairwiseParams(**{**defaults, **given, "identity": identity})


@dataclass(frozen=True, kw_only=True)
class ClusterParams:
    """What a cluster is.

    Attributes:
        alignment: scores, and the identity that a member has with its centroid at least.
        order: in which sequences are taken: longest first, most abundant first, or as in the input.
        first: join the first centroid that is near enough instead of the nearest.
        linkage: "centroid", or "single": every pair of at least the identity is in one cluster.
        min_length, max_length: other sequences are left out; None: no limit.
        min_coverage: aligned pairs of symbols as a share of the longer sequence, at least.
        size_in: a sequence counts as often as its ``;size=N`` says.
    """

    alignment: PairwiseParams
    order: Order = "length"
    first: bool = False
    linkage: Linkage = "centroid"
    min_length: int = 1
    max_length: int | None = None
    min_coverage: float = 0.0
    size_in: bool = False

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        for name, value, choices in (("order", self.order, ORDERS), ("linkage", self.linkage, LINKAGES)):
            if value not in choices:
                raise UsageError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        if self.alignment.identity is None:
            raise UsageError("clusters need an identity")
        if self.alignment.mode != "global" or self.alignment.score_only:
            raise UsageError("clusters need global alignments")
        if not 0.0 <= self.min_coverage <= 1.0:
            raise UsageError(f"min coverage must be from 0 to 1, not {self.min_coverage:g}")
        check_range("min length", self.min_length, 0)
        if self.max_length is not None:
            check_range("max length", self.max_length, self.min_length)
        if self.linkage == "single" and self.first:
            raise UsageError("--first chooses a centroid: it cannot be used with --linkage single")

    @property
    def identity(self) -> float:
        assert self.alignment.identity is not None
        return self.alignment.identity

    @property
    def both_strands(self) -> bool:
        return self.alignment.strand == "both"

    def load_scoring(self) -> Scoring:
        """The scores; ambiguity codes of nucleotides match where they have a base in common."""
        return with_matching_codes(self.alignment.load_scoring())

    @property
    def pairs(self) -> PairwiseParams:
        """Parameters of a pair on one strand: reverse complements are sequences of their own here."""
        return replace(self.alignment, strand="plus")


@dataclass(frozen=True, kw_only=True)
class ClusterFiles:
    """What is read and written.

    Attributes:
        sequences: FASTA or FASTQ, "-" for standard input.
        header: begin the table with a line of column names.
        path: the table has CIGARs.
        uc: file in the format of USEARCH and vsearch.
        centroids: FASTA of the centroids; ``size_out`` adds ``;size=N``, ``relabel`` names them by number,
            here, in ``counts`` and in the table's column ``label``.
        members: folder of a FASTA file for each cluster.
        counts: table of clusters by samples.
        plot: picture of the clusters' sizes.
        resume: folder that keeps finished batches, from which an interrupted run goes on.
    """

    sequences: str
    header: bool = True
    path: bool = False
    uc: str | None = None
    centroids: str | None = None
    size_out: bool = False
    relabel: str | None = None
    members: str | None = None
    counts: str | None = None
    plot: str | None = None
    resume: str | None = None

    def check(self, params: ClusterParams, table: str | None) -> None:
        """Refuse what does not go together.

        Args:
            table: the file of the table, None for standard output.

        Raises:
            UsageError: the option.
        """
        if (table in (None, "-")) + sum(path == "-" for path in self.outputs) > 1:
            raise UsageError("two outputs go to standard output: name files for them (-o FILE for the table)")
        if self.size_out and self.centroids is None:
            raise UsageError("--sizeout needs --centroids")
        if params.linkage == "single" and (self.uc is not None or self.path):
            raise UsageError("with --linkage single members have no alignment with a centroid: leave out --uc and -p")
        if self.members is not None and os.path.exists(self.members) and not os.path.isdir(self.members):
            raise UsageError(f"--members needs a folder, and {self.members} is a file")

    @property
    def outputs(self) -> tuple[str | None, ...]:
        """All files that are written besides the table."""
        return (self.uc, self.centroids, self.counts, self.plot)

    @property
    def keeps_text(self) -> bool:
        """Whether sequences are written."""
        return self.centroids is not None or self.members is not None
