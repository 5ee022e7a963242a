"""``gpualign.Mapper``: reads onto a reference."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.opening import open_backend
from gpualign.engine.stage import HostedStage
from gpualign.engine.work import Work
from gpualign.errors import UsageError
from gpualign.index.minimizers import MinimizerIndex, build_index
from gpualign.index.run import choose_index_params, open_index
from gpualign.io.in_memory import Sequences, as_batch, batches_of, letters_in, packed, run_options
from gpualign.io.mates import PairedParts, interleaved_batches, paired_parts, to_reads
from gpualign.io.reads import ReadSource
from gpualign.map.cpu import map_batch
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.kernel import DeviceRecords, MapKernel, runs_on_gpu
from gpualign.map.pairs import PairModel, estimate_pairs
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments
from gpualign.map.tuning import KERNELS
from gpualign.sequences.batch import SequenceBatch

#: a record: its read's number, SAM's flag, the contig's number (-1 unmapped), 0-based position, quality, scores, CIGAR
MAP_DTYPE = np.dtype(
    [
        *(("read", "i8"), ("flag", "u2"), ("contig", "i4"), ("position", "i8")),
        *(("mapq", "u1"), ("score", "i4"), ("distance", "i4"), ("cigar", "O")),
    ]
)
#: fields of the parameters that have a shorter name here
_FIELDS = {
    "most_hits": "max_hits",
    "most_candidates": "max_candidates",
    "clip": "clip_penalty",
    "unpaired": "unpaired_penalty",
}
#: bases of reads that a thread takes at once
_BATCH = 1 << 22
#: number of reads, and their records
Part = tuple[int, NDArray[Any]]


class Mapper:
    """A reference, indexed, to map reads onto, as often as you like.

    >>> genome = "ACGTTGCATTAGGCTAACCGTATTCGAGTCCATGCAAGCTTGACCGTACGATTGCAGCTATTTGCGCGATATCTTGATC"
    >>> mapper = Mapper([genome])
    >>> rows = mapper.map([genome[40:72], "GATCAAGATATCGCGCAAATAGCTGCAATCG", "CCCCCCCCCCCCCCCC"])
    >>> rows[["read", "flag", "contig", "position", "cigar"]].tolist()
    [(0, 0, 0, 40, '32M'), (1, 16, 0, 48, '31M'), (2, 4, -1, 0, '*')]

    Args:
        reference: nucleotide sequences, or a file of them or of a saved index.
        preset: "sr", "sr-sensitive", "hifi" or "ont", as for ``gpualign map -x``.
        device: "auto", "cpu", "cuda", "cuda:0,1", "cuda,cpu"; long reads are mapped on the CPU whatever it says.
        threads: host threads; 0: all cores.
        parameters: of :class:`gpualign.map.params.MapParams` and its groups, on top of the preset: ``error_rate``,
            ``k``, ``w``, ``match``, ``mismatch``, ``gap_open``, ``gap_extend``, ``clip``, ``most_hits``,
            ``most_candidates``, ``insert_size``, ``orientation``, ``unpaired``.

    Attributes:
        names: of the contigs.
        lengths: int64 (contigs,), bases.

    Raises:
        UsageError: a parameter that breaks a rule.
        InputError: a base that is no nucleotide code, a file that cannot be read.
        DeviceError: when reads are mapped: a GPU was asked for and cannot be used.
    """

    def __init__(
        self, reference: Sequences, preset: str = "sr", *, device: str = "auto", threads: int = 0, **parameters: Any
    ) -> None:
        self._params = MapParams.of_preset(preset, **{_FIELDS.get(name, name): parameters[name] for name in parameters})
        self._options = run_options(device if runs_on_gpu(self._params) else "cpu", threads)
        self._index = self._open(reference)
        self.names = list(self._index.reference.names)
        self.lengths = self._index.reference.lengths

    def map(self, reads: Sequences, mates: Sequences | None = None) -> NDArray[Any]:
        """Map reads, or pairs where ``mates`` has R2, or a SAM, BAM or CRAM file says that they are pairs.

        Returns:
            Structured (records,): of each read, in order, the primary record, then any further ones: ``read`` (its
            number; the mates of a pair are 2i and 2i + 1), ``flag`` (SAM's), ``contig`` (its number; -1 unmapped),
            ``position`` (0-based), ``mapq``, ``score`` (affine, clips cost nothing), ``distance`` (edits of the whole
            read; -1 where the record was not found by it), ``cigar`` (text; "*" unmapped).

        Raises:
            InputError: a base that is no nucleotide code, unequal numbers of mates, a file that cannot be read or
                whose mates are not neighbours.
        """
        return np.concatenate([np.empty(0, MAP_DTYPE), *self.iter_map(reads, mates)])

    def iter_map(self, reads: Sequences, mates: Sequences | None = None) -> Iterator[NDArray[Any]]:
        """As :meth:`map`, batch by batch; of files and iterators only the batches in flight are held.

        Yields:
            Parts of :meth:`map`'s result, in order.
        """
        with ExitStack() as stack:
            pairs, batches = self._batches(reads, mates, stack)
            first = 0
            work = Work.of(KERNELS, letters_in(reads, mates))
            backend = stack.enter_context(open_backend(self._options, "map", work))
            parts = stack.enter_context(closing(backend.run(batches, self._stage(pairs))))
            for count, rows in parts:
                rows["read"] += first
                first += count
                yield rows

    def _stage(self, pairs: PairModel | None) -> HostedStage[PairedParts | SequenceBatch, Part]:
        index, params = self._index, self._params

        def before(item: PairedParts | SequenceBatch) -> tuple[SequenceBatch, SequenceBatch]:
            batch = to_reads(item)
            return batch, batch

        def on_cpu(batch: SequenceBatch) -> Alignments:
            return map_batch(index, batch, params, pairs)

        def after(batch: SequenceBatch, found: Alignments | DeviceRecords) -> Part:
            if isinstance(found, DeviceRecords):
                found = found.alignments(batch, params, pairs is not None, on_cpu)
            return len(batch), _rows(found.with_read_flags(batch.flags))

        return HostedStage(
            cpu=lambda item: after(batch := to_reads(item), on_cpu(batch)),
            make_kernel=lambda device: MapKernel(device, index, params, pairs),
            before=before,
            staged=lambda batch, lend: MapBatch.of(batch, pairs is not None, lend),
            cpu_kernel=lambda item: on_cpu(item.batch),
            after=after,
        )

    def _open(self, reference: Sequences) -> MinimizerIndex:
        seeding, threads = self._params.seeding, self._options.threads
        if isinstance(reference, str | os.PathLike):
            return open_index(os.fspath(reference), seeding.k, seeding.w, threads)
        whole = packed(as_batch(reference))
        return build_index(whole, choose_index_params(whole.bases, seeding.k, seeding.w), threads)

    def _batches(
        self, reads: Sequences, mates: Sequences | None, stack: ExitStack
    ) -> tuple[PairModel | None, Iterator[PairedParts | SequenceBatch]]:
        params = self._params
        batches: Iterator[PairedParts | SequenceBatch]
        if mates is None:
            if not isinstance(reads, str | os.PathLike):
                return None, batches_of(reads, _BATCH)
            source = stack.enter_context(ReadSource(os.fspath(reads)))
            if not source.paired:
                return None, batches_of(source, _BATCH)
            batches = interleaved_batches(source, _BATCH)
        else:
            batches = _paired(reads, mates, stack)
        params.check_pairs()
        if params.pairing.given is not None:
            return params.pairing.given, batches
        model, batches = estimate_pairs(
            batches, lambda batch: map_batch(self._index, batch, params), params.pairing.default
        )
        return model or params.pairing.default, batches


def _paired(reads: Sequences, mates: Sequences, stack: ExitStack) -> Iterator[PairedParts | SequenceBatch]:
    """Batches whose neighbours are mates."""
    if isinstance(reads, str | os.PathLike) and isinstance(mates, str | os.PathLike):
        first, second = (stack.enter_context(ReadSource(os.fspath(path))) for path in (reads, mates))
        return paired_parts(first, second, _BATCH)
    ends = as_batch(reads), as_batch(mates)
    if len(ends[0]) != len(ends[1]):
        raise UsageError(f"{len(ends[0])} first ends but {len(ends[1])} second ends")
    joined = _native.join_pairs(ends[0].native, ends[1].native, 0, 0, len(ends[0]), False)
    return iter([SequenceBatch(*joined)])


def _rows(alignments: Alignments) -> NDArray[Any]:
    """Records with the numbers of their reads in the batch."""
    rows = np.empty(len(alignments.flag), MAP_DTYPE)
    rows["read"] = np.repeat(np.arange(len(alignments)), np.diff(alignments.record_offsets))
    for name in ("flag", "contig", "position", "mapq", "score", "distance"):
        rows[name] = getattr(alignments, name)
    rows["cigar"] = _native.cigar_texts(alignments.cigar, alignments.cigar_offsets)
    return rows
