"""``gpualign.search``: where patterns fit in targets with few errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from gpualign.align.patterns.cpu import Patterns, SearchHits
from gpualign.align.patterns.tuning import KERNELS
from gpualign.errors import proteins_want
from gpualign.fields import takes_keywords
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, checked_reads, is_path, is_text, parts_of, path_of, symbols_in
from gpualign.report import OnProgress, Progress
from gpualign.run.select import Work, open_backend
from gpualign.search.params import SearchFiles, SearchParams
from gpualign.search.patterns import Named, given_patterns, make_patterns, read_patterns
from gpualign.search.run import search as run_batches
from gpualign.search.run import whole_or_part
from gpualign.search.targets import Item, parts_in_memory, read_items
from gpualign.sequences.batch import SequenceBatch
from gpualign.tables.column import NameColumn, SignColumn, TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Table

#: symbols of targets that are searched at once
_BATCH = 1 << 23


@takes_keywords(SearchParams)
def search(
    patterns: Sequences,
    targets: Sequences,
    max_errors: int | None = SearchParams.max_errors,
    *,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
    **parameters: Any,
) -> Table[Row]:
    """Find all hits of patterns in targets with at most ``max_errors`` (docs/commands/search.md).

    >>> rows = search(["GATTACA"], ["CCGATTTACACC", "TGTAATC"], 1, path=True)
    >>> rows[["target", "start", "end", "strand", "distance", "cigar", "matched"]].tolist()
    [(0, 2, 10, '+', 1, '2=1D5=', 'GATTTACA'), (1, 0, 7, '-', 0, '7=', 'GATTACA')]

    Guides with up to one bulge among three errors, followed by their PAM:

    >>> search(["ACGTACGTAC"], ["TTACGTCCGTACTGGTT"], 3, max_bulges=1, pam="NGG")["distance"].tolist()
    [1]

    Args:
        patterns: a file, a batch, or strings; IUPAC codes match the bases that they denote.
        targets: a file (also an index), a batch, or strings.
        max_errors: maximum insertions, deletions and substitutions; None: see ``error_rate``.
        device, threads, progress: as for :func:`gpualign.verify`; symbols of targets are counted.
        parameters: fields of :class:`gpualign.search.params.SearchParams`.

    Returns:
        A :class:`gpualign.Table` in the order of targets and starts: ``pattern`` and ``target`` (their numbers),
        ``strand``, ``start`` and ``end`` (half-open on the forward strand), ``distance``; with ``ends="free"``
        ``pattern_start`` and ``pattern_end``; with ``path`` ``cigar`` and ``matched``; ``pattern_name`` and
        ``target_name``.

    Raises:
        UsageError: a parameter out of range.
        InputError: an empty pattern, a symbol that is not of the alphabet, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = SearchParams(max_errors=max_errors, **parameters)
    parts = list(_tables(params, patterns, targets, device, threads, progress))
    return Table.concat(parts)


@takes_keywords(SearchParams)
def iter_search(
    patterns: Sequences,
    targets: Sequences,
    max_errors: int | None = SearchParams.max_errors,
    *,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
    **parameters: Any,
) -> Iterator[Table[Row]]:
    """Like :func:`search`, but yield a table for each batch of targets, so that memory does not grow with them.

    >>> sum(len(table) for table in iter_search(["ACGT"], iter(["TACGTT", "CCC"]), 0, strand="plus"))
    1
    """
    params = SearchParams(max_errors=max_errors, **parameters)
    return _tables(params, patterns, targets, device, threads, progress)


def _tables(
    params: SearchParams,
    patterns: Sequences,
    targets: Sequences,
    device: str,
    threads: int,
    progress: OnProgress | None,
) -> Iterator[Table[Row]]:
    options = RunOptions.of_api(device, threads)
    size = symbols_in(targets)
    path = path_of(patterns) if is_path(patterns) else None
    with proteins_want('alphabet="protein"'):
        made = make_patterns(_named(patterns, params), params, size, path)
        first = 0
        names = TextColumn.of(made.names)
        yield _table(params, names, TextColumn.of([]), SearchHits.none(), 0)
        with open_backend(options, "search", Work.of(KERNELS, size)) as backend:
            done = Progress(options, "symbols", call=progress)
            items = _items(params, made, targets, options.threads)
            for found in whole_or_part(
                params, made, "table", run_batches(params, made, backend, items, options.threads)
            ):
                if len(found.hits):
                    of_targets = TextColumn.of_bytes(found.names, found.name_offsets)
                    yield _table(params, names, of_targets, found.hits, first)
                first += len(found) if found.part is None else int(found.part.last)
                done.update(found.symbols)


def _named(patterns: Sequences, params: SearchParams) -> list[Named]:
    if is_path(patterns):
        return read_patterns(path_of(patterns), params.alphabet)
    if isinstance(patterns, SequenceBatch):
        return [(patterns.name(i), patterns.sequence(i), None) for i in range(len(patterns))]
    texts = list(checked_reads(patterns))
    if not all(is_text(text) for text in texts):
        list(parts_of(texts, _BATCH, "any"))  # which says what is wrong
    return given_patterns(texts)


def _items(params: SearchParams, patterns: Patterns, targets: Sequences, threads: int) -> Iterable[Item]:
    if is_path(targets):
        files = SearchFiles(None, (path_of(targets),), given=("-",))
        return read_items(params, files, _BATCH, patterns.context, threads)
    batches = parts_of(targets, _BATCH, "any")  # nucleotides are checked as they are packed
    if params.within is not None or params.best_per_target:
        return batches
    return parts_in_memory(batches, max(_BATCH, 4 * patterns.context), patterns.context)


def _table(params: SearchParams, patterns: TextColumn, targets: TextColumn, hits: SearchHits, first: int) -> Table[Row]:
    columns: dict[str, Column] = {
        "pattern": hits.pattern,
        "target": hits.target.astype(np.int64) + first,
        "strand": SignColumn.of_strands(hits.minus.astype(bool)),
        "start": hits.start,
        "end": hits.end,
        "distance": hits.distance,
    }
    if params.ends == "free":
        columns |= {"pattern_start": hits.pattern_start, "pattern_end": hits.pattern_end}
    if params.path:
        columns["cigar"] = _cigars(hits.operations, hits.operation_offsets)
        columns["matched"] = TextColumn(hits.matched, hits.matched_offsets)
    columns["pattern_name"] = NameColumn(patterns, hits.pattern.astype(np.int32))
    columns["target_name"] = NameColumn.of(targets, hits.target)
    return Table(columns)


def _cigars(operations: np.ndarray, offsets: np.ndarray) -> TextColumn:
    from gpualign.text.table import cigars, format_rows

    lines = format_rows([cigars(operations, offsets)], len(offsets) - 1)
    return TextColumn.of(lines.decode().split("\n")[:-1])
