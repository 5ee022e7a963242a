"""``gpualign.cluster``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign.cluster import tuning
from gpualign.cluster.greedy import Joined
from gpualign.cluster.params import ClusterParams
from gpualign.cluster.run import Clusterer
from gpualign.cluster.sequences import read_input
from gpualign.errors import proteins_want
from gpualign.fields import takes_keywords
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, as_batch, is_path, path_of, symbols_in
from gpualign.report import OnProgress, Progress
from gpualign.run.select import open_backend
from gpualign.tables.column import NameColumn, SignColumn, TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Table
from gpualign.text import table


class Clusters(NamedTuple):
    """What :func:`cluster` returns.

    Attributes:
        table: a row a sequence, in the order in which they were taken: ``sequence``, ``cluster``, ``centroid`` (numbers
            from 0), ``identity`` (0 to 1), ``strand`` and ``cigar`` (null of a centroid), ``sequence_name`` and
            ``centroid_name``; with ``linkage="single"`` without identity, strand and cigar.
        labels: int32 (n,), the cluster of each sequence of the input, -1 if it is left out.
    """

    table: Table[Row]
    labels: NDArray[np.int32]


@takes_keywords(ClusterParams, without=["size_in"])
def cluster(
    sequences: Sequences,
    identity: float,
    *,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
    **parameters: Any,
) -> Clusters:
    """Greedy clustering around centroids by exact identity (docs/commands/cluster.md).

    >>> table, labels = cluster(["GATTACAGATTACA", "CCCCGGGGTTTT", "GATTACAGATAACA"], 0.9)
    >>> labels.tolist()
    [0, 1, 0]
    >>> table[["sequence", "cluster", "centroid", "cigar"]].tolist()
    [(0, 0, 0, None), (2, 0, 0, '14M'), (1, 1, 1, None)]

    Args:
        sequences: a file, a batch, or strings.
        identity: minimum identity of a member with its centroid, 0 to 1.
        device, threads, progress: as for :func:`gpualign.verify`; sequences are counted.
        parameters: fields of :class:`gpualign.cluster.params.ClusterParams`. By default the scores are vsearch's;
            with a matrix gaps cost 12/1.

    Returns:
        :class:`Clusters`: the table, and the cluster of each sequence.

    Raises:
        UsageError: a parameter out of range.
        InputError: a symbol that the scoring does not know, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = ClusterParams(identity=identity, **parameters)
    options = RunOptions.of_api(device, threads)
    scoring = params.load_scoring()
    path = path_of(sequences) if is_path(sequences) else None
    with proteins_want("matrix, such as BLOSUM62"):
        batch = as_batch(sequences, "nucleotide" if scoring.nucleotide else "any")
        data = read_input([batch], scoring, params, path, keep_text=False)
    with open_backend(options, "cluster", tuning.work_of(symbols_in(batch))) as backend:
        clusterer = Clusterer(params, scoring, data, backend, options)
        parts = list(clusterer.run(Progress(options, "sequence", len(data), progress)))
    joined = Joined.join([Joined.none(), *parts])
    labels = np.full(data.total, -1, np.int32)
    labels[data.number] = joined.cluster
    centroids = np.flatnonzero(joined.founds)
    columns: dict[str, Column] = {
        "sequence": data.number,
        "cluster": joined.cluster,
        "centroid": data.number[centroids][joined.cluster] if len(data) else np.zeros(0, np.int64),
    }
    if params.linkage == "centroid":
        columns |= {"identity": joined.identity, "strand": SignColumn.of_strands(joined.minus == 1)}
        lines = table.format_rows([table.cigars(joined.operations, joined.operation_offsets)], len(joined))
        columns["cigar"] = TextColumn.of_lines(lines)
    names = TextColumn.of_bytes(data.names, data.name_offsets)
    columns["sequence_name"] = NameColumn(names, np.arange(len(data), dtype=np.int32))
    of_members = centroids[joined.cluster] if len(data) else np.zeros(0, np.int64)
    columns["centroid_name"] = NameColumn(names, of_members.astype(np.int32))
    return Clusters(Table(columns), labels)
