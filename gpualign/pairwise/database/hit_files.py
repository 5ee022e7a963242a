"""What a search by identity writes besides its rows: .uc, abundances, common ranks, queries with and without hits."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.near.cpu import ALL_MATCH
from gpualign.align.score.alignments import Measures, PairAlignments
from gpualign.pairwise.database.params import HitFiles
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.offsets import joined
from gpualign.text.labels import common_ranks, counts_by_sample, read_taxonomy, sizes_of, taxonomy_of, unit_of
from gpualign.text.output_file import open_output


class HitWriter:
    """Writes the files of a run.

    Args:
        queries: all of them, as they were read.
        path: of the queries.
        definition: of the identity.
        targets: names of the targets that are hit.
        numbers: int64 (t,), their numbers in the database.
    """

    def __init__(
        self,
        files: HitFiles,
        queries: SequenceBatch,
        path: str,
        definition: int,
        targets: list[str],
        numbers: NDArray[np.int64],
    ) -> None:
        self._files, self._queries, self._path, self._definition = files, queries, path, definition
        self._targets, self._numbers = targets, numbers
        table = None if files.taxonomy is None else read_taxonomy(files.taxonomy)
        self._taxonomy = [taxonomy_of(name) if table is None else table.get(name, []) for name in targets]

    def write(
        self, query: NDArray[np.int32], target: NDArray[np.int64], identity: NDArray[np.float64], best: PairAlignments
    ) -> None:
        """Write all files.

        Args:
            query, target, identity: (h,), hits by query, the best first; targets numbered as ``targets`` are.
            best: alignments of each query's first hit.
        """
        files = self._files
        if files.uc is not None:
            self._write(files.uc, self._uc(best))
        if files.counts is not None:
            self._write(files.counts, self._counts(best))
        if files.lca is not None:
            self._write(files.lca, self._lca(query, target, identity))
        matched = np.zeros(len(self._queries), np.uint8)
        matched[query] = 1
        for path, wanted in ((files.matched, matched), (files.unmatched, 1 - matched)):
            if path is not None:
                records = (self._queries.native, wanted, False)
                self._write(path, _native.format_fastx(*records).tobytes())

    def _write(self, path: str, text: bytes) -> None:
        with open_output(path) as out:
            out.write(text)

    def _uc(self, best: PairAlignments) -> bytes:
        """A record H of each query's first hit, or N, as vsearch writes them."""
        assert best.cigar is not None
        assert best.cigar_offsets is not None
        measures = Measures(best, "global")
        n = len(self._queries)
        names = joined(
            [
                (self._queries.names, self._queries.name_offsets),
                join_bytes([t.encode("latin-1") for t in self._targets]),
            ]
        )
        rows = _native.uc_rows(
            names=names[0],
            name_offsets=names[1],
            members=best.query.astype(np.int64),
            centroids=n + best.target.astype(np.int64),
            lengths=measures.n,
            clusters=self._numbers[best.target].astype(np.int32),
            founds=np.zeros(len(best), np.uint8),
            identity=measures.identity(self._definition),
            minus=best.minus.astype(np.uint8),
            exact=np.where(measures.matches == measures.columns, ALL_MATCH, 0).astype(np.uint8),
            operations=best.cigar,
            offsets=best.cigar_offsets,
            whole=ALL_MATCH,
        )
        lines = [b"N\t*\t*\t*\t.\t*\t*\t*\t%s\t*" % self._queries.name(i).encode("latin-1") for i in range(n)]
        for query, row in zip(best.query.tolist(), rows.splitlines(), strict=True):
            lines[query] = row
        return b"".join(line + b"\n" for line in lines)

    def _counts(self, best: PairAlignments) -> bytes:
        matched = self._queries.take(best.query.astype(np.int64))
        names = matched.names, matched.name_offsets
        hit, unit = np.unique(best.target, return_inverse=True)
        units = [unit_of(self._targets[i].encode("latin-1")) for i in hit.tolist()]
        ranks = {name: ",".join(self._taxonomy[i]) for name, i in zip(units, hit.tolist(), strict=True)}
        return counts_by_sample(
            units, unit, names, sizes_of(*names, self._path), ranks if any(ranks.values()) else None
        )

    def _lca(self, query: NDArray[np.int32], target: NDArray[np.int64], identity: NDArray[np.float64]) -> bytes:
        """A line for each query: the ranks that the hits with its highest identity have in common."""
        starts = np.searchsorted(query, np.arange(len(self._queries) + 1)).tolist()
        lines = []
        for i, (start, stop) in enumerate(itertools.pairwise(starts)):
            ties = target[start:stop][identity[start:stop] == identity[start : start + 1]].tolist()
            ranks = common_ranks([self._taxonomy[t] for t in ties], self._files.lca_cutoff) if ties else []
            lines.append(f"{self._queries.name(i)}\t{','.join(ranks)}\n")
        return "".join(lines).encode("latin-1")
