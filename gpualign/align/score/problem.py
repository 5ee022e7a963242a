"""The alignment of pairs as a problem: what all blocks of a run share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.edit.filter import EditLimits
from gpualign.align.pair_inputs import PairInputs
from gpualign.align.score.alignments import Measures, PairAlignments
from gpualign.align.score.params import PairwiseParams
from gpualign.params import RunOptions
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.identity import IdentityBound, reaches
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock


@dataclass(frozen=True)
class PairProblem:
    """Parameters that all blocks have in common.

    Attributes:
        queries: plus strands, and for both strands the reverse complements after them.
        targets: the other set, or the same.
        scoring: symbols and their scores.
        gap_open, gap_extend: penalties in the scoring's units.
        mode: "global", "semi-global" or "local".
        free_ends: query start, query end, target start, target end: symbols there are left out.
        traced: alignments are wanted, not only scores.
        identity: the threshold, or None.
        definition: of the identity.
        table_bytes: memory of one worker's tables.
        kernel: the GPU kernel that is forced, or "auto".
        threads: of the host, for what a device leaves to them.
        pair_threads: that one long pair may have, where there are fewer pairs than threads.
        end_gaps: penalties of a gap's first and further symbols at each of the same ends, at most as high as elsewhere;
            empty: as elsewhere.
    """

    queries: tuple[EncodedSequences, ...]
    targets: EncodedSequences
    scoring: Scoring
    gap_open: int
    gap_extend: int
    mode: str
    free_ends: tuple[bool, bool, bool, bool]
    traced: bool
    identity: float | None
    definition: int
    table_bytes: int
    kernel: str = "auto"
    threads: int = 1
    pair_threads: int = 1
    end_gaps: tuple[tuple[int, int], ...] = ()

    @property
    def costs_at_ends(self) -> tuple[tuple[int, int], ...]:
        """``end_gaps``, and zeros where an end is free or the alignment local."""
        gaps = self.end_gaps or ((self.gap_open, self.gap_extend),) * 4
        return tuple(
            (0, 0) if free or self.mode == "local" else gap for free, gap in zip(self.free_ends, gaps, strict=True)
        )

    @property
    def cheap_ends(self) -> tuple[bool, ...]:
        """At which ends gaps cost less than elsewhere."""
        return tuple(gap != (self.gap_open, self.gap_extend) for gap in self.costs_at_ends)

    @property
    def from_corners(self) -> bool:
        """Alignments are global and all gaps cost the same."""
        return self.mode == "global" and not any(self.cheap_ends)

    @property
    def free_end_bits(self) -> int:
        """Ends where symbols are left out, as EndBit of cuda/algo/align/score/nw.hpp; all of a local alignment."""
        return 15 if self.mode == "local" else sum(free << bit for bit, free in enumerate(self.free_ends))

    @property
    def bound(self) -> IdentityBound | None:
        """The bounds that follow from the identity threshold, or None without one."""
        if self.identity is None or self.identity <= 0:
            return None
        return IdentityBound(self.identity, self.definition, self.mode == "local")

    @cached_property
    def query_lengths(self) -> NDArray[np.int32]:
        return self.queries[0].lengths.astype(np.int32)

    @cached_property
    def target_lengths(self) -> NDArray[np.int32]:
        return self.targets.lengths.astype(np.int32)

    @cached_property
    def ambiguous(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64 (queries,), int64 (targets,): ambiguity codes of each sequence."""
        is_code = (np.arange(len(self.scoring)) >= self.scoring.identical).astype(np.int64)
        queries, targets = (
            _native.sums_of_symbols(sequences.codes, sequences.offsets, is_code)
            for sequences in (self.queries[0], self.targets)
        )
        return queries, targets

    @cached_property
    def edit_limits(self) -> EditLimits | None:
        """The most edits of pairs that can reach the identity, or None without one."""
        if self.bound is None:
            return None
        longest = max(self.query_lengths.max(initial=0), self.target_lengths.max(initial=0))
        lengths = np.arange(longest + 1, dtype=np.int64)
        return EditLimits(self.bound.max_edits(lengths, lengths).astype(np.int32), self.definition == 0)

    def sizes(self, block: PairBlock) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """int32 (p,) each: symbols of query and of target."""
        return self.query_lengths[block.queries], self.target_lengths[block.targets]

    def lengths(self, block: PairBlock) -> NDArray[np.int64]:
        """int64 (p, 2): symbols of query and target."""
        n, m = self.queries[0].lengths[block.queries], self.targets.lengths[block.targets]
        return np.stack([n, m], axis=1).astype(np.int64)

    def keep(self, alignments: PairAlignments) -> PairAlignments:
        """The alignments that reach the identity."""
        if self.identity is None:
            return alignments
        reached = reaches(Measures(alignments, self.mode).identity(self.definition), self.identity)
        return alignments if reached.all() else alignments.take(np.flatnonzero(reached))


def make_problem(params: PairwiseParams, options: RunOptions, scoring: Scoring, inputs: PairInputs) -> PairProblem:
    """The part that all blocks share."""
    strands: tuple[EncodedSequences, ...] = (inputs.queries,)
    if params.strand == "both":
        strands += (inputs.queries.reverse_complement(scoring),)
    workers = max(1, min(options.threads, inputs.source.total))
    return PairProblem(
        queries=strands,
        targets=inputs.targets,
        scoring=scoring,
        gap_open=params.gap_open * scoring.scale,
        gap_extend=params.gap_extend * scoring.scale,
        mode=params.mode,
        free_ends=params.ends(),
        traced=not params.score_only,
        identity=params.identity,
        definition=params.identity_definition,
        table_bytes=params.max_memory // workers,
        kernel=params.kernel,
        threads=options.threads,
        pair_threads=options.threads // workers,
        end_gaps=tuple((open_ * scoring.scale, extend * scoring.scale) for open_, extend in params.end_gaps()),
    )
