"""Records of mapped reads as objects of pysam."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gpualign.index.minimizers import MinimizerIndex
from gpualign.io.alignment import sam_header
from gpualign.io.alignment_output import AlignmentLayout
from gpualign.map.found import Found
from gpualign.map.inputs import MapFiles, RecordOptions
from gpualign.map.output import RecordFormatter
from gpualign.map.params import MapParams
from gpualign.sequences.reference import Reference

if TYPE_CHECKING:
    import pysam


def header_of(reference: Reference) -> pysam.AlignmentHeader:
    """The header that ``gpualign map`` writes."""
    import pysam

    return pysam.AlignmentHeader.from_text(sam_header(reference, "gpualign.Mapper").decode())


def segments_of(index: MinimizerIndex, params: MapParams) -> Callable[[Found], Iterator[pysam.AlignedSegment]]:
    """A function from mapped reads to pysam objects."""
    import pysam

    layout = AlignmentLayout("sam")
    formatter = RecordFormatter(index, params, None, MapFiles("", ""), RecordOptions(), layout, tagged=True)
    header = header_of(index.reference)

    def segments(found: Found) -> Iterator[pysam.AlignedSegment]:
        written = formatter.records(formatter.to_write(found))
        for line in bytes(written.records).decode("latin-1").split("\n")[:-1]:
            yield pysam.AlignedSegment.fromstring(line, header)

    return segments
