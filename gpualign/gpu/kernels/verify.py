"""The device side of ``verify``: plan a batch by query length, launch ``cuda/verify.cu``, bring the results back."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.backends.verify import MODES, VerifyPairs, VerifyResult, verify_on_cpu
from gpualign.errors import DeviceError
from gpualign.gpu import tuning
from gpualign.gpu.buffers import Slot
from gpualign.gpu.device import Device
from gpualign.gpu.runner import run_on_devices
from gpualign.index.reference import Reference

_THREADS = 128
_COLUMNS_PER_BLOCK = 16
#: zero words before and behind packed text: the kernels read up to 32 letters beyond a window
_PAD_WORDS = 4


@dataclass(frozen=True)
class Group:
    """Tasks [first, first + count) of a plan: one launch.

    Attributes:
        shape: of its queries.
        band: words of the window where the band kernel takes the group, else 0.
        runs: its windows touch letters that are no bases.
        longest: most columns of a task.
        strips: most strips of a pattern.
    """

    shape: tuning.VerifyShape
    band: int
    runs: bool
    first: int
    count: int
    longest: int
    strips: int

    @property
    def grid(self) -> int:
        blocks = -(-self.count * self.shape.lanes // _THREADS)
        return blocks if self.shape.lanes == 1 else min(blocks, tuning.VERIFY_MOST_BLOCKS)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block, as cuda/verify.cu lays it out."""
        load = {1: 1, 2: 2}.get(self.shape.words, 4)
        loads = -(-self.shape.words // load)
        return loads * load * (5 if self.runs else 4) * _THREADS * 4

    @property
    def band_grid(self) -> int:
        return -(-self.count // _THREADS)

    @property
    def band_shared_bytes(self) -> int:
        return 4 * self.band * _THREADS * 4

    @property
    def boundary_words(self) -> int:
        """uint32 words that a group of lanes needs between strips."""
        return 0 if self.strips < 2 else -(-self.longest // _COLUMNS_PER_BLOCK)


@dataclass(frozen=True)
class Plan:
    """A batch in the order of its launches.

    Attributes:
        order: int64 (tasks,), pair of each task; pairs with an empty side are not among them.
        tasks: uint32 (tasks, 4): begin, columns, query * 2 + strand, limit.
        plane_offsets: uint32 (queries,), words of planes before each query's.
        tile_words, tiles: int32 (queries,), shape of each query's planes.
        plane_words: words of all planes.
        bands: uint8 (queries,), words of each query's band, 0 for none.
        band_offsets: uint32 (queries,), words of band profiles before each query's.
        band_words: words of all band profiles.
        groups: the launches.
    """

    order: NDArray[np.int64]
    tasks: NDArray[np.uint32]
    plane_offsets: NDArray[np.uint32]
    tile_words: NDArray[np.int32]
    tiles: NDArray[np.int32]
    plane_words: int
    bands: NDArray[np.uint8]
    band_offsets: NDArray[np.uint32]
    band_words: int
    groups: tuple[Group, ...]


@lru_cache(maxsize=65536)
def _shape_index(length: int) -> int:
    return tuning.VERIFY_SHAPES.index(tuning.verify_shape(length))


def plan(pairs: VerifyPairs) -> Plan:
    """Sort a batch's pairs into launches of one shape each."""
    lengths = np.diff(pairs.offsets)
    distinct, inverse = np.unique(lengths, return_inverse=True)
    shape_of = np.array([_shape_index(int(length)) for length in distinct], np.int64)[inverse]
    lanes = np.array([shape.lanes for shape in tuning.VERIFY_SHAPES], np.int32)[shape_of]
    words = np.array([shape.words for shape in tuning.VERIFY_SHAPES], np.int32)[shape_of]
    strips = -(-lengths // (32 * lanes.astype(np.int64) * words)).astype(np.int32)
    tiles = lanes * strips
    per_query = 2 * 3 * words.astype(np.int64) * tiles
    ends = np.cumsum(per_query)
    columns = pairs.end - pairs.begin
    order = np.flatnonzero((lengths[pairs.query] > 0) & (columns > 0))
    runs = _touches_run(pairs)
    needed = _band_rows(pairs, lengths, runs)
    bands = _query_bands(pairs, lengths, needed)
    in_band = (needed <= 32 * bands[pairs.query].astype(np.int64)) & (needed > 0)
    key = (shape_of[pairs.query] * 8 + in_band * bands[pairs.query]) * 2 + runs
    if len(order) and (key[order] != key[order[0]]).any():
        order = order[np.argsort(key[order], kind="stable")]
    tasks = np.empty((len(order), 4), np.uint32)
    query = pairs.query[order]
    tasks[:, 0] = pairs.begin[order]
    tasks[:, 1] = columns[order]
    tasks[:, 2] = query.astype(np.uint32) * 2 + pairs.strand[order]
    tasks[:, 3] = pairs.limits[query].view(np.uint32)
    groups = _groups(key[order], tasks[:, 1], lengths[query], strips[query])
    slides = (lengths - pairs.limits - 1) // tuning.VERIFY_BAND_COLUMNS
    band_words = np.where(bands > 0, 2 * 4 * bands.astype(np.int64) * (slides + 1), 0)
    band_ends = np.cumsum(band_words)
    return Plan(
        order,
        tasks,
        (ends - per_query).astype(np.uint32),
        words,
        tiles,
        int(ends[-1]) if len(ends) else 0,
        bands,
        (band_ends - band_words).astype(np.uint32),
        int(band_ends[-1]) if len(band_ends) else 0,
        groups,
    )


def _band_rows(pairs: VerifyPairs, lengths: NDArray[np.int64], runs: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64 (n,): rows of the window that each pair's band takes (BandPlan::fits), 0 where it has none."""
    columns = (pairs.end - pairs.begin).astype(np.int64)
    length, limit = lengths[pairs.query], pairs.limits.astype(np.int64)[pairs.query]
    rows = columns - length + 2 * limit + tuning.VERIFY_BAND_COLUMNS
    usable = (limit < length) & (columns >= length) & ~runs & (rows <= 32 * tuning.VERIFY_BANDS[-1])
    return np.where(usable & (pairs.mode == MODES["infix"]), rows, 0)


def _query_bands(pairs: VerifyPairs, lengths: NDArray[np.int64], needed: NDArray[np.int64]) -> NDArray[np.uint8]:
    """uint8 (queries,): words of a window that holds all of a query's bands, 0 where none is worth it."""
    widest = np.zeros(len(lengths), np.int64)
    if needed.any():
        np.maximum.at(widest, pairs.query, needed)
    bands = np.zeros(len(lengths), np.uint8)
    for words in reversed(tuning.VERIFY_BANDS):
        bands[(widest > 0) & (widest <= 32 * words)] = words
    bands[bands > tuning.VERIFY_BAND_SHARE * (lengths / 32)] = 0
    return bands


def _groups(
    key: NDArray[np.int64], columns: NDArray[np.uint32], lengths: NDArray[np.int64], strips: NDArray[np.int32]
) -> tuple[Group, ...]:
    groups = []
    borders = [0, *(np.flatnonzero(np.diff(key)) + 1).tolist(), len(key)]
    for first, last in itertools.pairwise(borders):
        if first == last:
            continue
        number = int(key[first])
        shape, band, runs = tuning.VERIFY_SHAPES[number // 16], number // 2 % 8, bool(number % 2)
        cells = float(lengths[first:last].max()) * float(columns[first:last].max())
        most = max(1, int(tuning.VERIFY_LAUNCH_CELLS / cells))
        for at in range(first, last, most):
            stop = min(last, at + most)
            longest, most_strips = int(columns[at:stop].max()), int(strips[at:stop].max())
            groups.append(Group(shape, band, runs, at, stop - at, longest, most_strips))
    return tuple(groups)


def _touches_run(pairs: VerifyPairs) -> NDArray[np.bool_]:
    """Whether each window holds a letter that is no base."""
    starts, ends = pairs.reference.run_starts, pairs.reference.run_ends
    if len(starts) == 0:
        return np.zeros(len(pairs), np.bool_)
    first = np.searchsorted(ends, pairs.begin, side="right")
    found: NDArray[np.bool_] = (first < len(starts)) & (starts[np.minimum(first, len(starts) - 1)] < pairs.end)
    return found


class ResidentText:
    """A packed reference on a device, padded at both ends."""

    def __init__(self, device: Device, reference: Reference) -> None:
        self.device = device
        self.reference = reference  # keeps the key (its identity) alive
        self._arrays: list[tuple[Any, int]] = []
        self.text = self._upload(_padded(reference.words.view(np.uint32))) + 4 * _PAD_WORDS
        self.known = self._upload(_padded(_native.reference_known_bits(reference.native))) + 4 * _PAD_WORDS

    def _upload(self, array: NDArray[np.uint32]) -> int:
        pointer = self.device.allocate(array.nbytes)
        self._arrays.append((pointer, array.nbytes))
        self.device.driver.memcpy_htod(pointer, array)
        self.device.timeline.bytes_to_device += array.nbytes
        return int(pointer)

    def free(self) -> None:
        for pointer, size in self._arrays:
            self.device.free(pointer, size)
        self._arrays.clear()


def _padded(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    padding = np.zeros(_PAD_WORDS, np.uint32)
    return np.concatenate([padding, words, padding])


class VerifyKernel:
    """Runs :class:`VerifyPairs` on one device (see ``gpu.runner.Kernel``)."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._plans: dict[int, Plan] = {}
        self._functions: dict[tuple[tuning.VerifyShape, str], Any] = {}

    def submit(self, slot: Slot, item: VerifyPairs) -> None:
        made = plan(item)
        self._plans[id(slot)] = made
        if not made.groups:
            return
        arguments = self._arguments(slot, item, made)
        for number, group in enumerate(made.groups):
            batch = arguments.copy()
            batch[10] += 4 * number  # each launch counts its own hits
            numbers = (np.int32(item.mode), np.uint32(group.first), np.uint32(group.count))
            suffix = "_runs" if group.runs else ""
            shared = group.shared_bytes
            self.launch_distances(slot, group, item.mode, batch)
            if item.mode == MODES["infix"]:
                starts = self._function(group, "verify_starts" + suffix)
                slot.launch(starts, group.grid, _THREADS, batch, *numbers, shared=shared)
        for key in ("distances", "starts", "ends"):
            slot.download(key, len(made.tasks), np.int32)

    def launch_distances(self, slot: Slot, group: Group, mode: int, batch: NDArray[np.uint64]) -> None:
        """Enqueue the kernel that gives a group's distances and ends."""
        place = (np.uint32(group.first), np.uint32(group.count))
        if group.band:
            band = self.device.function("verify_band", "verify_band", {"WORDS": str(group.band)})
            slot.launch(band, group.band_grid, _THREADS, batch, *place, shared=group.band_shared_bytes)
            return
        name = ("verify" if mode == MODES["infix"] else "verify_anchored") + ("_runs" if group.runs else "")
        function = self._function(group, name)
        slot.launch(function, group.grid, _THREADS, batch, np.int32(mode), *place, shared=group.shared_bytes)

    def _arguments(self, slot: Slot, item: VerifyPairs, made: Plan) -> NDArray[np.uint64]:
        """Upload a batch, build its queries' planes, and return the kernels' struct Batch."""
        text, known = self._text(slot, item)
        bases = slot.upload("bases", item.bases)
        offsets = slot.upload("offsets", item.offsets)
        plane_offsets = slot.upload("plane offsets", made.plane_offsets)
        tile_words, tiles = slot.upload("tile words", made.tile_words), slot.upload("tiles", made.tiles)
        lengths = slot.upload("lengths", np.diff(item.offsets).astype(np.int32))
        tasks = slot.upload("tasks", made.tasks)
        planes = slot.device_array("planes", 4 * made.plane_words)
        build = self.device.function("verify", "build_planes", made.groups[0].shape.defines)
        slot.launch(build, len(made.tiles), 64, bases, offsets, plane_offsets, tile_words, tiles, planes)
        outputs = [slot.device_array(key, 4 * len(made.tasks)) for key in ("distances", "ends", "starts", "hits")]
        counts = slot.clear("hit counts", 4 * len(made.groups))
        stride = max(group.boundary_words for group in made.groups)
        pairs_at_once = (
            max(group.grid * _THREADS // group.shape.lanes for group in made.groups if group.strips > 1)
            if stride
            else 0
        )
        boundary = slot.device_array("boundary", 4 * stride * pairs_at_once)
        pointers = [planes, plane_offsets, lengths, tasks, *outputs, counts, boundary]
        # distances, ends, starts, hits follow tasks, as in the struct
        bands = self._build_bands(slot, item, made, bases, offsets)
        return np.array([text, known, *(int(pointer) for pointer in pointers), stride, *bands], np.uint64)

    def _build_bands(self, slot: Slot, item: VerifyPairs, made: Plan, bases: Any, offsets: Any) -> tuple[int, int]:
        """The band profiles of the queries that have one, and their places; zeros where there is none."""
        if made.band_words == 0:
            return 0, 0
        limits, places = slot.upload("limits", item.limits), slot.upload("band offsets", made.band_offsets)
        profiles = slot.device_array("band profiles", 4 * made.band_words)
        for words in np.unique(made.bands[made.bands > 0]).tolist():
            wanted = slot.upload(f"band {words}", (made.bands == words).astype(np.uint8))
            build = self.device.function("verify_band", "build_band", {"WORDS": str(words)})
            slot.launch(build, len(made.bands), 32, bases, offsets, limits, places, wanted, profiles)
        return int(profiles), int(places)

    def _text(self, slot: Slot, item: VerifyPairs) -> tuple[int, int]:
        reference = item.reference
        if item.resident:
            key = f"text {id(reference)}"
            resident = self.device.resident(key, lambda: ResidentText(self.device, reference))
            return resident.text, resident.known
        text = slot.upload("text", _padded(reference.words.view(np.uint32)))
        known = slot.upload("known", _padded(_native.reference_known_bits(reference.native)))
        return int(text) + 4 * _PAD_WORDS, int(known) + 4 * _PAD_WORDS

    def _function(self, group: Group, name: str) -> Any:
        key = (group.shape, name)
        if key not in self._functions:
            function = self.device.function("verify", name, group.shape.defines)
            attributes = self.device.driver.function_attribute
            function.set_attribute(attributes.MAX_DYNAMIC_SHARED_SIZE_BYTES, group.shared_bytes)
            self._functions[key] = function
        return self._functions[key]

    def collect(self, slot: Slot, item: VerifyPairs) -> VerifyResult:
        made = self._plans.pop(id(slot))
        distance, start, end = (np.zeros(len(item), np.int32) for _ in range(3))
        _settle_empty(item, distance, end)
        if made.groups:
            count = len(made.tasks)
            for key, out in (("distances", distance), ("starts", start), ("ends", end)):
                out[made.order] = slot.pinned(key, count, np.int32)
        return VerifyResult(distance, start, end)

    def split(self, item: VerifyPairs) -> list[VerifyPairs]:
        half = len(item) // 2
        return [item.slice(0, half), item.slice(half, len(item))] if half else [item]

    def join(self, results: list[VerifyResult]) -> VerifyResult:
        return VerifyResult(
            np.concatenate([result.distance for result in results]),
            np.concatenate([result.start for result in results]),
            np.concatenate([result.end for result in results]),
        )


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


def self_test(device: Device) -> None:
    """Random pairs of several lengths on the device and on the CPU.

    Raises:
        DeviceError: the results differ.
    """
    rng = np.random.default_rng(1)
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 1 << 15)]
    packer = _native.ReferencePacker()
    packer.append(letters)
    reference = Reference(["random"], np.array([0, len(letters)], np.int64), *packer.finish())
    lengths = rng.choice([20, 100, 150, 250, 1000, 3000], 500)
    places = rng.integers(0, len(letters) - 4000, len(lengths))
    bases = np.concatenate([letters[at : at + size] for at, size in zip(places, lengths, strict=True)])
    changed = rng.random(len(bases)) < 0.03
    bases[changed] = ord("A")
    begin = np.maximum(0, places - 10).astype(np.uint32)
    pairs = VerifyPairs(
        reference,
        bases,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        (lengths // 20).astype(np.int32),
        np.arange(len(lengths), dtype=np.int32),
        begin,
        begin + (lengths + 30).astype(np.uint32),
        np.zeros(len(lengths), np.uint8),
        MODES["infix"],
    )
    (got,) = run_on_devices([pairs], VerifyKernel, [device])
    expected = verify_on_cpu(pairs)
    for name in ("distance", "start", "end"):
        if not np.array_equal(getattr(got, name), getattr(expected, name)):
            raise DeviceError(f"{device.name}: verify's {name} differs from the CPU's")
