"""From FASTA or FASTQ to a database file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpualign.errors import UnknownSymbolError, counted
from gpualign.notices import notices_to
from gpualign.pairwise.database.database_file import write_database
from gpualign.params import RunOptions
from gpualign.run.run_context import RunContext
from gpualign.sequences.batch import SequenceBatch
from gpualign.text.chunks import read_batches
from gpualign.text.symbol_lines import with_symbol_lines

#: the symbols of all matrices but those of a user's own, for which the database is a FASTA file
_SYMBOLS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz*"


def make_database(path: str, options: RunOptions, tmp_dir: str | None = None) -> None:
    """Write ``options.output``; ``tmp_dir``: as for :func:`write_database`.

    Raises:
        UsageError: the output is no plain file.
        InputError: the sequences cannot be read.
        GpualignError: the database cannot be written.
    """
    run = RunContext("makedb", options, (path,), formats=())
    assert options.output is not None
    with notices_to(run.warn), with_symbol_lines():
        sequences, residues = write_database(_of_residues(path), options.output, tmp_dir)
    if not sequences:
        run.warn("there are no sequences: the database is empty")
    run.finish(
        f"{counted(sequences, 'sequence')}, {counted(residues, 'residue')}", sequences=sequences, residues=residues
    )


def _of_residues(path: str) -> Iterator[SequenceBatch]:
    """The sequences; a symbol that searches would refuse is refused here, where its line is known."""
    for batch in read_batches(path, alphabet="any"):
        text = batch.bases.tobytes()
        if others := text.translate(None, _SYMBOLS):
            record = int(np.searchsorted(batch.base_offsets, text.index(others[:1]), side="right")) - 1
            raise UnknownSymbolError(batch.name(record), chr(others[0]), "is no residue or base", path)
        yield batch
