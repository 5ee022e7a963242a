"""`map --meth`: how reads were converted, libraries of both conversions, counts of cytosines, and warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map.alignments import Alignments, Found
from gpualign.map.inputs import RecordOptions
from gpualign.map.params import MapParams
from gpualign.map.statistics import MapStatistics
from gpualign.records.methylation import MethylationRules
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.sequences.batch import SequenceBatch

#: of each read; None: no bisulfite reads
Conversions = NDArray[np.uint8] | None
#: which reads are mapped: all; or, by the conversion that is less likely, those that align end to end by the other,
#: whose clipped alignments are not searched for, and the others
Which = Literal["all", "end to end", "others"]
#: as native code numbers them: R2; the conversion from C to T, which the one from G to A follows
_SECOND_MATE, _C_TO_T = 2, np.uint8(1)


def conversions_of(library: str | None, mates: NDArray[np.uint8] | None, reads: int) -> Conversions:
    """uint8 (reads,): ``Conversion`` of cuda/algo/common/bisulfite.hpp of each read; None: no bisulfite reads.

    Args:
        library: "directional", "pbat" or None.
        mates: ``SequenceBatch.mates`` of the reads.
    """
    if library is None:
        return None
    second = np.zeros(reads, np.uint8) if mates is None else (mates == _SECOND_MATE).astype(np.uint8)
    return np.asarray(_C_TO_T + (second if library == "directional" else 1 - second), np.uint8)


def map_by_conversion(
    params: MapParams,
    batch: SequenceBatch,
    paired: bool,
    map_as: Callable[[SequenceBatch, Conversions, Which], Alignments],
) -> Alignments:
    """Map reads as those of their library; of a non-directional one as both kinds, and take the better alignments.

    Each template is first mapped as the kind that its bases suggest. If it aligns end to end, its alignments as the
    other kind are searched for end to end only: most reads have none, and to look for clipped ones takes several times
    as long.

    Args:
        paired: mates are mapped together.
        map_as: maps reads, given their conversions.
    """
    if params.meth != "non-directional":
        return map_as(batch, conversions_of(params.meth, batch.mates, len(batch)), "all")
    likely: NDArray[np.uint8] = _native.likely_conversions(batch.bases, batch.base_offsets, batch.mates)
    first = map_as(batch, likely, "all").native
    aligned: NDArray[np.uint8] = _native.mapped_end_to_end(first, batch.base_offsets, batch.mates, paired)

    def as_other(chosen: NDArray[np.uint8], which: Which) -> Alignments:
        which_reads = np.flatnonzero(chosen)
        some, conversions = batch.take(which_reads), 2 * _C_TO_T + 1 - likely[which_reads]
        return map_as(some, conversions, which) if len(some) else Alignments.none()

    end_to_end, others = as_other(aligned, "end to end").native, as_other(1 - aligned, "others").native
    edit_cost = params.scoring.match + params.scoring.mismatch
    return Alignments(*_native.better_templates(first, end_to_end, others, aligned, likely, batch.mates, edit_cost))


def params_as(params: MapParams, which: Which) -> MapParams:
    """Those by which these reads are mapped."""
    return replace(params, end_to_end=True) if which == "end to end" else params


#: share of the reads whose bases suggest the other conversion that a warning takes
_MANY_OTHERS = 0.2
#: share of the cytosines outside CpG, of at least so many, that are converted in any bisulfite reads: most are not
#: methylated, in plants either
_FEW_CONVERTED, _MANY_CYTOSINES = 0.5, 1000
#: in reads of a non-directional library, the share of C and G that are, in each read, the rarer of both: a third if
#: half of the cytosines are converted
_MANY_RARER = 1 / 3


def warn_of_meth(params: MapParams, records: RecordOptions, warn: Callable[[str], None]) -> None:
    """Print warnings about options that bisulfite reads do not go well with."""
    marking = records.duplicates
    if params.meth is None or marking is None or not records.methylation_rules.rrbs:
        return
    if not (marking.barcode_tags or marking.barcode_in_name):
        warn(
            "different fragments of an RRBS library begin and end at the same sites, and are marked as duplicates "
            "(leave out --mark-duplicates)"
        )


def warn_of_library(params: MapParams, statistics: MapStatistics, warn: Callable[[str], None]) -> None:
    """Print a warning if the reads seem to be of another library of bisulfite reads, or not to be converted."""
    methylated, converted = statistics.cytosines_outside_cpg
    cytosines = methylated + converted
    if cytosines >= _MANY_CYTOSINES and converted < _FEW_CONVERTED * cytosines:
        return warn(  # whose bases suggest either way
            f"the reads do not look converted: {100 * converted / cytosines:.0f} % of their cytosines outside CpG are "
            "(reads that are no bisulfite reads are mapped without --meth)"
        )
    c_and_g, rarer = statistics.c_and_g, statistics.rarer_of_c_and_g
    if c_and_g >= _MANY_CYTOSINES and rarer > _MANY_RARER * c_and_g:
        return warn(  # unconverted reads fit both kinds equally well, with a mapping quality that counts no cytosine
            f"the reads do not look converted: they have C and G, {100 * rarer / c_and_g:.0f} % of them the rarer one "
            "of their read (reads that are no bisulfite reads are mapped without --meth)"
        )
    other = statistics.other_library / max(1, statistics.reads)
    if other >= _MANY_OTHERS:
        way = "add --pbat" if params.meth == "directional" else "leave out --pbat"
        advice = way if other > 1 - _MANY_OTHERS else "--non-directional maps both kinds"
        warn(f"the bases of {100 * other:.0f} % of the reads suggest that they were converted the other way ({advice})")


def _c_and_g(reads: SequenceBatch) -> tuple[int, int]:
    """C and G of the reads, and how many of them are the rarer of both in their read."""
    lower = reads.bases | np.uint8(0x20)
    c, g = (np.diff(np.concatenate(([0], np.cumsum(lower == ord(base))))[reads.base_offsets]) for base in "cg")
    return int(c.sum() + g.sum()), int(np.minimum(c, g).sum())


def with_conversions(
    found: Found, statistics: MapStatistics, index: MinimizerIndex, params: MapParams, rules: MethylationRules
) -> tuple[Found, MapStatistics]:
    """A batch whose unconverted reads have failed, and its statistics with those of its cytosines."""
    alignments, reads = found.alignments, found.sequences()
    other = c_and_g = rarer = 0
    if params.meth == "non-directional":
        c_and_g, rarer = _c_and_g(reads)
    else:
        likely = _native.likely_conversions(reads.bases, reads.base_offsets, reads.mates)
        other = int(np.count_nonzero(likely != conversions_of(params.meth, reads.mates, len(reads))))
    max_unconverted = -1 if rules.max_unconverted is None else rules.max_unconverted
    flags, by_position, by_contig, failed = _native.count_conversions(
        index.reference.native,
        reads.native,
        alignments.native,
        rules.min_mapq,
        rules.min_quality,
        rules.rrbs,
        max_unconverted,
    )
    counted = replace(
        statistics,
        conversions_by_position=by_position,
        conversions_by_contig=by_contig,
        unconverted=failed,
        other_library=other,
        c_and_g=c_and_g,
        rarer_of_c_and_g=rarer,
    )
    return replace(found, alignments=replace(alignments, flag=flags)), counted
