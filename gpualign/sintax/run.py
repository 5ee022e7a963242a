"""``sintax``: queries against the words of references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import counted
from gpualign.params import RunOptions
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.run_context import RunContext
from gpualign.run.select import Work
from gpualign.run.stage import Backend, Stage
from gpualign.seeds.words.cpu import DRAWS, DrawnBest, QueryWords, References, draw_on_cpu
from gpualign.seeds.words.device import DrawsKernel
from gpualign.seeds.words.tuning import KERNELS
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.sintax.params import SintaxFiles, SintaxParams
from gpualign.text.chunks import read_batches
from gpualign.text.labels import RANKS, ranks_in, read_taxonomy, taxonomy_in
from gpualign.text.sizes import product, symbols_in_files

#: on the CPU batches are smaller, as a thread takes one
_CPU_SHARE = 16


@dataclass(frozen=True, eq=False)
class Classifier:
    """References with their taxonomy.

    Attributes:
        references: their words.
        ranks: each name with its rank, such as "p:Firmicutes"; number 0 is none.
        names: int32 (n, 9), the names of the references at each rank, in the order of preference.
        known: references with a taxonomy.
        both: try the other strand of queries as well.
    """

    references: References
    ranks: list[str]
    names: NDArray[np.int32]
    known: int
    both: bool

    @classmethod
    def of(cls, references: SequenceBatch, table: dict[str, list[str]] | None, both: bool, threads: int) -> Classifier:
        """Those of ``;tax=``, or of a table of names."""
        numbers = {"": 0}
        rows: dict[str, tuple[int, list[int]]] = {}  # many references share a taxonomy
        of = np.zeros(len(references), np.int32)
        for i in range(len(references)):
            name = references.name(i)
            key = taxonomy_in(name) if table is None else name
            if key not in rows:
                row = [0] * len(RANKS)
                for rank in ranks_in(key) if table is None else table.get(name, ()):
                    row[RANKS.index(rank[0])] = numbers.setdefault(rank, len(numbers))
                rows[key] = len(rows), row
            of[i] = rows[key][0]
        taxa = np.array([row for _, row in rows.values()], np.int32).reshape(-1, len(RANKS))
        rank_of_taxon = np.argsort(np.lexsort(taxa.T[::-1]))
        preferred = np.argsort(references.lengths, kind="stable")  # the shortest, then the first
        order = np.empty(len(of), np.int32)
        order[preferred] = np.arange(len(of))
        similar = np.argsort(rank_of_taxon[of], kind="stable").astype(np.int32)
        words = References(references.bases, references.base_offsets, similar, order, threads)
        return cls(words, list(numbers), taxa[of[preferred]], int(np.any(taxa, axis=1)[of].sum()), both)

    def run(self, batches: Iterable[SequenceBatch], backend: Backend) -> Iterator[Classified]:
        """Classify batches of queries, in order."""
        references, both = self.references, self.both

        def words(batch: SequenceBatch) -> QueryWords:
            return QueryWords.of(batch.bases, batch.base_offsets)

        def voted(batch: SequenceBatch, drawn: DrawnBest) -> Classified:
            names, votes, found = _native.sintax_votes(drawn.best.ravel(), self.names.ravel(), DRAWS)
            of_ranks = names.reshape(-1, len(RANKS)), votes.reshape(-1, len(RANKS))
            return Classified(batch, self.ranks, *of_ranks, found, drawn.minus)

        stage = Stage[SequenceBatch, Classified](
            lambda batch: voted(batch, draw_on_cpu(references, words(batch), both)),
            lambda device: DrawsKernel(device, references, both),
            lambda batch, run: voted(batch, run(lambda _: words(batch))),
        )
        return backend.run(batches, stage)


@dataclass(frozen=True, eq=False)
class Classified:
    """Queries with the names on which their draws agree.

    Attributes:
        batch: the queries.
        ranks: what the numbers of names stand for.
        names, votes: int32 (q, 9), by rank, numbers of names and draws that agree.
        successful: int32 (q,), draws that have found a reference.
        minus: uint8 (q,), 1 for the other strand.
    """

    batch: SequenceBatch
    ranks: list[str]
    names: NDArray[np.int32]
    votes: NDArray[np.int32]
    successful: NDArray[np.int32]
    minus: NDArray[np.uint8]

    def taxonomies(self, cutoff: float | None) -> Iterator[tuple[str, str] | None]:
        """Of each query its ranks with their shares, and those with at least ``cutoff``; None if not enough draws found
        a reference.
        """
        for names, votes, found in zip(self.names.tolist(), self.votes.tolist(), self.successful.tolist(), strict=True):
            if found < DRAWS / 2:
                yield None
                continue
            shares = [(self.ranks[name], vote / found) for name, vote in zip(names, votes, strict=True) if name]
            accepted = (name for name, share in shares if cutoff and share >= cutoff)
            yield ",".join(f"{name}({share:.2f})" for name, share in shares), ",".join(accepted)

    def lines(self, cutoff: float | None) -> bytes:
        """A line for each query as vsearch writes it."""
        lines = []
        for i, found in enumerate(self.taxonomies(cutoff)):
            fields = (
                [self.batch.name(i), "", ""] if found is None else [self.batch.name(i), found[0], "+-"[self.minus[i]]]
            )
            if cutoff:
                fields.append("" if found is None else found[1])
            lines.append("\t".join(fields if found or cutoff else fields[:2]) + "\n")
        return "".join(lines).encode("latin-1")


def work_of(queries: float | None, references: float | None) -> Work:
    """Of so many bases."""
    return Work.of(KERNELS, product((queries, references)))


def run_sintax(params: SintaxParams, files: SintaxFiles, options: RunOptions) -> dict[str, Any]:
    """Classify the sequences of a file; returns the run report's fields.

    Raises:
        InputError: a file that cannot be read or is invalid.
        DeviceError: a GPU was asked for and cannot be used.
    """
    run = RunContext("sintax", options, (files.queries, files.references, files.taxonomy), formats=())
    work = work_of(symbols_in_files(files.queries), symbols_in_files(files.references))
    queries = classified = 0
    with run.opening(work) as opening:
        table = None if files.taxonomy is None else read_taxonomy(files.taxonomy)
        references = join_batches(list(read_batches(files.references)))
        classifier = Classifier.of(references, table, params.strand == "both", options.threads)
        run.report.stage("reading")
        backend = opening.backend()
        if backend.on_gpu:
            reuse_memory()
        size = options.batch_size if backend.on_gpu else options.batch_size // _CPU_SHARE
        with run.output() as out, run.progress("sequence", of=(files.queries,)) as progress:
            for found in classifier.run(read_batches(files.queries, max(1, size)), backend):
                out.write(found.lines(params.cutoff))
                queries += len(found.batch)
                classified += int((found.successful >= DRAWS / 2).sum())
                progress.update(len(found.batch))
        run.report.stage("classification")
    if classifier.known < len(references):
        where = ";tax= in its name" if table is None else f"line in {files.taxonomy}"
        missing = len(references) - classifier.known
        run.warn(f"{missing:,} of {counted(len(references), 'reference')} have no taxonomy ({where})")
    done = f"{counted(queries, 'sequence')}, {classified:,} classified by {counted(len(references), 'reference')}"
    fields = {"sequences": queries, "classified": classified, "references": len(references)}
    return run.finish(f"{done}, on {run.device}", **fields)
