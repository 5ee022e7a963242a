"""``gpualign.align``: genome against genome."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpualign.align.score.tuning import KERNELS
from gpualign.fields import takes_keywords
from gpualign.genomes import tables
from gpualign.genomes.blocks import Comparison, Side
from gpualign.genomes.filters import filtered
from gpualign.genomes.params import AlignParams
from gpualign.genomes.run import compare
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, as_batch, batches_of, is_path, packed, path_of, symbols_in
from gpualign.report import OnProgress, Progress
from gpualign.run.select import Work, open_backend
from gpualign.tables.column import NameColumn, SignColumn, TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Table
from gpualign.text.references import read_reference

_BATCH = 1 << 22  # bases


class GenomeAlignments(NamedTuple):
    """Tables of two genomes' alignments.

    Attributes:
        blocks: ``query`` and ``ref`` (numbers), ``strand``, ``query_start``, ``query_end``, ``ref_start``, ``ref_end``
            (0-based, half-open, forward), ``identity`` (0 to 1), ``errors`` (mismatches and gap symbols), ``columns``,
            ``query_name``, ``ref_name``.
        differences: a row a base that differs: ``block`` (number), ``ref_position``, ``query_position`` (0-based,
            forward; of a missing base that of the base before it on the aligned strand), ``ref_base``, ``query_base``
            (on the aligned strand; "." is missing).
    """

    blocks: Table[Row]
    differences: Table[Row]


@takes_keywords(AlignParams)
def align(
    reference: Sequences,
    query: Sequences,
    *,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
    **parameters: Any,
) -> GenomeAlignments:
    """Align the sequences of a genome to those of another one, as nucmer does (docs/commands/align.md).

    >>> from random import Random
    >>> genome = "".join(Random(0).choices("ACGT", k=500))
    >>> found = align([genome], [genome[100:300] + "C" + genome[301:480]])
    >>> found.blocks[["query_start", "query_end", "ref_start", "ref_end", "errors"]].tolist()
    [(0, 380, 100, 480, 1)]
    >>> found.differences.tolist()
    [(0, 300, 200, 'T', 'C')]

    Args:
        reference, query: nucleotide sequences, or a file of them.
        device, threads, progress: as for :func:`gpualign.verify`; bases of the query are counted.

    Returns:
        Tables of the alignments and of what differs in them.

    Raises:
        UsageError: a parameter out of range.
        InputError: a character that is not a nucleotide code, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = AlignParams(**parameters)
    options = RunOptions.of_api(device, threads)
    whole = read_reference(path_of(reference)) if is_path(reference) else packed(as_batch(reference))
    work = Work.of(KERNELS, symbols_in(query), KERNELS.core_rate / 100)
    with open_backend(options, "align", work) as backend:
        batches = batches_of(query, _BATCH)
        count = Progress(options, "bases", call=progress)
        comparison = compare(whole, batches, params, options.threads, backend, ("", ""), True, count)
    comparison = filtered(comparison, params)
    return GenomeAlignments(_blocks(comparison), _differences(comparison, options.threads))


def _blocks(comparison: Comparison) -> Table[Row]:
    blocks = comparison.blocks
    return Table(
        {
            "query": blocks.query,
            "strand": SignColumn.of_strands(blocks.reverse),
            "query_start": blocks.query_start,
            "query_end": blocks.query_end,
            "ref": blocks.reference,
            "ref_start": blocks.reference_start,
            "ref_end": blocks.reference_end,
            "identity": 1 - blocks.errors / np.maximum(blocks.columns, 1),
            "errors": blocks.errors,
            "columns": blocks.columns,
            "query_name": NameColumn(_names(comparison.query), blocks.query),
            "ref_name": NameColumn(_names(comparison.reference), blocks.reference),
        }
    )


def _names(side: Side) -> TextColumn:
    return TextColumn.of([name.encode("latin-1").decode("utf-8", "replace") for name in side.names])


def _differences(comparison: Comparison, threads: int) -> Table[Row]:
    found = tables.differences_of(comparison, threads)
    each = np.arange(len(found) + 1, dtype=np.int64)
    return Table(
        {
            "block": found.alignment,
            "ref_position": found.reference_position - 1,
            "query_position": found.query_position - 1,
            "ref_base": TextColumn.of_bytes(found.reference_base, each),
            "query_base": TextColumn.of_bytes(found.query_base, each),
        }
    )
