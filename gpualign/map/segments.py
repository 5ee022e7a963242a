"""Records of mapped reads as objects of pysam."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gpualign.index.minimizers import MinimizerIndex
from gpualign.io.alignment import sam_header
from gpualign.io.alignment_output import AlignmentLayout
from gpualign.map.inputs import MapFiles, RecordOptions
from gpualign.map.output import RecordFormatter
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference

if TYPE_CHECKING:
    import pysam


def header_of(reference: Reference) -> pysam.AlignmentHeader:
    """The header that ``gpualign map`` writes."""
    import pysam

    return pysam.AlignmentHeader.from_text(sam_header(reference, "gpualign.Mapper").decode())


def segments_of(
    index: MinimizerIndex, params: MapParams, pairs: PairModel | None
) -> Callable[[SequenceBatch, Alignments], Iterator[pysam.AlignedSegment]]:
    """From a batch and its records to objects."""
    import pysam

    layout = AlignmentLayout("sam")
    formatter = RecordFormatter(index, params, pairs, MapFiles("", ""), RecordOptions(), layout, tagged=True)
    header = header_of(index.reference)

    def segments(batch: SequenceBatch, alignments: Alignments) -> Iterator[pysam.AlignedSegment]:
        text, _ = formatter(batch, alignments)
        for line in bytes(text.records).decode("latin-1").split("\n")[:-1]:
            yield pysam.AlignedSegment.fromstring(line, header)

    return segments
