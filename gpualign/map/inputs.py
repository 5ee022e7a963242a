"""What `map` is given: files, options of the records, and both as a sample, which opens its reads."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import product
from typing import Any, Literal

from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range, counted
from gpualign.fields import check_choices, parameter
from gpualign.map.params import MapParams
from gpualign.params import RunOptions
from gpualign.reads.lanes import Lanes
from gpualign.records.alignment_output import AlignmentLayout
from gpualign.records.duplicates import DuplicateMarking
from gpualign.records.methylation import MethylationRules, methylation_paths
from gpualign.records.sam_header import parse_read_group
from gpualign.records.side_files import SideFiles
from gpualign.seeds.index.file import check_index_path, is_index
from gpualign.seeds.index.minimizers import AltPart
from gpualign.text.paths import are_same

#: outputs of which `--samples` takes the endings of each sample's files, with examples
ENDINGS = {
    "methylation": ".bedgraph or .cov",
    "coverage": ".bedgraph",
    "duplicate_metrics": ".metrics.txt",
    "junctions_out": ".SJ.out.tab",
    "counts": ".ReadsPerGene.out.tab",
}

_reads, _index, _output = (partial(parameter, under=heading) for heading in ("Reads", "Index", "Output"))
_which, _records = partial(parameter, under="Which alignments"), partial(parameter, under="Records and tags")
_methylation, _introns = partial(parameter, under="Methylation"), partial(parameter, under="Introns")


@dataclass(frozen=True)
class MapFiles(SideFiles):
    """The files of a run except the output.

    Attributes:
        reference: FASTA, GenBank or EMBL file, or a saved index.
        reads: FASTA, FASTQ, SAM, BAM or CRAM files, such as a sequencer's lanes, which are read one after the other;
            "-" is standard input.
        mates: R2, as many files as R1; none: no pairs in two files.
        interleaved: always so for BAM whose first read is paired.
        check_names: mates must have one name (but for /1 and /2), and an interleaved file must have pairs.
        alt: bwa's .alt file; "": ALT contigs by their names; None: all contigs are primary.
        keep_index: save the index next to the reference, and use it next time.
    """

    reference: str
    reads: tuple[str, ...]
    mates: tuple[str, ...] = ()
    interleaved: bool = _reads(
        False, "-p --interleaved", "Neighbouring reads of the same name are pairs, others single."
    )
    check_names: bool = _reads(True, "--no-check-names", "Do not compare the names of mates.")
    save_index: str | None = _index(
        None, "-d --save-index", "Save the index, to be used as REF next time.", metavar="FILE.gpi"
    )
    preload: bool = _index(
        False, "--preload", "Share a saved index with other processes that use --preload, and lock it in memory."
    )
    alt: str | None = _index(
        None,
        "--alt",
        "ALT contigs: bwa's .alt file, or 'names' for those called *_alt and HLA*. Reads are mapped and paired on the "
        "others; better hits on ALT contigs are supplementary.",
        metavar="FILE",
    )
    keep_index: bool = False
    junctions: str | None = _introns(
        None,
        "--junctions",
        "Prefer the introns of these genes (GTF, GFF3, BED12) or of STAR's SJ.out.tab.",
        metavar="FILE",
    )
    two_pass: bool = _introns(
        False, "--two-pass", "Map all reads twice: the second time the introns that the first one found are known."
    )
    junctions_out: str | None = _introns(
        None,
        "--junctions-out",
        "Write the introns of the reads as STAR's SJ.out.tab. With --samples: what follows each sample's name.",
        metavar="FILE",
    )
    counts: str | None = _introns(
        None,
        "--counts",
        "With genes in --junctions: count the reads of each gene, as STAR's ReadsPerGene.out.tab. With --samples: what "
        "follows each sample's name.",
        metavar="FILE",
    )
    unmapped_reads: str | None = _output(
        None,
        "--un",
        "Write unmapped reads, and pairs with no mapped mate, to this FASTQ file (.gz: compressed).",
        metavar="FILE",
    )
    mapped_reads: str | None = _output(
        None, "--al", "Write mapped reads to this FASTQ file, and pairs with at least one mapped mate.", metavar="FILE"
    )
    report_page: str | None = _output(
        None, "--report", "Write the run report as an HTML page with plots.", metavar="FILE.html"
    )
    methylation: str | None = _methylation(
        None,
        "--methylation",
        "With --meth and --sort: count methylated and converted bases of each CpG, as MethylDackel's bedGraph "
        "(FILE.bedgraph or .bg) or Bismark's coverage (FILE.cov), also with .gz. Any other name is a prefix: "
        "FILE_CpG.bedGraph, FILE_CHG.bedGraph and FILE_CHH.bedGraph. With --samples: what follows each sample's name.",
        metavar="FILE",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_index_path(self.save_index)
        if (self.reference, *self.files).count("-") > 1:
            raise UsageError("standard input (-) is given more than once")
        if self.mates and len(self.mates) != len(self.reads):
            files = f"{counted(len(self.reads), 'file')} of R1, {len(self.mates)} of R2"
            raise UsageError(f"each file of R1 needs one of R2: there are {files}")
        if self.methylation == "-":
            raise UsageError("methylation goes to files: give a name that ends in .bedgraph or .cov, or a prefix")
        pairs = product(filter(None, self.reads), filter(None, self.mates))
        if twice := next((both for both in pairs if are_same(*both)), None):
            named = twice[0] if twice[0] == twice[1] else f"{twice[0]}, which is {twice[1]},"
            raise UsageError(f"{named} is given as R1 and as R2 (-p takes pairs from one interleaved file)")
        if self.mates and self.interleaved:
            raise UsageError("interleaved pairs come from one file, not two")

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of all reads."""
        return (*self.reads, *self.mates)

    @property
    def written(self) -> tuple[str | None, ...]:
        """Paths of outputs other than the main one."""
        reads = self.unmapped_reads, self.mapped_reads
        methylation = () if self.methylation is None else methylation_paths(self.methylation)
        introns = self.junctions_out, self.counts
        return (self.save_index, *reads, self.report_page, *introns, *super().written, *methylation)

    @property
    def write_reads(self) -> bool:
        """Whether reads are written as FASTQ."""
        return bool(self.unmapped_reads or self.mapped_reads)


#: forms of cs, in the order of native code
_CS_FORMS = (None, "short", "long")
#: optional tags
EXTRA_TAGS = ("XS", "HN", "ms", "XM", "XR", "XG")
#: those of bisulfite reads, in the order of native code's bits; YD and YC are the first bit
METH_TAGS = ("XM", "XR", "XG")
#: secondary alignments to find for XS and HN
_COMPETING = 6


@dataclass(frozen=True)
class TagOptions:
    """Optional tags of the records, most of them bwa's.

    Attributes:
        xa_alt: the limit if one of them is on an ALT contig.
        secondary_records: write secondary alignments as records if there is no XA.
        xa_share: their minimum score for XA, as a share of the primary score.
        scored: write XB, with score and quality, instead of XA.
        extra: some of :data:`EXTRA_TAGS`: best score of a secondary alignment; number of competing alignments with the
            primary one; sum of the mate's base qualities of at least 15; Bismark's tags of bisulfite reads.
    """

    xa: int = _which(
        0,
        "--xa",
        "Write secondary alignments with at least 80 % of the best score to XA of the primary record, not as records, "
        "if there are at most INT.",
        limits=(0, None),
        show_default=False,
    )
    xa_alt: int = 200
    secondary_records: bool = True
    xa_share: float = 0.8
    scored: bool = False
    cs: Literal["short", "long"] | None = _records(None, "--cs", "Write the cs tag, as minimap2 does.")
    extra: tuple[str, ...] = _records(
        (),
        "--tags",
        "Write some of XS (best score of a secondary alignment), HN (alignments that compete) and ms (sum of the "
        "mate's base qualities), with --meth also Bismark's XM, XR and XG, separated by commas.",
        metavar="LIST",
        show_default=False,
    )

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_range("the number of alignments in XA", self.xa, 0)
        if not 0 < self.xa_share <= 1:
            raise UsageError(f"the share of the best score for XA must be above 0 and at most 1, not {self.xa_share}")
        if unknown := set(self.extra) - set(EXTRA_TAGS):
            raise UsageError(f"unknown tag {min(unknown)} (known: {', '.join(EXTRA_TAGS)})")
        check_choices(self)

    @property
    def needed(self) -> int:
        """Secondary alignments to find for the tags; for XA one more than its limit, to see if there are too many."""
        if self.xa:
            return self.xa + 1
        return _COMPETING if {"XS", "HN"} & set(self.extra) else 0

    @property
    def native(self) -> dict[str, Any]:
        """The options for native functions."""
        return {
            "secondary_records": self.secondary_records and self.xa == 0,
            "max_other_hits": self.xa,
            "max_other_alt_hits": max(self.xa, self.xa_alt),
            "other_hits_share": self.xa_share,
            "other_hits_scored": self.scored,
            "suboptimal_score": "XS" in self.extra,
            "hits": "HN" in self.extra,
            "mate_qualities": "ms" in self.extra,
            "bisulfite": sum(2 << bit for bit, tag in enumerate(METH_TAGS) if tag in self.extra),
            "cs": _CS_FORMS.index(self.cs),
        }


@dataclass(frozen=True)
class RecordOptions:
    """Options of the records.

    Attributes:
        min_score: omit alignments with a lower score; reads without others are unmapped.
        five_prime: the first alignment of a split read, by position in the read, is primary.
        split_as_secondary: flag supplementary alignments as secondary, for programs older than SAM 1.4.
        tags: optional tags.
        header_lines: further lines of the header; @HD replaces ours.
        read_group: an @RG line with ID, or None.
        lane_groups: an @RG line for each lane, in place of ``read_group``.
        duplicates: parameters of marking; None: do not mark.
        methylation_rules: which bases of bisulfite reads count.
        command_line: for the header's @PG.
    """

    copy_comments: bool = _reads(False, "-C --copy-comments", "Copy fields of comments that are SAM tags (XX:T:value).")
    no_unmapped: bool = _which(
        False, "-U --no-unal --sam-hit-only", "Leave out unmapped reads, and pairs if neither mate is mapped."
    )
    eqx: bool = _records(False, "--eqx", "Write = and X in CIGARs instead of M.")
    soft_supplementary: bool = _records(
        False, "-Y --soft-supplementary", "Soft-clip supplementary records: they keep the whole sequence."
    )
    secondary_sequence: bool = _records(
        False, "--secondary-seq", "Write the sequence and qualities of secondary records, too."
    )
    min_score: int = 0
    five_prime: bool = False
    split_as_secondary: bool = False
    tags: TagOptions = field(default_factory=TagOptions)
    header_lines: tuple[str, ...] = ()
    read_group: str | None = None
    lane_groups: tuple[str, ...] = ()
    duplicates: DuplicateMarking | None = None
    methylation_rules: MethylationRules = field(default_factory=MethylationRules)
    command_line: str = "gpualign map"

    def __post_init__(self) -> None:
        for line in self.groups:
            parse_read_group(line)

    def native(self, group: str, alt: AltPart | None = None) -> dict[str, Any]:
        """The options for native functions; ``group``: ID of the read group, "" for none."""
        return {
            "alt_contigs": b"" if alt is None else alt.chosen.tobytes(),
            "eqx": self.eqx,
            "soft_supplementary": self.soft_supplementary,
            "secondary_sequence": self.secondary_sequence,
            "split_as_secondary": self.split_as_secondary,
            "read_group": group,
            **self.tags.native,
        }

    @property
    def groups(self) -> tuple[str, ...]:
        """The given @RG lines."""
        return self.lane_groups or (() if self.read_group is None else (self.read_group,))

    @property
    def header_groups(self) -> list[str]:
        """IDs of the @RG lines among ``header_lines``."""
        fields = [line.split("\t") for line in self.header_lines if line.startswith("@RG\t")]
        return [field[3:] for line in fields for field in line if field.startswith("ID:")]


@dataclass(frozen=True)
class Sample:
    """What is asked for a sample: reads, parameters and output.

    Attributes:
        layout: with its format decided (:meth:`AlignmentLayout.of`).
        options: its output, threads and batch size are used.
    """

    files: MapFiles
    params: MapParams
    records: RecordOptions
    layout: AlignmentLayout
    options: RunOptions

    def __post_init__(self) -> None:
        if self.layout.hold != (self.records.duplicates is not None):
            raise ValueError("records are held where duplicates are marked")
        if self.files.coverage is not None and not self.layout.sort:
            raise UsageError("coverage needs records in the order of coordinates (add --sort)")
        if self.files.methylation is not None and not self.layout.sort:
            raise UsageError("methylation needs records in the order of coordinates (add --sort)")
        if (self.options.output or "-", self.options.json, *self.files.written).count("-") > 1:
            raise UsageError("two outputs go to standard output (give each a file of its own)")
        self._check_meth()
        files = self.files
        if self.params.splicing is None and (files.junctions or files.junctions_out or files.counts or files.two_pass):
            raise UsageError("only spliced reads have introns (add -x rna or -x splice)")
        if files.counts is not None and files.junctions is None:
            raise UsageError("reads are counted for the genes of an annotation (add --junctions FILE.gtf)")
        if files.two_pass and "-" in files.files:
            raise UsageError("standard input cannot be read twice (leave out --two-pass, or give a file)")

    def _check_meth(self) -> None:
        """Refuse options that only bisulfite reads have, or that they do not have."""
        meth, files, records = self.params.meth is not None, self.files, self.records
        if meth and files.alt is not None:
            raise UsageError("bisulfite reads are not mapped with ALT contigs (leave out --alt, or --meth)")
        if not meth and (files.methylation is not None or records.methylation_rules != MethylationRules()):
            raise UsageError("methylation is counted in bisulfite reads (add --meth)")
        if not meth and (tags := set(METH_TAGS) & set(records.tags.extra)):
            raise UsageError(f"{min(tags)} is a tag for bisulfite reads (add --meth)")

    @property
    def marking(self) -> DuplicateMarking | None:
        """Parameters of marking duplicates: those of bisulfite reads are of one strand of the original."""
        marking = self.records.duplicates
        return marking if marking is None or self.params.meth is None else replace(marking, by_strand=True)

    @property
    def name(self) -> str:
        """The read group's sample, or the name of the reads' file without folder and extensions."""
        for line in self.records.groups:
            for entry in parse_read_group(line)[0].split("\t"):
                if entry.startswith("SM:"):
                    return entry[3:]
        first = self.files.reads[0]
        return "stdin" if first == "-" else os.path.basename(first).split(".")[0]

    def open_reads(self, stack: ExitStack) -> Lanes:
        """The reads, open as long as ``stack``."""
        files, records = self.files, self.records
        lanes = Lanes(
            files.reads,
            files.mates,
            stack,
            interleaved=files.interleaved,
            check_names=files.check_names,
            threads=self.options.threads,
            groups=[parse_read_group(line)[1] for line in records.lane_groups],
            reference_path=_cram_reference(files.reference),
            keep_read_groups=not records.groups,
            comments=records.copy_comments or files.write_reads,
        )
        by_barcode = records.duplicates is not None and records.duplicates.barcode_tags
        if by_barcode and lanes.header is None and not records.copy_comments:
            raise UsageError(
                "reads of FASTA and FASTQ files have no tags for --barcode-tag (-C copies them from comments)"
            )
        if lanes.paired:
            self.params.check_pairs()
        return lanes


@lru_cache(1)  # one reference for all samples
def _cram_reference(reference: str) -> str | None:
    """The reference if it is a file that htslib can use to decode CRAM."""
    return None if not os.path.isfile(reference) or is_index(reference) else reference
