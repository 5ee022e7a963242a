"""``search --trim``: reads without their adapters, low-quality ends and UMIs, in files by their barcodes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, UsageError, check_count, counted
from gpualign.notices import notices_to
from gpualign.params import RunOptions
from gpualign.reads.lanes import paired_reads
from gpualign.reads.reads import Reads, ReadSource
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.run_context import RunContext
from gpualign.search.adapters import Group, groups_of, native_set
from gpualign.search.params import SearchFiles, SearchParams
from gpualign.search.patterns import given_patterns, read_patterns
from gpualign.search.trim_output import Form, ReadsOutput, Written, appended, form_of, formatted, with_tags
from gpualign.search.trim_params import TrimFiles, TrimParams
from gpualign.search.trim_report import Found, TrimCounts, cutadapt_report
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.streaming.ordered import run_ordered
from gpualign.text.files import open_together

#: poly-A in R1 and single reads, poly-T in R2
_TAILS = (1, 2)
#: between the UMIs of two mates in a name, and in RX (SAM tags, section 1.2)
_IN_NAME, _IN_TAG = b"_", b"-"


def run_trim(
    params: SearchParams, trim: TrimParams, files: SearchFiles, mates: TrimFiles, options: RunOptions
) -> dict[str, Any]:
    """Trim reads and write them, in their order.

    Returns:
        The run report's fields.

    Raises:
        InputError: a file cannot be read or is invalid, or mates do not belong together.
        UsageError: parameters that do not fit the files.
    """
    paired = len(files.targets) == 2 or mates.interleaved
    _check(params, trim, files, mates, options, paired)
    inputs = (files.patterns, mates.patterns2, *files.targets)
    run = RunContext("search", options, inputs, (mates.paired_output,), (".bam", ".ubam", ".sam"), files.reference)
    if files.split is not None:
        run.outputs[:] = [files.split]
    sides = 2 if paired else 1
    groups = _groups(params, trim, files, mates, sides)
    work = Trimmer(params, trim, groups, files.split is not None)
    counts = TrimCounts(sides)
    reuse_memory(one_heap=True)  # batches of the same size again and again
    with contextlib.ExitStack() as stack:
        stack.enter_context(notices_to(run.warn))
        sources = [
            stack.enter_context(ReadSource(path, files.reference, comments=True, threads=options.threads, opened=raw))
            for path, raw in zip(files.targets, open_together(files.targets, stack), strict=True)
        ]
        for source in sources:
            source.alphabet = "any"  # which leaves their case
            if source.paired and not paired:
                raise InputError("its first read is one of a pair (give --interleaved)", source.path)
        apart = paired and (files.split is not None or mates.paired_output is not None)
        form = form_of(options.output, files, sources, apart)
        header, every = sources[0].header, not work.combined
        out = ReadsOutput(form, options, files, mates.paired_output, header, work.names, every, stack)
        reads = _mates(sources, options.batch_size, mates.interleaved, options.threads)
        progress = stack.enter_context(run.progress("reads"))
        batches = run_ordered(reads, partial(work, form), options.threads)
        for written, found in stack.enter_context(contextlib.closing(batches)):
            out.write(written)
            counts.add(found)
            progress.update(found.reads)
    check_count("reads", counts.reads, counts.written + sum(counts.filtered.values()))
    report = cutadapt_report(counts, groups, params, trim, files, options)
    what = "pair" if paired else "read"
    trimmed = int(counts.with_adapter.sum())
    summary = f"{counted(counts.reads, what)}, {counted(trimmed, 'read')} with adapters, {counts.written:,} written"
    return run.finish(summary, **report)


def _check(
    params: SearchParams, trim: TrimParams, files: SearchFiles, mates: TrimFiles, options: RunOptions, paired: bool
) -> None:
    """
    Raises:
        UsageError: options that do not go together.
    """
    if len(files.targets) > 2 or (mates.interleaved and len(files.targets) > 1):
        raise UsageError("reads to be trimmed are one file, R1 and R2, or one file with --interleaved")
    if not paired and (mates.other_patterns or mates.mates != "both" or mates.paired_output or trim.unique_dual):
        raise UsageError("only pairs have an R2: give R1 and R2, or --interleaved")
    if trim.umi is not None and "," in trim.umi and not paired:
        raise UsageError("only pairs have an R2: --umi needs one part")
    if trim.unique_dual and not mates.other_patterns:
        raise UsageError("--unique-dual compares the adapters of R1 with those of R2: give --patterns2 or --pattern2")
    if files.split is not None and (trim.trim is None or options.output or mates.paired_output):
        raise UsageError("--split writes reads by their barcodes to files of its own: it needs --trim, and no -o")
    if params.alphabet != "dna" or params.pam or params.fixed or params.max_ambiguous or params.ends == "free":
        raise UsageError("adapters are dna without --pam, --fixed, --max-n and --ends (see ^ and $ in --trim)")
    if options.device not in ("auto", "cpu"):
        raise UsageError(f"reads are trimmed on the CPU: --trim cannot be used with --device {options.device}")
    if params.max_bulges not in (None, 0) or options.dask is not None or options.output_format != "tsv":
        raise UsageError("--trim cannot be used with --max-bulges, --dask or a table's format")
    for_hits = (
        files.counts,
        files.plot,
        files.summary,
        files.score,
        files.annotate,
        files.variants,
        files.candidates,
        files.pairs,
    )
    if files.form != "table" or any(for_hits) or params.path or params.best_per_target or params.within:
        raise UsageError("--trim writes reads: options of hits and their table cannot be used with it")


def _groups(
    params: SearchParams, trim: TrimParams, files: SearchFiles, mates: TrimFiles, sides: int
) -> list[list[Group]]:
    """The adapters of each mate."""

    def read(path: str | None, given: Sequence[str]) -> list[Group]:
        named = given_patterns(given) if path is None else read_patterns(path, "any")
        return groups_of(named, params, trim, path)

    if trim.trim is None:
        return [[] for _ in range(sides)]
    first = read(files.patterns, files.given)
    if mates.other_patterns:
        second = read(mates.patterns2, [] if mates.given2 is None else mates.given2.split(","))
        if trim.unique_dual and len(first) != len(second):
            raise InputError(f"{len(first)} adapters of R1 and {len(second)} of R2, but --unique-dual needs as many")
        return [first, second]
    return [first if mates.mates in ("both", str(side + 1)) else [] for side in range(sides)]


def _mates(sources: list[ReadSource], bases: int, interleaved: bool, threads: int) -> Iterator[Reads]:
    """Reads with a side for each mate."""
    if len(sources) == 2:
        yield from paired_reads(sources[0], sources[1], bases, threads=threads)
        return
    (source,) = sources
    if not interleaved:
        yield from (Reads((records,), (source.path,)) for records in source.records(bases))
        return
    rest: list[SequenceBatch] = []
    for batch in run_ordered(source.records(bases), lambda records: records.columns(), threads):
        whole = join_batches([*rest, batch])
        even = len(whole) - len(whole) % 2
        rest = [whole.part(even, len(whole))] if len(whole) > even else []
        sides = tuple(whole.take(np.arange(side, even, 2)) for side in (0, 1))
        yield Reads(sides, (source.path, source.path))
    if rest:
        raise InputError(f"the last read, '{rest[0].name(0)}', has no mate", source.path)


class Trimmer:
    """Trims a batch of reads; threads may share it.

    Args:
        groups: adapters of each mate.
        split: reads are written by their barcodes.

    Attributes:
        combined: a barcode is one of R1 and one of R2.
        names: of the barcodes, where they are wanted; the number after the last one means that there is none.
        tags: BC of each.
    """

    def __init__(self, params: SearchParams, trim: TrimParams, groups: list[list[Group]], split: bool) -> None:
        self._trim, self._groups, self._split = trim, groups, split
        self._sets = [native_set(each, params.bulges != 0) if each else None for each in groups]
        first, second = groups[0] or groups[-1], groups[-1] or groups[0]
        self.combined = first is not second and not trim.unique_dual
        if not (split or trim.barcode_tag):
            pairs, self.names = [], []
        elif self.combined:
            pairs = [(a, b) for a in first for b in second]
            self.names = [f"{a.name}-{b.name}" for a, b in pairs]
        else:
            pairs, self.names = [*zip(first, second, strict=True)], [each.name for each in first]
        alone = first is second
        self.tags = [a.barcode if alone else a.barcode + b"-" + b.barcode for a, b in pairs]

    def __call__(self, form: Form, reads: Reads) -> tuple[Written, Found]:
        """The text of a batch's reads, and what was found.

        Raises:
            InputError: a malformed record, or names of mates that differ.
        """
        batches = [side.columns() for side in reads.sides]
        if len(batches) == 2:
            names = replace(reads, sides=tuple(map(_only_names, batches))).columns()  # which compares them
            if form.kind != "fastx":  # both mates have the template's name
                batches = [_renamed(batch, names, side) for side, batch in enumerate(batches)]
        trim, count = self._trim, len(batches[0])
        umis = [_umis(batch, trim.umi_parts[side]) for side, batch in enumerate(batches)]
        skips = [trim.umi_parts[side][-1][0] for side in range(len(batches))]
        kept = [self._trimmed(side, batch, skips[side]) for side, batch in enumerate(batches)]
        group = np.stack([_last_groups(hits, count) for *_, hits in kept])
        if trim.unique_dual:  # an adapter without its partner does not count
            alone = group[0] != group[1]
            for begin, end, good_begin, good_end, *_ in kept:
                begin[alone], end[alone] = good_begin[alone], good_end[alone]
            kept = [(*arrays, hits[~alone[hits[:, 0]]]) for *arrays, hits in kept]
            group[:, alone] = -1
        cut, lengths = [], []
        for side, batch in enumerate(batches):
            begin, end, good_begin, good_end, *_ = kept[side]
            outer = (begin, end) if trim.action == "trim" else (good_begin, good_end)
            inner = (begin, end) if trim.action == "mask" else outer
            bases, offsets, qualities = _native.cut_reads(batch.native, *outer, *inner)
            cut.append(replace(batch, bases=bases, base_offsets=offsets, qualities=qualities))
            lengths.append(np.diff(offsets))
        filtered, wanted = self._filter(np.stack(lengths), group)
        if trim.umi is not None:
            cut = [_with_umis(batch, umis, trim.umi_to) for batch in cut]
        barcode = self._barcode(group)
        written = formatted(form, cut, wanted, barcode, self.tags if trim.barcode_tag else [], self._split)
        low = [int((b.lengths - s - k[3] + k[2]).sum()) for b, k, s in zip(batches, kept, skips, strict=True)]
        return written, Found(
            reads=count,
            written=int(wanted.sum()),
            filtered=filtered,
            bases=[int(batch.lengths.sum()) for batch in batches],
            low_quality=low,
            poly_a=[int(k[4].sum()) for k in kept],
            bases_written=[int(length[wanted].sum()) for length in lengths],
            with_adapter=np.count_nonzero(group >= 0, axis=1).tolist(),
            hits=[k[5] for k in kept],
        )

    def _trimmed(self, side: int, batch: SequenceBatch, skip: int) -> tuple[Any, ...]:
        """What :func:`_native.trim_reads` gives, with its hits as rows."""
        tail = _TAILS[side] if self._trim.poly_a else 0
        how = (skip, self._trim.times, *self._trim.cutoffs, tail)
        *arrays, hits = _native.trim_reads(batch.native, self._sets[side], *how)
        return *arrays, hits.reshape(-1, 6)

    def _filter(self, lengths: NDArray[np.int64], group: NDArray[np.int32]) -> tuple[dict[str, int], Any]:
        """How many reads are left out, by reason, and which are written."""
        short = (lengths < self._trim.min_length).any(axis=0)
        searched = [side for side, groups in enumerate(self._groups) if groups]
        found = group[searched] >= 0
        trimmed = found.any(axis=0) & (self._trim.discard == "trimmed")
        untrimmed = ~found.all(axis=0) & (self._trim.discard == "untrimmed")
        filtered = {"too_short": int(short.sum())}
        filtered["discard_trimmed"] = int((trimmed & ~short).sum())
        filtered["discard_untrimmed"] = int((untrimmed & ~short).sum())
        return filtered, ~(short | trimmed | untrimmed)

    def _barcode(self, group: NDArray[np.int32]) -> NDArray[np.int64]:
        """The number of each read's barcode in :attr:`names`; mates with two different ones have none."""
        none, first, second = len(self.names), group[0].astype(np.int64), group[-1].astype(np.int64)
        if self.combined:
            return np.where((first >= 0) & (second >= 0), first * len(self._groups[1]) + second, none)
        found = np.maximum(first, second)
        return np.where((found < 0) | ((first >= 0) & (second >= 0) & (first != second)), none, found)


def _last_groups(hits: NDArray[np.int32], reads: int) -> NDArray[np.int32]:
    """The group of the last adapter of each read; -1: none."""
    group = np.full(reads, -1, np.int32)
    group[hits[:, 0]] = hits[:, 1]
    return group


def _only_names(batch: SequenceBatch) -> SequenceBatch:
    empty, offsets = np.zeros(0, np.uint8), np.zeros(len(batch) + 1, np.int64)
    return SequenceBatch(batch.names, batch.name_offsets, empty, offsets)


def _renamed(batch: SequenceBatch, joined: SequenceBatch, side: int) -> SequenceBatch:
    names = joined.take(np.arange(side, len(joined), 2))
    return replace(batch, names=names.names, name_offsets=names.name_offsets)


def _umis(batch: SequenceBatch, parts: list[tuple[int, int]]) -> NDArray[np.uint8]:
    """The UMI of each read, uint8 (n, bases).

    Raises:
        InputError: a read is too short.
    """
    *intervals, (skip, _) = parts
    if len(batch) and int(batch.lengths.min()) < skip:
        read = int(np.argmax(batch.lengths < skip))
        raise InputError(f"read '{batch.name(read)}' has {batch.lengths[read]} bases, but --umi cuts off {skip}")
    at = np.concatenate([np.arange(start, end) for start, end in [*intervals, (0, 0)]])
    umis: NDArray[np.uint8] = batch.bases[batch.base_offsets[:-1, None] + at]
    return umis


def _with_umis(batch: SequenceBatch, umis: list[NDArray[np.uint8]], where: str) -> SequenceBatch:
    """With the UMIs of a pair at the end of the names, or as RX among the comments."""
    texts = [umi for umi in umis if umi.shape[1]]
    for number, umi in enumerate(texts):
        separator = (_IN_NAME if where == "name" else _IN_TAG) if number else b"_" if where == "name" else b"RX:Z:"
        head = np.broadcast_to(np.frombuffer(separator, np.uint8), (len(umi), len(separator)))
        texts[number] = np.concatenate([head, umi], axis=1)
    added = np.concatenate(texts, axis=1)
    offsets = np.arange(len(batch) + 1) * added.shape[1]
    if where != "name":
        return with_tags(batch, added.reshape(-1), offsets)
    names, name_offsets = appended(batch.names, batch.name_offsets, added.reshape(-1), offsets)
    return replace(batch, names=names, name_offsets=name_offsets)
