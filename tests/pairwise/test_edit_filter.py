"""The edit filter's kernels, compiled for the host with all lanes of a warp: edlib's distances."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import edlib
import numpy as np
import pytest

from gpualign.align.edit.device.filter import EditFilter
from gpualign.align.edit.filter import EditLimits, distances_within
from gpualign.run.abi import filled
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.run.gpu.runner import run_on_devices
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import encode
from gpualign.sequences.matrices import match_mismatch
from gpualign.sequences.pairs import PairBlock, PairSource
from tests.helpers.emulated import EmulatedByName, emulated_library
from tests.helpers.fake_cuda import install_kernels
from tests.helpers.sequences import mutate

SCORING = match_mismatch(5, -4)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return emulated_library(tmp_path_factory, "edit_filter", {})


@pytest.fixture
def near(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch):
    """(query, target, distance) of the pairs within ``limit`` edits, of all with all, by the kernel of that name."""

    def found(texts: list[str], limit: int, kernel: str, *, listed: bool) -> list[tuple[int, ...]]:
        kernels = {kernel: EmulatedByName(library, kernel)}
        install_kernels(monkeypatch, kernels, 1 << 28)
        sequences = encode([SequenceBatch.from_records([(str(i), text) for i, text in enumerate(texts)])], SCORING)
        lengths = sequences.lengths.astype(np.int32)
        limits = EditLimits(np.full(int(lengths.max()) + 1, limit, np.int32), with_difference=False)
        (block,) = PairSource.rectangle(sequences.lengths, sequences.lengths).blocks()
        if listed:
            block = PairBlock(block.queries, block.targets)

        class Filter(DeviceKernel[PairBlock, Any]):
            def __init__(self, device: Device) -> None:
                super().__init__(device)
                self.filter = EditFilter(device, limits, SCORING)
                padded = np.append(sequences.codes, np.zeros(64, np.uint8))
                held = device.resident("sequences", lambda: DeviceArrays(device, padded, sequences.offsets), sequences)
                codes, offsets = held.addresses
                self.sequences = filled("DeviceSequences", codes=codes, offsets=offsets)

            def launch(self, slot: Slot, item: PairBlock) -> None:
                widest = limits.widest(item, lengths, lengths)
                assert widest == limit
                self.filter.submit(slot, item, 0, (self.sequences, self.sequences), widest, int(lengths.max()))

            def result(self, slot: Slot, item: PairBlock, launched: None) -> Any:
                return self.filter.found(slot, 0)

        with Device(list_devices()[0]) as device:
            ((pairs, distances),) = run_on_devices([block], Filter, [device])
        assert kernels[kernel].calls == 1
        every = distances_within(sequences, sequences, block, np.full(len(block), limit, np.int32), SCORING)
        assert every[every >= 0].tolist() == distances.tolist()  # the CPU's
        return list(zip(block.queries[pairs].tolist(), block.targets[pairs].tolist(), distances.tolist(), strict=True))

    return found


def within(texts: list[str], limit: int) -> list[tuple[int, ...]]:
    every = ((i, j, edlib.align(a, b)["editDistance"]) for i, a in enumerate(texts) for j, b in enumerate(texts))
    return [pair for pair in every if pair[2] <= limit]


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(("limit", "width"), [(0, 64), (1, 64), (31, 64), (63, 64), (64, 128), (127, 128), (200, 256)])
def test_distances_are_edlibs(near, limit: int, width: int, listed: bool) -> None:
    """Lengths about those of words and of a warp's rows, and distances about the limit."""
    rng = random.Random(limit)
    base = "".join(rng.choices("ACGT", k=330))
    texts = [base[:length] for length in (1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257)]
    texts += [mutate(rng, base, limit / 330 * share) for share in (0.5, 0.9, 1.0, 1.1, 1.5)]
    texts += ["".join(rng.choices("ACGT", k=length)) for length in (40, 300)]
    texts += [texts[-1][: limit // 2] + "T" + texts[-1][limit // 2 :]]
    expected = within(texts, limit)
    assert near(texts, limit, f"edit_filter_{width}", listed=listed) == expected
    assert len(texts) < len(expected) < len(texts) ** 2


def test_a_code_matches_nothing(near) -> None:
    """``pairwise`` counts every N as an edit, also against N."""
    assert near(["ACGTN", "ACGTA", "ACGTN"], 1, "edit_filter_64", listed=False) == [
        (query, target, int(query % 2 == 0 or target % 2 == 0)) for query in range(3) for target in range(3)
    ]
