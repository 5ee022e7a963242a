"""Counts of a run of `map`, for its summary and report."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import check_count, counted
from gpualign.map.alignments import Found
from gpualign.map.introns import Introns, introns_of
from gpualign.map.pairs import ORIENTATIONS, PairModel
from gpualign.map.params import MapParams
from gpualign.records.methylation import CONTEXTS
from gpualign.streaming.timeline import STEPS, WAIT, Seconds, StepNames

#: bin widths of the report's histograms: share of a read's length, and bases
ERROR_RATE_BIN = 0.01
INSERT_SIZE_BIN = 10
#: bin width of the lengths of long reads, in bases
LONG_LENGTH_BIN = 100
#: minimum mapping quality of both mates in the histogram of insert sizes
_SURE_MAPQ = 20

#: steps of the timeline in the order of the pipeline, on the host and on devices
MAP_STEPS: StepNames = (
    ("read", "inflate", "parse", "copy", "map", "format", "mark", "sort", "merge", "deflate", "write"),
    ("copy to device", "inflate", "parse", "map", "format", "deflate", "copy from device"),
)
#: steps of a batch in a host thread, for a sample's report; with a GPU "map" is what is left to the CPU
_BATCH_STEPS = {
    "parse": ("read", "inflate", "parse"),
    "wait": (WAIT,),
    "map": ("map",),
    "format": ("copy", "format", "deflate"),
}


def thread_seconds(before: Seconds) -> NDArray[np.float64]:
    """Seconds of the calling thread at each step of :data:`_BATCH_STEPS`, since ``before``."""
    now = STEPS.of_thread()
    return np.array([sum(now.get(n, 0.0) - before.get(n, 0.0) for n in names) for names in _BATCH_STEPS.values()])


#: of ASCII characters, and the highest quality that FASTQ can have
_MAX_QUALITY = 93
_IS_GC, _IS_ACGT = (np.isin(np.arange(256), list(letters)).astype(np.uint8) for letters in (b"CG", b"ACGT"))


def _none() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class MapStatistics:
    """Counts, which can be added.

    Attributes:
        bases: of all reads.
        properly_paired, secondary, supplementary: records with the flag; of properly_paired only primary ones.
        invalid_tags: fields of comments to copy that are not valid SAM tags or name an unknown read group.
        invalid_names: read names with characters that SAM does not allow.
        long_reads: reads that a preset of short reads maps as long reads.
        too_long: reads that stay unmapped as they are too long.
        mapqs: mapped reads by mapping quality of the primary record.
        distances: reads aligned end to end by edit distance; edits and edited_bases are sums over these.
        error_rates: these reads by edit distance over length, in bins of :data:`ERROR_RATE_BIN`.
        conversions_by_position: of bisulfite reads: methylated and converted bases of CpG, CHG and CHH, six numbers
            for R1 and six for R2 at each position; conversions_by_contig: six for each contig.
        unconverted: reads that failed as they are unconverted.
        other_library: reads of a directional or pbat library whose bases suggest the other conversion.
        c_and_g: C and G in the reads of a non-directional library.
        rarer_of_c_and_g: those of them that are the rarer of both in their read.
        read_lengths: reads by length, in bins of one base, or of :data:`LONG_LENGTH_BIN` for long reads; empty if the
            report has no page, like gc and qualities: reads by percent of C and G among A, C, G and T, and by their
            mean base quality, which are empty also if a device parsed the reads.
        insert_sizes: pairs in the library's orientation, both mates with :data:`_SURE_MAPQ`, in bins.
        on_gpu: reads that a GPU mapped.
        introns: of spliced reads, in parts (:meth:`Introns.added`).
        gene_counts: of spliced reads, :meth:`GeneExons.count`.
        seconds: float64, :func:`thread_seconds` summed over threads.
    """

    reads: int = 0
    bases: int = 0
    mapped: int = 0
    properly_paired: int = 0
    secondary: int = 0
    supplementary: int = 0
    invalid_tags: int = 0
    invalid_names: int = 0
    long_reads: int = 0
    too_long: int = 0
    edits: int = 0
    edited_bases: int = 0
    mapqs: NDArray[np.int64] = field(default_factory=_none)
    distances: NDArray[np.int64] = field(default_factory=_none)
    error_rates: NDArray[np.int64] = field(default_factory=_none)
    insert_sizes: NDArray[np.int64] = field(default_factory=_none)
    read_lengths: NDArray[np.int64] = field(default_factory=_none)
    gc: NDArray[np.int64] = field(default_factory=_none)
    qualities: NDArray[np.int64] = field(default_factory=_none)
    conversions_by_position: NDArray[np.int64] = field(default_factory=_none)
    conversions_by_contig: NDArray[np.int64] = field(default_factory=_none)
    unconverted: int = 0
    other_library: int = 0
    c_and_g: int = 0
    rarer_of_c_and_g: int = 0
    on_gpu: int = 0
    introns: tuple[Introns, ...] = ()
    gene_counts: NDArray[np.int64] = field(default_factory=_none)
    seconds: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(_BATCH_STEPS)))

    def __add__(self, other: MapStatistics) -> MapStatistics:
        def total(name: str) -> Any:
            mine, theirs = getattr(self, name), getattr(other, name)
            if name == "introns":
                return Introns.added(mine, theirs)
            if np.ndim(mine) == 0:
                return mine + theirs
            longer, shorter = (mine, theirs) if len(mine) >= len(theirs) else (theirs, mine)
            summed = longer.copy()
            summed[: len(shorter)] += shorter
            return summed

        return MapStatistics(**{entry.name: total(entry.name) for entry in fields(self)})

    @property
    def mean_mapq(self) -> float:
        return float(np.dot(np.arange(len(self.mapqs)), self.mapqs)) / max(1, self.mapped)

    def summary(self, of_library: str | None) -> str:
        """The summary's clause on reads, which ends with the one on their library; None: they are not paired."""
        share = f" ({100 * self.mapped / self.reads:.2f} %)" if self.reads else ""
        text = f"{counted(self.reads, 'read')}, {self.mapped:,} mapped{share}"
        return text if of_library is None else f"{text}, {self.properly_paired:,} in proper pairs ({of_library})"

    @property
    def cytosines_outside_cpg(self) -> tuple[int, int]:
        """Methylated and converted ones of bisulfite reads."""
        outside = self.conversions_by_contig.reshape(-1, 2 * len(CONTEXTS)).sum(0)[2:]
        return int(outside[::2].sum()), int(outside[1::2].sum())

    def conversions(self, names: list[str]) -> dict[str, Any]:
        """The report's fields on bisulfite reads, [methylated, converted] bases; none of other reads.

        Args:
            names: of the contigs.
        """
        if not len(self.conversions_by_contig):
            return {}
        contigs = self.conversions_by_contig.reshape(-1, 2 * len(CONTEXTS))
        positions = self.conversions_by_position.reshape(-1, 2, 2 * len(CONTEXTS))
        total = contigs.sum(0)
        methylated, converted = self.cytosines_outside_cpg
        by_position = {
            f"R{mate + 1}": {
                context: positions[:, mate, 2 * i : 2 * i + 2].tolist() for i, context in enumerate(CONTEXTS)
            }
            for mate in (0, 1)
            if positions[:, mate].any()
        }
        return {
            "conversion": {
                **_of_contexts(total),
                "rate_outside_cpg": round(converted / max(1, methylated + converted), 6),
                "unconverted_reads": self.unconverted,
                "contigs": {name: _of_contexts(row) for name, row in zip(names, contigs, strict=True) if row.any()},
                "by_position": by_position,
            }
        }

    def report(self, long_reads: bool = False) -> dict[str, Any]:
        """Fields of the JSON report."""
        of_reads = {
            "read_length_histogram": {
                "bin": LONG_LENGTH_BIN if long_reads else 1,
                "counts": self.read_lengths.tolist(),
            },
            "gc_histogram": self.gc.tolist(),
            "quality_histogram": self.qualities.tolist(),
        }
        return {
            "reads": self.reads,
            "mapped": self.mapped,
            "unmapped": self.reads - self.mapped,
            "properly_paired": self.properly_paired,
            "secondary": self.secondary,
            "supplementary": self.supplementary,
            "mean_mapq": round(self.mean_mapq, 3),
            "bases": self.bases,
            "error_rate": round(self.edits / max(1, self.edited_bases), 6),
            "mapq_histogram": self.mapqs.tolist(),
            "edit_distance_histogram": self.distances.tolist(),
            "error_rate_histogram": {"bin": ERROR_RATE_BIN, "counts": self.error_rates.tolist()},
            "insert_size_histogram": {"bin": INSERT_SIZE_BIN, "counts": self.insert_sizes.tolist()},
            **{name: value for name, value in of_reads.items() if value and len(self.read_lengths)},
            "thread_seconds": {step: round(s, 3) for step, s in zip(_BATCH_STEPS, self.seconds.tolist(), strict=True)},
        }


def read_histograms(found: Found, params: MapParams) -> MapStatistics:
    """Lengths, GC and mean qualities of a batch's reads, and no other counts."""
    lengths, batch = found.lengths, found.batch
    counts = MapStatistics(read_lengths=np.bincount(lengths // (LONG_LENGTH_BIN if params.long_reads else 1)))
    if batch is None:
        return counts

    def sums(values: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Of each read."""
        before = np.zeros(len(values) + 1, np.int64)
        np.cumsum(values, out=before[1:])
        ends = batch.base_offsets - batch.base_offsets[0]
        of_reads: NDArray[np.int64] = before[ends[1:]] - before[ends[:-1]]
        return of_reads

    every = slice(batch.base_offsets[0], batch.base_offsets[-1])
    gc, known = sums(_IS_GC[batch.bases[every]]), sums(_IS_ACGT[batch.bases[every]])
    percent = np.rint(100 * gc[known > 0] / known[known > 0]).astype(np.int64)
    counts = replace(counts, gc=np.bincount(percent, minlength=101))
    if batch.qualities is None:
        return counts
    means = sums(batch.qualities[every])[lengths > 0] / lengths[lengths > 0] - 33
    return replace(counts, qualities=np.bincount(np.clip(np.rint(means), 0, _MAX_QUALITY).astype(np.int64)))


def _of_contexts(counts: NDArray[np.int64]) -> dict[str, list[int]]:
    return {context: counts[2 * i : 2 * i + 2].tolist() for i, context in enumerate(CONTEXTS)}


def statistics_of(
    found: Found, params: MapParams, pairs: PairModel | None, contig_offsets: NDArray[np.int64]
) -> MapStatistics:
    """The counts of one batch. ``contig_offsets``: of the reference."""
    genes = params.gene_exons
    lengths = found.lengths
    lengths = lengths[lengths > _native.LONGEST_END_TO_END]  # mostly none
    too_long = params.too_long(lengths)
    mapped, proper, secondary, supplementary, edits, edited_bases, mapqs, distances, rates = _native.count_records(
        found.alignments.native, found.base_offsets, round(1 / ERROR_RATE_BIN)
    )
    check_count("reads", len(found), len(found.alignments.flag) - secondary - supplementary)
    return MapStatistics(
        reads=len(found),
        bases=int(found.base_offsets[-1] - found.base_offsets[0]),
        mapped=mapped,
        properly_paired=proper,
        secondary=secondary,
        supplementary=supplementary,
        long_reads=int(np.count_nonzero(params.chained_as_long(lengths) & ~too_long)),
        too_long=int(np.count_nonzero(too_long)),
        edits=edits,
        edited_bases=edited_bases,
        mapqs=mapqs,
        distances=distances,
        error_rates=rates,
        introns=(introns_of(found.alignments),) if params.splicing else (),
        gene_counts=_none() if genes is None else genes.count(found.alignments, found.mates, contig_offsets),
        insert_sizes=_none() if pairs is None else _insert_sizes(found, pairs),
    )


def _insert_sizes(found: Found, pairs: PairModel) -> NDArray[np.int64]:
    assert found.mates is not None
    orientation = ORIENTATIONS.index(pairs.orientation)
    return _native.count_insert_sizes(
        found.mates, found.alignments.native, _SURE_MAPQ, orientation, pairs.max, INSERT_SIZE_BIN
    )
