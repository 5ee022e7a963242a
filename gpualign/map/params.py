"""What `map` computes: its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import UsageError, check_range, counted
from gpualign.index.file import check_index_path
from gpualign.index.minimizers import IndexParams
from gpualign.io.alignment import parse_read_group
from gpualign.map.chaining import SHORT_READS, Chaining
from gpualign.map.pairs import PairModel, parse_insert_size
from gpualign.map.presets import PRESETS

#: more places than there are
ALL_PLACES = (1 << 31) - 1
NO_LONG_PAIRS = "long reads have no pairs (use the preset sr)"


@dataclass(frozen=True)
class MapParams:
    """What `map` computes.

    Attributes:
        reference: FASTA, GenBank or EMBL file, or a saved index.
        reads: FASTA, FASTQ, SAM, BAM or CRAM file; "-" is standard input. Or several, as the lanes of a sequencer give
            them: they are read one behind the other.
        mates: the file of the second ends, or as many files as there are of the first ones, or None.
        interleaved: neighbours of one name in ``reads`` are pairs. A BAM file that says so is read this way anyway.
        check_names: the two ends of a pair must have one name (but for /1 and /2).
        insert_size: MEAN[,SD[,MAX[,MIN]]] of the pairs, or None to estimate it from the first ones.
        orientation: "fr", "rf" or "ff".
        unpaired: score that places which are no proper pair must make good.
        error_rate: edits allowed in a read aligned as a whole, as a share of its length, rounded down.
        k, w: minimizer parameters; None: chosen from the reference's size, or the saved index's.
        save_index: path to save the index under, or None.
        match: score of a match; mismatch, gap_open, gap_extend, clip: penalties. A gap of length l costs
            gap_open + l * gap_extend; an end is clipped where that gains at least clip.
        most_hits: seed hits followed per read, rarest seeds first (docs/algorithms.md, "The repeat rule").
        most_candidates: places verified per read, those with most seed hits.
        end_to_end: leave a read unmapped that fits nowhere as a whole; otherwise its parts are aligned by chaining.
        full: find every place within the error limit: follow all hits, of an index dense enough for the reads at hand,
            and look all over the reference for reads that are too short for it.
        secondary: further places reported per read.
        strata: of those with at most that many edits more than the best one; None: all within the limit.
        eqx: write = and X in CIGARs instead of M.
        soft_supplementary: clip supplementary records softly, with the whole sequence, not hard.
        secondary_sequence: write the sequence and qualities of secondary records too.
        long_reads: reads are mapped by chaining and may be clipped; error_rate and most_candidates do not apply, and
            most_hits holds for each stretch of a read.
        chaining: how.
        copy_comments: comments of FASTA and FASTQ records that are SAM tags become tags of the SAM records.
        no_unmapped: leave reads without a place out, pairs where both ends have none.
        unmapped_reads, mapped_reads: paths for the reads themselves, or None; a pair counts as mapped where an end is.
        report_page: path of the report as a page for browsers, or None.
        read_group: an @RG line with ID, or None.
        command_line: for the header's @PG.
    """

    reference: str
    reads: str | tuple[str, ...]
    mates: str | tuple[str, ...] | None = None
    interleaved: bool = False
    check_names: bool = True
    insert_size: str | None = None
    orientation: str = "fr"
    unpaired: int = 17
    error_rate: float = 0.08
    k: int | None = None
    w: int | None = None
    save_index: str | None = None
    match: int = 1
    mismatch: int = 4
    gap_open: int = 6
    gap_extend: int = 1
    clip: int = 5
    most_hits: int = 1000
    most_candidates: int = 64
    end_to_end: bool = False
    full: bool = False
    secondary: int = 0
    strata: int | None = None
    eqx: bool = False
    soft_supplementary: bool = False
    secondary_sequence: bool = False
    long_reads: bool = False
    chaining: Chaining = SHORT_READS
    copy_comments: bool = False
    no_unmapped: bool = False
    unmapped_reads: str | None = None
    mapped_reads: str | None = None
    report_page: str | None = None
    read_group: str | None = None
    command_line: str = "gpualign map"

    @classmethod
    def of_preset(cls, preset: str, **explicit: Any) -> MapParams:
        """The parameters of a preset (map_presets.PRESETS) with those given on top."""
        if preset not in PRESETS:
            raise UsageError(f"unknown preset {preset} (known: {', '.join(PRESETS)})")
        return cls(**{**PRESETS[preset], **explicit})

    def __post_init__(self) -> None:
        if not 0 <= self.error_rate < 1:
            raise UsageError(f"error rate must be at least 0 and below 1, not {self.error_rate} (5 % is 0.05)")
        if self.match < 1:
            raise UsageError(f"match score must be at least 1, not {self.match}")
        for name in ("mismatch", "gap_open", "gap_extend", "clip"):
            if not 0 <= getattr(self, name) <= 100:
                raise UsageError(f"{name.replace('_', ' ')} penalty must be between 0 and 100")
        if self.match > 100 or self.gap_extend < 1:
            raise UsageError("match score must be at most 100 and the gap extension at least 1")
        check_index_path(self.save_index)
        check_range("max hits", self.most_hits, 1)
        check_range("max candidates", self.most_candidates, 1)
        check_range("the number of secondary places (-N)", self.secondary, 0)
        check_range("strata", self.strata or 0, 0)
        if (self.reference, *self.files).count("-") > 1:
            raise UsageError("only one of the reference and the reads can come from standard input")
        if self.mate_files and len(self.mate_files) != len(self.read_files):
            files = f"{counted(len(self.read_files), 'file')} of first ends, {len(self.mate_files)} of second ones"
            raise UsageError(f"each file of first ends wants one of second ends: there are {files}")
        if self.mates is not None and self.interleaved:
            raise UsageError("interleaved pairs come from one file, not two")
        PairModel(orientation=self.orientation, unpaired=self.unpaired)
        if self.insert_size is not None:
            parse_insert_size(self.insert_size, self.orientation, self.unpaired)
        if self.long_reads and (self.mates is not None or self.interleaved):
            raise UsageError(NO_LONG_PAIRS)
        if self.long_reads and (self.full or self.end_to_end or self.strata is not None):
            raise UsageError("long reads are aligned in parts, not by edit distance: use the preset sr for that option")
        if self.k is not None or self.w is not None:
            IndexParams(1 if self.k is None else self.k, 1 if self.w is None else self.w)
        if self.read_group is not None:
            parse_read_group(self.read_group)

    def pieces(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bases that each place of reads of these lengths, within the limit, has in a row without an edit."""
        limits = np.floor(self.error_rate * lengths + 1e-9).astype(np.int64)
        return np.asarray(lengths // (limits + 1))

    def promised(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether ``full`` finds every place of reads of these lengths: not of those that are chained."""
        return ~self.chained_as_long(lengths)

    def chained_as_long(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which reads a preset of short reads maps as long ones, as they are too long to be aligned whole."""
        too_long: NDArray[np.bool_] = lengths > int(_native.LONGEST_WHOLE)
        return too_long & (not self.long_reads and not self.end_to_end)

    @property
    def read_files(self) -> tuple[str, ...]:
        """Paths of the reads, or of the first ends."""
        return (self.reads,) if isinstance(self.reads, str) else self.reads

    @property
    def mate_files(self) -> tuple[str, ...]:
        """Paths of the second ends, lane by lane."""
        return (self.mates,) if isinstance(self.mates, str) else self.mates or ()

    @property
    def files(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.read_files, *self.mate_files)

    @property
    def written(self) -> tuple[str | None, ...]:
        """Paths of what is written beside the output."""
        return (self.save_index, self.unmapped_reads, self.mapped_reads, self.report_page)

    @property
    def scores(self) -> tuple[int, int, int, int, int]:
        return (self.match, self.mismatch, self.gap_open, self.gap_extend, self.clip)
