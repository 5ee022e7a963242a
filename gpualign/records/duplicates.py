"""Duplicates of a run: what is asked for, how they are found, and their counts as Picard reports them.

The rules are Picard's (MarkDuplicates on reads grouped by name); docs/commands/markdup.md lists them and what
samtools does otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.checks import set_whole_numbers, several
from gpualign.errors import UsageError, check_range
from gpualign.fields import parameter
from gpualign.records.header_text import bytes_of, header_fields, in_utf8
from gpualign.records.record_sorter import Marks, TemplateNumbers
from gpualign.records.sam_header import in_ascii
from gpualign.streaming.timeline import STEPS

#: Picard's name of the library of reads whose read group has none
UNKNOWN_LIBRARY = "Unknown Library"
#: limit for which a sum of two coordinates fits the native code's integers
_MAX_DISTANCE = 1 << 20
_MAX_UMI_DISTANCE = 5
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9]")
#: largest multiple of the sequencing in Picard's histogram
_MAX_MULTIPLE = 100
_BISECTIONS = 40

#: uint64 ends of templates, uint32 begins of their parts, uint64 UMIs, int64 counts of libraries, templates: see
#: _native.duplicate_ends
BatchEnds = tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.int64], int]

_duplicates, _umis = partial(parameter, under="Duplicates"), partial(parameter, under="UMIs")


@dataclass(frozen=True)
class DuplicateMarking:
    """Parameters of duplicate marking.

    Attributes:
        duplex: strands of UMIs without two parts are not joined.
        tag_kind: write of what kind a duplicate is as the tag DT.
        keep_first: of equal templates keep the first, not the one of the best qualities.
    """

    remove: bool = _duplicates(False, "--remove-duplicates", "Leave duplicates out.")
    optical_distance: int = _duplicates(
        100,
        "--optical-distance",
        "Maximum distance of optical duplicates, in pixels; 2500 for patterned flow cells, 0: none.",
    )
    by_read_group: bool = _duplicates(
        False, "--use-read-groups", "Find duplicates within a read group (RG), not within a library."
    )
    by_strand: bool = _duplicates(
        False,
        "--by-strand",
        "Bisulfite reads: find duplicates within each original strand, which the tag YD names (from bwa-meth or map "
        "--meth). Always on with map --meth.",
    )
    count: bool = _duplicates(
        False, "--duplicate-count", "Write dc: the number of templates in the duplicate set of a kept one."
    )
    barcode_tags: tuple[str, ...] = _umis(
        (),
        "--barcode-tag",
        "Only reads with the same text in this tag, such as RX, are duplicates.",
        metavar="TAG[,TAG]",
        show_default=False,
    )
    barcode_in_name: bool = _umis(
        False,
        "--barcode-name",
        "Only reads with the same UMI at the end of their names are duplicates: the eighth field, or the text after "
        "the last ':', '_' or '#'.",
    )
    umi_distance: int | Literal["auto"] = _umis(
        0,
        "--umi-distance",
        "Allow for errors in UMIs. INT: a UMI seen n times is an error of another UMI that differs in at most INT "
        "bases and is seen at least 2 n - 1 times (UMI-tools' directional method). auto: as 1, and two or three bases "
        "where an error is likelier than chance. If there are several tags, the last is the UMI.",
        metavar="INT|auto",
    )
    duplex: bool = _umis(
        False, "--duplex", "UMIs have two parts (AAAA+CCCC), in the other order on the second strand of a molecule."
    )
    group: bool = _umis(
        False,
        "--group",
        "Write the number of each template's molecule as MI; with --duplex it ends in /A or /B for the strand.",
    )
    tag_kind: bool = True
    keep_first: bool = False

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        if not 0 <= self.optical_distance < _MAX_DISTANCE:
            raise UsageError(f"optical distance must be from 0 to {_MAX_DISTANCE - 1:,}, not {self.optical_distance}")
        object.__setattr__(self, "barcode_tags", several("barcode_tags", self.barcode_tags))
        for tag in self.barcode_tags:
            if not _TAG.fullmatch(tag):
                raise UsageError(f"a tag is a letter and a letter or digit, such as RX, not {tag!r}")
        if self.barcode_tags and self.barcode_in_name:
            raise UsageError("barcodes are in a tag or in the names, not in both")
        if self.umi_distance != "auto":
            check_range("the distance of UMIs", self.umi_distance, 0, _MAX_UMI_DISTANCE)
        if (self.umi_distance or self.duplex) and not self.with_barcodes:
            raise UsageError("UMIs must be found to be compared (give --barcode-tag or --barcode-name)")

    @property
    def with_barcodes(self) -> bool:
        """Whether duplicates share a barcode."""
        return bool(self.barcode_tags) or self.barcode_in_name

    @property
    def with_umis(self) -> bool:
        """Whether UMIs are looked at base by base."""
        return self.umi_distance != 0 or self.duplex

    @property
    def own_tags(self) -> str:
        """Tags that an earlier marking may have left in records, two characters each."""
        return "DTdtdo" + ("dc" if self.count else "") + ("MI" if self.group else "")

    @STEPS.at("mark")
    def ends(self, records: NDArray[np.uint8], libraries: Libraries, templates: TemplateNumbers = "flags") -> BatchEnds:
        """What :class:`Duplicates` needs of the BAM records of a batch.

        Args:
            templates: how they are recognized, as for :meth:`RecordBatch.of`.

        Raises:
            ValueError: they are damaged.
        """
        found = _native.duplicate_ends(
            records,
            [bytes_of(group) for group in libraries.read_groups],
            list(libraries.indices),
            len(libraries.names) - 1,
            self.optical_distance > 0,
            self.by_read_group,
            self.by_strand,
            "".join(self.barcode_tags),
            self.barcode_in_name,
            self.with_umis,
            self.duplex,
            templates == "names",
            templates == "records",
            self.keep_first,
        )
        return found


class Libraries(NamedTuple):
    """The libraries of a run.

    Attributes:
        names: names of the libraries; the last is :data:`UNKNOWN_LIBRARY`, of records of no read group.
        read_groups: IDs.
        indices: for each read group, the index of its library in ``names``.
    """

    names: tuple[str, ...]
    read_groups: tuple[str, ...]
    indices: tuple[int, ...]

    @classmethod
    def of(cls, header_lines: Iterable[str]) -> Libraries:
        """The libraries of a SAM header's @RG lines."""
        groups = {}
        for line in header_lines:
            if line.startswith("@RG\t"):
                fields = header_fields(line)
                groups[fields.get("ID", "")] = in_utf8(fields.get("LB", UNKNOWN_LIBRARY))
        named = dict.fromkeys(name for name in groups.values() if name != UNKNOWN_LIBRARY)
        names = (*named, UNKNOWN_LIBRARY)
        return cls(names, tuple(groups), tuple(names.index(name) for name in groups.values()))


class Duplicates:
    """Finds the duplicates of a run: :meth:`add` for every batch in input order, then :meth:`finish`.

    Args:
        by_record: the batches have records whose templates are anywhere in the input.
    """

    def __init__(self, marking: DuplicateMarking, libraries: Libraries, by_record: bool = False) -> None:
        self._marking, self._libraries, self._by_record = marking, libraries, by_record
        distance = 1 if marking.umi_distance == "auto" else marking.umi_distance
        umis = distance if marking.with_umis else -1, marking.umi_distance == "auto"
        with_sets = marking.group or marking.count
        self._finder = _native.DuplicateFinder(len(libraries.names), marking.optical_distance, *umis, with_sets)

    @STEPS.at("mark")
    def add(self, ends: BatchEnds) -> None:
        """Take what :meth:`DuplicateMarking.ends` made of the next batch."""
        self._finder.add(ends, self._by_record)

    def finish(self, threads: int) -> NDArray[np.uint8]:
        """uint8 for every template, or record: 0: no duplicate, 1: one of the library's preparation, 2: optical."""
        return self._finder.finish(threads)

    def marks(self, threads: int) -> Marks:
        """What is to be written of all templates, in place of :meth:`finish`."""
        marking, status = self._marking, self.finish(threads)
        return Marks(
            status,
            marking.remove,
            marking.tag_kind,
            self._finder.sizes() if marking.count else None,
            self._finder.molecules() if marking.group else None,
            self._finder.strands() if marking.group and marking.duplex else None,
        )

    def metrics(self) -> DuplicateMetrics:
        """Counts, after :meth:`finish`."""
        names, counts = self._libraries.names, self._finder.library_counts()
        rows = [LibraryMetrics(name, *row) for name, row in zip(names, counts, strict=True)]
        if not rows[-1].reads and len(names) - 1 not in self._libraries.indices:
            rows.pop()
        barcode, strand = self._finder.without()
        return DuplicateMetrics(
            tuple(rows),
            tuple(self._finder.set_sizes()),
            barcode if self._marking.with_barcodes else None,
            strand if self._marking.duplex else None,
        )


class LibraryMetrics(NamedTuple):
    """Counts of a library, like Picard's DuplicationMetrics; the first two include duplicates."""

    library: str
    unpaired_reads: int
    read_pairs: int
    secondary_or_supplementary: int
    unmapped_reads: int
    unpaired_duplicates: int
    pair_duplicates: int
    optical_pair_duplicates: int

    @property
    def reads(self) -> int:
        """Reads and records of any kind."""
        return self.unpaired_reads + 2 * self.read_pairs + self.secondary_or_supplementary + self.unmapped_reads

    @property
    def duplication(self) -> float:
        """The share of mapped reads that are duplicates."""
        return self.duplicates / max(1, self.mapped)

    @property
    def mapped(self) -> int:
        """Mapped reads."""
        return self.unpaired_reads + 2 * self.read_pairs

    @property
    def duplicates(self) -> int:
        """Mapped reads that are duplicates."""
        return self.unpaired_duplicates + 2 * self.pair_duplicates

    @property
    def library_size(self) -> int | None:
        """Estimated molecules in the library, without optical duplicates; None if no pair is a duplicate."""
        return estimated_library_size(
            self.read_pairs - self.optical_pair_duplicates, self.read_pairs - self.pair_duplicates
        )

    def report(self) -> dict[str, Any]:
        """Fields of the JSON report."""
        return self._asdict() | {"duplication": round(self.duplication, 6), "estimated_library_size": self.library_size}


class DuplicateMetrics(NamedTuple):
    """Counts of a run.

    Attributes:
        libraries: in the header's order, with :data:`UNKNOWN_LIBRARY` last if a read needs it.
        set_sizes: number of sets of equal pairs by size: all; optical duplicates with their original; all without
            optical duplicates.
        without_barcode: templates with a mapped read that lack a barcode; None: barcodes are not used.
        without_strand: templates with a mapped read whose UMI does not have two parts; None: it need not.
    """

    libraries: tuple[LibraryMetrics, ...]
    set_sizes: tuple[dict[int, int], ...]
    without_barcode: int | None = None
    without_strand: int | None = None

    def report(self) -> dict[str, Any]:
        """Fields of the JSON report."""
        mapped = sum(library.mapped for library in self.libraries)
        duplicates = sum(library.duplicates for library in self.libraries)
        without = {"without_barcode": self.without_barcode, "without_strand": self.without_strand}
        return {
            "reads": duplicates,
            "share": round(duplicates / max(1, mapped), 6),
            **{name: count for name, count in without.items() if count is not None},
            "libraries": [library.report() for library in self.libraries],
            "set_sizes": {str(size): count for size, count in self.set_sizes[0].items()},
        }

    def text(self, command_line: str) -> str:
        """A metrics file as Picard's MarkDuplicates writes it, without the time."""
        lines = ["## htsjdk.samtools.metrics.StringHeader", f"# {' '.join(in_ascii(command_line).split())}", ""]
        lines += ["## METRICS CLASS\tpicard.sam.DuplicationMetrics", _COLUMNS]
        lines += ["\t".join(_row(library)) for library in self.libraries]
        histogram = self._histogram()
        return "\n".join([*lines, "", *histogram, *([""] if histogram else []), ""])

    def _histogram(self) -> list[str]:
        """Sets by size and, for a single library, the yield of more sequencing; no lines if both are empty."""
        size = self.libraries[0].library_size if len(self.libraries) == 1 else None
        sizes = sorted({*self.set_sizes[0], *self.set_sizes[1], *self.set_sizes[2]})
        columns = ["set_size", "all_sets", "optical_sets", "non_optical_sets"]
        if size is not None:
            columns[:1] = ["BIN", "CoverageMult"]
            sizes = sorted({*sizes, *range(1, _MAX_MULTIPLE + 1)})
        elif not sizes:
            return []
        lines = ["## HISTOGRAM\tjava.lang.Double", "\t".join(columns)]
        for n in sizes:
            row = [_number(float(n), 1)]
            if size is not None:
                row.append(_number(_yield(self.libraries[0], size, n)) if n <= _MAX_MULTIPLE else "0")
            lines.append("\t".join([*row, *(str(kind.get(n, 0)) for kind in self.set_sizes)]))
        return lines


_COLUMNS = (
    "LIBRARY\tUNPAIRED_READS_EXAMINED\tREAD_PAIRS_EXAMINED\tSECONDARY_OR_SUPPLEMENTARY_RDS\tUNMAPPED_READS\t"
    "UNPAIRED_READ_DUPLICATES\tREAD_PAIR_DUPLICATES\tREAD_PAIR_OPTICAL_DUPLICATES\tPERCENT_DUPLICATION\t"
    "ESTIMATED_LIBRARY_SIZE"
)


def _row(library: LibraryMetrics) -> list[str]:
    size = library.library_size
    return [*map(str, library), _number(library.duplication), "" if size is None else str(size)]


def _number(value: float, min_decimals: int = 0) -> str:
    """A number with at most six decimals, like Java's DecimalFormat("0.######")."""
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    return text if "." in text or not min_decimals else text + "." + "0" * min_decimals


def estimated_library_size(pairs: int, unique_pairs: int) -> int | None:
    """The number of molecules X of which ``pairs`` drawn with replacement are ``unique_pairs`` different ones, by the
    Lander-Waterman equation C / X = 1 - exp(-N / X) and Picard's bisection (DuplicationMetrics.estimateLibrarySize).

    None if there is no duplicate, or no pair.
    """
    if pairs <= 0 or unique_pairs >= pairs:
        return None

    def excess(molecules: float) -> float:
        return unique_pairs / molecules - 1 + math.exp(-pairs / molecules)

    low, high = 1.0, 100.0
    while excess(high * unique_pairs) > 0:
        high *= 10.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        value = excess(middle * unique_pairs)
        if value == 0:
            break
        if value > 0:
            low = middle
        else:
            high = middle
    return int(unique_pairs * (low + high) / 2.0)


def _yield(library: LibraryMetrics, size: int, multiple: int) -> float:
    """Expected distinct pairs at ``multiple`` times the sequencing, as a multiple of those found."""
    unique = library.read_pairs - library.pair_duplicates
    return size * (1 - math.exp(-multiple * library.read_pairs / size)) / unique
