"""A database as parts of bounded size: from FASTA or FASTQ, plain or compressed, or from a prepared file."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from gpualign.errors import proteins_want
from gpualign.pairwise.database.database_file import is_database, read_database
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring
from gpualign.streaming.prefetch import Prefetch
from gpualign.text.chunks import read_batches
from gpualign.text.symbol_lines import with_symbol_lines


@dataclass(frozen=True)
class DatabasePart:
    """Targets that follow each other. ``encoded`` has no names."""

    batch: SequenceBatch
    encoded: EncodedSequences


def database_parts(path: str, scoring: Scoring, residues: int) -> Generator[DatabasePart, None, None]:
    """Parts of about ``residues`` residues (more where one sequence has more).

    Raises:
        InputError: a file that cannot be read, or a symbol that the scoring does not know.
    """
    joined = Prefetch(_joined(_batches(path, scoring), residues))  # a thread that parses, and this one
    with proteins_want("--matrix, such as --matrix BLOSUM62"), with_symbol_lines():
        for batch in joined:
            yield DatabasePart(batch, encode([batch], scoring, path, named=False))


def _batches(path: str, scoring: Scoring) -> Iterator[SequenceBatch]:
    if is_database(path):
        return read_database(path)
    return read_batches(path, alphabet="nucleotide" if scoring.nucleotide else "any")


def _joined(batches: Iterator[SequenceBatch], residues: int) -> Generator[SequenceBatch, None, None]:
    held: list[SequenceBatch] = []
    size = before = 0
    for batch in batches:
        held.append(batch)
        size += len(batch.bases)
        if size >= min(residues, before):  # a device is to begin soon
            yield join_batches(held)
            held, size, before = [], 0, before + size
    if held:
        yield join_batches(held)
