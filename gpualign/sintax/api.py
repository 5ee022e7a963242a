"""``gpualign.sintax``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpualign.fields import takes_keywords
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, as_batch, batches_of, path_of, symbols_in
from gpualign.report import OnProgress, Progress
from gpualign.run.select import open_backend
from gpualign.sequences.batch import join_bytes
from gpualign.sintax.params import SintaxParams
from gpualign.sintax.run import Classifier, work_of
from gpualign.tables.column import NameColumn, TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Table
from gpualign.text.labels import ranks_in, read_taxonomy

#: bases of queries of a batch
_BATCH = 1 << 18


@takes_keywords(SintaxParams)
def sintax(
    queries: Sequences,
    references: Sequences,
    *,
    taxonomy: Mapping[str, str] | str | None = None,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
    **parameters: Any,
) -> Table[Row]:
    """Classify sequences by taxonomy, by the words that they share with references (docs/commands/sintax.md).

    >>> known = ["GATTACATTGCCAGGTACCATGACCTTAGGCATCGGATTACAGC", "CCTTGGAACGTACGTTTGCAAGCTGCTAGGCTAAACGTCTGATC"]
    >>> taxa = {"0": "d:Life,g:Some", "1": "d:Life,g:Other"}
    >>> sintax(known[:1], known, taxonomy=taxa, cutoff=0.8).tolist()
    [(0, 'd:Life(1.00),g:Some(1.00)', 'd:Life,g:Some', '+', '0')]

    Args:
        queries, references: sequences: a file, a batch, or strings.
        taxonomy: ranks such as "d:Bacteria,p:Firmicutes" by the name of a reference, or a file of names and ranks;
            None: they are in the names (``;tax=``).
        device, threads, progress: as for :func:`gpualign.verify`; sequences are counted.
        parameters: fields of :class:`gpualign.sintax.params.SintaxParams`.

    Returns:
        A :class:`gpualign.Table`, a row for each query in order: ``query``, ``taxonomy`` (ranks with the shares of 100
        draws that agree), with ``cutoff`` the ranks that are ``accepted``, ``strand`` (these are null if fewer than 50
        draws found a reference) and ``query_name``. Edgar (2016).

    Raises:
        UsageError: a parameter out of range.
        InputError: a file that cannot be read or is invalid.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params, options = SintaxParams(**parameters), RunOptions.of_api(device, threads)
    if taxonomy is None or isinstance(taxonomy, Mapping):
        table = None if taxonomy is None else {name: ranks_in(ranks) for name, ranks in taxonomy.items()}
    else:
        table = read_taxonomy(path_of(taxonomy))
    known = as_batch(references)
    classifier = Classifier.of(known, table, params.strand == "both", options.threads)
    names: list[bytes] = []
    taxa: list[tuple[str, str] | None] = []
    minus: list[np.ndarray[Any, Any]] = [np.zeros(0, np.uint8)]
    done = Progress(options, "sequence", call=progress)
    with open_backend(options, "sintax", work_of(symbols_in(queries), symbols_in(known))) as backend:
        for found in classifier.run(batches_of(queries, _BATCH), backend):
            names += (found.batch.name(i).encode("latin-1") for i in range(len(found.batch)))
            taxa += found.taxonomies(params.cutoff)
            minus.append(found.minus)
            done.update(len(found.batch))
    columns: dict[str, Column] = {
        "query": np.arange(len(names)),
        "taxonomy": TextColumn.of([None if ranks is None else ranks[0] for ranks in taxa]),
    }
    if params.cutoff is not None:
        columns["accepted"] = TextColumn.of([None if ranks is None else ranks[1] for ranks in taxa])
    strands = ("+-"[sign] for sign in np.concatenate(minus).tolist())
    columns["strand"] = TextColumn.of([ranks and strand for ranks, strand in zip(taxa, strands, strict=True)])
    columns["query_name"] = NameColumn(TextColumn.of_bytes(*join_bytes(names)), np.arange(len(names), dtype=np.int32))
    return Table(columns)
