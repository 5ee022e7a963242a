"""What `map` reads and writes, and what its records hold on top of the alignments."""

from __future__ import annotations

from dataclasses import dataclass

from gpualign.errors import UsageError, counted
from gpualign.index.file import check_index_path
from gpualign.io.alignment import parse_read_group


@dataclass(frozen=True)
class MapFiles:
    """The files of a run but for the output.

    Attributes:
        reference: FASTA, GenBank or EMBL file, or a saved index.
        reads: FASTA, FASTQ, SAM, BAM or CRAM file; "-" is standard input. Or several, as the lanes of a sequencer give
            them: they are read one after the other.
        mates: the file of R2, or as many files as there are of R1, or None.
        interleaved: neighbours of one name in ``reads`` are pairs. A BAM file that says so is read this way anyway.
        check_names: the mates of a pair must have one name (but for /1 and /2).
        save_index: path to save the index under, or None.
        unmapped_reads, mapped_reads: paths for the reads themselves, or None; a pair counts as mapped where a mate is.
        report_page: path of the report as a page for browsers, or None.
    """

    reference: str
    reads: str | tuple[str, ...]
    mates: str | tuple[str, ...] | None = None
    interleaved: bool = False
    check_names: bool = True
    save_index: str | None = None
    unmapped_reads: str | None = None
    mapped_reads: str | None = None
    report_page: str | None = None

    def __post_init__(self) -> None:
        check_index_path(self.save_index)
        if (self.reference, *self.files).count("-") > 1:
            raise UsageError("only one of the reference and the reads can come from standard input")
        if self.mate_files and len(self.mate_files) != len(self.read_files):
            files = f"{counted(len(self.read_files), 'file')} of R1, {len(self.mate_files)} of R2"
            raise UsageError(f"each file of R1 needs one of R2: there are {files}")
        if self.mates is not None and self.interleaved:
            raise UsageError("interleaved pairs come from one file, not two")

    @property
    def read_files(self) -> tuple[str, ...]:
        """Paths of the reads, or of R1."""
        return (self.reads,) if isinstance(self.reads, str) else self.reads

    @property
    def mate_files(self) -> tuple[str, ...]:
        """Paths of R2, lane by lane."""
        return (self.mates,) if isinstance(self.mates, str) else self.mates or ()

    @property
    def files(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.read_files, *self.mate_files)

    @property
    def written(self) -> tuple[str | None, ...]:
        """Paths of what is written next to the output."""
        return (self.save_index, self.unmapped_reads, self.mapped_reads, self.report_page)

    @property
    def write_reads(self) -> bool:
        """Whether reads are written as FASTQ."""
        return bool(self.unmapped_reads or self.mapped_reads)


@dataclass(frozen=True)
class RecordOptions:
    """What the records hold.

    Attributes:
        eqx: write = and X in CIGARs instead of M.
        soft_supplementary: clip supplementary records softly, with the whole sequence, not hard.
        secondary_sequence: write the sequence and qualities of secondary records too.
        copy_comments: comments of FASTA and FASTQ records that are SAM tags become tags of the SAM records.
        no_unmapped: leave unmapped reads out, pairs where both mates are.
        read_group: an @RG line with ID, or None.
        command_line: for the header's @PG.
    """

    eqx: bool = False
    soft_supplementary: bool = False
    secondary_sequence: bool = False
    copy_comments: bool = False
    no_unmapped: bool = False
    read_group: str | None = None
    command_line: str = "gpualign map"

    def __post_init__(self) -> None:
        if self.read_group is not None:
            parse_read_group(self.read_group)
