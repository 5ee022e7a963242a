"""The device side of ``verify``: plan a batch by query length, launch ``cuda/verify.cu``, bring the results back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.edit import tuning
from gpualign.align.edit.cpu import MODES, VerifyPairs, VerifyResult, verify_on_cpu
from gpualign.align.edit.device.plan import THREADS, EditPlan, TaskGroup, plan
from gpualign.run.abi import filled
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import PAD_WORDS, DeviceText, padded
from gpualign.run.gpu.kernel import HalvingKernel
from gpualign.run.gpu.pinned_pool import pinned_copy
from gpualign.run.gpu.runner import run_alone
from gpualign.run.gpu.self_test import SelfTest
from gpualign.run.stage import Stage
from gpualign.sequences.offsets import offsets_of, positions_of
from gpualign.sequences.reference import Reference
from gpualign.streaming.pinned import Allocate
from gpualign.streaming.timeline import STEPS

#: share of the device's memory that a resident reference may take
_RESIDENT_SHARE = 0.5
#: columns that come back, as :class:`VerifyResult` has them
_RESULTS = ("distances", "starts", "ends")


def window_text(
    reference: Reference, known: NDArray[np.uint32], tasks: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """The windows of a plan's tasks one after the other, for a device that cannot hold the reference.

    Args:
        known: of the whole reference, as ``Reference.acgt_mask`` gives them.
        tasks: uint32 (n, 4), as in :class:`EditPlan`.

    Returns:
        packed text, its ACGT mask, and the tasks with their positions in it.
    """
    begin, columns = tasks[:, 0].astype(np.int64), tasks[:, 1].astype(np.int64)
    units = (begin % 32 + columns + 31) // 32  # units of 32 bases: a word of either array
    first = offsets_of(units)[:-1]
    source = positions_of(begin // 32, units)
    moved = tasks.copy()
    moved[:, 0] = 32 * first + begin % 32
    return reference.words[source].view(np.uint32), known[source], moved


def _pass_of(mode: int) -> str:
    return "infix" if mode == MODES["infix"] else "anchored"


def modules(made: EditPlan, mode: int) -> list[Variant]:
    """All that a plan's launches take, so that they can be compiled side by side."""
    needed: list[Variant] = [("verify_planes", {})] if made.groups else []
    for group in made.groups:
        if group.band:
            needed.append(("verify_band", group.band_defines))
        else:
            needed.append(("verify", group.shape.defines(_pass_of(mode), group.runs)))
        if mode == MODES["infix"]:
            needed.append(("verify", group.shape.defines("starts", group.runs)))
    return needed


class VerifyKernel(HalvingKernel[VerifyPairs, VerifyResult]):
    """Runs :class:`VerifyPairs` on one device.

    A reference stays on the device where it takes at most half of its memory; else each batch brings its windows.
    """

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._masks: dict[int, tuple[Reference, NDArray[np.uint32]]] = {}

    def launch(self, slot: Slot, item: VerifyPairs) -> EditPlan:
        made = item.plan or plan(item)
        if not made.groups:
            return made
        self.device.prepare(modules(made, item.mode))
        arrays = self._arrays(slot, item, made)
        for number, group in enumerate(made.groups):
            # each launch counts its own hits
            batch = filled("VerifyArrays", **arrays | {"hit_count": arrays["hit_count"] + 4 * number})
            numbers = (np.int32(item.mode), np.uint32(group.first), np.uint32(group.count))
            self.launch_distances(slot, group, item.mode, batch)
            if item.mode == MODES["infix"]:
                starts = self._function(group, "starts")
                slot.launch(starts, group.grid, THREADS, batch, *numbers, shared=group.shared_bytes)
        slot.download("results", (len(_RESULTS), len(made.tasks)), np.int32)
        return made

    def launch_distances(self, slot: Slot, group: TaskGroup, mode: int, batch: np.void) -> None:
        """Enqueue the kernel that gives a group's distances and ends."""
        interval = (np.uint32(group.first), np.uint32(group.count))
        if group.band:
            band = self.device.function("verify_band", "verify_band", group.band_defines)
            slot.launch(band, group.band_grid, THREADS, batch, *interval, shared=group.band_shared_bytes)
            return
        function = self._function(group, _pass_of(mode))
        slot.launch(function, group.grid, THREADS, batch, np.int32(mode), *interval, shared=group.shared_bytes)

    def _arrays(self, slot: Slot, item: VerifyPairs, made: EditPlan) -> dict[str, int]:
        """Upload a batch, build its queries' planes, and return the fields of the kernels' struct VerifyArrays."""
        text, known, placed = self._text(slot, item, made)
        bases, tasks = slot.upload("bases", item.bases), slot.upload("tasks", placed)
        start = int(slot.upload("queries", made.query_arrays))
        queries = {name: np.uint64(start + at) for name, at in made.at.items()}
        planes = slot.device_array("planes", 4 * made.plane_words)
        build = self.device.function("verify_planes", "build_planes")
        of_planes = (queries[name] for name in ("offsets", "plane_offsets", "tile_words", "tiles"))
        slot.launch(build, made.queries, 64, bases, *of_planes, planes)
        results, size = int(slot.device_array("results", 4 * len(_RESULTS) * len(made.tasks))), 4 * len(made.tasks)
        outputs = {name: results + i * size for i, name in enumerate(_RESULTS)}
        hits = slot.device_array("hits", size)
        counts = slot.clear("hit counts", 4 * len(made.groups))
        stride = max(group.boundary_words for group in made.groups)
        pairs_at_once = (
            max(group.grid * THREADS // group.shape.lanes for group in made.groups if group.strips > 1) if stride else 0
        )
        boundary = slot.device_array("boundary", 4 * stride * pairs_at_once)
        band_profiles, band_offsets = self._build_bands(slot, made, bases, queries)
        arrays = {"text": text, "known": known, "planes": planes, "plane_offsets": queries["plane_offsets"]}
        arrays |= {"lengths": queries["lengths"], "tasks": tasks, "hit_count": counts}
        arrays |= {"boundary": boundary, "boundary_stride": stride}
        arrays |= {"hits": hits, "band_profiles": band_profiles, "band_offsets": band_offsets} | outputs
        return {name: int(value) for name, value in arrays.items()}

    def _build_bands(self, slot: Slot, made: EditPlan, bases: Any, queries: dict[str, np.uint64]) -> tuple[int, int]:
        """The band profiles of the queries that have one, and their offsets; zeros where there is none."""
        if made.band_words == 0:
            return 0, 0
        profiles = slot.device_array("band profiles", 4 * made.band_words)
        of_bands = [queries[name] for name in ("offsets", "limits", "band_offsets")]
        for words in tuning.VERIFY_BANDS:
            if (wanted := queries.get(f"band {words}")) is not None:
                build = self.device.function("verify_band", "build_band", {"WORDS": str(words)})
                slot.launch(build, made.queries, 32, bases, *of_bands, wanted, profiles)
        return int(profiles), int(queries["band_offsets"])

    def _text(self, slot: Slot, item: VerifyPairs, made: EditPlan) -> tuple[int, int, NDArray[np.uint32]]:
        """Device addresses of the packed text and its ACGT mask, and the tasks in its coordinates."""
        reference = item.reference
        resident_bytes = reference.words.nbytes * 3 // 2  # and half a word of ACGT mask each
        if item.resident and resident_bytes <= _RESIDENT_SHARE * self.device.budget:
            resident = self.device.resident("text", lambda: DeviceText(self.device, reference), reference)
            return resident.text, resident.mask, made.tasks
        if id(reference) not in self._masks:
            self._masks.clear()
            self._masks[id(reference)] = reference, reference.acgt_mask()
        words, mask = reference.words.view(np.uint32), self._masks[id(reference)][1]
        tasks = made.tasks
        if item.resident:
            words, mask, tasks = window_text(reference, mask, tasks)
        text_at, mask_at = slot.upload("text", padded(words)), slot.upload("mask", padded(mask))
        return int(text_at) + 4 * PAD_WORDS, int(mask_at) + 4 * PAD_WORDS, tasks

    def _function(self, group: TaskGroup, verify_pass: str) -> Any:
        defines = group.shape.defines(verify_pass, group.runs)
        return self.device.function("verify", "verify", defines, group.shared_bytes)

    def result(self, slot: Slot, item: VerifyPairs, made: EditPlan) -> VerifyResult:
        count = len(made.tasks)
        if made.in_order and count:
            result = VerifyResult(*slot.pinned("results", (len(_RESULTS), count), np.int32))
            slot.detach_pinned("results")
            return result
        distance, start, end = (np.zeros(len(item), np.int32) for _ in range(3))
        if count < len(item):
            _settle_empty(item, distance, end)
        if count:
            results = slot.pinned("results", (len(_RESULTS), count), np.int32)
            for out, column in zip((distance, start, end), results, strict=True):
                out[made.order] = column
        return VerifyResult(distance, start, end)


def _settle_empty(item: VerifyPairs, distance: NDArray[np.int32], end: NDArray[np.int32]) -> None:
    """Pairs with an empty side need no matrix: all of the other side is inserted, or in infix mode nothing is used."""
    lengths, columns = np.diff(item.offsets)[item.query], (item.end - item.begin).astype(np.int64)
    empty = (lengths == 0) | (columns == 0)
    if not empty.any():
        return
    whole = item.mode == MODES["global"]
    errors = np.where(lengths == 0, columns if whole else 0, lengths)
    within = errors <= item.limits[item.query]
    distance[empty] = np.where(within, errors, -1)[empty]
    if whole:
        end[empty] = np.where(within, columns, 0)[empty]


@STEPS.at("parse")
def planned(pairs: VerifyPairs) -> VerifyPairs:
    """The batch with its device plan, so that the device's thread need not make it."""
    return replace(pairs, plan=plan(pairs))


def staged(pairs: VerifyPairs, allocate: Allocate) -> VerifyPairs:
    """The batch with its large arrays in pinned memory, so that the device's thread copies nothing."""
    if pairs.plan is None:
        return pairs
    made = pairs.plan
    tasks, queries, bases = (pinned_copy(array, allocate) for array in (made.tasks, made.query_arrays, pairs.bases))
    return replace(pairs, bases=bases, plan=replace(made, tasks=tasks, query_arrays=queries))


#: one batch computes, one copies to the device and one from it: with two slots kernels of equal batches end together
STAGE: Stage[VerifyPairs, VerifyResult] = Stage(verify_on_cpu, VerifyKernel, slots=3)


_TESTED_LENGTHS = (20, 100, 150, 250, 1000, 3000)
#: kernels of :func:`self_tests`, which ``devices --check`` compiles in parallel
SELF_TEST_MODULES: tuple[Variant, ...] = (
    ("verify_planes", {}),
    *(("verify_band", {"WORDS": str(words)}) for words in tuning.VERIFY_BANDS),
    *(
        ("verify", tuning.verify_shape(length).defines(verify_pass))
        for length in _TESTED_LENGTHS
        for verify_pass in ("infix", "starts")
    ),
)


def self_tests() -> Iterator[SelfTest]:
    """Random pairs of several lengths."""
    rng = np.random.default_rng(1)
    sequence = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 1 << 15)]
    reference = Reference.packed(["random"], np.array([0, len(sequence)], np.int64), (sequence,))
    lengths = rng.choice(_TESTED_LENGTHS, 500)
    positions = rng.integers(0, len(sequence) - 4000, len(lengths))
    bases = np.concatenate([sequence[at : at + size] for at, size in zip(positions, lengths, strict=True)])
    changed = rng.random(len(bases)) < 0.03
    bases[changed] = ord("A")
    begin = np.maximum(0, positions - 10).astype(np.uint32)
    pairs = VerifyPairs(
        reference,
        bases,
        offsets_of(lengths),
        (lengths // 20).astype(np.int32),
        np.arange(len(lengths), dtype=np.int32),
        begin,
        begin + (lengths + 30).astype(np.uint32),
        np.zeros(len(lengths), np.uint8),
        MODES["infix"],
    )
    yield SelfTest("distances", partial(run_alone, make_kernel=VerifyKernel, item=pairs), partial(verify_on_cpu, pairs))
