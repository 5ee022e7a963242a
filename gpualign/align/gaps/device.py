"""Bounded-gap alignment on a GPU: which kernel takes which pairs, and their memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.gaps import tuning
from gpualign.align.gaps.cpu import GapAlignments, GapModel, GapProblem, align_on_cpu
from gpualign.run.abi import struct
from gpualign.run.gpu import compiler
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device, DeviceMemoryExceeded
from gpualign.run.gpu.kernel import HalvingKernel
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.pairs import PairBlock


@dataclass(frozen=True)
class GapsPlan:
    """One launch: a kernel over some of a block's pairs.

    Attributes:
        kernel: function of cuda/bounded_gaps.cu.
        order: int32 (pairs,), indices into the block, longest first.
        per_warp: pairs that a warp aligns at once.
        longest_pattern, longest_text: of these pairs.
        width, lanes: columns a lane keeps, lanes a pair.
    """

    kernel: str
    order: NDArray[np.int32]
    per_warp: int
    longest_pattern: int
    longest_text: int
    width: int
    lanes: int

    @property
    def traced(self) -> bool:
        return "trace" in self.kernel


@dataclass(frozen=True)
class GapsWorkspace:
    """Device memory of a launch in 32-bit words per resident warp, and the rows that keep directions at once."""

    warps: int
    edges: int
    checkpoints: int
    directions: int
    band: int


def plan(problem: GapProblem, block: PairBlock, launch: tuning.Gapsmis, packed: bool = True) -> list[GapsPlan]:
    """Which kernel aligns which pairs.

    Short pairs go to a thread each where there are enough of them to fill the device (two to a thread in 16 bits when
    only scores are wanted and fit); the others to a warp each.
    """
    model = problem.model
    by_warps, by_threads, longest = _native.gapsmis_order(
        problem.patterns.offsets,
        problem.texts.offsets,
        block.queries,
        block.targets,
        launch.warp_cells,
        launch.thread_pairs,
    )
    plans = []
    for order, by_warp in ((by_warps, True), (by_threads, False)):
        if not len(order):
            continue
        max_m, max_n = longest.tolist()[0 if by_warp else 2 :][:2]
        if model.traceback:
            kernel, width, per_thread = f"gapsmis_trace_{'warp' if by_warp else 'thread'}", launch.width_trace, 1
        elif packed and not by_warp and packed_table(model) is not None and model.unreached(16, max_m, max_n):
            other = bool((problem.patterns.codes > 3).any())
            kernel, width, per_thread = f"gapsmis_packed{'_other' if other else ''}", launch.width_packed, 2
        else:
            kernel, per_thread = f"gapsmis_scores_{'warp' if by_warp else 'thread'}", 1
            width = launch.width_warp if by_warp else launch.width_scores
        lanes = 32 if by_warp else 1
        plans.append(GapsPlan(kernel, order, 32 // lanes * per_thread, max_m, max_n, width, lanes))
    return plans


def packed_table(model: GapModel) -> tuple[NDArray[np.int32], int] | None:
    """The scores of pattern symbols 0..3 against each text symbol as four bytes, and the score of all other pattern
    symbols as int16x2; None where bytes cannot hold them or the other symbols' scores differ.
    """
    scores = model.table.reshape(model.symbols, model.symbols).astype(np.int64) + 2 * model.extend
    known, other = scores[:4], scores[4:]
    if np.abs(known).max() > 127 or (other.size and other.min() != other.max()):
        return None
    four = np.zeros((model.symbols, 4), np.int8)
    four[:, : len(known)] = known.T
    rest = int(other.flat[0]) & 0xFFFF if other.size else 0
    both = np.uint32(rest | rest << 16).astype(np.int32)
    return np.ascontiguousarray(four).view(np.int32).reshape(-1), int(both)


def workspace(launch: GapsPlan, model: GapModel, warps: int, budget: int) -> GapsWorkspace:
    """Memory for up to ``warps`` warps in ``budget`` bytes.

    Raises:
        DeviceMemoryExceeded: not even one warp fits.
    """
    state = 2 * model.max_gaps + 1
    rows = max(launch.longest_pattern, 1)
    passes = -(-max(launch.longest_text, 1) // (launch.width * launch.lanes))
    edges = rows * state * (32 // launch.lanes) if passes > 1 else 0
    row_directions = passes * 32 * direction_words(model, launch.width) if launch.traced else 0
    row_state = passes * 32 * launch.width * state

    def sized(band: int) -> GapsWorkspace:
        bands = -(-rows // band)
        checkpoints = (bands - 1) * row_state if launch.traced else 0
        each = 4 * (edges + checkpoints + band * row_directions)
        fitting = min(warps, budget // each) if each else warps
        return GapsWorkspace(fitting, edges, checkpoints, band * row_directions, band)

    whole = sized(rows)
    if whole.warps == warps or not launch.traced:
        best = whole
    else:  # directions and checkpoints together are least where they are equal
        minimum = max(1, round((rows * row_state / max(row_directions, 1)) ** 0.5))
        best = max(whole, sized(min(rows, minimum)), key=lambda space: space.warps)
    if best.warps < 1:
        raise DeviceMemoryExceeded(f"a pattern of {rows} and a text of {launch.longest_text} symbols")
    return best


def direction_words(model: GapModel, width: int) -> int:
    """Words that a strip's row of directions takes (DirectionLayout of cuda/device/align/gaps/rows.cuh)."""
    used = model.max_gaps * (8 if model.strict else 4)
    cell_bits = next((bits for bits in (4, 8, 16) if used <= bits), 32 * -(-used // 32))
    return width * cell_bits // 32


class GapsmisKernel(HalvingKernel[PairBlock, GapAlignments]):
    """The device side of ``pairwise --max-gaps``.

    Args:
        numbers: other launch numbers than the tuned ones, for benchmarks.
        packed: take two pairs a thread in 16 bits where they fit.
    """

    def __init__(
        self, device: Device, problem: GapProblem, numbers: tuning.Gapsmis | None = None, packed: bool = True
    ) -> None:
        super().__init__(device)
        self.problem, self.packed = problem, packed
        self.model = model = problem.model
        self.numbers = numbers or tuning.GAPSMIS[model.max_gaps]
        self.module = device.module("bounded_gaps", defines(model, self.numbers))

    def launch(self, slot: Slot, item: PairBlock) -> None:
        n = len(item)
        fields = np.zeros(1, struct("GapsLaunch"))
        batch = fields["batch"]
        patterns, pattern_ids = _needed(self.problem.patterns, item.queries)
        texts, text_ids = _needed(self.problem.texts, item.targets)
        for key, array in (("patterns", patterns[0]), ("texts", texts[0]), ("pattern_offsets", patterns[1])):
            batch[key] = int(slot.upload(key, array))
        batch["text_offsets"] = int(slot.upload("text_offsets", texts[1]))
        batch["pattern_ids"] = int(slot.upload("pattern_ids", pattern_ids))
        batch["text_ids"] = int(slot.upload("text_ids", text_ids))
        for key in ("score", "gaps", "start", "end"):
            batch[key] = int(slot.device_array(key, 4 * n))
        if self.model.traceback:
            batch["gap_list"] = int(slot.device_array("gap_list", 12 * n * max(1, self.model.max_gaps)))
        fields["symbols"] = self.model.symbols
        fields["opening"] = self.model.open - self.model.extend
        fields["extend"], fields["ends"] = self.model.extend, int(self.model.ends)
        for number, launch in enumerate(plan(self.problem, item, self.numbers, self.packed)):
            self._launch(slot, launch, fields, number)
        for key in ("score", "gaps", "start", "end"):
            slot.download(key, n, np.int32)
        if self.model.traceback and self.model.max_gaps:
            slot.download("gap_list", (n, self.model.max_gaps, 3), np.int32)

    def _launch(self, slot: Slot, launch: GapsPlan, fields: NDArray[Any], number: int) -> None:
        packed = packed_table(self.model) if "packed" in launch.kernel else None
        scores = self.model.table.astype(np.int32) + 2 * self.model.extend if packed is None else packed[0]
        bits = 32 if packed is None else 16
        fields["unreached"] = self.model.unreached(bits, launch.longest_pattern, launch.longest_text)
        fields["table"] = int(slot.upload(f"table{number}", scores))
        fields["other"] = 0 if packed is None else packed[1]
        fields["batch"]["order"] = int(slot.upload(f"order{number}", launch.order))
        fields["batch"]["pairs"] = len(launch.order)
        function = self.module.get_function(launch.kernel)
        space = self.memory(launch, function)
        blocks, threads = _grid(space.warps)
        for key in ("edges", "checkpoints", "directions"):
            words = getattr(space, key)
            fields[f"{key}_stride"] = words
            fields[key] = int(slot.device_array(key, 4 * words * blocks * threads // 32)) if words else 0
        fields["band"] = space.band
        shared = scores.nbytes if packed is None else 0
        slot.launch(function, blocks, threads, fields[0].copy(), shared=shared)

    def memory(self, launch: GapsPlan, function: Any) -> GapsWorkspace:
        """Memory for as many warps as the device runs at once, or as there is work for."""
        resident = self.device.blocks_at_once(function, tuning.GAPSMIS_THREADS)
        tasks = -(-len(launch.order) // launch.per_warp)
        warps_per_block = tuning.GAPSMIS_THREADS // 32
        warps = min(resident * warps_per_block, -(-tasks // warps_per_block) * warps_per_block)
        return workspace(launch, self.model, warps, int(self.device.budget * self.numbers.workspace_share))

    def result(self, slot: Slot, item: PairBlock, launched: None) -> GapAlignments:
        n = len(item)
        score, gaps, start, end = (slot.pinned(key, n, np.int32).copy() for key in ("score", "gaps", "start", "end"))
        gap_list = None
        if self.model.traceback:
            shape = (n, self.model.max_gaps, 3)
            gap_list = np.zeros(shape, np.int32)
            if self.model.max_gaps:
                np.copyto(gap_list, slot.pinned("gap_list", shape, np.int32))
        return GapAlignments(score, gaps, start, end, gap_list)


def _grid(warps: int) -> tuple[int, int]:
    """Blocks and threads a block."""
    warps_per_block = tuning.GAPSMIS_THREADS // 32
    return max(1, warps // warps_per_block), 32 * min(warps, warps_per_block)


class OnCpu(HalvingKernel[PairBlock, GapAlignments]):
    """What the device side does with more gaps than its kernels are made or, without a compiler, prebuilt for: the CPU
    aligns.
    """

    def __init__(self, device: Device, problem: GapProblem) -> None:
        super().__init__(device)
        self.problem = problem

    def launch(self, slot: Slot, item: PairBlock) -> None:
        pass

    def result(self, slot: Slot, item: PairBlock, launched: None) -> GapAlignments:
        return align_on_cpu(self.problem, item)


def make_kernel(device: Device, problem: GapProblem) -> GapsmisKernel | OnCpu:
    """The kernel object for a problem; called in the device's thread."""
    model = problem.model
    if model.max_gaps > tuning.GAPSMIS_MAX_GAPS:
        return OnCpu(device, problem)
    macros = defines(model, tuning.GAPSMIS[model.max_gaps])
    return GapsmisKernel(device, problem) if compiler.can_be_had("bounded_gaps", macros) else OnCpu(device, problem)


def defines(model: GapModel, launch: tuning.Gapsmis) -> dict[str, str]:
    """Macros of cuda/bounded_gaps.cu for a model."""
    return tuning.gapsmis_defines(model.max_gaps, model.strict, model.traceback, launch)


def _needed(
    sequences: EncodedSequences, ids: NDArray[np.int32]
) -> tuple[tuple[NDArray[np.uint8], NDArray[np.int64]], NDArray[np.int32]]:
    """Codes and offsets of the sequences from the lowest to the highest id, and the ids counted from there."""
    codes, offsets = sequences.codes, sequences.offsets
    if not len(ids):
        return (codes[:0], np.zeros(1, np.int64)), ids
    low, high = int(ids.min()), int(ids.max()) + 1
    begin, end = offsets[low], offsets[high]
    return (codes[begin:end], offsets[low : high + 1] - begin), (ids - low).astype(np.int32)
