"""``gpualign.lcs_filter``: the subjects that share the longest common subsequence with a query."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualign.align.lcs.tuning import KERNELS
from gpualign.errors import proteins_want
from gpualign.fields import takes_keywords
from gpualign.lcs.params import LcsFilterParams
from gpualign.lcs.run import LcsFilter, strands_of
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, as_batch, batches_of, symbols_in
from gpualign.report import OnProgress, Progress
from gpualign.run.select import Work, open_backend
from gpualign.sequences.batch import join_bytes
from gpualign.tables.column import NameColumn, SignColumn, TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Table
from gpualign.text.fastx import SequenceAlphabet
from gpualign.text.sizes import product

#: symbols of subjects handed to the backend at once
_BATCH = 1 << 22


@takes_keywords(LcsFilterParams, without=("whole_records", "input_order"))
def lcs_filter(
    query: str | bytes,
    subjects: Sequences,
    *,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
    **parameters: Any,
) -> Table[Row]:
    """Rank subjects by the length of their longest common subsequence (not substring) with a query.

    >>> rows = lcs_filter("GATTACA", ["CCCC", "GCATGCT", "GATTTACCA"], top=2, subsequence=True)
    >>> rows.tolist()
    [(2, 7, 9, '+', b'GATTACA', '2'), (1, 4, 7, '+', b'GATT', '1')]

    Args:
        query: the sequence itself.
        subjects: sequences: a file, a batch, or strings.
        device, threads, progress: as for :func:`gpualign.verify`; symbols of subjects are counted.
        parameters: fields of :class:`gpualign.lcs.params.LcsFilterParams`.

    Returns:
        A :class:`gpualign.Table`, best first, equal ones in input order: ``subject`` (its number), ``lcs``,
        ``length`` (of the subject), ``strand``, with ``subsequence`` that (bytes), and ``subject_name``. Bit-parallel
        after Crochemore et al. (2001); subsequences after Hirschberg (1975).

    Raises:
        UsageError: a parameter out of range.
        InputError: a character that is not a nucleotide code with "dna", a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = LcsFilterParams(**parameters)
    accepted: SequenceAlphabet = "nucleotide" if params.alphabet == "dna" else "any"
    options = RunOptions.of_api(device, threads)
    work = Work.of(KERNELS, product((symbols_in([query]), symbols_in(subjects))))
    with proteins_want('alphabet="protein"'), open_backend(options, "lcs-filter", work) as backend:
        one = as_batch([query], accepted)
        lcs = LcsFilter(params, [strands_of("query", one.sequence(0), params)], options.threads)
        done = Progress(options, "symbols", call=progress)
        for _, residues in lcs.run(backend, batches_of(subjects, _BATCH, accepted), lambda batch: batch):
            done.update(residues)  # everything is ranked
        hits = lcs.ranked(backend)
    columns: dict[str, Column] = {
        "subject": hits.number,
        "lcs": hits.lcs,
        "length": hits.lengths.astype(np.int32),
        "strand": SignColumn.of_strands(hits.minus),
    }
    if hits.subsequences is not None:
        columns["subsequence"] = TextColumn.of(hits.subsequences, binary=True)
    texts = [hits.batch.name(number) for number in hits.subject.tolist()]
    names = TextColumn.of_bytes(*join_bytes([text.encode("latin-1") for text in texts]))
    columns["subject_name"] = NameColumn(names, np.arange(len(hits), dtype=np.int32))
    return Table(columns)
