"""What `map` computes: its parameters."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import UsageError, check_range
from gpualign.index.minimizers import IndexParams
from gpualign.map.chaining import SHORT_READS, Chaining
from gpualign.map.pairs import PairModel, parse_insert_size
from gpualign.map.presets import PRESETS
from gpualign.sequences.identity import edits_within

#: more secondary alignments than there are
ALL_LOCI = (1 << 31) - 1
#: as much as bwa's penalties scaled by the largest score of a match; those that count for every base of a long read are
#: small enough for sums in 32 bits, and no end is clipped where that must gain the largest clip penalty
_MAX_PENALTIES = {
    "mismatch": 1000,
    "gap_open": 1000,
    "gap_extend": 100,
    "clip_penalty": 1_000_000,
    "long_gap_open": 1000,
    "long_gap_extend": 100,
}
#: more edits than there are
NO_STRATA = (1 << 31) - 1


@dataclass(frozen=True)
class Seeding:
    """Which seed hits are followed.

    Attributes:
        k, w: minimizer parameters; None: chosen from the reference's size, or the saved index's.
        max_hits: seed hits followed per read, rarest seeds first (docs/algorithms.md, "The repeat rule").
        max_candidates: loci verified per read, those with most seed hits; at least 1,024 of a short read that is looked
            for with a base changed.
        full: find every locus within the error limit: follow all hits, of an index dense enough for the reads at hand,
            and search the whole reference for reads that are too short for it.
    """

    k: int | None = None
    w: int | None = None
    max_hits: int = 1000
    max_candidates: int = 64
    full: bool = False

    def __post_init__(self) -> None:
        check_range("max hits", self.max_hits, 1)
        check_range("max candidates", self.max_candidates, 1)
        if self.k is not None or self.w is not None:
            IndexParams(1 if self.k is None else self.k, 1 if self.w is None else self.w)


@dataclass(frozen=True)
class Scoring:
    """Affine scores: a gap of length l costs gap_open + l * gap_extend, or long_gap_open + l * long_gap_extend where
    that is less; an end is clipped where that gains at least clip_penalty. All but match are penalties.

    Attributes:
        long_gap_open, long_gap_extend: both 0: there is no second price. They hold for the presets of long reads.
    """

    match: int = 1
    mismatch: int = 4
    gap_open: int = 6
    gap_extend: int = 1
    clip_penalty: int = 5
    long_gap_open: int = 0
    long_gap_extend: int = 0

    def __post_init__(self) -> None:
        if self.match < 1:
            raise UsageError(f"match score must be at least 1, not {self.match}")
        for name, maximum in _MAX_PENALTIES.items():
            words = name.removesuffix("_penalty").replace("_", " ")
            check_range(f"{words} penalty", getattr(self, name), 0, maximum)
        if self.match > 100 or self.gap_extend < 1:
            raise UsageError("match score must be at most 100 and the gap extension at least 1")

    @property
    def has_long_gaps(self) -> bool:
        """There is a second price of gaps."""
        return self.long_gap_open > 0 or self.long_gap_extend > 0

    @property
    def native(self) -> tuple[int, ...]:
        """As native functions take it: in the order of the fields."""
        return astuple(self)


@dataclass(frozen=True)
class Pairing:
    """How the mates of a pair lie.

    Attributes:
        insert_size: MEAN[,SD[,MAX[,MIN]]] of the pairs, or None to estimate it from the first ones.
        orientation: "fr", "rf" or "ff"; None: that of most of the first pairs, of a given insert size "fr".
        unpaired_penalty: score that an unpaired alignment must make up for.
        together: pairs are looked for; otherwise each mate is mapped by itself, as those of Hi-C are.
    """

    insert_size: str | None = None
    orientation: str | None = None
    unpaired_penalty: int = 17
    together: bool = True

    def __post_init__(self) -> None:
        _ = self.given or self.default

    @property
    def default(self) -> PairModel:
        """Where no insert size is known."""
        return PairModel(orientation=self.orientation or "fr", unpaired_penalty=self.unpaired_penalty)

    @property
    def given(self) -> PairModel | None:
        """By ``insert_size``."""
        if self.insert_size is None:
            return None
        return parse_insert_size(self.insert_size, self.orientation or "fr", self.unpaired_penalty)


@dataclass(frozen=True)
class Reporting:
    """Which secondary alignments are reported.

    Attributes:
        secondary: up to so many per read.
        strata: of those with at most that many edits more than the best one; None: all within the limit.
    """

    secondary: int = 0
    strata: int | None = None

    def __post_init__(self) -> None:
        check_range("the number of secondary alignments (-N)", self.secondary, 0)
        check_range("strata", self.strata or 0, 0)

    @property
    def native(self) -> dict[str, int]:
        """As native functions take it."""
        return {"max_secondary": self.secondary, "strata": NO_STRATA if self.strata is None else self.strata}


@dataclass(frozen=True)
class MapParams:
    """What `map` computes.

    Attributes:
        error_rate: edits allowed in a read aligned end to end, as a share of its length, rounded down.
        end_to_end: leave a read unmapped that does not align end to end; otherwise it is aligned by chaining.
        long_reads: reads are mapped by chaining and may be clipped; error_rate and max_candidates do not apply, and
            max_hits applies to each stretch of a read.
        chaining: how.
    """

    error_rate: float = 0.085
    end_to_end: bool = False
    long_reads: bool = False
    seeding: Seeding = field(default_factory=Seeding)
    scoring: Scoring = field(default_factory=Scoring)
    pairing: Pairing = field(default_factory=Pairing)
    reporting: Reporting = field(default_factory=Reporting)
    chaining: Chaining = SHORT_READS

    @classmethod
    def of_preset(cls, preset: str = "sr", **explicit: Any) -> MapParams:
        """The parameters of a preset (PRESETS) with those given on top, each by its own name: ``max_hits=20``."""
        if preset not in PRESETS:
            raise UsageError(f"unknown preset {preset} (known: {', '.join(PRESETS)})")
        values = {**PRESETS[preset], **explicit}
        groups = {"seeding": Seeding, "scoring": Scoring, "pairing": Pairing, "reporting": Reporting}
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

    def check_pairs(self) -> None:
        """Raise UsageError where pairs cannot be mapped."""
        if self.long_reads:
            raise UsageError("long reads have no pairs (use the preset sr)")

    def limits(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Edits allowed in reads of these lengths, as the native mapper computes them."""
        return edits_within(self.error_rate, lengths)

    def pieces(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bases that each locus of reads of these lengths, within the limit, has in a row without an edit."""
        return np.asarray(lengths // (self.limits(lengths) + 1))

    def chained_as_long(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which reads a preset of short reads maps as long ones, as they are too long to be aligned whole. Of these
        ``full`` does not find every locus.
        """
        too_long = lengths > _native.LONGEST_WHOLE
        return too_long & (not self.long_reads and not self.end_to_end)
