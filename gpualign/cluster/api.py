"""``gpualign.cluster``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign.align.score.params import PairwiseParams
from gpualign.checks import field_names, takes_keywords
from gpualign.cluster import tuning
from gpualign.cluster.greedy import Joined
from gpualign.cluster.params import ClusterParams, Linkage, Order, alignment_params
from gpualign.cluster.run import Clusterer
from gpualign.cluster.sequences import read_input
from gpualign.errors import proteins_want
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, as_batch, is_path, path_of, symbols_in
from gpualign.report import OnProgress, Progress
from gpualign.run.select import open_backend
from gpualign.tables.column import NameColumn, SignColumn, TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Table
from gpualign.text import table

_ALIGNMENT = field_names(PairwiseParams, "identity")


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


@takes_keywords(*_ALIGNMENT)
def cluster(
    sequences: Sequences,
    identity: float,
    *,
    order: Order = ClusterParams.order,
    first: bool = False,
    linkage: Linkage = ClusterParams.linkage,
    min_length: int = ClusterParams.min_length,
    max_length: int | None = None,
    min_coverage: float = ClusterParams.min_coverage,
    device: str = "auto",
    threads: int = 0,
    progress: OnProgress | None = None,
    **alignment: Any,
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
        order: in which sequences are taken: "length" (longest first), "size" (by ``;size=N`` of names) or "input".
        first: join the first centroid that is near enough, not the nearest.
        linkage: "centroid", or "single": join sequences that reach the identity, directly or through others.
        min_length, max_length: leave other sequences out.
        min_coverage: minimum share of the longer of two sequences that is aligned to symbols of the other.
        device, threads, progress: as for :func:`gpualign.verify`; sequences are counted.
        alignment: of :func:`gpualign.pairwise`: ``match``, ``mismatch``, ``matrix``, ``gap_open``, ``gap_extend``,
            ``end_gap_open``, ``end_gap_extend``, ``identity_definition``, ``strand``, ``max_memory``. By default the
            scores are vsearch's, with a matrix gaps cost 12/1.

    Returns:
        :class:`Clusters`: the table, and the cluster of each sequence.

    Raises:
        UsageError: a parameter out of range.
        InputError: a symbol that the scoring does not know, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = ClusterParams(
        alignment=alignment_params(identity, **alignment),
        order=order,
        first=first,
        linkage=linkage,
        min_length=min_length,
        max_length=max_length,
        min_coverage=min_coverage,
    )
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
    if linkage == "centroid":
        columns |= {"identity": joined.identity, "strand": SignColumn.of_strands(joined.minus == 1)}
        lines = table.format_rows([table.cigars(joined.operations, joined.operation_offsets)], len(joined))
        columns["cigar"] = TextColumn.of_lines(lines)
    names = TextColumn.of_bytes(data.names, data.name_offsets)
    columns["sequence_name"] = NameColumn(names, np.arange(len(data), dtype=np.int32))
    of_members = centroids[joined.cluster] if len(data) else np.zeros(0, np.int64)
    columns["centroid_name"] = NameColumn(names, of_members.astype(np.int32))
    return Clusters(Table(columns), labels)
