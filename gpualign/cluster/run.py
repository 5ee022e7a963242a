"""``cluster``: batches of sequences against the centroids, and what is written of the clusters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.near.cpu import NearProblem
from gpualign.align.near.neighbors import Neighbors
from gpualign.align.pair_inputs import PairInputs
from gpualign.align.score.problem import make_problem
from gpualign.cluster import tuning
from gpualign.cluster.greedy import Greedy, Joined
from gpualign.cluster.output import ClusterWriter, columns_of
from gpualign.cluster.params import ClusterFiles, ClusterParams
from gpualign.cluster.sequences import ClusterInput, read_input
from gpualign.cluster.single import SingleLinkage
from gpualign.errors import check_count, counted, proteins_want
from gpualign.params import RunOptions
from gpualign.plots.drawing import check_plot
from gpualign.report import Progress
from gpualign.run.run_context import RunContext
from gpualign.run.stage import Backend
from gpualign.run.tiles import Tiles, digest
from gpualign.sequences.matrices import Scoring, without_codes
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.pairs import PairSource
from gpualign.text.chunks import read_batches
from gpualign.text.paths import file_of
from gpualign.text.sizes import symbols_in_files
from gpualign.text.symbol_lines import with_symbol_lines


def run_cluster(params: ClusterParams, files: ClusterFiles, options: RunOptions) -> dict[str, Any]:
    """Cluster the sequences of a file; returns the run report's fields.

    Raises:
        UsageError: parameters that do not fit.
        InputError: a file cannot be read or is invalid.
        DeviceError: a GPU was asked for and cannot be used.
    """
    files.check(params, options.output)
    if files.plot is not None:
        check_plot(files.plot)
    run = RunContext("cluster", options, (files.sequences, file_of(params.alignment.matrix)), files.outputs)
    if files.members is not None:
        run.outputs.append(files.members)
    scoring = params.load_scoring()
    with run.opening(tuning.work_of(symbols_in_files(files.sequences))) as opening:
        with proteins_want("--matrix, such as --matrix BLOSUM62"), with_symbol_lines():
            batches = read_batches(files.sequences, tuning.READ_BYTES, "nucleotide" if scoring.nucleotide else "any")
            data = read_input(batches, scoring, params, files.sequences, files.keeps_text)
        run.report.stage("reading")
        if len(data) == 0:
            run.warn("there are no sequences" if data.total == 0 else "all sequences are left out by their lengths")
        with contextlib.ExitStack() as stack:
            out = stack.enter_context(run.table(columns_of(files), files.header))
            writer = ClusterWriter(params, files, data, options.threads, stack, out)
            clusterer = Clusterer(params, scoring, data, opening.backend(), options)
            with run.progress("sequence", len(data)) as progress:
                for joined in clusterer.run(progress, files.resume):
                    writer.add(joined)
            run.report.stage("clustering")
            writer.finish()
            run.report.stage("writing")
    if stale := writer.older_members():
        run.warn(f"{files.members} also has {stale}, of a run with more clusters")
    sizes = writer.members
    check_count("sequences", len(data), int(sizes.sum()))
    fields = {"sequences": data.total, "left_out": data.left_out, "distinct": clusterer.distinct}
    fields |= {"clusters": len(sizes), "singletons": int((sizes == 1).sum()), "largest": int(sizes.max(initial=0))}
    fields |= {"pairs_after_words": clusterer.candidates, "index_mb": clusterer.index_bytes >> 20}
    left = f" ({data.left_out:,} left out by length)" if data.left_out else ""
    summary = f"{counted(data.total, 'sequence')}{left}, {counted(len(sizes), 'cluster')}, on {run.device}"
    return run.finish(summary, **fields)


@dataclass(frozen=True, eq=False)
class _Links:
    """What a batch of single linkage has joined: int32 (pairs, 2)."""

    pairs: NDArray[np.int32]


class Clusterer:
    """Clusters of ordered sequences on a backend.

    Args:
    """

    def __init__(
        self,
        params: ClusterParams,
        scoring: Scoring,
        data: ClusterInput,
        backend: Backend,
        options: RunOptions,
    ) -> None:
        if data.sequences.codes.max(initial=0) < scoring.identical:
            scoring = without_codes(scoring)
        source = PairSource.triangle(data.sequences.lengths, include_self=True)
        pairs = make_problem(params.pairs, options, scoring, PairInputs(data.sequences, data.sequences, source))
        self._problem = NearProblem(pairs, params.min_coverage)
        self._params, self._data, self._options = params, data, options
        self.distinct = int(data.distinct.max(initial=-1)) + 1
        self._symbols = options.batch_size * (tuning.GPU_FACTOR if backend.on_gpu else 1)
        self._neighbors = Neighbors(self._problem, backend, self.distinct, params.both_strands, options.threads)
        self.index_bytes = 0

    @property
    def candidates(self) -> int:
        """Pairs that the words left."""
        return self._neighbors.candidates

    def run(self, progress: Progress, resume: str | None = None) -> Iterator[Joined]:
        """Batches of sequences with their clusters, in order.

        Args:
            resume: folder of finished batches.
        """
        if self._params.linkage == "single":
            yield self._single(progress, resume)
            return
        greedy = Greedy(self._data, self._neighbors, self._params.first)
        tiles = self._tiles(resume, Joined)
        for number, (first, last) in enumerate(self._batches(self._data.lengths, resume)):
            joined = None if tiles is None else tiles.load(number)
            if joined is not None:
                greedy.found_again(joined)
            else:
                joined = greedy.join(first, last)
                if tiles is not None:
                    tiles.keep(number, joined)
            self.index_bytes = max(self.index_bytes, greedy.index_bytes)
            progress.update(last - first, f"{counted(len(greedy), 'cluster')}")
            yield joined

    def _single(self, progress: Progress, resume: str | None) -> Joined:
        linkage, tiles = SingleLinkage(self._data, self._neighbors), self._tiles(resume, _Links)
        lengths = self._data.sequences.lengths[: self.distinct]
        for number, (first, last) in enumerate(self._batches(lengths, resume)):
            links = None if tiles is None else tiles.load(number)
            if links is not None:
                linkage.found_again(first, last, links.pairs)
            else:
                links = _Links(linkage.join(first, last))
                if tiles is not None:
                    tiles.keep(number, links)
            progress.update(last - first)
        self.index_bytes = linkage.index_bytes
        cluster = linkage.clusters()
        n = len(cluster)
        founds = np.zeros(n, np.uint8)
        founds[np.unique(cluster, return_index=True)[1]] = 1
        none = np.zeros(n, np.uint8)
        return Joined(
            np.arange(n), cluster, founds, np.full(n, np.nan), none, none, np.zeros(0, np.uint32),
            np.zeros(n + 1, np.int64),
        )  # fmt: skip

    def _tiles(self, resume: str | None, make: Callable[..., Any]) -> Tiles[Any] | None:
        if resume is None:
            return None
        pairs = replace(self._problem.pairs, table_bytes=0, kernel="auto", threads=1, pair_threads=1)
        problem = replace(self._problem, pairs=pairs)
        of_run = digest(problem, self._data.distinct, self._params, self._options.batch_size)
        return Tiles(resume, of_run, make, "cluster")

    def _batches(self, lengths: NDArray[np.int64], resume: str | None) -> Iterator[tuple[int, int]]:
        """Half-open ranges of sequences: few at first, when each may found a cluster. With ``resume`` they are the same
        on every device.
        """
        symbols = self._options.batch_size if resume is not None else self._symbols
        ends = offsets_of(lengths)
        first, most = 0, tuning.FIRST_BATCH
        while first < len(lengths):
            by_size = int(np.searchsorted(ends, ends[first] + symbols, "right")) - 1
            last = min(len(lengths), first + most, max(first + 1, by_size))
            yield first, last
            first, most = last, most * 2
