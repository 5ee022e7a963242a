"""Parameters of ``cluster``."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

from gpualign.align.score.params import VSEARCH_SCORES, PairwiseParams, identity_definition_field, max_memory_field
from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.fields import REQUIRED, check_choices, parameter
from gpualign.params import header_field
from gpualign.sequences.matrices import Scoring, with_matching_codes

Order = Literal["length", "size", "input"]
Linkage = Literal["centroid", "single"]
#: BLAST's gaps (11/1) with a matrix
MATRIX = {"gap_open": 12, "gap_extend": 1}
_ALIGNMENT = (*VSEARCH_SCORES, "matrix", "identity", "identity_definition", "strand", "max_memory")
_clusters, _scores = partial(parameter, under="Clusters"), partial(parameter, under="Scores")
_abundances, _further = partial(parameter, under="Abundances"), partial(parameter, under="Further outputs")


@dataclass(frozen=True, kw_only=True)
class ClusterParams:
    """What a cluster is.

    Penalties inside that are given hold at the ends as well, unless those have their own.

    Attributes:
        match, mismatch, gap_open, gap_extend, end_gap_open, end_gap_extend: scores and penalties as of
            :class:`PairwiseParams`; None: those of :data:`VSEARCH_SCORES` or, with a matrix, of :data:`MATRIX`.
    """

    identity: float = _clusters(REQUIRED, "--id", "Minimum identity, 0 to 1.")
    identity_definition: int = identity_definition_field("Clusters")
    min_coverage: float = _clusters(
        0.0,
        "--min-coverage",
        "Minimum share of the longer of two sequences that is aligned to symbols of the other, 0 to 1.",
    )
    order: Order = _clusters(
        "length", "--order", "Which sequences come first: the longest, the most abundant (;size=N), or as in the input."
    )
    first: bool = _clusters(False, "--first", "Join the first centroid that is near enough, not the nearest.")
    linkage: Linkage = _clusters(
        "centroid", "--linkage", "single: join sequences that reach the identity, directly or through others."
    )
    strand: Literal["plus", "both"] = _clusters("plus", "--strand", "both: try the reverse complement as well.")
    min_length: int = _clusters(1, "--min-length --min-seq-length", "Leave shorter sequences out.")
    max_length: int | None = _clusters(None, "--max-length", "Leave longer sequences out.")
    match: int | None = _scores(None, "--match", f"Score of equal nucleotides.  [default: {VSEARCH_SCORES['match']}]")
    mismatch: int | None = _scores(
        None, "--mismatch", f"Score of different nucleotides.  [default: {VSEARCH_SCORES['mismatch']}]"
    )
    matrix: str | None = _scores(
        None, "--matrix", "Substitution matrix, which proteins need: BLOSUM62, ... or a file.", metavar="NAME"
    )
    gap_open: int | None = None
    gap_extend: int | None = None
    end_gap_open: int | tuple[int, ...] | None = None
    end_gap_extend: int | tuple[int, ...] | None = None
    size_in: bool = _abundances(False, "--sizein", "Count a sequence as often as its ;size=N says.")
    max_memory: int = max_memory_field()

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_choices(self)
        _ = self.alignment
        if not 0.0 <= self.min_coverage <= 1.0:
            raise UsageError(f"min coverage must be from 0 to 1, not {self.min_coverage:g}")
        check_range("min length", self.min_length, 0)
        if self.max_length is not None:
            check_range("max length", self.max_length, self.min_length)
        if self.linkage == "single" and self.first:
            raise UsageError("--first chooses a centroid: it cannot be used with --linkage single")

    @cached_property
    def alignment(self) -> PairwiseParams:
        """How pairs are aligned and their identity is counted."""
        given = {name: value for name in _ALIGNMENT if (value := getattr(self, name)) is not None}
        defaults = VSEARCH_SCORES if self.matrix is None else MATRIX
        if given.keys() & {"gap_open", "gap_extend"}:
            defaults = {name: value for name, value in defaults.items() if not name.startswith("end_")}
        return PairwiseParams(**{**defaults, **given})

    @property
    def both_strands(self) -> bool:
        return self.strand == "both"

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
    """

    sequences: str
    header: bool = header_field()
    size_out: bool = _abundances(False, "--sizeout", "Add ;size=N to the names of centroids.")
    counts: str | None = _abundances(
        None,
        "--biom-tsv",
        "Write the abundance of each cluster in each sample, taken from ;sample= or the beginning of the name.",
        metavar="FILE",
    )
    path: bool = _further(False, "-p --path", "Write the alignment with the centroid, too, as a CIGAR.")
    uc: str | None = _further(None, "--uc", "Write records S, H and C as vsearch and USEARCH do.", metavar="FILE")
    centroids: str | None = _further(None, "--centroids", "Write the centroids as FASTA.", metavar="FILE")
    consensus: str | None = _further(
        None, "--consout", "Write the consensus of each cluster as FASTA (nucleotides).", metavar="FILE"
    )
    alignments: str | None = _further(
        None, "--msaout", "Write each cluster's alignment and consensus as FASTA (nucleotides).", metavar="FILE"
    )
    relabel: str | None = _further(
        None, "--relabel", "Name centroids TEXT1, TEXT2, ...; the table has the names as label.", metavar="TEXT"
    )
    members: str | None = _further(
        None, "--members", "Write the members of each cluster to DIR/NUMBER.fasta.", metavar="DIR"
    )
    plot: str | None = _further(None, "--plot", "Draw the sizes of the clusters (.png or .svg).", metavar="FILE")
    resume: str | None = parameter(
        None,
        "--resume",
        "Save finished batches in DIR, and resume from those already there.",
        under="Running",
        metavar="DIR",
    )

    def check(self, params: ClusterParams, table: str | None) -> None:
        """Refuse what does not go together.

        Args:
            table: the file of the table, None for standard output.

        Raises:
            UsageError: the option.
        """
        if (table in (None, "-")) + sum(path == "-" for path in self.outputs) > 1:
            raise UsageError("two outputs go to standard output: name files for them (-o FILE for the table)")
        if self.size_out and self.centroids is None and self.consensus is None:
            raise UsageError("--sizeout needs --centroids or --consout")
        if params.linkage == "single" and (self.uc is not None or self.path or self.keeps_alignments):
            raise UsageError(
                "with --linkage single members have no alignment with a centroid: leave out --uc, -p, --consout and "
                "--msaout"
            )
        if params.matrix is not None and self.keeps_alignments:
            raise UsageError("--consout and --msaout are for nucleotides: leave out --matrix")
        if self.members is not None and os.path.exists(self.members) and not os.path.isdir(self.members):
            raise UsageError(f"--members needs a folder, and {self.members} is a file")

    @property
    def outputs(self) -> tuple[str | None, ...]:
        """All files that are written besides the table."""
        return (self.uc, self.centroids, self.counts, self.plot, self.consensus, self.alignments)

    @property
    def keeps_alignments(self) -> bool:
        """Whether alignments of whole clusters are written."""
        return self.consensus is not None or self.alignments is not None

    @property
    def keeps_text(self) -> bool:
        """Whether sequences are written."""
        return self.centroids is not None or self.members is not None or self.keeps_alignments
