"""The self-test of extensions for ``gpualign devices --check``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from gpualign.align.genomes.cpu import Joiner, JoinParams, StrandMatches
from gpualign.align.genomes.device import ExtensionKernel
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.runner import run_alone
from gpualign.run.gpu.self_test import SelfTest
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference

SELF_TEST_MODULES: tuple[Variant, ...] = (("extend", {}),)


def self_tests() -> Iterator[SelfTest]:
    """Extensions from a few matches of two sequences with substitutions and an insertion in the middle."""
    rng = np.random.default_rng(2)
    bases = np.frombuffer(b"ACGT", np.uint8)
    text = bases[rng.integers(0, 4, 12_000)]
    changed = np.where(rng.random(len(text)) < 0.08, bases[rng.integers(0, 4, len(text))], text)
    query = np.concatenate([changed[:7_000], bases[rng.integers(0, 4, 700)], changed[7_000:]])
    starts = np.arange(600, 11_000, 1900)
    query[starts + np.where(starts < 7_000, 0, 700) + np.arange(70)[:, None]] = text[starts + np.arange(70)[:, None]]
    matches = StrandMatches(
        1,
        np.array([0, len(starts)], np.int64),
        starts + np.where(starts < 7_000, 0, 700),
        starts.astype(np.uint32),
        np.full(len(starts), 70, np.uint32),
    )
    batch = SequenceBatch.from_records([("query", query.tobytes().decode())])
    reference = Reference.packed(["random"], np.array([0, len(text)], np.int64), (text,))
    for reach in (200, 600):
        joiner = Joiner(reference, JoinParams(65, 90, 5, 0.12, reach, True, True, False), threads=1)
        joined = joiner.clusters(batch, matches)
        for backward in (False, True):
            extensions = joiner.extensions(joined, backward)
            yield SelfTest(
                "extensions", partial(run_alone, make_kernel=ExtensionKernel, item=extensions), extensions.on_cpu
            )
            joined.take(backward, extensions.on_cpu().view(np.uint8))
