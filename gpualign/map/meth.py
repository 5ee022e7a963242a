"""What `map --meth` changes in a run: options, duplicates, counts of cytosines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gpualign import _native
from gpualign.errors import UsageError
from gpualign.index.minimizers import MinimizerIndex
from gpualign.map.conversions import conversions_of
from gpualign.map.found import Found
from gpualign.map.inputs import METH_TAGS, MapFiles, RecordOptions
from gpualign.map.params import MapParams
from gpualign.map.statistics import MapStatistics
from gpualign.records.methylation import MethylationRules

#: share of the reads whose bases suggest the other conversion that a warning takes
_MANY_OTHERS = 0.2


def check_meth(params: MapParams, files: MapFiles, records: RecordOptions) -> None:
    """
    Raises:
        UsageError: options that only bisulfite reads have, or that they do not have.
    """
    if params.meth is not None and files.alt is not None:
        raise UsageError("bisulfite reads are not mapped with ALT contigs (leave out --alt, or --meth)")
    if params.meth is None and (files.methylation is not None or records.methylation_rules != MethylationRules()):
        raise UsageError("methylation is counted in bisulfite reads (add --meth)")
    if params.meth is None and (tags := set(METH_TAGS) & set(records.tags.extra)):
        raise UsageError(f"{min(tags)} is a tag for bisulfite reads (add --meth)")


def for_meth(params: MapParams, records: RecordOptions) -> RecordOptions:
    """Duplicates of bisulfite reads are of one strand of the original."""
    if params.meth is None or records.duplicates is None:
        return records
    return replace(records, duplicates=replace(records.duplicates, by_strand=True))


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
    """Print a warning if the reads seem to be of another library of bisulfite reads."""
    other = statistics.other_library / max(1, statistics.reads)
    if other >= _MANY_OTHERS:
        way = "add --pbat" if params.meth == "directional" else "leave out --pbat"
        advice = way if other > 1 - _MANY_OTHERS else "--non-directional maps both kinds"
        warn(f"the bases of {100 * other:.0f} % of the reads suggest that they were converted the other way ({advice})")


def with_conversions(
    found: Found, statistics: MapStatistics, index: MinimizerIndex, params: MapParams, rules: MethylationRules
) -> tuple[Found, MapStatistics]:
    """A batch whose unconverted reads have failed, and its statistics with those of its cytosines."""
    alignments, reads = found.alignments, found.sequences()
    other = 0
    if params.meth != "non-directional":
        likely = _native.likely_conversions(reads.bases, reads.base_offsets, reads.mates)
        other = int(np.count_nonzero(likely != conversions_of(params.meth, reads.mates, len(reads))))
    most = -1 if rules.max_unconverted is None else rules.max_unconverted
    flags, by_position, by_contig, failed = _native.count_conversions(
        index.reference.native,
        reads.native,
        alignments.native,
        rules.min_mapq,
        rules.min_quality,
        rules.rrbs,
        most,
    )
    counted = replace(
        statistics,
        conversions_by_position=by_position,
        conversions_by_contig=by_contig,
        unconverted=failed,
        other_library=other,
    )
    return replace(found, alignments=replace(alignments, flag=flags)), counted
