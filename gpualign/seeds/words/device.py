"""The device side of random words: the index, which stays there, and launches of ``cuda/word_draws.cu``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpualign.run.abi import filled
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.kernel import HalvingKernel
from gpualign.run.gpu.runner import run_alone
from gpualign.run.gpu.self_test import SelfTest
from gpualign.seeds.words import tuning
from gpualign.seeds.words.cpu import DRAWS, DrawnBest, QueryWords, References, draw_on_cpu
from gpualign.sequences.batch import join_bytes


class DrawsKernel(HalvingKernel[QueryWords, DrawnBest]):
    """Finds the references that have most words of each draw.

    Args:
        both: try the other strand of each query as well.
    """

    def __init__(self, device: Device, references: References, both: bool) -> None:
        super().__init__(device)
        self._references, self._both = references, both
        self._function = device.function("word_draws", "word_draws")

    def launch(self, slot: Slot, item: QueryWords) -> None:
        index = self._references.index
        resident = self.device.resident("words", lambda: DeviceArrays(self.device, *index.arrays), self._references)
        names = ("rows", "bitmaps", "ranks", "masks", "orders")
        groups = filled(
            "WordGroups",
            **dict(zip(names, resident.addresses, strict=True)),
            groups=index.groups,
            row_words=index.row_words,
        )
        given = {name: int(slot.upload(name, getattr(item, name))) for name in ("words", "firsts", "seeds")}
        best, minus = (
            int(slot.device_array(key, size * len(item))) for key, size in (("best", 4 * DRAWS), ("minus", 1))
        )
        batch = filled(
            "WordDraws", index=groups, **given, best=best, minus=minus, queries=len(item), both=int(self._both)
        )
        blocks = -(-len(item) // (tuning.THREADS // 32))
        slot.launch(self._function, blocks, tuning.THREADS, batch)
        slot.download("best", (len(item), DRAWS), np.int32)
        slot.download("minus", len(item), np.uint8)

    def result(self, slot: Slot, item: QueryWords, launched: None) -> DrawnBest:
        best, minus = slot.pinned("best", (len(item), DRAWS), np.int32), slot.pinned("minus", len(item), np.uint8)
        return DrawnBest(best.copy(), minus.copy())


SELF_TEST_MODULES: tuple[Variant, ...] = (("word_draws", {}),)


def self_tests() -> Iterator[SelfTest]:
    """Queries on both strands, near to references and not, and short ones."""
    rng = np.random.default_rng(1)
    roots = rng.integers(0, 4, (6, 200))
    of = np.sort(rng.integers(0, len(roots), 300))
    codes = np.where(
        rng.random((300, 200)) < rng.choice([0, 0.02, 0.1], (300, 1)), rng.integers(0, 4, (300, 200)), roots[of]
    )
    asked = codes[rng.integers(0, 300, 24)]
    asked = np.where(
        rng.random(asked.shape) < rng.choice([0, 0.05, 0.6], (24, 1)), rng.integers(0, 4, asked.shape), asked
    )
    asked[::2] = 3 - asked[::2, ::-1]
    bases = np.frombuffer(b"ACGT", np.uint8)
    number = np.arange(300, dtype=np.int32)
    references = References(bases[codes].ravel(), np.arange(301) * 200, number, number[::-1].copy())
    queries = QueryWords.of(*join_bytes([*map(bytes, bases[asked]), b"ACGT", b""]))
    for both in (False, True):
        yield _self_test(references, queries, both)


def _self_test(references: References, queries: QueryWords, both: bool) -> SelfTest:
    return SelfTest(
        "draws of words",
        lambda device: run_alone(device, lambda it: DrawsKernel(it, references, both), queries),
        lambda: draw_on_cpu(references, queries, both),
    )
