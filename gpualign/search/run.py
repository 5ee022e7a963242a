"""``search``: targets streamed past the patterns, their hits written in order."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.patterns.cpu import Patterns, SearchHits, search_on_cpu
from gpualign.align.patterns.device import DeviceSearch, PatternKernel
from gpualign.align.patterns.tuning import KERNELS
from gpualign.errors import UsageError, counted, proteins_want
from gpualign.params import RunOptions
from gpualign.run.gpu.pinned_pool import pinned_copy
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.run_context import RunContext
from gpualign.run.select import Work
from gpualign.run.stage import Backend, Run, Stage
from gpualign.search.candidates import find_guides
from gpualign.search.offtargets import GuideSums
from gpualign.search.output import HitCounts, Splitter, Writer, check_split, columns_of
from gpualign.search.params import SearchFiles, SearchParams
from gpualign.search.patterns import given_patterns, make_patterns, read_patterns
from gpualign.search.select import FoundHits, found_in, joined_groups, joined_parts, merged_parts, one_of_each, selected
from gpualign.search.targets import Item, TargetBatch, prepare, read_items
from gpualign.search.variants import Variants
from gpualign.sequences.reference import Reference
from gpualign.streaming.ordered import run_ordered
from gpualign.text.output_file import open_output
from gpualign.text.sizes import symbols_in_files

#: where all targets have at most so many symbols, patterns are searched in groups of so many, which threads and workers
#: share; in longer ones batches of targets are enough
_SHORT_TEXT, _GROUP = 1 << 24, 1024
#: a GPU wants more of the targets at once than a core
GPU_FACTOR = 8
#: batches in flight on a device
_SLOTS = 3
_PROTEINS = "--alphabet protein"


def run_search(params: SearchParams, files: SearchFiles, options: RunOptions) -> dict[str, Any]:
    """Search all targets and write their hits in order.

    Returns:
        The run report's fields.

    Raises:
        InputError: a file cannot be read or is invalid.
        UsageError: parameters that do not fit the files.
        DeviceError: a GPU was asked for and cannot be used.
    """
    if files.split is not None and not params.best_per_target:
        raise UsageError("--split gives each target to one pattern: it needs --best-per-target")
    run = RunContext(
        "search", options, files.inputs, (files.counts, files.summary, files.plot), reference=files.reference
    )
    if files.split is not None:
        run.outputs.append(files.split)
    size = symbols_in_files(*files.targets)
    with proteins_want(_PROTEINS):
        guides = None if files.candidates is None else find_guides(files, options)
        if guides is not None:
            named = guides.named
        elif files.patterns is None:
            named = given_patterns(files.given)
        else:
            named = read_patterns(files.patterns, params.alphabet)
    variants = None if files.variants is None else Variants(files.variants)
    patterns = make_patterns(named, params, size, files.patterns)
    if variants is not None:
        patterns = replace(patterns, more_context=variants.longest + 2 * patterns.reach)
    if files.split is not None:
        check_split(patterns.names)
    if (files.score or files.annotate or files.variants) and files.form != "table":
        raise UsageError(f"--{files.form} has no columns for scores, genes and variants: leave it out")
    if variants is not None and (params.alphabet != "dna" or params.ends == "free"):
        raise UsageError("variants are of dna: --variants cannot be used with other alphabets or --ends free")
    unused = variants is not None
    counts, writer = HitCounts(patterns), Writer(params, patterns, files)
    sums = None
    if files.summary is not None:
        sums = GuideSums(patterns, params.bulges, files.score is not None, {} if guides is None else guides.columns)
    output = run.table(columns_of(params, files), files.header) if files.form == "table" else run.output()
    with run.opening(Work.of(KERNELS, size)) as opening, contextlib.ExitStack() as stack:
        backend = opening.backend()
        if backend.on_gpu:  # batch after batch wants buffers of the same sizes
            reuse_memory()
        out = stack.enter_context(output)
        splitter = None
        bases = options.batch_size * (GPU_FACTOR if backend.on_gpu else 1)
        items = read_items(params, files, bases, patterns.context, options.threads)
        batches = search(params, patterns, backend, items, options.threads, files.split is not None, variants)
        rows = run_ordered(whole_or_part(params, patterns, files.form, batches), writer.rows, options.threads)
        stack.enter_context(contextlib.closing(rows))
        with run.progress("bases", of=files.targets) as progress:
            for found, scores, lines in rows:
                if splitter is None and files.split is not None:
                    kind = "fasta" if found.records is None or found.records.qualities is None else "fastq"
                    splitter = Splitter(files.split, patterns, options.threads, stack, kind)
                counts.add(found)
                unused = unused and not (variants is not None and variants.on(found.names, found.name_offsets))
                out.write(lines)
                if sums is not None:
                    sums.add(found.hits, scores)
                if splitter is not None:
                    splitter.write(found)
                progress.update(found.symbols)
    if files.counts is not None:
        with open_output(files.counts, options.threads) as out:
            out.write(counts.table())
    if files.summary is not None and sums is not None:
        with open_output(files.summary, options.threads) as out:
            out.write(sums.table())
    if files.plot is not None:
        from gpualign.search.plot import draw

        draw(counts, files.plot, params.merge)
    if variants is not None and variants.left_out:
        run.warn(f"{counted(variants.left_out, 'symbolic or long allele')} left out ({files.variants})")
    if unused and counts.targets:
        run.warn(f"no target has a variant (are the contigs' names those of {files.variants}?)")
    if counts.targets == 0:
        run.warn("there are no targets")
    hits = int(counts.hits.sum())
    fields = {"patterns": len(patterns), "targets": counts.targets, "targets_with_hits": counts.targets_with_hits}
    fields |= {"symbols": counts.symbols, "hits": hits}
    compared = f"{counted(len(patterns), 'pattern')}, {counted(counts.targets, 'target')}"
    return run.finish(
        f"{compared}, {counted(hits, 'hit')}, on {run.device}", **fields, hits_by_distance=counts.by_pattern
    )


def search(
    params: SearchParams,
    patterns: Patterns,
    backend: Backend,
    items: Iterable[Item],
    threads: int,
    keep: bool = False,
    variants: Variants | None = None,
) -> Iterator[FoundHits]:
    """Hits of each batch of targets, in order.

    Args:
        threads: that search batches with too many hits, in pieces.
        keep: with the targets themselves.
        variants: make further sites.
    """
    groups = patterns.groups(_GROUP) if patterns.text <= _SHORT_TEXT else [patterns]
    read = partial(prepare, params, keep)
    beyond = (0, 0) if variants is None else (patterns.reach, patterns.reach)  # of hits that make others needless
    stage = search_stage(read, partial(found_in, params, variants, len(groups) == 1), beyond)
    of_all = search_stage(read, partial(found_in, params, variants, True), beyond)
    shares = (Share(group, item) for item in items for group in groups)
    with proteins_want(_PROTEINS):
        batches = backend.run(shares, stage)
        while of_groups := list(itertools.islice(batches, len(groups))):
            pieces = next((found for found in of_groups if isinstance(found, list)), None)
            if pieces is not None:
                yield from in_pieces(patterns, of_all, pieces, threads)
            elif len(groups) == 1:
                yield of_groups[0]
            else:
                found = joined_groups(of_groups, groups)
                yield selected(params, patterns, found) if found.part is None else found


def in_pieces(
    patterns: Patterns, stage: Stage[Share, Any], pieces: Iterable[TargetBatch], threads: int
) -> Iterator[Any]:
    """Results of all patterns in pieces of a batch, in smaller ones where these have too many hits as well."""
    for found in run_ordered((Share(patterns, piece) for piece in pieces), stage.on_cpu, threads):
        if isinstance(found, list):
            yield from in_pieces(patterns, stage, found, threads)
        else:
            yield found


def whole_or_part(
    params: SearchParams, patterns: Patterns, form: str, batches: Iterable[FoundHits]
) -> Iterator[FoundHits]:
    """Batches to be written: parts of a record wait for its end where that decides, or its length is written and not
    known. Of hits of which one is chosen, only the best so far of each pattern wait.
    """
    chosen = params.hits in ("best", "first") or params.best_per_target
    parts: list[FoundHits] = []
    for found in merged_parts(batches) if params.merge else batches:
        if found.part is None or not (chosen or parts or (form == "paf" and found.part.length < 0)):
            yield found
            continue
        parts.append(found)
        if found.part.last:
            yield selected(params, patterns, joined_parts(parts))
            parts.clear()
        elif chosen:
            parts[:] = [one_of_each(params, joined_parts(parts))]


@dataclass(frozen=True, eq=False)
class Share:
    """A batch of targets, and the patterns to be looked for in it: all, or a group of them."""

    patterns: Patterns
    item: Item | TargetBatch


def search_stage(
    read: Callable[[Item | TargetBatch], TargetBatch],
    finish: Callable[[Patterns, TargetBatch, SearchHits], Any],
    beyond: tuple[int, int] = (0, 0),
) -> Stage[Share, Any]:
    """The stage over shares of whose items ``read`` makes targets, and ``finish`` results of the hits.

    Args:
        beyond: symbols before and after the text that counts from which hits are wanted, too.

    A device finds where patterns may lie, and the CPU settles it and looks for what devices leave out. Where a device
    finds too much, or no pattern is for devices, the CPU does all. Where there are too many hits to be held, the result
    is a list of smaller batches, :class:`TargetBatch`.
    """

    def settled(patterns: Patterns, targets: TargetBatch, events: NDArray[np.uint64] | None = None) -> Any:
        text = targets.text.extended(*beyond)
        try:
            hits = search_on_cpu(patterns, text, events, patterns.max_hits)
        except OverflowError:
            if len(pieces := targets.pieces(patterns.context)) > 1:
                return pieces
            hits = search_on_cpu(patterns, text, events)
        return finish(patterns, targets, hits)

    def on_cpu(share: Share) -> Any:
        return settled(share.patterns, read(share.item))

    def on_device(share: Share, run: Run) -> Any:
        patterns, targets = share.patterns, read(share.item)
        text = targets.text
        reference, events = text.text, None
        if isinstance(reference, Reference) and patterns.native.fits_device and text.offsets[-1]:
            bases = int(text.offsets[-1])
            events = run(lambda allocate: DeviceSearch(patterns, pinned_copy(reference.words, allocate), bases))
        return settled(patterns, targets, events)

    return Stage(on_cpu, PatternKernel, on_device, slots=_SLOTS)
