"""Matches between genomes joined to alignments: clusters, extension, and the gaps between matches by `align/score`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.genomes.extensions import GAP_EXTEND, GAP_OPEN, MATCH, MISMATCH, Extensions
from gpualign.align.score.alignments import PairAlignments
from gpualign.align.score.cpu import Candidates, align_strand
from gpualign.align.score.problem import PairProblem
from gpualign.run.abi import struct
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.run.stage import Backend, Run, Stage
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.matrices import match_mismatch
from gpualign.sequences.offsets import cut_by_size
from gpualign.sequences.pairs import PairBlock
from gpualign.sequences.reference import Reference
from gpualign.streaming.ordered import run_ordered

#: cells and rectangles of a block that one thread or a device takes
_BLOCK_CELLS, _BLOCK_PAIRS = 1 << 25, 1 << 12
#: bytes of one thread's traceback tables
_TABLE_BYTES = 1 << 28
#: extensions that one thread takes, and a device
_CPU_TASKS, _DEVICE_TASKS = 64, 1 << 14


@dataclass(frozen=True)
class JoinParams:
    """How matches become alignments; nucmer's options.

    Attributes:
        min_cluster: bases in the matches of a cluster, at least.
        max_gap: bases between neighbouring matches of a cluster, at most.
        diagonal_difference, diagonal_factor: between the diagonals of neighbouring matches, at most: bases, or a share
            of the gap where that is more.
        break_length: bases that an extension goes through without a new best score.
        extend: the ends of clusters.
        simplify: leave out clusters that an alignment covers.
        to_end: extensions that come to the end of a sequence stay there.
    """

    min_cluster: int
    max_gap: int
    diagonal_difference: int
    diagonal_factor: float
    break_length: int
    extend: bool
    simplify: bool
    to_end: bool


class StrandMatches(NamedTuple):
    """Exact matches of a batch of records, by record and strand.

    Attributes:
        strands: 1 forward, 2 reverse, 3 both.
        offsets: int64 (records x strands + 1,).
        starts: int64, on the strand.
        references: uint32, in the concatenated reference.
        lengths: uint32.
    """

    strands: int
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    references: NDArray[np.uint32]
    lengths: NDArray[np.uint32]


class JoinedColumns(NamedTuple):
    """Alignments of a batch, in nucmer's order.

    Attributes:
        record, contig: int32 (n,).
        reverse: uint8 (n,), the record's reverse strand is aligned.
        spans: int64 (4 n,), start and end in the contig, then on the record's strand, half-open.
        errors: int64 (n,), mismatches and gap symbols.
        deltas: int64, columns from one gap symbol to the next, negative where the query has the symbol.
        delta_offsets: int64 (n + 1,).
    """

    record: NDArray[np.int32]
    contig: NDArray[np.int32]
    reverse: NDArray[np.uint8]
    spans: NDArray[np.int64]
    errors: NDArray[np.int64]
    deltas: NDArray[np.int64]
    delta_offsets: NDArray[np.int64]


class Joiner:
    """A reference, and how matches with it are joined.

    Args:
        threads: of a call of :meth:`join`.
    """

    def __init__(self, reference: Reference, params: JoinParams, threads: int) -> None:
        self._native = _native.GenomeAligner(
            reference.native,
            min_cluster=params.min_cluster,
            max_gap=params.max_gap,
            diagonal=params.diagonal_difference,
            diagonal_share=params.diagonal_factor,
            match=MATCH,
            mismatch=MISMATCH,
            gap_open=GAP_OPEN,
            gap_extend=GAP_EXTEND,
            reach=params.break_length,
            extend=params.extend,
            simplify=params.simplify,
            to_border=params.to_end,
        )
        self._rows = self._native.codes
        self._threads, self._reach = threads, params.break_length

    def clusters(self, batch: SequenceBatch, matches: StrandMatches) -> _native.GenomeAlignments:
        """The clusters of a batch, to be extended and joined."""
        return self._native.align(
            batch.bases,
            batch.base_offsets,
            strands=matches.strands,
            match_offsets=matches.offsets,
            starts=matches.starts,
            references=matches.references,
            lengths=matches.lengths,
            threads=self._threads,
        )

    def extensions(self, joined: _native.GenomeAlignments, backward: bool) -> Extensions:
        """What joining is going to need; the backward ones once the forward ones are taken."""
        return Extensions(joined, self._rows, self._reach, joined.searches(backward).view(struct("ExtendTask")))

    def join(self, batch: SequenceBatch, matches: StrandMatches, backend: Backend) -> JoinedColumns:
        """The alignments of a batch of query records; the result does not depend on the backend or on threads."""
        joined = self.clusters(batch, matches)
        for backward in (False, True):
            extensions = self.extensions(joined, backward)
            size = _DEVICE_TASKS if backend.on_gpu else _CPU_TASKS
            parts = (extensions.part(i, i + size) for i in range(0, len(extensions), size))
            if backend.local:
                found = backend.run(parts, EXTENSION)
            else:  # the clusters stay in this process
                found = run_ordered(parts, Extensions.on_cpu, self._threads)
            ends = [np.empty(0, struct("Extension")), *found]
            joined.take(backward, np.concatenate(ends).view(np.uint8))
        joined.join()
        query, query_offsets, target, target_offsets, low, high = joined.rectangles()
        problem = _problem(EncodedSequences([], query, query_offsets), EncodedSequences([], target, target_offsets))
        paths = list(backend.run(_blocks(problem, low, high), _stage(problem)))
        cigars = [path.cigar for path in paths if path.cigar is not None]
        counts = [np.diff(path.cigar_offsets) for path in paths if path.cigar_offsets is not None]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([np.empty(0, np.int64), *counts]))])
        return JoinedColumns(*joined.finish(np.concatenate([np.empty(0, np.uint32), *cigars]), offsets))


def _extended(extensions: Extensions, run: Run) -> NDArray[np.void]:
    """By a device, and by the CPU where it had too little memory."""
    ends: NDArray[np.void] = run(lambda _: extensions)
    if (left := np.flatnonzero(ends["n"] == 0)).size:
        ends[left] = replace(extensions, tasks=extensions.tasks[left]).on_cpu()
    return ends


def _extension_kernel(device: Device) -> DeviceKernel[Extensions, NDArray[np.void]]:
    from gpualign.align.genomes.device import ExtensionKernel  # only devices need it

    return ExtensionKernel(device)


EXTENSION: Stage[Extensions, NDArray[np.void]] = Stage(Extensions.on_cpu, _extension_kernel, _extended)


def _problem(queries: EncodedSequences, targets: EncodedSequences) -> PairProblem:
    return PairProblem(
        queries=(queries,),
        targets=targets,
        scoring=match_mismatch(MATCH, MISMATCH),
        gap_open=GAP_OPEN,
        gap_extend=GAP_EXTEND,
        mode="global",
        free_ends=(False, False, False, False),
        traced=True,
        identity=None,
        definition=0,
        table_bytes=_TABLE_BYTES,
    )


def _blocks(problem: PairProblem, low: NDArray[np.int32], high: NDArray[np.int32]) -> Iterator[Candidates]:
    """The rectangles in blocks of bounded work."""
    n, m = problem.query_lengths.astype(np.int64), problem.target_lengths.astype(np.int64)
    cells = n * np.minimum(m, high.astype(np.int64) - low + 1)
    for first in range(0, len(n), _BLOCK_PAIRS):
        for start, stop in cut_by_size(cells[first : first + _BLOCK_PAIRS], _BLOCK_CELLS):
            numbers = np.arange(first + start, first + stop, dtype=np.int32)
            yield Candidates(PairBlock(numbers, numbers), low[numbers], high[numbers])


def _stage(problem: PairProblem) -> Stage[Candidates, PairAlignments]:
    def on_cpu(candidates: Candidates) -> PairAlignments:
        return align_strand(problem, candidates, 0)

    def on_device(candidates: Candidates, run: Run) -> PairAlignments:
        aligned: PairAlignments = run(lambda _: candidates.block)
        return aligned

    def kernel(device: Device) -> DeviceKernel[Any, PairAlignments]:
        from gpualign.align.score.device.kernel import PairwiseKernel  # much, and only devices need it

        return PairwiseKernel(device, problem)

    return Stage(on_cpu, kernel, on_device)
