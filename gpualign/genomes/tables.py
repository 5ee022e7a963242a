"""The tables of show-coords and show-snps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.genomes.blocks import Blocks, Comparison
from gpualign.sequences.columns import Columns

#: alignments over a position that are counted
_MAX_DEPTH = 255


def coords(comparison: Comparison, style: str) -> bytes:
    """The alignments' coordinates.

    Args:
        style: letters of show-coords' options.
    """
    blocks = comparison.blocks
    if "r" in style:
        blocks = blocks.take(_sorted(comparison, blocks, "reference"))
    elif "q" in style:
        blocks = blocks.take(_sorted(comparison, blocks, "query"))
    tabs, lengths, coverage, directions = (letter in style for letter in "Tlcd")
    lines = [] if "H" in style else _coords_header(comparison, tabs, lengths, coverage, directions)
    row = (
        "{:d}\t{:d}\t{:d}\t{:d}\t{:d}\t{:d}\t{:.2f}\t"
        if tabs
        else ("{:8d} {:8d}  | {:8d} {:8d}  | {:8d} {:8d}  | {:8.2f}  | ")
    )
    of_lengths = "{:d}\t{:d}\t" if tabs else "{:8d} {:8d}  | "
    of_coverage = "{:.2f}\t{:.2f}\t" if tabs else "{:8.2f} {:8.2f}  | "
    of_directions = [_frames(reverse, tabs) if directions else "" for reverse in blocks.reverse.tolist()]
    names = comparison.reference.names, comparison.query.names
    aligned = blocks.reference_end - blocks.reference_start, blocks.query_end - blocks.query_start
    whole = comparison.reference.lengths[blocks.reference], comparison.query.lengths[blocks.query]
    shares = [_percent(part, all_) for part, all_ in zip(aligned, whole, strict=True)]
    first = (blocks.reference_start + 1, blocks.reference_end, blocks.query_from, blocks.query_to)
    columns = [column.tolist() for column in (*first, *aligned, blocks.shown_identity, *whole, *shares)]
    numbers = zip(of_directions, blocks.reference.tolist(), blocks.query.tolist(), *columns, strict=True)
    for frames, a, b, *values in numbers:
        line = row.format(*values[:7])
        if lengths:
            line += of_lengths.format(*values[7:9])
        if coverage:
            line += of_coverage.format(*values[9:])
        lines.append(f"{line}{frames}{names[0][a]}\t{names[1][b]}\n")
    return "".join(lines).encode("latin-1")


def _percent(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float32]:
    """As MUMmer computes it."""
    share = np.divide(part, whole, dtype=np.float32, casting="unsafe")
    return (share.astype(np.float64) * 100.0).astype(np.float32)


def _frames(reverse: bool, tabs: bool) -> str:
    """The directions of an alignment in the reference and in the query."""
    return ("1\t-1\t" if reverse else "1\t1\t") if tabs else (" 1 -1  " if reverse else " 1  1  ")


def _coords_header(comparison: Comparison, tabs: bool, lengths: bool, coverage: bool, directions: bool) -> list[str]:
    paths = f"{comparison.reference.path} {comparison.query.path}\nNUCMER\n\n"
    groups = [("[S1]", "[E1]"), ("[S2]", "[E2]"), ("[LEN 1]", "[LEN 2]"), ("[% IDY]",)]
    groups += [("[LEN R]", "[LEN Q]")] * lengths + [("[COV R]", "[COV Q]")] * coverage
    tags = ["[FRM]"] * directions + ["[TAGS]"]
    if tabs:
        return [paths, "\t".join([*(name for group in groups for name in group), *tags]) + "\n"]
    row = "".join(" ".join(f"{name:>8}" for name in group) + "  | " for group in groups)
    return [paths, f"{row}{'  '.join(tags)}\n", "=" * (85 + 21 * (lengths + coverage) + 7 * directions) + "\n"]


def _sorted(comparison: Comparison, blocks: Blocks, first: str) -> NDArray[np.int64]:
    """Numbers of alignments by sequence and start, on the side ``first`` and then on the other one."""
    by_reference = (comparison.reference.ranks[blocks.reference], blocks.reference_start)
    by_query = (comparison.query.ranks[blocks.query], blocks.query_from)
    name, start = by_reference if first == "reference" else by_query
    other_name, other_start = by_query if first == "reference" else by_reference
    return np.lexsort((other_start, other_name, start, name))


@dataclass(frozen=True)
class Differences(Columns):
    """Bases that differ.

    Attributes:
        alignment: int32 (n,), its number.
        reference_position, query_position: int64 (n,), from 1 on forward strands; of a missing base that of the base
            before it on the strand that is aligned.
        reference_base, query_base: uint8 (n,), the query's on the strand that is aligned; "." is a missing base.
    """

    alignment: NDArray[np.int32]
    reference_position: NDArray[np.int64]
    query_position: NDArray[np.int64]
    reference_base: NDArray[np.uint8]
    query_base: NDArray[np.uint8]


def differences_of(comparison: Comparison, threads: int) -> Differences:
    """The differences in alignments of sequences whose bases are there, in the alignments' order.

    Raises:
        InputError: the alignments are of other sequences.
    """
    return Differences(*comparison.native.differences(threads))


def snps(comparison: Comparison, found: Differences, style: str) -> bytes:
    """The bases that differ.

    Args:
        style: letters of show-snps' options.
    """
    blocks = comparison.blocks
    by_query = "q" in style and "r" not in style
    order = _order_of_differences(comparison, found, by_query)
    buffer = distances_to_neighbours(comparison, found, by_query)
    conflicts = conflicts_of(comparison, found)
    kept = np.ones(len(found), bool)
    if "C" in style:
        kept &= (conflicts[0] == 0) & (conflicts[1] == 0)
    if "I" in style:
        kept &= (found.reference_base != ord(".")) & (found.query_base != ord("."))
    order = order[kept[order]]
    shown, buffer = found.take(order), buffer[order]
    reference, query = blocks.reference[shown.alignment], blocks.query[shown.alignment]
    lengths = comparison.reference.lengths[reference], comparison.query.lengths[query]
    ends = [
        np.minimum(position, length - position + 1)
        for position, length in zip((shown.reference_position, shown.query_position), lengths, strict=True)
    ]
    tabs, strands = "T" in style, blocks.reverse.tolist()
    frames = [_frames(reverse, tabs) for reverse in strands]
    tails = [
        f"{frame}{comparison.reference.names[a]}\t{comparison.query.names[b]}\n"
        for frame, a, b in zip(frames, blocks.reference.tolist(), blocks.query.tolist(), strict=True)
    ]
    columns: list[list[Any]] = [
        shown.reference_position.tolist(),
        list(shown.reference_base.tobytes().decode("latin-1")),
        list(shown.query_base.tobytes().decode("latin-1")),
        shown.query_position.tolist(),
        buffer.tolist(),
        np.minimum(*ends).tolist(),
    ]
    row = "%d\t%s\t%s\t%d\t%d\t%d\t" if tabs else "%8d   %s %s   %-8d  | %8d %8d  | "
    if "C" not in style:
        row += "%d\t%d\t" if tabs else "%4d %4d  | "
        columns += [conflict[order].tolist() for conflict in conflicts]
    if "l" in style:
        row += "%d\t%d\t" if tabs else "%8d %8d  | "
        columns += [length.tolist() for length in lengths]
    columns.append([tails[i] for i in shown.alignment.tolist()])
    lines = [] if "H" in style else _snps_header(comparison, style)
    lines += map((row + "%s").__mod__, zip(*columns, strict=True))
    return "".join(lines).encode("latin-1")


def _snps_header(comparison: Comparison, style: str) -> list[str]:
    paths = f"{comparison.reference.path} {comparison.query.path}\nNUCMER\n\n"
    conflicts, lengths = "C" not in style, "l" in style
    if "T" in style:
        names = ["[P1]", "[SUB]", "[SUB]", "[P2]", "[BUFF]", "[DIST]", *["[R]", "[Q]"] * conflicts]
        return [paths, "\t".join([*names, *["[LEN R]", "[LEN Q]"] * lengths, "[FRM]", "[TAGS]"]) + "\n"]
    row = "    [P1]  [SUB]  [P2]      |   [BUFF]   [DIST]  | "
    row += " [R]  [Q]  | " * conflicts + " [LEN R]  [LEN Q]  | " * lengths
    return [paths, f"{row}[FRM]  [TAGS]\n", "=" * (67 + 13 * conflicts + 21 * lengths) + "\n"]


def _order_of_differences(comparison: Comparison, found: Differences, by_query: bool) -> NDArray[np.int64]:
    blocks = comparison.blocks
    reference = comparison.reference.ranks[blocks.reference[found.alignment]], found.reference_position
    query = comparison.query.ranks[blocks.query[found.alignment]], found.query_position
    (name, position), (other_name, other_position) = (query, reference) if by_query else (reference, query)
    return np.lexsort((other_position, other_name, position, name))


def distances_to_neighbours(comparison: Comparison, found: Differences, by_query: bool) -> NDArray[np.int64]:
    """int64 (n,): bases from each difference to the next one of its alignment, or to the alignment's end."""
    blocks = comparison.blocks
    position, other = found.reference_position, found.query_position
    start, end = blocks.reference_start, blocks.reference_end
    if by_query:
        position, other, start, end = other, position, blocks.query_start, blocks.query_end
    order = np.lexsort((other, position, found.alignment))
    at, alignment = position[order], found.alignment[order]
    nearest = 1 + np.minimum(at - start[alignment] - 1, end[alignment] - at)
    gaps = np.diff(at)
    gaps[np.diff(alignment) != 0] = np.iinfo(np.int64).max
    nearest[1:] = np.minimum(nearest[1:], gaps)
    nearest[:-1] = np.minimum(nearest[:-1], gaps)
    distances = np.empty(len(found), np.int64)
    distances[order] = nearest
    return distances


def conflicts_of(comparison: Comparison, found: Differences) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64 (n,) each: other alignments over the position in the reference and in the query."""
    blocks = comparison.blocks
    return (
        _depths(blocks.reference, blocks.reference_start, blocks.reference_end, found, found.reference_position),
        _depths(blocks.query, blocks.query_start, blocks.query_end, found, found.query_position),
    )


def _depths(
    sequence: NDArray[np.int32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    found: Differences,
    position: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Alignments over each position, less one: those that have begun less those that have ended."""
    apart = np.int64(int(end.max(initial=0)) + 2)  # every sequence has coordinates of its own
    starts, ends = np.sort(sequence * apart + start), np.sort(sequence * apart + end)
    at = sequence[found.alignment] * apart + position - 1
    depth = np.searchsorted(starts, at, "right") - np.searchsorted(ends, at, "right")
    return np.asarray(np.minimum(depth, _MAX_DEPTH) - 1)
