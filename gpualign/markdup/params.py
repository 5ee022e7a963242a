"""What `sort` and `markdup` compute, and the files that they read."""

from __future__ import annotations

from dataclasses import dataclass

from gpualign.errors import UsageError
from gpualign.io.record_sorter import RECORD_ORDERS, RecordOrder
from gpualign.records.coverage import coverage_paths
from gpualign.records.duplicates import DuplicateMarking


@dataclass(frozen=True)
class RecordFiles:
    """The files of a run but for the output.

    Attributes:
        records: SAM, BAM or CRAM file; "-" is standard input.
        reference: FASTA of CRAM; None: htslib finds it.
        duplicate_metrics, coverage: as for `map`; None: not written.
    """

    records: str
    reference: str | None = None
    duplicate_metrics: str | None = None
    coverage: str | None = None

    def __post_init__(self) -> None:
        if self.coverage == "-":
            raise UsageError("coverage goes to files: give a name that ends in .bedgraph, or mosdepth's prefix")

    @property
    def written(self) -> tuple[str | None, ...]:
        """Paths of what is written next to the output."""
        return (self.duplicate_metrics, *(() if self.coverage is None else coverage_paths(self.coverage)))


#: orders by name, as the command line has them
NAME_ORDERS: tuple[RecordOrder, ...] = RECORD_ORDERS[3:]


@dataclass(frozen=True)
class Marking:
    """What `markdup` does.

    Attributes:
        duplicates: how they are found and marked.
        mate_tags: MC, MQ and ms are added where they are missing; None: if the input is not sorted by coordinate, where
            mates are far from each other.
    """

    duplicates: DuplicateMarking
    mate_tags: bool | None = None
