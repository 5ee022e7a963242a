"""Reads of each gene, as STAR's ReadsPerGene.out.tab has them (STAR manual, section 8.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import InputError
from gpualign.map.alignments import Alignments
from gpualign.map.introns import ON_REFERENCE, PAIRED, UNIQUE_MAPQ
from gpualign.sequences.offsets import offsets_of, positions_of
from gpualign.sequences.reference import Reference
from gpualign.text.annotation import Annotation

#: rows before those of genes: reads without a gene
NO_GENE = ("N_unmapped", "N_multimapping", "N_noFeature", "N_ambiguous")
_UNMAPPED, _MULTIMAPPING, _NO_FEATURE, _AMBIGUOUS = range(len(NO_GENE))
_REVERSE = 0x10


@dataclass(frozen=True, eq=False)
class GeneExons:
    """The exons of ``g`` genes, by stretches of the reference that the same exons cover.

    Attributes:
        names: g gene IDs, in the order of the annotation.
        bounds: int64 (s,), where stretches begin, in the reference's concatenated contigs; the last one is empty.
        offsets: int64 (s,), where the genes of each stretch begin.
        genes, strands: int64 and int8, the genes that have an exon there, and the strand of the exon: 1, -1, or 0 where
            the annotation does not say. A gene with exons on both strands is there twice.
    """

    names: list[str]
    bounds: NDArray[np.int64]
    offsets: NDArray[np.int64]
    genes: NDArray[np.int64]
    strands: NDArray[np.int8]

    @classmethod
    def of(cls, annotation: Annotation, reference: Reference, path: str) -> GeneExons:
        """The genes of an annotation; exons on contigs that the reference lacks are left out.

        Raises:
            InputError: no exon of the file ``path`` is on the reference.
        """
        numbers = {name: number for number, name in enumerate(dict.fromkeys(annotation.gene_ids))}
        contigs = {name: number for number, name in enumerate(reference.shown_names)}
        at = np.array([contigs.get(name, -1) for name in annotation.contigs])[annotation.contig]
        exons = np.diff(annotation.exon_offsets)
        contig, strand = np.repeat(at, exons), np.repeat(annotation.strand, exons)
        gene = np.repeat([numbers[name] for name in annotation.gene_ids], exons)
        kept = (contig >= 0) & (annotation.exon_ends <= reference.lengths[contig])
        if not kept.any():
            raise InputError("no exon is on a contig of the reference (are the contigs named as there?)", path)
        begin = reference.contig_offsets[contig[kept]]
        start, end = begin + annotation.exon_starts[kept], begin + annotation.exon_ends[kept]
        bounds = np.unique(np.concatenate([start, end]))
        first, last = np.searchsorted(bounds, start), np.searchsorted(bounds, end)
        keys = 3 * gene[kept] + 1 + strand[kept]
        rows = np.unique(np.stack([positions_of(first, last - first), np.repeat(keys, last - first)]), axis=1)
        genes, strands = np.divmod(rows[1], 3)
        offsets = np.searchsorted(rows[0], np.arange(len(bounds)))
        return cls(list(numbers), bounds, offsets, genes, (strands - 1).astype(np.int8))

    def count(
        self, alignments: Alignments, mates: NDArray[np.uint8] | None, offsets: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Count the fragments (single reads and pairs) of a batch by the gene with which an aligned base of theirs
        coincides; only primary alignments with a mapping quality of at least :data:`UNIQUE_MAPQ` have a gene.

        Args:
            mates: uint8 (n,), see :class:`SequenceBatch`.
            offsets: of the reference's contigs.

        Returns:
            int64 (3 (4 + g),): rows of :data:`NO_GENE` and of genes; columns for genes of either strand, of the strand
            of R1 (or of the single read), and of the other one.
        """
        records = alignments.primary
        fragment = np.arange(len(records)) if mates is None else np.cumsum(mates != 2) - 1
        fragments = int(fragment[-1]) + 1 if len(fragment) else 0
        mapped, unique = np.zeros((2, fragments), bool)
        mapped[fragment[alignments.contig[records] >= 0]] = True
        sure = (alignments.contig[records] >= 0) & (alignments.mapq[records] >= UNIQUE_MAPQ)
        unique[fragment[sure]] = True
        read, gene, strand = self._touched(alignments, np.flatnonzero(sure), records, offsets)
        of_fragment = fragment[read]
        reverse = (alignments.flag[records[read]] & _REVERSE != 0) ^ (False if mates is None else mates[read] == 2)
        counts = np.zeros((len(NO_GENE) + len(self.names), 3), np.int64)
        counts[_UNMAPPED] = fragments - mapped.sum()
        counts[_MULTIMAPPING] = (mapped & ~unique).sum()
        own = strand * np.where(reverse, -1, 1)
        sides = (np.ones(len(read), bool), own >= 0, own <= 0)
        for column, side in enumerate(sides):
            pairs = np.unique(of_fragment[side] * len(self.names) + gene[side])
            of, touched = np.divmod(pairs, len(self.names))
            genes = np.bincount(of, minlength=fragments)
            counts[_NO_FEATURE, column] = (unique & (genes == 0)).sum()
            counts[_AMBIGUOUS, column] = (genes > 1).sum()
            counts[len(NO_GENE) :, column] = np.bincount(touched[genes[of] == 1], minlength=len(self.names))
        return counts.reshape(-1)

    def _touched(
        self, alignments: Alignments, reads: NDArray[np.int64], records: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
        """Reads, with the genes and strands of exons that their aligned bases touch; the same ones may come twice."""
        record = records[reads]
        first, operations = alignments.cigar_offsets[record], np.diff(alignments.cigar_offsets)[record]
        read, cigar = np.repeat(reads, operations), alignments.cigar[positions_of(first, operations)]
        lengths, code = (cigar >> 4).astype(np.int64), cigar & 15
        on_reference = np.concatenate(([0], np.cumsum(np.where(np.isin(code, ON_REFERENCE), lengths, 0))))
        begin = offsets[alignments.contig[record]] + alignments.position[record]
        begin -= on_reference[offsets_of(operations)[:-1]]
        pieces = np.flatnonzero(np.isin(code, PAIRED))
        start = np.repeat(begin, operations)[pieces] + on_reference[pieces]
        end, last = start + lengths[pieces], len(self.bounds) - 1
        low = np.maximum(np.searchsorted(self.bounds, start, "right") - 1, 0)
        high = np.minimum(np.searchsorted(self.bounds, end), last)
        low = np.minimum(low, high)
        rows = self.offsets[high] - self.offsets[low]
        at = positions_of(self.offsets[low], rows)
        return np.repeat(read[pieces], rows), self.genes[at], self.strands[at]

    def table(self, counts: NDArray[np.int64]) -> bytes:
        """ReadsPerGene.out.tab with what :meth:`count` returned, summed over batches."""
        rows = zip((*NO_GENE, *self.names), counts.reshape(-1, 3).tolist(), strict=True)
        return "".join(f"{name}\t{either}\t{same}\t{other}\n" for name, (either, same, other) in rows).encode()
