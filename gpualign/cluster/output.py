"""What `cluster` writes: the table, vsearch's .uc, centroids, members, counts by sample, and a picture."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from gpualign.cluster.cpu import ALL_MATCH, INNER_MATCH
from gpualign.cluster.greedy import Joined
from gpualign.cluster.params import ClusterFiles, ClusterParams
from gpualign.cluster.sequences import ClusterInput
from gpualign.errors import GpualignError
from gpualign.io import table
from gpualign.io.output_file import OutputFile, open_output
from gpualign.io.table_output import Kind, TableSink

_SWAPPED = bytes.maketrans(b"ID", b"DI")
_ONE = re.compile(rb"(?<!\d)1(?=[MID])")
_SIZE = re.compile(r"(^|;)size=\d+;?")
#: a sample is named by an attribute, else by the begin of the name (as in vsearch)
_SAMPLE = re.compile(r"(?:^|;)(?:sample|barcodelabel)=([^;]*)")
_NAME_BEGIN = re.compile(r"[A-Za-z0-9_]*")


def columns_of(files: ClusterFiles) -> dict[str, Kind]:
    """Names of the table's columns and what they hold."""
    columns: dict[str, Kind] = {"sequence": "text", "cluster": "integer", "centroid": "text", "identity": "number"}
    columns |= {"strand": "text"}
    return columns | ({"cigar": "text"} if files.path else {})


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
        self._names = table.Names(data.names)
        self._lengths = data.lengths
        self._cluster = np.full(len(data), -1, np.int32)
        self._centroids: list[int] = []
        self.members = np.zeros(0, np.int64)

    def add(self, joined: Joined) -> None:
        """Write the rows of a batch."""
        first = int(joined.first[0])
        here = np.arange(first, first + len(joined))
        self._cluster[first : first + len(joined)] = joined.cluster
        self._centroids += here[joined.founds == 1].tolist()
        centroid = np.array(self._centroids, np.int64)[joined.cluster]
        known = not np.isnan(joined.identity).any()
        columns = [self._names.column(here), table.integers(joined.cluster), self._names.column(centroid)]
        columns.append(table.fixed(100 * joined.identity, 2) if known else table.constant("*", len(joined)))
        columns.append(table.signs(joined.minus == 1) if known else table.constant("*", len(joined)))
        if self._files.path:
            columns.append(table.cigars(joined.operations, joined.operation_offsets))
        self._out.write(table.format_rows(columns, len(joined)))
        if self._uc is not None:
            self._uc.write(self._uc_lines(joined, here, centroid))

    def finish(self) -> None:
        """Write what is of whole clusters."""
        self.members = np.bincount(self._cluster, minlength=len(self._centroids))
        weights = self._data.sizes if self._params.size_in else np.ones(len(self._data), np.int64)
        sizes = np.bincount(self._cluster, weights, len(self._centroids)).astype(np.int64)
        if self._uc is not None:
            names = (self._data.names[i] for i in self._centroids)
            known = enumerate(zip(sizes.tolist(), names, strict=True))
            lines = (f"C\t{i}\t{size}\t*\t*\t*\t*\t*\t{name}\t*\n" for i, (size, name) in known)
            self._uc.write("".join(lines).encode("latin-1"))
        if self._files.centroids is not None:
            with open_output(self._files.centroids, self._threads) as out:
                self._write_centroids(out, sizes)
        if self._files.members is not None:
            self._write_members(self._files.members)
        if self._files.counts is not None:
            with open_output(self._files.counts, self._threads) as out:
                out.write(self._counts())
        if self._files.plot is not None:
            from gpualign.cluster.plot import draw

            draw(sizes, self._files.plot)

    def _uc_lines(self, joined: Joined, here: NDArray[np.int64], centroid: NDArray[np.int64]) -> bytes:
        """As vsearch: its I and D are ours the other way round, = is a whole match (of the longest first that between
        the gaps at the ends), and a 1 is left out.
        """
        text = table.format_rows([table.cigars(joined.operations, joined.operation_offsets)], len(joined))
        cigars = _ONE.sub(b"", text.translate(_SWAPPED)).decode().split("\n")
        whole = joined.exact & (INNER_MATCH if self._params.order == "length" else ALL_MATCH)
        names, lengths = self._data.names, self._lengths
        lines = []
        rows = zip(here.tolist(), centroid.tolist(), joined.cluster.tolist(), strict=True)
        for i, (at, of, cluster) in enumerate(rows):
            if joined.founds[i]:
                lines.append(f"S\t{cluster}\t{lengths[at]}\t*\t*\t*\t*\t*\t{names[at]}\t*\n")
                continue
            sign, cigar = "-" if joined.minus[i] else "+", "=" if whole[i] else cigars[i]
            identity = f"{100 * joined.identity[i]:.1f}"
            lines.append(f"H\t{cluster}\t{lengths[at]}\t{identity}\t{sign}\t0\t0\t{cigar}\t{names[at]}\t{names[of]}\n")
        return "".join(lines).encode("latin-1")

    def _centroid_name(self, cluster: int) -> str:
        if self._files.relabel is not None:
            return f"{self._files.relabel}{cluster + 1}"
        return self._data.names[self._centroids[cluster]]

    def _write_centroids(self, out: OutputFile, sizes: NDArray[np.int64]) -> None:
        for cluster, at in enumerate(self._centroids):
            name = self._centroid_name(cluster)
            if self._files.size_out:
                name = _SIZE.sub(r"\1", name).strip(";") + f";size={sizes[cluster]}"
            out.write(b">%s\n%s\n" % (name.encode("latin-1"), self._data.written(at)))

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
                    out.write(b">%s\n%s\n" % (self._data.names[at].encode("latin-1"), self._data.written(at)))

    def _counts(self) -> bytes:
        """Abundances of each cluster in each sample, both in the order of their names, as vsearch's --otutabout."""
        counts: Counter[tuple[str, str]] = Counter()
        units = [self._centroid_name(cluster).split(";")[0] for cluster in range(len(self._centroids))]
        rows = zip(self._data.names, self._cluster.tolist(), self._data.sizes.tolist(), strict=True)
        for name, cluster, size in rows:
            counts[units[cluster], sample_of(name)] += size
        samples = sorted({sample for _, sample in counts})
        lines = ["\t".join(["#OTU ID", *samples])]
        lines += ["\t".join([unit, *(str(counts[unit, sample]) for sample in samples)]) for unit in sorted(set(units))]
        return "".join(line + "\n" for line in lines).encode("latin-1")


def sample_of(name: str) -> str:
    """The sample that a sequence is of."""
    found = _SAMPLE.search(name)
    if found is not None:
        return found[1]
    begin = _NAME_BEGIN.match(name)
    return begin[0] if begin else ""
