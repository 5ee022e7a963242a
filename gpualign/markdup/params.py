"""What `sort` and `markdup` compute, and the files that they read."""

from __future__ import annotations

from dataclasses import dataclass

from gpualign.fields import parameter
from gpualign.records.duplicates import DuplicateMarking
from gpualign.records.record_sorter import RECORD_ORDERS, RecordOrder
from gpualign.records.sam_header import parse_read_group
from gpualign.records.side_files import SideFiles


@dataclass(frozen=True)
class RecordFiles(SideFiles):
    """The files of a run but for the output.

    Attributes:
        records: SAM, BAM or CRAM file; "-" is standard input.
    """

    records: str
    reference: str | None = parameter(
        None,
        "--reference",
        "FASTA of CRAM files.  [default: as their headers say]",
        under="Output",
        metavar="FILE",
    )


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
