"""Parameters of `map`, and its presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.checks import set_penalties, set_whole_numbers
from gpualign.errors import UsageError, check_range, counted
from gpualign.fields import check_choices, parameter
from gpualign.map.gene_counts import GeneExons
from gpualign.map.introns import Introns
from gpualign.map.pairs import PairModel, parse_insert_size
from gpualign.seeds.index.minimizers import IndexParams
from gpualign.seeds.index.params import SeedParams
from gpualign.sequences.identity import edits_within


@dataclass(frozen=True)
class Chaining:
    """Parameters of chaining (docs/internals/algorithms.md, "Chaining"); the defaults are for short reads.

    Attributes:
        interval: bases of an interval of a read to which ``Seeding.max_hits`` applies.
        max_gap: maximum bases between neighbouring anchors, on the read or the reference, whichever has fewer.
        max_difference: maximum difference of the two: the longest gap inside an alignment.
        min_chain_score: minimum of covered bases minus gap costs.
        min_anchors: minimum anchors of a chain.
        max_suboptimal: suboptimal chains to align per segment of the read.
        suboptimal_percent: their minimum score, in percent of the best.
        query_gap: minimum gap in the query between two anchors of a chain that another chain may fill.
        step: minimum bases between the anchors that an alignment must pass.
        reach: bases by which each end of a chain is extended.
        zdrop: drop of the score, gaps between two anchors excepted, at which an alignment is split.
        min_score: minimum score of an alignment.
        min_split: minimum aligned bases of a supplementary alignment.
        doubt: if a gap gains at most this score, its sides are also aligned separately; 0: never.
        max_cells: maximum DP cells between two anchors; a larger matrix splits the alignment.
    """

    interval: int = 500
    max_gap: int = 500
    max_difference: int = 100
    min_chain_score: int = 19
    min_anchors: int = 1
    max_suboptimal: int = 20
    suboptimal_percent: int = 50
    query_gap: int = 30
    step: int = 50
    reach: int = 500
    zdrop: int = 100
    min_score: int = 30
    min_split: int = 30
    doubt: int = 0
    max_cells: int = 1 << 26


SHORT_READS = Chaining()
#: ``Seeding.max_hits`` of long reads
LONG_READ_HITS = 200
LONG_READS = Chaining(
    max_gap=20_000,
    max_difference=12_000,
    min_chain_score=40,
    min_anchors=3,
    max_suboptimal=5,
    suboptimal_percent=80,
    query_gap=300,
    step=100,
    reach=1500,
    zdrop=400,
    min_score=80,
    doubt=100,
)
#: contigs against genomes: long gaps are common, short chains are repeats, and DP is for sequence between seeds only
CONTIGS = replace(
    LONG_READS,
    max_gap=10_000,
    min_chain_score=100,
    reach=300,
    zdrop=300,
    min_score=100,
    min_split=100,
    max_cells=1 << 20,
)
#: ``Seeding.max_hits`` of contigs, enough for seeds in all copies of a repeat family
CONTIG_HITS = 1000


#: long reads of transcripts: gaps on the reference are introns
SPLICED_READS = replace(
    LONG_READS,
    max_gap=2_000,
    max_difference=2_000,
    suboptimal_percent=60,
    zdrop=200,
    min_score=40,
    doubt=0,
    max_cells=1 << 23,
)


#: libraries of bisulfite reads: R1 is of the converted strand, R2 its complement; the other way round; or both kinds
METH_LIBRARIES = ("directional", "pbat", "non-directional")
#: no limit of secondary alignments
ALL_LOCI = (1 << 31) - 1
#: limits: bwa's penalties scaled by the largest match score. Penalties per base of a long read must sum up in 32 bits;
#: the largest clip penalty forbids clipping
_MAX_PENALTIES = {
    "mismatch": 1000,
    "gap_open": 1000,
    "gap_extend": 100,
    "clip_penalty": 1_000_000,
    "long_gap_open": 1000,
    "long_gap_extend": 100,
}
#: no limit of strata
NO_STRATA = (1 << 31) - 1

_sensitivity, _scores = partial(parameter, under="Sensitivity"), partial(parameter, under="Scores")
_introns = partial(parameter, under="Introns")
_pairs, _which = partial(parameter, under="Pairs"), partial(parameter, under="Which alignments")


@dataclass(frozen=True)
class Seeding(SeedParams):
    """Selection of seed hits.

    Attributes:
        max_hits: see docs/internals/algorithms.md, "The repeat rule".
        max_candidates: loci verified per read, those with most seed hits; at least 1,024 for the one-substitution
            variants of a short read.
        full: find every locus within the error limit: follow all hits of an index that is dense enough for the reads,
            and search the whole reference for shorter reads.
    """

    max_hits: int = _sensitivity(1000, "--max-hits", "Seed hits to follow per read, rarest seeds first.")
    max_candidates: int = _sensitivity(64, "--max-candidates", "Candidates to verify per read.")
    full: bool = False

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_range("max hits", self.max_hits, 1)
        check_range("max candidates", self.max_candidates, 1)
        if self.k is not None or self.w is not None:
            IndexParams(1 if self.k is None else self.k, 1 if self.w is None else self.w)


@dataclass(frozen=True)
class MapScoring:
    """Affine scores: a gap of length l costs the smaller of gap_open + l * gap_extend and long_gap_open + l *
    long_gap_extend. An end is clipped if that gains at least clip_penalty. All but match are penalties.

    Attributes:
        long_gap_open, long_gap_extend: second gap penalty, used by the presets of long reads; both 0: none.
    """

    match: int = _scores(1, "-A --match", "Score of a match.")
    mismatch: int = _scores(4, "-B --mismatch", "Penalty for a mismatch.")
    gap_open: int = _scores(6, "-O --gap-open", "Penalty for opening a gap: a gap of length l costs O + l * E.")
    gap_extend: int = _scores(1, "-E --gap-extend", "Penalty for each base of a gap.")
    clip_penalty: int = _scores(5, "-L --clip", "Penalty for clipping one end of the read.")
    long_gap_open: int = 0
    long_gap_extend: int = 0

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        set_penalties(self, *_MAX_PENALTIES)
        if self.match < 1:
            raise UsageError(f"match score must be at least 1, not {self.match}")
        for name, maximum in _MAX_PENALTIES.items():
            words = name.removesuffix("_penalty").replace("_", " ")
            check_range(f"{words} penalty", getattr(self, name), 0, maximum)
        if self.match > 100 or self.gap_extend < 1:
            raise UsageError("match score must be at most 100 and the gap extension at least 1")

    @property
    def has_long_gaps(self) -> bool:
        """Whether there is a second gap penalty."""
        return self.long_gap_open > 0 or self.long_gap_extend > 0


@dataclass(frozen=True)
class Splicing:
    """Introns in alignments. Costs are those of :class:`MapScoring`'s scale, in addition to ``intron``.

    Attributes:
        intron: cost of an intron of any length with the most frequent signals, GT before A or G, and AG after C or T.
        no_signal: of an end without a signal.
        gc_signal, rare_signal: of GC, and of AT or AC.
        other_flank: of GT before C or T, and of AG after A or G, if splice_flank.
        known: what an end of a known intron costs less than the most frequent signal.
        min_intron: shorter ones are deletions.
        transcript_strand: "f": the reads are of their transcripts' strand, as direct RNA; "r": of the other one; "b":
            of both, as cDNA.
    """

    max_intron: int = _introns(200_000, "--max-intron", "Longest intron.")
    transcript_strand: Literal["f", "r", "b"] = _introns(
        "b",
        "-u --transcript-strand",
        "Strand of the transcripts: f, that of the reads (direct RNA), r, the other one, or b, each read's own, by the "
        "signals of its introns (cDNA).",
    )
    splice_flank: bool = _introns(
        True, "--no-splice-flank", "Do not expect A or G after GT and C or T before AG at the ends of introns."
    )
    intron: int = 8
    no_signal: int = 9
    gc_signal: int = 4
    rare_signal: int = 4
    other_flank: int = 2
    known: int = 4
    min_intron: int = 20

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_range("the longest intron (--max-intron)", self.max_intron, self.min_intron, 1_000_000)
        check_choices(self)


@dataclass(frozen=True)
class Pairing:
    """Parameters of pairs.

    Attributes:
        orientation: "fr", "rf" or "ff"; None: that of most of the first pairs, or "fr" if insert_size is given.
        unpaired_penalty: penalty of an unpaired alignment.
        together: map mates as pairs; False: one by one, as for Hi-C.
    """

    insert_size: str | None = _pairs(
        None,
        "-I --insert-size",
        "Insert size of pairs: the outer distance in bases.  [default: estimated from the first pairs]",
        metavar="MEAN[,SD[,MAX[,MIN]]]",
    )
    orientation: str | None = None
    unpaired_penalty: int = 17
    together: bool = True

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        set_penalties(self, "unpaired_penalty")
        _ = self.given or self.default

    @property
    def default(self) -> PairModel:
        """The model if insert sizes can be neither given nor estimated."""
        return PairModel(orientation=self.orientation or "fr", unpaired_penalty=self.unpaired_penalty)

    @property
    def given(self) -> PairModel | None:
        """The model by ``insert_size``; None if that is not given."""
        if self.insert_size is None:
            return None
        return parse_insert_size(self.insert_size, self.orientation or "fr", self.unpaired_penalty)


@dataclass(frozen=True)
class Reporting:
    """Which secondary alignments are reported."""

    secondary: int = _which(0, "-N", "Report up to INT secondary alignments of a read, best first.")
    strata: int | None = _which(
        None,
        "--strata",
        "Report secondary alignments with up to INT edits more than the best; without -N, all of them.",
    )

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_range("the number of secondary alignments (-N)", self.secondary, 0)
        check_range("strata", self.strata or 0, 0)

    @property
    def native(self) -> dict[str, int]:
        """The parameters for native functions."""
        return {"max_secondary": self.secondary, "strata": NO_STRATA if self.strata is None else self.strata}


@dataclass(frozen=True)
class MapParams:
    """Parameters of `map`.

    Attributes:
        long_reads: map by chaining, with clipping; error_rate and max_candidates do not apply, and max_hits applies to
            each segment of a read.
        chaining: parameters of chaining.
        splicing: alignments have introns; None: they do not.
        annotated_introns: introns of ``--junctions``.
        gene_exons: its genes, for which reads are counted; None: they are not.
        known_sites: :meth:`Introns.sites` of these and of a first pass, which are preferred.
        meth: one of :data:`METH_LIBRARIES`: the reads are bisulfite or EM-seq reads; None: they are not.
    """

    error_rate: float = _sensitivity(
        0.085,
        "-e --error-rate",
        "Edits allowed in an end-to-end alignment, as a fraction of the read's length, rounded down (--meth: 0.14).",
        metavar="RATE",
    )
    end_to_end: bool = _sensitivity(
        False,
        "--end-to-end",
        "Leave reads that do not align end to end unmapped, instead of splitting or clipping them.",
    )
    long_reads: bool = False
    seeding: Seeding = field(default_factory=Seeding)
    scoring: MapScoring = field(default_factory=MapScoring)
    pairing: Pairing = field(default_factory=Pairing)
    reporting: Reporting = field(default_factory=Reporting)
    chaining: Chaining = SHORT_READS
    splicing: Splicing | None = None
    annotated_introns: Introns | None = field(default=None, repr=False, compare=False)
    gene_exons: GeneExons | None = field(default=None, repr=False, compare=False)
    known_sites: tuple[NDArray[np.int64], NDArray[np.int64]] | None = field(default=None, repr=False, compare=False)
    meth: str | None = None

    @classmethod
    def of_preset(cls, preset: str = "sr", **explicit: Any) -> MapParams:
        """The parameters of a preset (PRESETS), overridden by those given by name: ``max_hits=20``."""
        preset = PRESET_ALIASES.get(preset, preset)
        if preset not in PRESETS:
            raise UsageError(f"unknown preset {preset} (known: {', '.join(PRESETS)})")
        values = {**values_of(preset, explicit.get("meth"), explicit.get("full", False)), **explicit}
        of_introns = {part.name: values.pop(part.name) for part in fields(Splicing) if part.name in values}
        if of_introns and values.get("splicing") is None:
            raise UsageError("options of introns need -x rna, splice or splice:hq")
        if of_introns:
            values["splicing"] = replace(values["splicing"], **of_introns)
        groups = {"seeding": Seeding, "scoring": MapScoring, "pairing": Pairing, "reporting": Reporting}
        nested = {
            group: kind(**{part.name: values.pop(part.name) for part in fields(kind) if part.name in values})
            for group, kind in groups.items()
        }
        return cls(**nested, **values)

    def __post_init__(self) -> None:
        if not 0 <= self.error_rate < 1:
            raise UsageError(f"error rate must be at least 0 and below 1, not {self.error_rate} (5 % is 0.05)")
        if self.long_reads and (self.seeding.full or self.end_to_end or self.reporting.strata is not None):
            raise UsageError(
                "long reads are aligned by chaining, not by edit distance: use the preset sr for that option"
            )

        if self.meth not in (None, *METH_LIBRARIES):
            raise UsageError(f"meth must be one of {', '.join(METH_LIBRARIES)}, not {self.meth!r}")
        if self.splicing and (self.meth or self.seeding.full or self.end_to_end):
            raise UsageError(
                "spliced reads are aligned locally, by chaining: use the preset sr for --meth, --sensitivity full and "
                "--end-to-end"
            )
        if self.meth and self.long_reads:
            raise UsageError("bisulfite reads are mapped as short reads (--meth needs the preset sr or sr-sensitive)")

    def check_pairs(self) -> None:
        """Raise UsageError if pairs cannot be mapped."""
        if self.long_reads:
            raise UsageError("long reads have no pairs (use the preset sr)")

    @property
    def of_long_reads(self) -> tuple[MapScoring, Chaining, int, Splicing | None]:
        """How a preset of short reads chains those that are too long for end-to-end alignment."""
        return self.scoring, SPLICED_READS if self.splicing else LONG_READS, LONG_READ_HITS, self.splicing

    def limits(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Edits allowed in reads of these lengths, as the native mapper computes them."""
        return edits_within(self.error_rate, lengths)

    def pieces(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Length of the error-free segment that every locus within the limit has, for reads of these lengths."""
        return np.asarray(lengths // (self.limits(lengths) + 1))

    def chained_as_long(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which reads are too long for end-to-end alignment, so that a preset of short reads maps them as long reads.
        ``full`` does not find all their loci.
        """
        too_long = lengths > _native.LONGEST_END_TO_END
        return too_long & (not self.long_reads and not self.end_to_end)

    def too_long(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which reads stay unmapped, as they are too long for chaining."""
        return (lengths > _native.LONGEST_CHAINED) & (not self.end_to_end)


def _chained(
    k: int, w: int, match: int, mismatch: int, gaps: tuple[int, int, int, int], chaining: Chaining, max_hits: int
) -> dict[str, Any]:
    """A preset of reads or contigs that are mapped by chaining; ``gaps``: both gap penalties, each open and extend."""
    names = ("gap_open", "gap_extend", "long_gap_open", "long_gap_extend")
    scores = {"match": match, "mismatch": mismatch, **dict(zip(names, gaps, strict=True)), "clip_penalty": 0}
    return {"k": k, "w": w, **scores, "max_hits": max_hits, "long_reads": True, "chaining": chaining}


#: ``-x``: parameters by the kind of reads; those given by name win.
#: Long-read presets penalize gaps less relative to mismatches, as most errors of such reads are gaps. A second gap
#: penalty (minimap2's) treats a long gap as one event. Clipping is free, as adapters and foreign sequence are common.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "sr": {},
    "sr-sensitive": {"error_rate": 0.12, "max_hits": 10_000, "max_candidates": 512},
    "hifi": _chained(19, 19, 1, 4, (6, 2, 26, 1), LONG_READS, LONG_READ_HITS),
    "ont": _chained(15, 10, 2, 4, (4, 2, 24, 1), LONG_READS, LONG_READ_HITS),
    "rna": {"splicing": Splicing()},
    "splice": {**_chained(15, 5, 1, 2, (2, 1, 0, 0), SPLICED_READS, LONG_READ_HITS), "splicing": Splicing()},
    "splice:hq": {
        **_chained(15, 5, 1, 4, (6, 1, 0, 0), SPLICED_READS, LONG_READ_HITS),
        "splicing": Splicing(),
    },
    # minimap2's scores for genomes that differ by 5, 10 or 20 %
    "asm5": _chained(19, 19, 1, 19, (39, 3, 81, 1), CONTIGS, CONTIG_HITS),
    "asm10": _chained(19, 19, 1, 9, (16, 2, 41, 1), CONTIGS, CONTIG_HITS),
    "asm20": _chained(19, 10, 1, 4, (6, 2, 26, 1), CONTIGS, CONTIG_HITS),
}

#: of bisulfite reads, whatever the preset: to align a read end to end with more edits tells more copies of a repeat
#: apart than to clip it, which three letters make necessary
METH: Mapping[str, Any] = {"error_rate": 0.14}


def values_of(preset: str, meth: str | None, full: bool) -> Mapping[str, Any]:
    """Parameters of a preset that those given by name override."""
    return {**PRESETS[preset], **(METH if meth and not full else {})}


#: minimap2's names of presets
PRESET_ALIASES: Mapping[str, str] = {
    "short": "sr",
    "map-hifi": "hifi",
    "map-ccs": "hifi",
    "lr:hq": "hifi",
    "lr:hqae": "hifi",
    "cdna": "splice",
    "map-iclr": "hifi",
    "map-ont": "ont",
    "lr": "ont",
    "map-pb": "ont",
    "map10k": "ont",
}


def left_unmapped(count: int) -> str:
    """The warning about reads that are too long for chaining."""
    return (
        f"{counted(count, 'read')} of more than {_native.LONGEST_CHAINED:,} bases left unmapped "
        "(cut such sequences into pieces to map them)"
    )
