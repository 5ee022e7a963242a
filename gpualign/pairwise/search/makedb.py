"""From FASTA or FASTQ to a database file."""

from __future__ import annotations

from gpualign.engine.run_context import RunContext
from gpualign.errors import counted
from gpualign.io.fastx import read_batches
from gpualign.notices import told_to
from gpualign.pairwise.search.database_file import write_database
from gpualign.params import RunOptions


def make_database(path: str, options: RunOptions) -> None:
    """Write ``options.output``.

    Raises:
        UsageError: the output is no plain file.
        InputError: the sequences cannot be read.
        GpualignError: the database cannot be written.
    """
    run = RunContext("makedb", options, (path,))
    assert options.output is not None
    with told_to(run.warn):
        sequences, residues = write_database(read_batches(path, alphabet="any"), options.output)
    run.finish(
        f"{counted(sequences, 'sequence')}, {counted(residues, 'residue')}", sequences=sequences, residues=residues
    )
