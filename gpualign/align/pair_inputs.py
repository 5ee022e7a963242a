"""Sets of sequences for all-against-all, and which of their pairs to align."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from gpualign.align.pair_lists import read_pairs
from gpualign.errors import InputError, UsageError, counted, proteins_want, shown_input
from gpualign.fields import parameter
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock, PairSource
from gpualign.text.chunks import read_batches
from gpualign.text.paths import file_of
from gpualign.text.sizes import mean_length, pairs_in, product, symbols_in_files
from gpualign.text.symbol_lines import with_symbol_lines

_pairs = partial(parameter, under="Pairs")


@dataclass(frozen=True)
class PairSelection:
    """Which pairs of one or two sets to align; by default all, i < j of one set."""

    listed: str | None = _pairs(
        None, "--pairs", "Align only the pairs listed in FILE (names of query and target on a line).", metavar="FILE"
    )
    one_to_one: bool = _pairs(False, "--one-to-one", "Align record i of A.fa with record i of B.fa.")
    include_self: bool = _pairs(False, "--self", "With one file: also align each sequence with itself.")

    def check(self, one_set: bool) -> None:
        """Refuse what does not go together.

        Raises:
            UsageError: the option.
        """
        if self.one_to_one and one_set:
            raise UsageError("--one-to-one needs two files")
        if self.one_to_one and self.listed is not None:
            raise UsageError("--one-to-one and --pairs are mutually exclusive")
        if self.include_self and (not one_set or self.listed is not None):
            raise UsageError("--self belongs to one file, all against all")


@dataclass(frozen=True)
class PairInputs:
    """What was read: both sets (the same object with one file) and the pairs."""

    queries: EncodedSequences
    targets: EncodedSequences
    source: PairSource

    @property
    def one_set(self) -> bool:
        return self.targets is self.queries


@dataclass(frozen=True)
class PairFiles:
    """Where the sequences are.

    Attributes:
        queries: FASTA or FASTQ path.
        targets: second path (every query against every target); None: the pairs of the first file.
        selection: which pairs.
    """

    queries: str
    targets: str | None = None
    selection: PairSelection = PairSelection()

    def __post_init__(self) -> None:
        self.selection.check(self.targets is None)

    def paths(self, matrix: str | None) -> tuple[str | None, ...]:
        """Paths of what is read; a matrix may also be a name.

        Raises:
            UsageError: several of them are standard input.
        """
        paths = (self.queries, self.targets, self.selection.listed, file_of(matrix))
        if paths.count("-") > 1:
            raise UsageError("only one input can be standard input")
        return paths

    def cells(self) -> float | None:
        """About the cells of all pairs, from the files' sizes; None where the sizes are not known."""
        symbols, listed = symbols_in_files(self.queries), self.selection.listed
        if listed is not None or self.selection.one_to_one:
            lengths = mean_length(self.queries), mean_length(self.targets or self.queries)
            pairs = product((symbols, 1 / max(1.0, lengths[0] or 0))) if listed is None else pairs_in(listed)
            return product((pairs, *lengths))
        return product((symbols, symbols, 0.5) if self.targets is None else (symbols, symbols_in_files(self.targets)))

    def read(self, scoring: Scoring) -> PairInputs:
        """Read the files and decide which pairs to align.

        Raises:
            InputError: a file that cannot be read, names that do not fit, files of unequal length one to one.
        """
        queries = read_encoded(self.queries, scoring)
        targets = queries if self.targets is None else read_encoded(self.targets, scoring)
        listed = None
        if self.selection.listed is not None:
            listed = PairBlock(*read_pairs(self.selection.listed, queries.names, targets.names))
        elif self.selection.one_to_one and self.targets is not None:
            if len(queries) != len(targets):
                raise InputError(
                    f"{counted(len(queries), 'sequence')} but {len(targets):,} in {shown_input(self.targets)} "
                    "(--one-to-one needs as many in both)",
                    self.queries,
                )
            each = np.arange(len(queries), dtype=np.int32)
            listed = PairBlock(each, each)
        return inputs_of(queries, targets, listed, self.selection.include_self)


def inputs_of(
    queries: EncodedSequences, targets: EncodedSequences, listed: PairBlock | None, include_self: bool = False
) -> PairInputs:
    """The pairs to align: those listed, all of one set (``targets`` is ``queries``), or all of two."""
    if listed is not None:
        source = PairSource(queries.lengths, targets.lengths, np.zeros(0, np.int64), listed)
    elif targets is queries:
        source = PairSource.triangle(queries.lengths, include_self)
    else:
        source = PairSource.rectangle(queries.lengths, targets.lengths)
    return PairInputs(queries, targets, source)


def read_encoded(path: str, scoring: Scoring) -> EncodedSequences:
    """Read and encode one FASTA or FASTQ file ("-" is standard input).

    Raises:
        InputError: the file cannot be read, or holds a symbol that the scoring does not know.
    """
    with proteins_want("--matrix, such as --matrix BLOSUM62"), with_symbol_lines():
        return encode(read_batches(path, alphabet="nucleotide" if scoring.nucleotide else "any"), scoring, path)
