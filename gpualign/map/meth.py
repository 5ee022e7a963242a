"""What `map --meth` changes in a run: options, duplicates, counts of cytosines."""

from __future__ import annotations

from dataclasses import replace

from gpualign import _native
from gpualign.errors import UsageError
from gpualign.index.minimizers import MinimizerIndex
from gpualign.map.found import Found
from gpualign.map.inputs import METH_TAGS, MapFiles, RecordOptions
from gpualign.map.params import MapParams
from gpualign.map.statistics import MapStatistics
from gpualign.records.methylation import MethylationRules


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


def with_conversions(
    found: Found, statistics: MapStatistics, index: MinimizerIndex, rules: MethylationRules
) -> tuple[Found, MapStatistics]:
    """A batch whose unconverted reads have failed, and its statistics with those of its cytosines."""
    alignments = found.alignments
    most = -1 if rules.max_unconverted is None else rules.max_unconverted
    flags, by_position, by_contig, failed = _native.count_conversions(
        index.reference.native,
        found.sequences().native,
        alignments.native,
        rules.min_mapq,
        rules.min_quality,
        rules.rrbs,
        most,
    )
    counted = replace(
        statistics, conversions_by_position=by_position, conversions_by_contig=by_contig, unconverted=failed
    )
    return replace(found, alignments=replace(alignments, flag=flags)), counted
