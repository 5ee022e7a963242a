"""Depth of coverage of a sorted run, in mosdepth's formats or as bedGraph.

Counts like mosdepth's default: without unmapped, secondary, duplicate and failed records; deletions and skipped bases
are not covered, and bases covered by both mates of a proper pair count once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.text.output_file import OutputFile, open_output

_BEDGRAPH = (".bedgraph", ".bdg", ".bg", ".bed")
_SUMMARY, _DISTRIBUTION, _THRESHOLDS = ".mosdepth.summary.txt", ".mosdepth.global.dist.txt", ".thresholds.bed.gz"
#: depths in the thresholds file
THRESHOLDS = (1, 5, 10, 20, 30, 50, 100)
#: depths of the report's histogram
_MAX_DEPTH = 1000
#: like mosdepth, the distribution omits empty depths beyond this one, and tiny shares
_ALL_DEPTHS_TO = 300
_MIN_SHARE = 8e-5
#: lines of an output that are written at a time
_LINES_AT_ONCE = 10_000


def coverage_paths(path: str) -> tuple[str, ...]:
    """Files of ``--coverage path``: bedGraph by its extension, else mosdepth's three files with this prefix."""
    if is_bedgraph(path):
        return (path,)
    prefix = path.removesuffix(_SUMMARY)
    return tuple(prefix + ending for ending in (_SUMMARY, _DISTRIBUTION, _THRESHOLDS))


def is_bedgraph(path: str) -> bool:
    """Whether a name has an extension of bedGraph, compressed or not."""
    name = path.lower()
    return name.removesuffix(".gz").removesuffix(".bgz").endswith(_BEDGRAPH)


class ContigDepths(NamedTuple):
    """Depths of a contig, or of several.

    Attributes:
        bases: sum of the depths of all positions.
        maximum: the greatest depth.
        depths: int64, number of positions of each depth.
    """

    name: str
    bases: int
    maximum: int
    depths: NDArray[np.int64]

    @property
    def length(self) -> int:
        return int(self.depths.sum())

    @property
    def mean(self) -> float:
        return self.bases / self.length if self.length else 0.0

    @property
    def minimum(self) -> int:
        return int(np.flatnonzero(self.depths)[0]) if self.length else 0

    def at_least(self, depth: int) -> int:
        """Positions of that depth or more."""
        return int(self.depths[depth:].sum())


class Coverage:
    """Counts the depth of sorted records: :meth:`add` for what :meth:`measure` gives of all in order, then
    :meth:`finish`. Use :func:`open_coverage`.

    Args:
        outputs: files to write: of bedGraph, or mosdepth's three.
        bedgraph: write bedGraph.
    """

    def __init__(
        self, names: Sequence[str], lengths: Sequence[int], outputs: Sequence[OutputFile], bedgraph: bool
    ) -> None:
        self._names, self._lengths, self._outputs, self._bedgraph = names, lengths, outputs, bedgraph
        self._counter = _native.CoverageCounter(list(lengths), list(names) if bedgraph else [])

    def measure(self, records: NDArray[np.uint8]) -> Any:
        """Where BAM records change the depth, for :meth:`add`; from any thread.

        Raises:
            ValueError: they are not sorted by coordinate, or damaged.
        """
        return self._counter.changes(records)

    def add(self, changes: Any) -> None:
        """Add the changes of the next records.

        Raises:
            ValueError: the records are not sorted by coordinate.
        """
        self._write(self._counter.add(changes))

    def finish(self) -> None:
        """Write the rest."""
        self._write(self._counter.finish())
        if self._bedgraph:
            return
        for output, lines in zip(self._outputs, (self.summary(), self.distribution(), self.thresholds()), strict=True):
            while text := "".join(islice(lines, _LINES_AT_ONCE)):
                output.write(text.encode())

    def _write(self, lines: NDArray[np.uint8]) -> None:
        if self._bedgraph and len(lines):
            self._outputs[0].write(lines.data)

    @cached_property
    def contigs(self) -> list[ContigDepths]:
        """Depths of contigs with records, after :meth:`finish`."""
        return [ContigDepths(self._names[row[0]], *row[1:]) for row in self._counter.contigs()]

    @cached_property
    def total(self) -> ContigDepths:
        """Depths of all contigs with records together."""
        depths = np.zeros(max((len(contig.depths) for contig in self.contigs), default=0), np.int64)
        for contig in self.contigs:
            depths[: len(contig.depths)] += contig.depths
        bases, maximum = (
            sum(each.bases for each in self.contigs),
            max((each.maximum for each in self.contigs), default=0),
        )
        return ContigDepths("total", bases, maximum, depths)

    def report(self) -> dict[str, Any]:
        """Fields of the JSON report, over all contigs."""
        total, positions = self.total, sum(self._lengths)
        return {
            "bases": total.bases,
            "mean": round(total.bases / max(1, positions), 4),
            "positions": positions,
            **{f"at_least_{depth}": total.at_least(depth) for depth in THRESHOLDS},
            "depth_histogram": [positions - total.at_least(1), *total.depths[1:_MAX_DEPTH].tolist()],
        }

    def summary(self) -> Iterator[str]:
        """Lines of mosdepth's summary: one for each contig with records, and for all."""
        yield "chrom\tlength\tbases\tmean\tmin\tmax\n"
        for contig in (*self.contigs, self.total):
            fields = (contig.name, contig.length, contig.bases, f"{contig.mean:.2f}", contig.minimum, contig.maximum)
            yield "\t".join(map(str, fields)) + "\n"

    def distribution(self) -> Iterator[str]:
        """Lines of mosdepth's distribution: the share of positions of each depth or more."""
        return (line for contig in (*self.contigs, self.total) for line in _distribution(contig))

    def thresholds(self) -> Iterator[str]:
        """Lines of mosdepth's thresholds, with whole contigs for regions."""
        yield "\t".join(["#chrom", "start", "end", "region", *(f"{depth}X" for depth in THRESHOLDS)]) + "\n"
        found, none = {contig.name: contig for contig in self.contigs}, "\t0" * len(THRESHOLDS) + "\n"
        for name, length in zip(self._names, self._lengths, strict=True):
            counts = none
            if (contig := found.get(name)) is not None:
                counts = "".join(f"\t{contig.at_least(depth)}" for depth in THRESHOLDS) + "\n"
            yield f"{name}\t0\t{length}\tunknown{counts}"


def _distribution(contig: ContigDepths) -> Iterator[str]:
    share = 0.0
    for depth in range(len(contig.depths) - 1, -1, -1):
        count = int(contig.depths[depth])
        if depth > _ALL_DEPTHS_TO and count == 0:
            continue
        share += count / contig.length
        if share >= _MIN_SHARE:
            yield f"{contig.name}\t{depth}\t{share:.2f}\n"


@contextlib.contextmanager
def open_coverage(path: str, names: Sequence[str], lengths: Sequence[int], threads: int = 1) -> Iterator[Coverage]:
    """Open the coverage files of a run; they are whole, or absent if the context ends with an exception.

    Args:
        threads: threads that compress.

    Raises:
        GpualignError: a file cannot be written.
    """
    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(open_output(name, threads)) for name in coverage_paths(path)]
        coverage = Coverage(names, lengths, outputs, is_bedgraph(path))
        yield coverage
        coverage.finish()
