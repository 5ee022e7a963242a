"""``derep``: equal sequences once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.derep.params import DerepFiles, DerepParams
from gpualign.errors import UsageError, check_count, counted
from gpualign.params import RunOptions
from gpualign.run.run_context import RunContext
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.offsets import joined, offsets_of
from gpualign.text import table
from gpualign.text.chunks import read_batches
from gpualign.text.labels import counts_by_sample, sizes_of, unit_of, with_size
from gpualign.text.output_file import open_output
from gpualign.text.symbol_lines import with_symbol_lines

#: bytes that are read at a time
_READ_BYTES = 1 << 22


@dataclass(frozen=True, eq=False)
class Dereplicated:
    """All sequences, and the different ones.

    Attributes:
        names, name_offsets: uint8 and int64 (n + 1,), of all.
        lengths, sizes: int64 (n,), bases and abundances.
        minus: bool (n,), its reverse complement is what is written.
        unit: int64 (n,), which of the units each is part of; a unit is written once.
        text, offsets: the units' sequences.
        first: int64 (u,), the sequence that a unit is named after.
        number: int64 (n,), numbers in the input.
        total: sequences of the input, with those left out by their lengths.
    """

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    sizes: NDArray[np.int64]
    minus: NDArray[np.bool_]
    unit: NDArray[np.int64]
    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    first: NDArray[np.int64]
    number: NDArray[np.int64]
    total: int

    @property
    def abundances(self) -> NDArray[np.int64]:
        """int64 (u,)."""
        sums = np.zeros(len(self.first), np.int64)
        np.add.at(sums, self.unit, self.sizes)
        return sums

    def written(self, params: DerepParams) -> NDArray[np.int64]:
        """The units that are wanted."""
        sizes, largest = self.abundances, np.inf if params.max_size is None else params.max_size
        return np.flatnonzero((sizes >= params.min_size) & (sizes <= largest))[: params.top]


def dereplicate(params: DerepParams, batches: Iterable[tuple[SequenceBatch, str | None]]) -> Dereplicated:
    """Find the sequences that are equal; the units are in the order in which they are written.

    Args:
        batches: with the file that they are of.

    Raises:
        RecordError: a ``;size=N`` that is no abundance.
    """
    distinct = _native.DistinctSequences(params.strand == "both")
    names: list[tuple[NDArray[np.uint8], NDArray[np.int64]]] = [(np.zeros(0, np.uint8), np.zeros(1, np.int64))]
    units, sides, sizes = [np.zeros(0, np.int32)], [np.zeros(0, np.uint8)], [np.zeros(0, np.int64)]
    numbers, total = [np.zeros(0, np.int64)], 0
    longest = np.inf if params.max_length is None else params.max_length
    for batch, path in batches:
        within = np.flatnonzero((batch.lengths >= params.min_length) & (batch.lengths <= longest))
        some = batch if len(within) == len(batch) else batch.take(within)
        known = sizes_of(some.names, some.name_offsets, path)
        sizes.append(known if params.size_in else np.ones(len(some), np.int64))
        of_batch, minus = distinct.add(some.bases, some.base_offsets)
        names.append((some.names, some.name_offsets))
        units.append(of_batch)
        sides.append(minus)
        numbers.append(total + within)
        total += len(batch)
    text, offsets = distinct.texts()
    all_names, name_offsets = joined(names)
    size, unit = np.concatenate(sizes), np.concatenate(units).astype(np.int64)
    lengths = np.diff(offsets)[unit]
    first = np.unique(unit, return_index=True)[1]
    if params.prefix:
        # as in vsearch, the most abundant of equal sequences comes first
        taken = _native.cluster_order(np.zeros(len(unit), np.int64), size, all_names, name_offsets)
        first = taken[np.unique(unit[taken], return_index=True)[1]]
        root = _longest_extensions(text, offsets, np.argsort(taken)[first])
        kept, unit = np.flatnonzero(root == np.arange(len(root))), root[unit]
    else:
        kept = np.arange(len(first))
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, unit, size)
    of_first = _native.taken_sequences(all_names, name_offsets, first[kept]), _lengths(name_offsets, first[kept])
    order = kept[_native.cluster_order(np.zeros(len(kept), np.int64), sums[kept], of_first[0], offsets_of(of_first[1]))]
    place = np.full(len(first), -1, np.int64)
    place[order] = np.arange(len(order))
    return Dereplicated(
        all_names,
        name_offsets,
        lengths,
        size,
        np.concatenate(sides) == 1,
        place[unit],
        _native.taken_sequences(text, offsets, order),
        offsets_of(_lengths(offsets, order)),
        first[order],
        np.concatenate(numbers),
        total,
    )


def _lengths(offsets: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.diff(offsets)[chosen]


def _longest_extensions(
    text: NDArray[np.uint8], offsets: NDArray[np.int64], taken: NDArray[np.int64]
) -> NDArray[np.int64]:
    """int64 (u,): the sequence that each of different ones is joined to in the end, or itself.

    Sequences are taken from the shortest on, those of one length by ``taken``, and each takes along the one that it
    begins with and that none has taken yet (vsearch's --derep_prefix). So a sequence goes to the first that begins with
    it, and that one to the first that begins with itself.
    """
    prefix = _native.longest_prefixes(text, offsets)
    by_rank = np.lexsort((taken, np.diff(offsets)))
    joined_to = np.arange(len(prefix))
    longer = by_rank[::-1][prefix[by_rank[::-1]] >= 0]
    joined_to[prefix[longer]] = longer  # of several the first in rank stays, as it is written last
    while not np.array_equal(further := joined_to[joined_to], joined_to):
        joined_to = further
    return joined_to


def run_derep(params: DerepParams, files: DerepFiles, options: RunOptions) -> dict[str, Any]:
    """Write the different sequences of files; returns the run report's fields.

    Raises:
        UsageError: outputs that exclude each other.
        InputError: a file that cannot be read or is invalid.
    """
    outputs = (options.output, files.counts, files.uc)
    if (options.output is None) + sum(path == "-" for path in outputs) > 1:
        raise UsageError("two outputs go to standard output: name files for them (-o FILE for the sequences)")
    run = RunContext("derep", options, files.sequences, outputs[1:], formats=())
    with with_symbol_lines():
        batches = ((batch, path) for path in files.sequences for batch in read_batches(path, _READ_BYTES))
        found = dereplicate(params, batches)
    left_out = found.total - len(found.unit)
    if not len(found.unit):
        run.warn("all sequences are left out by their lengths" if found.total else "there are no sequences")
    sizes, written = found.abundances, found.written(params)
    names = _names_of(found, sizes, written, files)
    with run.output() as out:
        starts = offsets_of(np.diff(found.offsets)[written])
        text = _native.taken_sequences(found.text, found.offsets, written)
        out.write(_native.format_fastx(SequenceBatch(*join_bytes(names), text, starts).native, None, False).data)
    if files.counts is not None:
        place = np.full(len(sizes), -1, np.int64)
        place[written] = np.arange(len(written))
        some = np.flatnonzero(place[found.unit] >= 0)
        taken = _native.taken_sequences(found.names, found.name_offsets, some)
        of_samples = taken, offsets_of(_lengths(found.name_offsets, some))
        with open_output(files.counts, options.threads) as out:
            out.write(counts_by_sample(map(unit_of, names), place[found.unit[some]], of_samples, found.sizes[some]))
    if files.uc is not None:
        with open_output(files.uc, options.threads) as out:
            out.write(_uc_lines(found, sizes))
    check_count("abundances", int(found.sizes.sum()), int(sizes.sum()))
    left = f" ({left_out:,} left out by length)" if left_out else ""
    summary = f"{counted(found.total, 'sequence')}{left}, {len(sizes):,} different, {len(written):,} written"
    fields = {"sequences": found.total, "left_out": left_out, "different": len(sizes), "written": len(written)}
    return run.finish(summary, **fields, largest=int(sizes.max(initial=0)), abundance=int(sizes.sum()))


def _names_of(
    found: Dereplicated, sizes: NDArray[np.int64], written: NDArray[np.int64], files: DerepFiles
) -> list[bytes]:
    names = []
    for number, unit in enumerate(written.tolist(), 1):
        if files.relabel is not None:
            name = f"{files.relabel}{number}".encode("latin-1")
        else:
            at = found.first[unit]
            name = found.names[found.name_offsets[at] : found.name_offsets[at + 1]].tobytes()
        names.append(with_size(name, int(sizes[unit])) if files.size_out else name)
    return names


def _uc_lines(found: Dereplicated, sizes: NDArray[np.int64]) -> bytes:
    """Records S and H of each unit, the longest sequence first, then C; the sizes in C are abundances."""
    n = len(found.unit)
    founds = np.zeros(n, np.uint8)
    founds[found.first] = 1
    order = np.lexsort((np.arange(n), -found.lengths, 1 - founds.astype(np.int8), found.unit))
    rows = _native.uc_rows(
        names=found.names,
        name_offsets=found.name_offsets,
        members=order,
        centroids=found.first[found.unit[order]],
        lengths=found.lengths[order],
        clusters=found.unit[order].astype(np.int32),
        founds=founds[order],
        identity=np.ones(n),
        minus=found.minus[order].astype(np.uint8),
        exact=np.zeros(n, np.uint8),
        operations=np.zeros(0, np.uint32),
        offsets=np.zeros(n + 1, np.int64),
        whole=0,
    )
    none, u = table.constant("*", len(sizes)), len(sizes)
    columns = [table.constant("C", u), table.integers(np.arange(u)), table.integers(sizes), *[none] * 5]
    columns += [table.texts(found.names, found.name_offsets, found.first), none]
    return rows + table.format_rows(columns, u)
