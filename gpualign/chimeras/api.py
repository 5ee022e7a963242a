"""``gpualign.chimeras``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpualign.chimeras.output import FLAGS
from gpualign.chimeras.params import ChimeraParams
from gpualign.chimeras.run import Detector, Judged, work_on
from gpualign.fields import takes_keywords
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, as_batch, is_path, path_of, symbols_in
from gpualign.report import OnProgress, Progress
from gpualign.run.select import open_backend
from gpualign.sequences.batch import join_batches
from gpualign.tables.column import NameColumn, TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Table
from gpualign.text.labels import sizes_of

_IDENTITIES, _VOTES = ("qm", "qa", "qb", "ab"), ("ly", "ln", "la", "ry", "rn", "ra")


@takes_keywords(ChimeraParams)
def chimeras(
    sequences: Sequences,
    references: Sequences | None = None,
    *,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
    **parameters: Any,
) -> Table[Row]:
    """Find chimeras by the model of UCHIME (docs/commands/chimeras.md).

    >>> one = "GATTACATTGCCAGGTACCATGACCTTAGGCATCGGATTACAGCCTTGATCC"
    >>> two = "CCTTGGAACGTACGTTTGCAAGCTGCTAGGCTAAACGTCTGATCAAGGTTCA"
    >>> rows = chimeras([one[:26] + two[26:]], [one, two])
    >>> rows[["sequence", "flag", "parent_a", "parent_b", "qm"]].tolist()
    [(0, 'Y', 0, 1, 1.0)]

    Args:
        sequences: a file, a batch, or strings; ``;size=N`` in their names is their abundance.
        references: the parents, the same; None: more abundant sequences that are no chimeras themselves.
        device, threads, progress: as for :func:`gpualign.verify`; sequences are counted.
        parameters: fields of :class:`gpualign.chimeras.params.ChimeraParams`.

    Returns:
        A :class:`gpualign.Table`, the most abundant sequence first: ``sequence``, ``flag`` (Y, N, or ? for borderline),
        ``score``, ``parent_a`` and ``parent_b`` (their numbers), identities (0 to 1) with the model ``qm``, the parents
        ``qa`` and ``qb``, and of the parents ``ab``, votes on the left ``ly``, ``ln``, ``la`` and on the right ``ry``,
        ``rn``, ``ra``, and the names ``sequence_name``, ``parent_a_name`` and ``parent_b_name``. Without parents whose
        alignment has a crossover, parents, identities and their names are null. Edgar et al. (2011).

    Raises:
        UsageError: a parameter out of range.
        InputError: a file that cannot be read or is invalid.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params, options = ChimeraParams(**parameters), RunOptions.of_api(device, threads)
    queries, others = as_batch(sequences), [] if references is None else [as_batch(references)]
    sizes = sizes_of(queries.names, queries.name_offsets, path_of(sequences) if is_path(sequences) else None)
    together = replace(join_batches([queries, *others]), qualities=None)
    with open_backend(options, "chimeras", work_on(symbols_in(queries))) as backend:
        detector = Detector(params, together, backend, options)
        done = Progress(options, "sequence", len(queries), progress)
        parts = list(detector.judge_all(sizes, references is None, done))
    found = Judged.join([Judged.without_parents(np.zeros(0, np.int64)), *parts])
    none = found.parents < 0
    first = 0 if references is None else len(queries)
    shares = np.ma.masked_array(
        found.matches / np.maximum(found.columns, 1)[:, None], np.repeat(none[:, :1], 4, axis=1)
    )
    columns: dict[str, Column] = {
        "sequence": found.query,
        "flag": TextColumn.of([FLAGS[verdict] for verdict in found.verdict.tolist()]),
        "score": found.score,
    }
    for i, name in enumerate(("parent_a", "parent_b")):
        columns[name] = np.ma.masked_array(found.parents[:, i] - first, none[:, i])
    columns |= {name: shares[:, i] for i, name in enumerate(_IDENTITIES)}
    columns |= {name: found.votes[:, i] for i, name in enumerate(_VOTES)}
    names = TextColumn.of_bytes(together.names, together.name_offsets)
    columns["sequence_name"] = NameColumn(names, found.query.astype(np.int32))
    for i, name in enumerate(("parent_a_name", "parent_b_name")):
        columns[name] = NameColumn(names, found.parents[:, i])
    return Table(columns)
