"""What `sort` and `markdup` compute, and the files that they read."""

from __future__ import annotations

from dataclasses import dataclass

from gpualign.errors import UsageError
from gpualign.records.coverage import coverage_paths
from gpualign.records.duplicates import DuplicateMarking
from gpualign.records.record_sorter import RECORD_ORDERS, RecordOrder
from gpualign.records.sam_header import parse_read_group


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
        read_group: the @RG line of all records, in place of theirs; None: they keep theirs.
    """

    duplicates: DuplicateMarking
    mate_tags: bool | None = None
    read_group: str | None = None

    def __post_init__(self) -> None:
        if self.read_group is not None:
            object.__setattr__(self, "read_group", parse_read_group(self.read_group)[0])

    @property
    def own_tags(self) -> str:
        """Those that records may have and lose, two characters each."""
        return self.duplicates.own_tags + ("" if self.read_group is None else "RG")

    @property
    def added(self) -> bytes:
        """A tag that all records get, as BAM."""
        return b"" if self.read_group is None else b"RGZ" + parse_read_group(self.read_group)[1].encode() + b"\0"
