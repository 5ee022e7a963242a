"""``gpualign.derep``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.derep.params import DerepParams
from gpualign.derep.run import dereplicate
from gpualign.fields import takes_keywords
from gpualign.reads.in_memory import Sequences, as_batch, is_path, path_of
from gpualign.sequences.offsets import offsets_of
from gpualign.tables.column import NameColumn, TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Table


class Different(NamedTuple):
    """What :func:`derep` returns.

    Attributes:
        table: a row for each different sequence, the most abundant first: ``sequence`` (number of the one that it is
            named after), ``abundance``, ``symbols`` (its text, bytes) and ``sequence_name``.
        labels: int64 (n,), the row of each sequence of the input, -1 if it is left out.
    """

    table: Table[Row]
    labels: NDArray[np.int64]


@takes_keywords(DerepParams)
def derep(sequences: Sequences, **parameters: Any) -> Different:
    """Find equal sequences (docs/commands/derep.md).

    >>> table, labels = derep(["GATTACA", "CCCC", "gattaca"])
    >>> table.tolist(), labels.tolist()
    ([(0, 2, b'GATTACA', '0'), (1, 1, b'CCCC', '1')], [0, 1, 0])

    Args:
        sequences: a file, a batch, or strings.
        parameters: fields of :class:`gpualign.derep.params.DerepParams`.

    Returns:
        :class:`Different`: the table, and the row of each sequence.

    Raises:
        UsageError: a parameter out of range.
        InputError: a file that cannot be read, or a ``;size=N`` that is no abundance.
    """
    params = DerepParams(**parameters)
    found = dereplicate(params, [(as_batch(sequences), path_of(sequences) if is_path(sequences) else None)])
    written = found.written(params)
    row = np.full(len(found.first) + 1, -1, np.int64)
    row[written] = np.arange(len(written))
    labels = np.full(found.total, -1, np.int64)
    labels[found.number] = row[found.unit]
    text = _native.taken_sequences(found.text, found.offsets, written)
    names = TextColumn.of_bytes(found.names, found.name_offsets)
    columns: dict[str, Column] = {
        "sequence": found.number[found.first[written]],
        "abundance": found.abundances[written],
        "symbols": TextColumn(text, offsets_of(np.diff(found.offsets)[written]), binary=True),
        "sequence_name": NameColumn(names, found.first[written].astype(np.int32)),
    }
    return Different(Table(columns), labels)
