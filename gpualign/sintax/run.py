"""``sintax``: queries against the words of references."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import counted
from gpualign.params import RunOptions
from gpualign.run.run_context import RunContext
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.sintax.params import SintaxFiles, SintaxParams
from gpualign.text.chunks import read_batches
from gpualign.text.labels import RANKS, ranks_in, read_taxonomy, taxonomy_in

#: random subsets of a query's words
BOOTSTRAPS = 100
#: bytes of queries that are read at a time
_READ_BYTES = 1 << 20


class Taxonomy:
    """The names of references at each rank.

    Attributes:
        names: each name with its rank, such as "p:Firmicutes"; number 0 is none.
        of: int32 (references, 9), numbers of names.
    """

    def __init__(self, references: SequenceBatch, table: dict[str, list[str]] | None) -> None:
        numbers = {"": 0}
        rows: dict[str, list[int]] = {}  # many references share a taxonomy
        self.of = np.zeros((len(references), len(RANKS)), np.int32)
        for i in range(len(references)):
            name = references.name(i)
            key = taxonomy_in(name) if table is None else name
            if key not in rows:
                rows[key] = [0] * len(RANKS)
                for rank in ranks_in(key) if table is None else table.get(name, ()):
                    rows[key][RANKS.index(rank[0])] = numbers.setdefault(rank, len(numbers))
            self.of[i] = rows[key]
        self.names = list(numbers)


def run_sintax(params: SintaxParams, files: SintaxFiles, options: RunOptions) -> dict[str, Any]:
    """Classify the sequences of a file; returns the run report's fields.

    Raises:
        InputError: a file that cannot be read or is invalid.
    """
    run = RunContext("sintax", options, (files.queries, files.references, files.taxonomy), formats=())
    table = None if files.taxonomy is None else read_taxonomy(files.taxonomy)
    references = join_batches(list(read_batches(files.references)))
    taxonomy = Taxonomy(references, table)
    index = _native.SintaxClassifier(references.bases, references.base_offsets, taxonomy.of.ravel())
    run.report.stage("index")
    queries = classified = 0
    with run.output() as out, run.progress("sequence", of=(files.queries,)) as progress:
        for batch in read_batches(files.queries, _READ_BYTES):
            found = index.classify(batch.bases, batch.base_offsets, params.strand == "both", options.threads)
            out.write(_lines(batch, taxonomy, params.cutoff, *found))
            queries += len(batch)
            classified += int((found[2] >= BOOTSTRAPS / 2).sum())
            progress.update(len(batch))
    run.report.stage("classification")
    known = int((taxonomy.of > 0).any(axis=1).sum())
    if known < len(references):
        where = ";tax= in its name" if table is None else f"line in {files.taxonomy}"
        run.warn(f"{len(references) - known:,} of {counted(len(references), 'reference')} have no taxonomy ({where})")
    summary = f"{counted(queries, 'sequence')}, {classified:,} classified by {counted(len(references), 'reference')}"
    fields = {"sequences": queries, "classified": classified, "references": len(references)}
    return run.finish(summary, **fields, index_mb=index.size_bytes >> 20)


def _lines(
    batch: SequenceBatch,
    taxonomy: Taxonomy,
    cutoff: float | None,
    names: NDArray[np.int32],
    agree: NDArray[np.int32],
    successful: NDArray[np.int32],
    minus: NDArray[np.uint8],
) -> bytes:
    """A line for each query as vsearch writes it; without ranks if less than half of its bootstraps were successful."""
    lines = []
    rows = zip(names.reshape(-1, len(RANKS)).tolist(), agree.reshape(-1, len(RANKS)).tolist(), strict=True)
    for i, (of_ranks, votes) in enumerate(rows):
        fields = [batch.name(i), "", ""]
        enough = successful[i] >= BOOTSTRAPS / 2
        shares = [
            (taxonomy.names[name], vote / successful[i]) for name, vote in zip(of_ranks, votes, strict=True) if name
        ]
        if enough:
            fields[1:] = [",".join(f"{name}({share:.2f})" for name, share in shares), "-" if minus[i] else "+"]
        if cutoff:
            fields.append(",".join(name for name, share in shares if share >= cutoff) if enough else "")
        lines.append("\t".join(fields if enough or cutoff else fields[:2]) + "\n")
    return "".join(lines).encode("latin-1")
