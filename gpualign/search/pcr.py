"""``search --pairs``: what pairs of primers amplify."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.patterns.cpu import Patterns, SearchHits
from gpualign.align.patterns.tuning import KERNELS
from gpualign.errors import InputError, UsageError, counted
from gpualign.params import RunOptions
from gpualign.run.run_context import RunContext
from gpualign.run.select import Work
from gpualign.search.params import SearchFiles, SearchParams
from gpualign.search.patterns import Named, given_patterns, make_patterns, read_patterns
from gpualign.search.run import GPU_FACTOR, Share, in_pieces, search_stage
from gpualign.search.select import matched_text
from gpualign.search.targets import TargetBatch, prepare, read_items
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.columns import Columns
from gpualign.sequences.offsets import positions_of
from gpualign.text.output_file import open_output
from gpualign.text.sizes import symbols_in_files
from gpualign.text.table import Names, format_rows, integers, signs, texts
from gpualign.text.table_output import Kind

_COLUMNS: dict[str, Kind] = {"pair": "text", "target": "text", "strand": "text", "tstart": "integer"}
_COLUMNS |= {"tend": "integer", "size": "integer", "forward_distance": "integer", "reverse_distance": "integer"}
_COLUMNS |= {"forward_tm": "number", "reverse_tm": "number"}
#: sequences that a primer with IUPAC codes may stand for, of which all are looked at
_MOST_SEQUENCES = 4096


@dataclass(frozen=True, eq=False)
class Products(Columns):
    """Products in the order of targets, starts and ends.

    Attributes:
        pair, target: int32 (n,), numbers.
        minus: bool (n,), the forward primer is on the minus strand.
        start, end: int64 (n,), half-open in the target.
        forward, reverse: int32 (n,), errors of the primers.
        bases: uint8, of the products in the direction of the forward primer, joined.
        bases_offsets: int64 (n + 1,).
    """

    pair: NDArray[np.int32]
    target: NDArray[np.int32]
    minus: NDArray[np.bool_]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    forward: NDArray[np.int32]
    reverse: NDArray[np.int32]
    bases: NDArray[np.uint8]
    bases_offsets: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FoundProducts:
    """The products of a batch, names of its targets, and how many symbols and targets it completes."""

    products: Products
    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    symbols: int
    targets: int


def run_pcr(params: SearchParams, files: SearchFiles, options: RunOptions) -> dict[str, Any]:
    """Write the products of all pairs of primers in all targets.

    Returns:
        The run report's fields.

    Raises:
        InputError: a file cannot be read or is invalid.
        UsageError: options that do not fit.
    """
    _check(params, files)
    run = RunContext("search", options, files.inputs, (files.amplicons,), reference=files.reference)
    size, sizes = symbols_in_files(*files.targets), files.product_sizes
    names, named = _pairs(files)
    patterns = make_patterns(named, params, size, files.patterns)
    patterns = replace(patterns, more_context=sizes[1] + 2 * patterns.reach)
    melting = np.array([melting_temperature(symbols.decode("latin-1")) for _, symbols, _ in named])
    read, finish = partial(prepare, params, False), partial(products_in, sizes)
    stage = search_stage(read, finish, (patterns.reach, sizes[1] + patterns.reach))
    total = targets = 0
    output = run.table(_COLUMNS, files.header)
    with run.opening(Work.of(KERNELS, size)) as opening, contextlib.ExitStack() as stack:
        backend = opening.backend()
        out = stack.enter_context(output)
        fasta = stack.enter_context(open_output(files.amplicons, options.threads)) if files.amplicons else None
        bases = options.batch_size * (GPU_FACTOR if backend.on_gpu else 1)
        shares = (Share(patterns, item) for item in read_items(params, files, bases, patterns.context, options.threads))
        with run.progress("bases", of=files.targets) as progress:
            for batch in backend.run(shares, stage):
                pieces: Iterator[FoundProducts] = iter([batch])
                if isinstance(batch, list):
                    pieces = in_pieces(patterns, stage, batch, options.threads)
                for found in pieces:
                    out.write(_lines(found, names, melting))
                    if fasta is not None:
                        fasta.write(_native.format_fastx(_amplicons(found, names).native, None, False).data)
                    total += len(found.products)
                    targets += found.targets
                    progress.update(found.symbols)
    if targets == 0:
        run.warn("there are no targets")
    compared = f"{counted(len(names), 'pair')} of primers, {counted(targets, 'target')}"
    fields = {"pairs": len(names), "targets": targets, "products": total}
    return run.finish(f"{compared}, {counted(total, 'product')}, on {run.device}", **fields)


def _check(params: SearchParams, files: SearchFiles) -> None:
    """
    Raises:
        UsageError: options that do not go together.
    """
    if params.alphabet != "dna" or params.strand not in (None, "both") or params.pam or params.ends == "free":
        raise UsageError(
            "primers are dna, whole and on both strands: --pairs takes no other alphabet, strand, PAM or ends"
        )
    for_hits = files.counts, files.plot, files.summary, files.score, files.annotate, files.variants, files.split
    chosen = params.path, params.best_per_target, params.within, params.hits in ("best", "first")
    if files.form != "table" or any((*for_hits, *chosen)):
        raise UsageError("--pairs writes products: options of hits and their table cannot be used with it")


def _pairs(files: SearchFiles) -> tuple[list[str], list[Named]]:
    """Names of the pairs, and their primers: forward, reverse, forward, ...

    Raises:
        InputError: a primer without another one.
    """
    named = given_patterns(files.given) if files.patterns is None else read_patterns(files.patterns, "dna", pairs=True)
    if len(named) % 2 or not named:
        raise InputError(f"primers come in pairs, forward and reverse, and these are {len(named)}", files.patterns)
    names = [a[0] if a[0] == b[0] else f"{a[0]}+{b[0]}" for a, b in zip(named[::2], named[1::2], strict=True)]
    return names, named


def melting_temperature(primer: str) -> float:
    """The lowest one, in degrees Celsius, of the sequences that a primer stands for, by nearest neighbours (Biopython's
    ``Tm_NN`` with its defaults: Allawi and SantaLucia 1997, 50 mM Na+, 25 nM of each strand); NaN: not known.
    """
    from Bio.Data.IUPACData import ambiguous_dna_values
    from Bio.SeqUtils.MeltingTemp import Tm_NN

    choices = [ambiguous_dna_values.get(code, code) for code in primer.upper().replace("U", "T")]
    if len(primer) < 2 or np.prod([float(len(bases)) for bases in choices]) > _MOST_SEQUENCES:
        return float("nan")
    return min(float(Tm_NN("".join(sequence))) for sequence in itertools.product(*choices))


def products_in(sizes: tuple[int, int], patterns: Patterns, targets: TargetBatch, hits: SearchHits) -> FoundProducts:
    """Products that begin in a batch: a primer on the plus strand, and after it the other one on the minus strand.

    Args:
        sizes: the least and the most bases, with the primers.
        hits: of the batch, and of the text after it that products may reach.
    """
    hits = hits.take(np.flatnonzero(~_beaten(hits)))
    # forward on plus and reverse on minus, or reverse on plus and forward on minus
    group = 2 * (hits.target.astype(np.int64) * len(patterns) + hits.pattern // 2)
    group += (hits.pattern & 1) ^ hits.minus
    left, right = np.flatnonzero(hits.minus == 0), np.flatnonzero(hits.minus)
    span = int(hits.end.max(initial=0)) + sizes[1] + 1
    right = right[np.argsort(group[right] * span + hits.end[right], kind="stable")]
    key, begin = group[right] * span + hits.end[right], group[left] * span + hits.start[left]
    first = np.searchsorted(key, begin + sizes[0])
    counts = np.searchsorted(key, np.minimum(begin + sizes[1], (group[left] + 1) * span - 1), "right") - first
    left, right = np.repeat(left, counts), right[positions_of(first, counts)]
    target = hits.target[left]
    begins = (hits.start[left] >= targets.text.begin[target]) & (hits.start[left] < targets.text.end[target])
    in_order = (hits.start[left] <= hits.start[right]) & (hits.end[left] <= hits.end[right])
    left, right = left[begins & in_order], right[begins & in_order]
    order = np.lexsort((hits.pattern[left], hits.end[right], hits.start[left], hits.target[left]))
    left, right = left[order], right[order]
    minus, target = (hits.pattern[left] & 1).astype(bool), hits.target[left]
    start, end = hits.start[left], hits.end[right]
    bases, offsets = matched_text(targets, replace(hits.take(left), end=end, minus=minus.astype(np.uint8)))
    products = Products(
        pair=hits.pattern[left] // 2,
        target=targets.target[target],
        minus=minus,
        start=start + targets.origin[target],
        end=end + targets.origin[target],
        forward=np.where(minus, hits.distance[right], hits.distance[left]),
        reverse=np.where(minus, hits.distance[left], hits.distance[right]),
        bases=bases,
        bases_offsets=offsets,
    )
    complete = len(targets) if targets.part is None else int(targets.part.last)
    return FoundProducts(products, targets.names, targets.name_offsets, targets.symbols, complete)


def _beaten(hits: SearchHits) -> NDArray[np.bool_]:
    """Which hits overlap one of the same pattern and strand with fewer errors, or with as many and more to the left."""
    order = np.lexsort((hits.end, hits.start, hits.minus, hits.pattern, hits.target))
    beaten = np.zeros(len(hits), bool)
    for shift in range(1, len(hits)):
        one, other = order[:-shift], order[shift:]
        near = hits.start[other] < hits.end[one]
        for name in ("target", "pattern", "minus"):
            near &= getattr(hits, name)[one] == getattr(hits, name)[other]
        if not near.any():
            break
        one, other = one[near], other[near]
        beaten[np.where(hits.distance[other] < hits.distance[one], one, other)] = True
    return beaten


def _lines(found: FoundProducts, names: list[str], melting: NDArray[np.float64]) -> bytes:
    products, shown = found.products, Names(names)
    columns = [shown.column(products.pair), texts(found.names, found.name_offsets, products.target)]
    columns += [signs(products.minus), integers(products.start + 1), integers(products.end)]
    columns += [integers(products.end - products.start), integers(products.forward), integers(products.reverse)]
    temperatures = Names(["*" if np.isnan(value) else f"{value:.1f}" for value in melting.tolist()])
    columns += [temperatures.column(2 * products.pair + side) for side in (0, 1)]
    return format_rows(columns, len(products))


def _amplicons(found: FoundProducts, names: list[str]) -> SequenceBatch:
    """The products as records, PAIR:TARGET:START-END:STRAND."""
    products, first = found.products, ["_".join(name.split()).encode("latin-1") for name in names]
    target, ends = found.names.tobytes(), found.name_offsets.tolist()
    rows = zip(*(column.tolist() for column in products.native[:5]), strict=True)
    named = []
    for pair, of, minus, start, end in rows:
        contig = target[ends[of] : ends[of + 1]]
        named.append(b"%b:%b:%d-%d:%b" % (first[pair], contig, start + 1, end, b"-" if minus else b"+"))
    return SequenceBatch(*join_bytes(named), products.bases, products.bases_offsets)
