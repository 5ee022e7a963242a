"""The formats of the main output, by its name: MUMmer's delta, PAF, SAM, MAF and UCSC's chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gpualign.errors import UsageError
from gpualign.genomes.blocks import Comparison, delta_header, delta_records
from gpualign.params import RunOptions
from gpualign.sequences.strands import reverse_complement
from gpualign.version import __version__

_OPERATIONS = "MIDNSHP=X"


@dataclass(frozen=True)
class Format:
    """A format of the main output.

    Attributes:
        write: yields the text.
        bases: the sequences are needed.
    """

    write: Callable[[Comparison, RunOptions], Iterator[bytes]]
    bases: bool


def _delta(comparison: Comparison, options: RunOptions) -> Iterator[bytes]:
    yield delta_header(comparison.reference.path, comparison.query.path)
    yield delta_records(comparison.blocks, comparison.reference, comparison.query)


class _Paths:
    """CIGARs of the alignments, along the reference's forward strand."""

    def __init__(self, comparison: Comparison, threads: int) -> None:
        words, offsets = comparison.native.paths(threads)
        self._lengths, self._operations = (words >> 4).tolist(), (words & 15).tolist()
        self._offsets = offsets.tolist()

    def of(self, i: int) -> list[tuple[int, str]]:
        part = slice(self._offsets[i], self._offsets[i + 1])
        return [
            (length, _OPERATIONS[operation])
            for length, operation in zip(self._lengths[part], self._operations[part], strict=True)
        ]


def _text(path: list[tuple[int, str]]) -> str:
    return "".join(f"{length}{operation}" for length, operation in path)


def _rows(comparison: Comparison) -> Iterator[tuple[int, int, int, bool, int, int, int, int, int]]:
    """Number, sequences, strand, and half-open ends of each alignment, and its errors."""
    blocks = comparison.blocks
    columns = (blocks.reference, blocks.query, blocks.reverse, blocks.reference_start, blocks.reference_end,
               blocks.query_start, blocks.query_end, blocks.errors)  # fmt: skip
    return zip(range(len(blocks)), *(column.tolist() for column in columns), strict=True)


def _paf(comparison: Comparison, options: RunOptions) -> Iterator[bytes]:
    """PAF with the tags of minimap2: NM, and cg with = and X."""
    paths = _Paths(comparison, options.threads)
    reference, query = comparison.reference, comparison.query
    for i, a, b, reverse, start, end, query_start, query_end, _ in _rows(comparison):
        path = paths.of(i)
        equal = sum(length for length, operation in path if operation == "=")
        columns = sum(length for length, _ in path)
        yield (
            f"{query.names[b]}\t{query.lengths[b]}\t{query_start}\t{query_end}\t{'-' if reverse else '+'}\t"
            f"{reference.names[a]}\t{reference.lengths[a]}\t{start}\t{end}\t{equal}\t{columns}\t255\t"
            f"NM:i:{columns - equal}\tcg:Z:{_text(path)}\n"
        ).encode("latin-1")


def _sam(comparison: Comparison, options: RunOptions) -> Iterator[bytes]:
    """SAM: of each query the longest alignment is primary, the others are supplementary."""
    paths = _Paths(comparison, options.threads)
    reference, query, blocks = comparison.reference, comparison.query, comparison.blocks
    sizes = blocks.query_end - blocks.query_start
    order = np.lexsort((np.arange(len(blocks)), -sizes, blocks.query))
    primary = set(order[np.flatnonzero(np.diff(blocks.query[order], prepend=-1))].tolist())
    yield b"@HD\tVN:1.6\tSO:unsorted\tGO:query\n"
    for name, length in zip(reference.names, reference.lengths.tolist(), strict=True):
        yield f"@SQ\tSN:{name}\tLN:{length}\n".encode("latin-1")
    line = options.command_line or "gpualign.align"
    yield f"@PG\tID:gpualign\tPN:gpualign\tVN:{__version__}\tCL:{line}\n".encode("utf-8", "surrogateescape")
    for i, a, b, reverse, start, _, query_start, query_end, _ in _rows(comparison):
        path = paths.of(i)
        length = int(query.lengths[b])
        clips = [length - query_end, query_start] if reverse else [query_start, length - query_end]
        clip = "S" if i in primary else "H"
        sides = [f"{clipped}{clip}" if clipped else "" for clipped in clips]
        offset = int(query.offsets[b])
        whole = (0, length) if i in primary else (query_start, query_end)
        part = query.bases[offset + whole[0] : offset + whole[1]].tobytes()
        bases = (reverse_complement(part) if reverse else part).decode()
        flag = 16 * reverse + (0 if i in primary else 2048)
        edits = sum(count for count, operation in path if operation != "=")
        yield (
            f"{query.names[b]}\t{flag}\t{reference.names[a]}\t{start + 1}\t60\t{sides[0]}{_text(path)}{sides[1]}"
            f"\t*\t0\t0\t{bases}\t*\tNM:i:{edits}\n"
        ).encode("latin-1")
    aligned = set(blocks.query.tolist())
    for b in range(len(query.names)):
        if b not in aligned:
            whole_bases = query.bases[query.offsets[b] : query.offsets[b + 1]].tobytes().decode() or "*"
            yield f"{query.names[b]}\t4\t*\t0\t0\t*\t*\t0\t0\t{whole_bases}\t*\n".encode("latin-1")


def _maf(comparison: Comparison, options: RunOptions) -> Iterator[bytes]:
    """MAF, a block an alignment; the score is nucmer's."""
    paths = _Paths(comparison, options.threads)
    reference, query = comparison.reference, comparison.query
    yield b"##maf version=1 scoring=nucmer\n"
    for i, a, b, reverse, start, end, query_start, query_end, _ in _rows(comparison):
        offset = int(reference.offsets[a]), int(query.offsets[b])
        rows = [
            reference.bases[offset[0] + start : offset[0] + end].tobytes().decode(),
            query.bases[offset[1] + query_start : offset[1] + query_end].tobytes().decode(),
        ]
        if reverse:
            rows[1] = reverse_complement(rows[1].encode()).decode()
            query_start, query_end = query.lengths[b] - query_end, query.lengths[b] - query_start
        shown: list[list[str]] = [[], []]
        at = [0, 0]
        score = 0
        for length, operation in paths.of(i):
            score += {"=": 3 * length, "X": -7 * length}.get(operation, -3 - 7 * length)
            for side, missing in enumerate("ID"):
                part = "-" * length if operation == missing else rows[side][at[side] : at[side] + length]
                at[side] += 0 if operation == missing else length
                shown[side].append(part)
        names = reference.names[a], query.names[b]
        width = max(map(len, names))
        yield (
            f"a score={score}\n"
            f"s {names[0]:{width}} {start} {end - start} + {reference.lengths[a]} {''.join(shown[0])}\n"
            f"s {names[1]:{width}} {query_start} {query_end - query_start} {'-' if reverse else '+'} "
            f"{query.lengths[b]} {''.join(shown[1])}\n\n"
        ).encode("latin-1")


def _chain(comparison: Comparison, options: RunOptions) -> Iterator[bytes]:
    """UCSC's chain, of one alignment each, for liftOver: the reference is the target; the score is of bases."""
    paths = _Paths(comparison, options.threads)
    reference, query = comparison.reference, comparison.query
    for i, a, b, reverse, start, end, query_start, query_end, _ in _rows(comparison):
        if reverse:
            query_start, query_end = query.lengths[b] - query_end, query.lengths[b] - query_start
        lines: list[str] = []
        ungapped = score = 0
        gap = [0, 0]
        for length, operation in paths.of(i):
            if operation in "ID":
                gap["DI".index(operation)] += length
                continue
            if any(gap):
                lines.append(f"{ungapped}\t{gap[0]}\t{gap[1]}\n")
                ungapped, gap = 0, [0, 0]
            ungapped += length
            score += length if operation == "=" else 0
        yield (
            f"chain {score} {reference.names[a]} {reference.lengths[a]} + {start} {end} "
            f"{query.names[b]} {query.lengths[b]} {'-' if reverse else '+'} {query_start} {query_end} {i + 1}\n"
            f"{''.join(lines)}{ungapped}\n\n"
        ).encode("latin-1")


#: extensions of other outputs, and their options
_OTHERS = {"vcf": "--vcf", "bed": "--callable"}
#: extension -> format
FORMATS = {
    "delta": Format(_delta, bases=False),
    "paf": Format(_paf, bases=True),
    "sam": Format(_sam, bases=True),
    "maf": Format(_maf, bases=True),
    "chain": Format(_chain, bases=True),
}


def format_of(output: str | None) -> Format:
    """The format that an output's name asks for; of standard output and of any other name a delta file.

    Raises:
        UsageError: the name is that of another output.
    """
    name = (output or "").lower().removesuffix(".gz").removesuffix(".bgz")
    extension = name.rpartition(".")[2]
    if extension in _OTHERS:
        raise UsageError(f"{output} is named as {extension} (write it with {_OTHERS[extension]})")
    return FORMATS.get(extension, FORMATS["delta"])
