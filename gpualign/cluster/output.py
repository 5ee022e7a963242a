"""What `cluster` writes: the table, vsearch's .uc, centroids, members, counts by sample, and a picture."""

from __future__ import annotations

import contextlib
import os
import re

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.near.cpu import ALL_MATCH, INNER_MATCH
from gpualign.cluster.greedy import Joined
from gpualign.cluster.msa import aligned_rows, consensus
from gpualign.cluster.params import ClusterFiles, ClusterParams
from gpualign.cluster.sequences import ClusterInput
from gpualign.errors import GpualignError
from gpualign.sequences.strands import reverse_complement
from gpualign.text import table
from gpualign.text.labels import counts_by_sample, unit_of, with_size
from gpualign.text.output_file import OutputFile, open_output
from gpualign.text.table_output import Kind, TableSink


def columns_of(files: ClusterFiles) -> dict[str, Kind]:
    """Names of the table's columns and what they hold."""
    columns: dict[str, Kind] = {"sequence": "text", "cluster": "integer", "centroid": "text", "identity": "number"}
    columns |= {"strand": "text"}
    columns |= {"cigar": "text"} if files.path else {}
    return columns | ({"label": "text"} if files.relabel is not None else {})


class ClusterWriter:
    """Takes batches of sequences with their clusters.

    Attributes:
        members: int64 (clusters,), sequences of each.
    """

    def __init__(
        self,
        params: ClusterParams,
        files: ClusterFiles,
        data: ClusterInput,
        threads: int,
        stack: contextlib.ExitStack,
        out: TableSink,
    ) -> None:
        self._params, self._files, self._data, self._threads = params, files, data, threads
        self._out = out
        self._uc = None if files.uc is None else stack.enter_context(open_output(files.uc, threads))
        self._lengths = data.lengths
        self._joined: list[Joined] = []  # kept where alignments are written
        self._cluster = np.full(len(data), -1, np.int32)
        self._centroids = np.zeros(0, np.int64)
        self.members = np.zeros(0, np.int64)

    def add(self, joined: Joined) -> None:
        """Write the rows of a batch."""
        here = joined.number
        if self._files.keeps_alignments:
            self._joined.append(joined)
        self._cluster[here] = joined.cluster
        self._centroids = np.concatenate([self._centroids, here[joined.founds == 1]])
        centroid = self._centroids[joined.cluster]
        known = not np.isnan(joined.identity).any()
        columns = [self._name_column(here), table.integers(joined.cluster), self._name_column(centroid)]
        columns.append(table.fixed(100 * joined.identity, 2) if known else table.constant("*", len(joined)))
        columns.append(table.signs(joined.minus == 1) if known else table.constant("*", len(joined)))
        if self._files.path:
            columns.append(table.cigars(joined.operations, joined.operation_offsets))
        if self._files.relabel is not None:
            columns.append(table.integers(joined.cluster.astype(np.int64) + 1, self._files.relabel))
        self._out.write(table.format_rows(columns, len(joined)))
        if self._uc is not None:
            self._uc.write(self._uc_lines(joined, here, centroid))

    def finish(self) -> None:
        """Write what is of whole clusters."""
        self.members = np.bincount(self._cluster, minlength=len(self._centroids))
        weights = self._data.sizes if self._params.size_in else np.ones(len(self._data), np.int64)
        sizes = np.bincount(self._cluster, weights, len(self._centroids)).astype(np.int64)
        if self._uc is not None:
            none = table.constant("*", len(sizes))
            kind, number = table.constant("C", len(sizes)), table.integers(np.arange(len(sizes)))
            columns = [kind, number, table.integers(sizes), *[none] * 5, self._name_column(self._centroids), none]
            self._uc.write(table.format_rows(columns, len(sizes)))
        if self._files.centroids is not None:
            with open_output(self._files.centroids, self._threads) as out:
                self._write_centroids(out, sizes)
        if self._files.members is not None:
            self._write_members(self._files.members)
        if self._files.keeps_alignments:
            self._write_alignments(sizes, weights)
        if self._files.counts is not None:
            with open_output(self._files.counts, self._threads) as out:
                units = [unit_of(self._centroid_name(i)) for i in range(len(self.members))]
                names = self._data.names, self._data.name_offsets
                out.write(counts_by_sample(units, self._cluster, names, self._data.sizes))
        if self._files.plot is not None:
            from gpualign.cluster.plot import draw

            draw(sizes, self._files.plot)

    def _write_alignments(self, sizes: NDArray[np.int64], weights: NDArray[np.int64]) -> None:
        """The consensus and the alignment of each cluster, as vsearch writes them."""
        data, joined = self._data, Joined.join([Joined.none(), *self._joined])
        order = np.argsort(joined.cluster, kind="stable")
        with contextlib.ExitStack() as stack:
            outs = [
                None if path is None else stack.enter_context(open_output(path, self._threads))
                for path in (self._files.consensus, self._files.alignments)
            ]
            for cluster, some in enumerate(np.split(order, np.cumsum(self.members)[:-1]) if len(order) else []):
                centroid, *others = some.tolist()
                members = []
                for i in others:
                    text = data.written(i)
                    start, stop = joined.operation_offsets[i : i + 2]
                    members.append(
                        (reverse_complement(text) if joined.minus[i] else text, joined.operations[start:stop].tolist())
                    )
                rows, before, after = aligned_rows(data.written(centroid), members)
                shown = consensus(rows, weights[some], before, after)
                if outs[0] is not None:
                    name = b"centroid=%s;seqs=%d" % (self._centroid_name(cluster), len(some))
                    name = with_size(name, int(sizes[cluster])) if self._files.size_out else name
                    outs[0].write(b">%s\n%s\n" % (name, shown.translate(None, b"-+")))
                if outs[1] is not None:
                    named = zip(
                        [b"*" + data.name(centroid), *map(data.name, others), b"consensus"], [*rows, shown], strict=True
                    )
                    outs[1].write(b"\n" + b"".join(b">%s\n%s\n" % pair for pair in named))

    def older_members(self) -> str | None:
        """A file in the folder of members that another run has left there, as it had more clusters."""
        if self._files.members is None:
            return None
        found = (re.fullmatch(r"(\d+)\.fasta", name) for name in os.listdir(self._files.members))
        older = [int(match[1]) for match in found if match and int(match[1]) >= len(self.members)]
        return f"{min(older)}.fasta" if older else None

    def _name_column(self, numbers: NDArray[np.int64]) -> table.Column:
        return table.texts(self._data.names, self._data.name_offsets, numbers)

    def _uc_lines(self, joined: Joined, here: NDArray[np.int64], centroid: NDArray[np.int64]) -> bytes:
        """Lines of ``.uc`` as vsearch writes them: = is a whole match between the gaps at the ends."""
        return _native.uc_rows(
            names=self._data.names,
            name_offsets=self._data.name_offsets,
            members=here,
            centroids=centroid,
            lengths=self._lengths[here],
            clusters=joined.cluster,
            founds=joined.founds,
            identity=joined.identity,
            minus=joined.minus,
            exact=joined.exact,
            operations=joined.operations,
            offsets=joined.operation_offsets,
            whole=INNER_MATCH if self._params.order == "length" else ALL_MATCH,
        )

    def _centroid_name(self, cluster: int) -> bytes:
        if self._files.relabel is not None:
            return f"{self._files.relabel}{cluster + 1}".encode("latin-1")
        return self._data.name(int(self._centroids[cluster]))

    def _write_centroids(self, out: OutputFile, sizes: NDArray[np.int64]) -> None:
        for cluster, at in enumerate(self._centroids.tolist()):
            name = self._centroid_name(cluster)
            if self._files.size_out:
                name = with_size(name, int(sizes[cluster]))
            out.write(b">%s\n%s\n" % (name, self._data.written(at)))

    def _write_members(self, folder: str) -> None:
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise GpualignError(f"{folder}: {error.strerror}") from error
        order = np.argsort(self._cluster, kind="stable")
        ends = np.cumsum(self.members)
        for cluster, members in enumerate(np.split(order, ends[:-1]) if len(ends) else []):
            with open_output(os.path.join(folder, f"{cluster}.fasta")) as out:
                for at in members.tolist():
                    out.write(b">%s\n%s\n" % (self._data.name(at), self._data.written(at)))
