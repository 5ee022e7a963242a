"""Self-tests of `pairwise` for ``gpualign devices --check``: small families on a device and on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from gpualign.align.edit.tuning import FILTER_MODULE
from gpualign.align.gaps import cpu as gapsmis
from gpualign.align.gaps import device as gapsmis_kernel
from gpualign.align.gaps import tuning
from gpualign.align.score.cpu import align_on_cpu
from gpualign.align.score.device.kernel import PairwiseKernel
from gpualign.align.score.device.query_lanes import shape_of
from gpualign.align.score.matrices import load_matrix
from gpualign.align.score.problem import PairProblem
from gpualign.align.score.tuning import FEW_VARIANTS, LANES_MODULE, PAIRWISE_MODULES, lanes_defines, pairwise_defines
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.runner import run_alone
from gpualign.run.gpu.self_test import SelfTest
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring, match_mismatch
from gpualign.sequences.pairs import PairBlock

#: more pairs than a warp aligns, of two strips of DScan
_SEQUENCES, _LENGTH, _GAPS = 16, 700, 2
#: long pairs, and the parts in which they are aligned: three in each direction
_LONG_SEQUENCES, _LONG_LENGTH, _PART_SYMBOLS = 3, 2300, 1024


def _family(scoring: Scoring, symbols: str, count: int = _SEQUENCES, length: int = _LENGTH) -> EncodedSequences:
    """Members of a family, up to 40 % changed and of several lengths."""
    rng = np.random.default_rng(2)
    alphabet = np.frombuffer(symbols.encode(), np.uint8)
    ancestor = alphabet[rng.integers(0, len(alphabet), length)]
    records = []
    for i in range(count):
        member = ancestor[rng.random(length) >= 0.02 * (i % 3)].copy()
        changed = rng.random(len(member)) < 0.4 * i / count
        member[changed] = alphabet[rng.integers(0, len(alphabet), int(changed.sum()))]
        records.append((str(i), member.tobytes().decode()))
    return encode([SequenceBatch.from_records(records)], scoring)


def _problems() -> Iterator[tuple[str, PairProblem]]:
    """Each kernel once, and both filters."""
    dna, protein = match_mismatch(5, -4), load_matrix("BLOSUM62")
    for name, scoring, symbols, opening, extension in (
        ("linear", dna, "ACGT", 10, 10),
        ("affine", dna, "ACGT", 10, 1),
        ("affine, other gaps", dna, "ACGT", 12, 2),
        ("BLOSUM62", protein, "ARNDCQEGHILKMFPSTWYV", 11, 1),
    ):
        family = _family(scoring, symbols)
        plain = PairProblem(
            (family,), family, scoring, opening * scoring.scale, extension * scoring.scale, "global", (False,) * 4,
            traced=True, identity=None, definition=1, table_bytes=1 << 26,
        )  # fmt: skip
        for kernel in ("lazy", "tiled"):
            yield f"{name} {kernel}", replace(plain, traced=False, kernel=kernel)
        for kernel in ("rscan", "dscan"):
            yield f"{name} {kernel}", replace(plain, kernel=kernel)
        long = _family(scoring, symbols, _LONG_SEQUENCES, _LONG_LENGTH)
        yield f"{name} long pairs", replace(plain, queries=(long,), targets=long, kernel="tiled")
        for mode in ("local", "semi-global"):
            other = replace(plain, mode=mode, free_ends=(mode == "semi-global",) * 4)
            yield f"{name} {mode} alignments", other
            yield f"{name} long {mode} pairs", replace(other, queries=(long,), targets=long, kernel="tiled")
        yield f"{name} alignments with end gaps", replace(plain, end_gaps=((2, 1),) * 4)
        scores = replace(plain, traced=False, kernel="lazy")
        yield f"{name} semi-global", replace(scores, mode="semi-global", free_ends=(True,) * 4)
        yield f"{name} local", replace(scores, mode="local")
        yield f"{name} end gaps", replace(scores, end_gaps=((2, 1),) * 4)
        if name == "BLOSUM62":
            for mode in ("local", "global", "semi-global"):
                free = (mode == "semi-global",) * 4
                yield f"{name} lanes, {mode}", replace(scores, kernel="lanes", mode=mode, free_ends=free)
        yield f"{name} edit filter", replace(plain, identity=0.9)
        yield f"{name} score filter", replace(plain, identity=0.7, kernel="lazy")


def _lanes(ends: int) -> list[Variant]:
    shapes = {shape_of(rows) for rows in (_LENGTH - 40, _LENGTH)}
    return [(LANES_MODULE, lanes_defines(shape, 11, 1, ends)) for shape in shapes]


#: kernels of the self-tests, which ``devices --check`` compiles in parallel
SELF_TEST_MODULES: tuple[Variant, ...] = (
    (FILTER_MODULE, {}),
    *((source, pairwise_defines(affine)) for source in PAIRWISE_MODULES for affine in (False, True)),
    *FEW_VARIANTS,
    *_lanes(0),
    *(
        ("bounded_gaps", tuning.gapsmis_defines(_GAPS, False, traceback, tuning.GAPSMIS[_GAPS]))
        for traceback in (False, True)
    ),
)


#: kernels that no wheel has: of lanes that score other than local alignments
COMPILED_MODULES: tuple[Variant, ...] = (*_lanes(1), *_lanes(2))


def _all_pairs(problem: PairProblem) -> PairBlock:
    first, second = (index.astype(np.int32) for index in np.triu_indices(len(problem.targets), 1))
    return PairBlock(first, second)


def self_tests() -> Iterator[SelfTest]:
    """Each kernel and both filters."""
    for name, problem in _problems():
        make_kernel = partial(PairwiseKernel, problem=problem, part_symbols=_PART_SYMBOLS)
        pairs = _all_pairs(problem)
        yield SelfTest(
            f"alignments ({name})",
            partial(run_alone, make_kernel=make_kernel, item=pairs),
            partial(align_on_cpu, problem, pairs),
        )


def self_tests_of_gaps() -> Iterator[SelfTest]:
    """Alignments with few gaps."""
    scoring = match_mismatch(5, -4)
    family = _family(scoring, "ACGT")
    first, second = (index.astype(np.int32) for index in np.triu_indices(_SEQUENCES, 1))
    block = PairBlock(first, second)
    table = scoring.scores.astype(np.int16).reshape(-1)
    for traceback in (False, True):
        model = gapsmis.GapModel(table, len(scoring), _GAPS, 10, 1, traceback=traceback)
        problem = gapsmis.GapProblem(family, family, model)
        make_kernel = partial(gapsmis_kernel.make_kernel, problem=problem)
        yield SelfTest(
            "alignments with few gaps",
            partial(run_alone, make_kernel=make_kernel, item=block),
            partial(gapsmis.align_on_cpu, problem, block),
        )
