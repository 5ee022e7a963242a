"""``gpualign.Mapper``: maps reads to a reference."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from gpualign import _native
from gpualign.checks import whole_number
from gpualign.errors import DeviceError, UsageError, counted
from gpualign.fields import takes_keywords
from gpualign.map import tuning
from gpualign.map.alignments import Alignments, Found
from gpualign.map.api_inputs import MapperInput, Read, batch_of, is_file_or_batch, is_sequence, work_of_reads
from gpualign.map.cpu import map_batch
from gpualign.map.device.kernel import map_kernel
from gpualign.map.formatter import RecordFormatter
from gpualign.map.hits import Drawer, Hit, Target, hit_table
from gpualign.map.inputs import MapFiles, RecordOptions, Sample
from gpualign.map.library import find_library
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams, MapScoring, Pairing, Reporting, Seeding, left_unmapped
from gpualign.map.stage import map_batch_on_device
from gpualign.map.tuning import SLOTS
from gpualign.notices import notice
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, as_batch, is_path, packed, path_of
from gpualign.reads.reads import Reads
from gpualign.records.alignment_output import AlignmentLayout
from gpualign.records.sam_header import sam_header
from gpualign.report import OnProgress, Progress
from gpualign.run.gpu.device import Device
from gpualign.run.select import Work, open_backend, parse_device
from gpualign.run.stage import Backend, Run, Stage
from gpualign.seeds.index.minimizers import MinimizerIndex, build_index
from gpualign.seeds.index.run import choose_index_params, open_index
from gpualign.sequences.batch import SequenceBatch
from gpualign.tables.table import Table

if TYPE_CHECKING:
    import pysam

R = TypeVar("R")
#: other names of parameters in Python
_FIELDS = {
    "most_hits": "max_hits",
    "most_candidates": "max_candidates",
    "clip": "clip_penalty",
    "unpaired": "unpaired_penalty",
}
_GROUPS = (Seeding, MapScoring, Pairing, Reporting)
_CLOSED = "the mapper is closed"


def _close(backends: list[Backend], process: int) -> None:
    """Close backends that this process, if it is that one, has opened."""
    if process == os.getpid():
        for backend in backends:
            backend.close()


class Mapper:
    """A reference, indexed, to map reads onto, as often as you like.

    >>> genome = "ACGTTGCATTAGGCTAACCGTATTCGAGTCCATGCAAGCTTGACCGTACGATTGCAGCTATTTGCGCGATATCTTGATC"
    >>> mapper = Mapper([genome])
    >>> rows = mapper.map([genome[40:72], "GATCAAGATATCGCGCAAATAGCTGCAATCG", "CCCCCCCCCCCCCCCC"])
    >>> rows[["read", "flag", "contig", "position", "cigar"]].tolist()
    [(0, 0, 0, 40, '32M'), (1, 16, 0, 48, '31M'), (2, 4, None, None, None)]

    One read at a time, with mappy's names:

    >>> for hit in mapper.map("GATCAAGATATCGCGCAAATAGCTGCAATCG"):
    ...     print(hit.ctg, hit.r_st, hit.r_en, hit.strand, hit.mapq, hit.NM, hit.cigar_str)
    0 48 79 -1 60 0 31M

    A stream of reads, of which only a few are held:

    >>> reads = (("a", genome[30:62], None), ("b", "C" * 32, None))
    >>> [(name, [hit.position for hit in hits]) for (name, _, _), hits in mapper.stream(reads)]
    [('a', [30]), ('b', [])]

    Threads may share a mapper. It can be pickled, and used after a fork. It keeps GPUs that it has used until it is
    closed: call :meth:`close`, or use it in a ``with`` block.

    Args:
        reference: nucleotide sequences, a file of them, or a saved index.
        preset: "sr", "sr-sensitive", "hifi", "ont", "asm5", "asm10", "asm20" or minimap2's name of one, as for
            ``gpualign map -x``.
        device: "auto", "cpu", "cuda", "cuda:0,1"; single reads are mapped on the CPU.
        threads: host threads; 0: all cores.
        parameters: fields of :class:`gpualign.map.params.MapParams` and its groups, which override the preset:
            ``error_rate``, ``k``, ``w``, ``match``, ``mismatch``, ``gap_open``, ``gap_extend``, ``clip``,
            ``most_hits``, ``most_candidates``, ``insert_size``, ``orientation``, ``unpaired``, ``secondary``, ``meth``
            ("directional", "pbat" or "non-directional": bisulfite reads).

    Attributes:
        names: names of the contigs.
        lengths: int64 (contigs,), bases of the contigs.

    Raises:
        UsageError: a parameter that breaks a rule.
        InputError: a character that is not a nucleotide code, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used (raised when reads are mapped).
    """

    @takes_keywords(MapParams, *_GROUPS, without=("seeding", "scoring", "pairing", "reporting"), also=_FIELDS)
    def __init__(
        self,
        reference: Sequences,
        preset: str = "sr",
        *,
        device: str = RunOptions.device,
        threads: int = RunOptions.threads,
        **parameters: Any,
    ) -> None:
        self._params = MapParams.of_preset(preset, **{_FIELDS.get(name, name): parameters[name] for name in parameters})
        self._preset, self._options = preset, RunOptions.of_api(device, threads)
        self._index = self._open(reference)
        self.names = list(self._index.reference.names)
        self.lengths = self._index.reference.lengths
        self._start()

    def _start(self) -> None:
        self._target = Target(self.names, self.lengths.tolist(), self._params.scoring)
        self._idle: list[Backend] = []  # open GPU backends that no call is using
        self._lock, self._process = threading.Lock(), os.getpid()
        weakref.finalize(self, _close, self._idle, self._process).atexit = False  # devices close at the exit
        self._closed = self._used_gpu = False

    def __getstate__(self) -> dict[str, Any]:
        names = ("_params", "_preset", "_options", "_index", "names", "lengths")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start()

    def __repr__(self) -> str:
        size = f"{counted(len(self.names), 'contig')}, {counted(int(self.lengths.sum()), 'base')}"
        run = f"device={self._options.device!r}, threads={self._options.threads}"
        return f"<Mapper: {size}, preset={self._preset!r}, {run}{', closed' if self._closed else ''}>"

    def __enter__(self) -> Mapper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the GPUs; no more reads can be mapped. Calls in progress finish first."""
        with self._lock:
            self._closed, idle = True, self._idle[:]
            self._idle.clear()
        _close(idle, self._process)

    @takes_keywords()
    def map(
        self,
        reads: Sequences | Iterable[Read],
        mates: Sequences | Iterable[Read] | None = None,
        *,
        progress: OnProgress | None = None,
    ) -> Table[Hit]:
        """Map reads, or pairs if ``mates`` has R2 or a SAM, BAM or CRAM file says that they are pairs.

        Args:
            reads: a file, a batch, or reads: text, (name, sequence), (name, sequence, quality), or records of
                Biopython, pysam or dnaio. Bytes, or text of nucleotide codes that is not the name of a file, are one
                read; then an unmapped read has no row.
            mates: R2, in the same form.
            progress: called from time to time with the number of mapped reads.

        Returns:
            A table of :class:`Hit`: for each read, in order, the primary record, then others: ``read`` (index; the
            mates of a pair are 2i and 2i + 1), ``flag`` (SAM's), ``contig`` (index), ``position`` (0-based), ``mapq``,
            ``score`` (affine, without clip penalties), ``distance`` (edits of the aligned bases), ``cigar``,
            ``read_name`` and ``contig_name``. Of unmapped reads only read, flag and read_name are not null.

        Raises:
            UsageError: the input is not reads, or the mapper is closed.
            InputError: a character that is not a nucleotide code, unequal numbers of mates, a file that cannot be read
                or whose mates are not neighbours.
        """
        if is_sequence(reads):
            return self._map_one(reads, mates)
        drawer = Drawer(self._index.reference, [], []) if isinstance(reads, list | tuple | SequenceBatch) else None
        none = hit_table(Alignments.none(), SequenceBatch.from_records([]), 0, self._target, drawer)
        return Table.concat([none, *self._tables(reads, mates, progress, drawer)])

    @takes_keywords()
    def iter_map(
        self,
        reads: Sequences | Iterable[Read],
        mates: Sequences | Iterable[Read] | None = None,
        *,
        progress: OnProgress | None = None,
    ) -> Iterator[Table[Hit]]:
        """Map reads batch by batch; only the batches in flight are held of files and iterators. Arguments: :meth:`map`.

        Yields:
            Parts of :meth:`map`'s result, in order.
        """
        yield from self._tables(reads, mates, progress, None)

    @overload
    def stream(
        self, reads: Iterable[R], mates: None = None, *, progress: OnProgress | None = None
    ) -> Iterator[tuple[R, list[Hit]]]: ...
    @overload
    def stream(
        self, reads: Iterable[R], mates: Iterable[R], *, progress: OnProgress | None = None
    ) -> Iterator[tuple[tuple[R, R], tuple[list[Hit], list[Hit]]]]: ...
    @takes_keywords()
    def stream(
        self, reads: Iterable[Read], mates: Iterable[Read] | None = None, *, progress: OnProgress | None = None
    ) -> Iterator[tuple[Any, Any]]:
        """Map reads from an iterator; few are held at a time.

        Args:
            reads: an iterable of what :meth:`map` takes as a read.
            mates: an iterable of R2, as long as ``reads``.
            progress: see :meth:`map`.

        Yields:
            Each read as it was given, and a list of its hits, the primary one first; empty if it is unmapped.
            With ``mates``: both reads, and both lists.

        Raises:
            as :meth:`map`.
        """
        if is_file_or_batch(reads) or is_file_or_batch(mates):
            raise UsageError("stream takes reads one by one: for files there are map, iter_map and segments")
        originals: deque[list[Any]] = deque()  # of the batches in flight, which come back in order
        first, bar = 0, Progress(self._options, "read", call=progress)
        for found in self._found(MapperInput(reads, mates, originals)):
            rows = hit_table(found.alignments, found.columns(), first, self._target, None)
            hits = _hits_of_reads(found.alignments, rows)
            each = hits if mates is None else zip(hits, hits, strict=True)
            yield from zip(originals.popleft(), each, strict=True)
            first += len(found)
            bar.update(len(found))

    @takes_keywords()
    def segments(
        self, reads: Sequences | Iterable[Read], mates: Sequences | Iterable[Read] | None = None
    ) -> Iterator[pysam.AlignedSegment]:
        """Map reads to pysam objects of the records that ``gpualign map`` writes (see :meth:`map`, :attr:`header`).

        Yields:
            ``pysam.AlignedSegment``, in order.
        """
        import pysam

        header = self.header
        sample = Sample(MapFiles("", ()), self._params, RecordOptions(), AlignmentLayout("sam"), self._options)
        formatter = RecordFormatter(self._index, sample, None, tagged=True)
        for found in self._found(MapperInput(reads, mates, unnamed=False)):
            written = formatter.formatted(formatter.to_write(found))
            for line in bytes(written.records).decode("latin-1").split("\n")[:-1]:
                yield pysam.AlignedSegment.fromstring(line, header)

    @property
    def header(self) -> pysam.AlignmentHeader:
        """The header for a file of :meth:`segments`."""
        import pysam

        return pysam.AlignmentHeader.from_text(sam_header(self._index.reference, "gpualign.Mapper").decode())

    @takes_keywords()
    def seq(self, name: str, start: int = 0, end: int | None = None) -> str | None:
        """Bases [start, end) of a contig; None if there is no such contig."""
        if name not in self.names:
            return None
        number = self.names.index(name)
        offset, length = int(self._index.reference.contig_offsets[number]), int(self.lengths[number])
        ends = whole_number("start", start), None if end is None else whole_number("end", end)
        start, end, _ = slice(*ends).indices(length)
        return self._index.reference.sequence(offset + start, offset + max(start, end)).decode()

    def _map_one(self, read: Any, mate: Any) -> Table[Hit]:
        """Map one read on the CPU in the calling thread: a device is not worth its start."""
        if self._closed:
            raise UsageError(_CLOSED)
        if mate is not None:
            rows = self.map([read], [mate])
            return rows[rows["contig"] >= 0]
        batch = batch_of([read], unnamed=True)
        alignments = map_batch(self._index, batch, self._params)
        _warn_of(int(np.count_nonzero(self._params.too_long(batch.base_offsets[1:]))))
        drawer = Drawer(self._index.reference, [batch], [0])
        rows = hit_table(alignments, batch, 0, self._target, drawer)
        return rows if alignments.contig[0] >= 0 else rows[:0]

    def _tables(
        self, reads: Any, mates: Any, progress: OnProgress | None, drawer: Drawer | None
    ) -> Iterator[Table[Hit]]:
        first, bar = 0, Progress(self._options, "read", call=progress)
        for found in self._found(MapperInput(reads, mates)):
            if drawer is not None:
                drawer.batches.append(found.columns())
                drawer.firsts.append(first)
            yield hit_table(found.alignments, found.columns(), first, self._target, drawer)
            first += len(found)
            bar.update(len(found))

    def _found(self, given: MapperInput) -> Iterator[Found]:
        """The alignments of each batch, in order."""
        with ExitStack() as stack:
            backend = stack.enter_context(self._backend(work_of_reads(given.reads, given.mates)))
            items, paired = given.items(tuning.API_BATCH if backend.on_gpu else tuning.API_CPU_BATCH, stack)
            if paired:
                self._params.check_pairs()
            threads = self._options.threads
            library, items = find_library(self._index, items, paired, self._params, threads, lambda warning: None)
            pairs = None if library is None else library.model
            too_long = 0
            for found in stack.enter_context(closing(backend.run(items, self._stage(pairs)))):
                too_long += int(np.count_nonzero(self._params.too_long(found.lengths)))
                yield found
        _warn_of(too_long)

    @contextmanager
    def _backend(self, work: Work) -> Iterator[Backend]:
        """An open backend, or a new one; a GPU backend stays open for the next call."""
        if self._process != os.getpid():
            self._after_fork()
        with self._lock:
            if self._closed:
                raise UsageError(_CLOSED)
            backend = self._idle.pop() if self._idle else None
        if backend is None:
            backend = open_backend(self._options, "map", work)
            self._used_gpu |= backend.on_gpu
        try:
            yield backend
        except BaseException:
            backend.close()
            raise
        with self._lock:
            if backend.on_gpu and not self._closed:
                self._idle.append(backend)
                return
        backend.close()

    def _after_fork(self) -> None:
        """Start anew in a child process, in which CUDA cannot be used if the parent used it."""
        if self._used_gpu and not parse_device(self._options.device).automatic:
            raise DeviceError("CUDA does not survive a fork (start processes by spawn)")
        if self._used_gpu:
            self._options = replace(self._options, device="cpu")
        self._start()

    def _stage(self, pairs: PairModel | None) -> Stage[Reads, Found]:
        index, params = self._index, self._params

        def found_of(batch: SequenceBatch, found: Alignments) -> Found:
            if pairs is None and batch.mates is not None:  # set the flags of mates that were mapped one by one
                found = Alignments(*_native.change_records(found.native, batch.mates, 0, False))
            return Found(batch, found.with_read_flags(batch.flags))

        def on_cpu(reads: Reads) -> Found:
            batch = reads.columns()
            return found_of(batch, map_batch(index, batch, params, pairs))

        def on_device(reads: Reads, run: Run) -> Found:
            batch = reads.columns()
            return found_of(batch, map_batch_on_device(index, batch, params, pairs, run)[0])

        return Stage(on_cpu, lambda device: self._kernel_on(device, pairs), on_device, slots=SLOTS)

    def _kernel_on(self, device: Device, pairs: PairModel | None) -> Any:
        """The kernel, which stays on the device for the next call; runs in the device's thread."""
        kernels: dict[bool, Any] = device.resident("mapper", dict, self._index, self._params)
        paired = pairs is not None
        model, kernel = kernels.get(paired, (None, None))
        if kernel is None or model is not pairs:
            kernel = map_kernel(device, self._index, self._params, pairs)
            kernels[paired] = pairs, kernel
        return kernel

    def _open(self, reference: Sequences) -> MinimizerIndex:
        seeding, threads = self._params.seeding, self._options.threads
        meth = self._params.meth is not None
        if is_path(reference):
            return open_index(path_of(reference), seeding.k, seeding.w, threads, meth=meth)
        whole = packed(as_batch(reference))
        if not whole.lengths.all():
            raise UsageError(f"contig {int(whole.lengths.argmin())} of the reference has no bases")
        return build_index(whole, choose_index_params(whole.bases, seeding.k, seeding.w, meth), threads)


def _warn_of(too_long: int) -> None:
    if too_long:
        notice(left_unmapped(too_long))


def _hits_of_reads(alignments: Alignments, table: Table[Hit]) -> Iterator[list[Hit]]:
    """The mapped records of each read."""
    hits, mapped = iter(table), (alignments.contig >= 0).tolist()
    if len(mapped) == len(alignments):
        return ([hit] if is_mapped else [] for hit, is_mapped in zip(hits, mapped, strict=True))
    counts = np.diff(alignments.record_offsets).tolist()
    return ([hit for hit in islice(hits, count) if hit.is_mapped] for count in counts)
