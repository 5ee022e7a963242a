"""Marking of duplicates in `map`: parameters, detection, and metrics like Picard's.

The rules are Picard's (MarkDuplicates on reads grouped by name); docs/formats.md lists them and the differences of
samtools.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import UsageError
from gpualign.io.alignment import in_ascii
from gpualign.streaming.timeline import STEPS

#: Picard's name of the library of reads whose read group has none
UNKNOWN_LIBRARY = "Unknown Library"
#: limit for which a sum of two coordinates fits the native code's integers
_MAX_DISTANCE = 1 << 20
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9]")
#: largest multiple of the sequencing in Picard's histogram
_MAX_MULTIPLE = 100
_BISECTIONS = 40

#: result of _native.duplicate_ends: uint64 ends of templates, int64 counts of libraries, number of templates
BatchEnds = tuple[NDArray[np.uint64], NDArray[np.int64], int]


@dataclass(frozen=True)
class DuplicateMarking:
    """Parameters of duplicate marking.

    Attributes:
        remove: remove duplicates instead of marking them.
        optical_distance: maximum difference of optical duplicates in x and y, in pixels; 0: none is optical.
        barcode_tags: tags in which duplicates must agree, two characters each.
        barcode_in_name: duplicates must agree in the UMI at the end of their names (docs/formats.md has the rule).
        by_read_group: duplicates must be of one read group, not only of one library.
    """

    remove: bool = False
    optical_distance: int = 100
    barcode_tags: tuple[str, ...] = ()
    barcode_in_name: bool = False
    by_read_group: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.optical_distance < _MAX_DISTANCE:
            raise UsageError(f"optical distance must be from 0 to {_MAX_DISTANCE - 1:,}, not {self.optical_distance}")
        for tag in self.barcode_tags:
            if not _TAG.fullmatch(tag):
                raise UsageError(f"a tag has a letter and a letter or digit, as RX has, not {tag!r}")
        if self.barcode_tags and self.barcode_in_name:
            raise UsageError("barcodes are in a tag or in the names, not in both")

    @STEPS.at("mark")
    def ends(self, records: NDArray[np.uint8], libraries: Libraries) -> BatchEnds:
        """What :class:`Duplicates` needs of a batch's BAM records; those of a template must be adjacent.

        Raises:
            ValueError: they are damaged.
        """
        found = _native.duplicate_ends(
            records,
            list(libraries.read_groups),
            list(libraries.indices),
            libraries.default,
            self.optical_distance > 0,
            self.by_read_group,
            "".join(self.barcode_tags),
            self.barcode_in_name,
        )
        return found


class Libraries(NamedTuple):
    """The libraries of a run.

    Attributes:
        names: names of the libraries; the last is :data:`UNKNOWN_LIBRARY`.
        read_groups: IDs, if there are several, which the records then name.
        indices: for each read group, the index of its library in ``names``.
        default: index of the library of other records.
    """

    names: tuple[str, ...]
    read_groups: tuple[str, ...]
    indices: tuple[int, ...]
    default: int

    @classmethod
    def of(cls, header_lines: Iterable[str]) -> Libraries:
        """The libraries of a SAM header's @RG lines."""
        groups = {}
        for line in header_lines:
            if line.startswith("@RG\t"):
                fields = dict(field.split(":", 1) for field in line.rstrip("\n").split("\t")[1:] if ":" in field)
                groups[fields.get("ID", "")] = fields.get("LB", UNKNOWN_LIBRARY)
        named = dict.fromkeys(name for name in groups.values() if name != UNKNOWN_LIBRARY)
        names = (*named, UNKNOWN_LIBRARY)
        indices = tuple(names.index(name) for name in groups.values())
        if len(groups) <= 1:
            return cls(names, (), (), indices[0] if indices else 0)
        return cls(names, tuple(groups), indices, len(names) - 1)


class Duplicates:
    """Finds the duplicates of a run: :meth:`add` for every batch in input order, then :meth:`finish`."""

    def __init__(self, marking: DuplicateMarking, libraries: Libraries) -> None:
        self._marking, self._libraries = marking, libraries
        self._finder = _native.DuplicateFinder(len(libraries.names), marking.optical_distance)

    @STEPS.at("mark")
    def add(self, ends: BatchEnds) -> None:
        """Add the :meth:`DuplicateMarking.ends` of the next batch."""
        self._finder.add(ends)

    def finish(self, threads: int) -> NDArray[np.uint8]:
        """uint8 for every template: 0: not a duplicate, 1: a library duplicate, 2: an optical one."""
        return self._finder.finish(threads)

    def metrics(self) -> DuplicateMetrics:
        """Counts, after :meth:`finish`."""
        names, counts = self._libraries.names, self._finder.library_counts()
        rows = [LibraryMetrics(name, *row) for name, row in zip(names, counts, strict=True)]
        if not rows[-1].reads and len(names) - 1 not in self._libraries.indices:
            rows.pop()
        with_barcodes = self._marking.barcode_tags or self._marking.barcode_in_name
        without_barcode = self._finder.without_barcode() if with_barcodes else None
        return DuplicateMetrics(tuple(rows), tuple(self._finder.set_sizes()), without_barcode)


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
    """

    libraries: tuple[LibraryMetrics, ...]
    set_sizes: tuple[dict[int, int], ...]
    without_barcode: int | None = None

    def report(self) -> dict[str, Any]:
        """Fields of the JSON report."""
        mapped = sum(library.mapped for library in self.libraries)
        duplicates = sum(library.duplicates for library in self.libraries)
        without = {} if self.without_barcode is None else {"without_barcode": self.without_barcode}
        return {
            "reads": duplicates,
            "share": round(duplicates / max(1, mapped), 6),
            **without,
            "libraries": [library.report() for library in self.libraries],
            "set_sizes": {str(size): count for size, count in self.set_sizes[0].items()},
        }

    def text(self, command_line: str) -> str:
        """A metrics file like that of Picard's MarkDuplicates, without the time."""
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
