"""LCS lengths on a GPU: batches sorted into length classes, profiles laid out for shared memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.lcs.cpu import ScoredBatch, score_on_cpu
from gpualign.align.lcs.query import LcsQuery, encode_query
from gpualign.align.lcs.tuning import LcsShape, choose_lcs_shape
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.kernel import HalvingKernel
from gpualign.run.gpu.runner import run_alone
from gpualign.run.gpu.self_test import SelfTest
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.offsets import offsets_of

_CHUNK = 16  # symbols of a subject in one 128-bit load
_WARP = 32
_BYTE_SLOT = 16  # bytes of one thread's slot in shared memory
_SLOTS = 8  # threads that a 128-bit shared-memory load serves at once
_ENCODE_THREADS = 256
#: the kernel reads whole words, so a little past the last subject
_PADDING = 64
#: subjects up to this length never get a warp each on account of their length
_LONG = 1 << 14
#: codes travel as bytes and one of them is "absent"
MAX_SYMBOLS = 255

_serial = itertools.count()


@dataclass(frozen=True)
class ProfileImage:
    """Arrays that blocks copy to shared memory.

    Attributes:
        words: uint32 (passes, image words).
        row_stride: bytes from one symbol's masks to the next's.
        slot_stride: bytes from one thread's slot to the next.
    """

    words: NDArray[np.uint32]
    row_stride: int
    slot_stride: int

    @property
    def passes(self) -> int:
        return len(self.words)

    @property
    def nbytes(self) -> int:
        """Bytes of shared memory."""
        return self.words[0].nbytes if len(self.words) else 0


def query_masks(query: LcsQuery, words: int) -> NDArray[np.uint32]:
    """uint32 (symbols + 1, words): the positions of each symbol, the last row empty."""
    bits = np.zeros((query.symbols + 1, 32 * words), np.uint8)
    matching = np.flatnonzero(query.codes < query.symbols)
    bits[query.codes[matching], matching] = 1
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint32)


def profile_image(query: LcsQuery, shape: LcsShape) -> ProfileImage:
    """The profile as ``shape`` wants it in shared memory.

    Threads of a warp look up different symbols. A 128-bit load serves eight threads at a time, so each of the eight
    gets a slot of its own: ``[symbol][word / 4][slot][word % 4]``, with the words of thread ``slot`` of a subject.
    Up to eight symbols on one thread a subject need no copies: ``[word / 4][symbol][word % 4]``, different symbols
    in different banks.
    """
    passes = -(-len(query) // (32 * shape.words))
    masks = query_masks(query, passes * shape.words)
    rows = len(masks)
    # (passes, symbol, thread of the subject, word / 4, word % 4)
    blocks = masks.reshape(rows, passes, shape.lanes, shape.tile // 4, 4).transpose(1, 0, 2, 3, 4)
    if shape.lanes == 1 and rows <= _SLOTS:
        image = np.zeros((passes, shape.tile // 4, _SLOTS, 4), np.uint32)
        image[:, :, :rows] = blocks[:, :, 0].transpose(0, 2, 1, 3)
        return ProfileImage(image.reshape(passes, -1), _BYTE_SLOT, 0)
    slots = max(_SLOTS, shape.lanes)
    copies = blocks[:, :, np.arange(slots) % shape.lanes]
    image = np.ascontiguousarray(copies.transpose(0, 1, 3, 2, 4))
    return ProfileImage(image.reshape(passes, -1), shape.tile // 4 * slots * _BYTE_SLOT, _BYTE_SLOT)


@dataclass(frozen=True)
class Classes:
    """Subjects of a batch sorted by length, the longest first, and cut into warps.

    Attributes:
        shape: how the threads work on them.
        order: uint32 (n,): index in the batch of each sorted subject.
        warp_start: uint32 (warps,): first chunk of each warp's text.
        warp_chunks: uint32 (warps,): chunks of each warp's longest subject.
        chunks: chunks of the whole text.
    """

    shape: LcsShape
    order: NDArray[np.uint32]
    warp_start: NDArray[np.uint32]
    warp_chunks: NDArray[np.uint32]
    chunks: int


def sort_into_classes(lengths: NDArray[np.int64], indices: NDArray[np.int64], shape: LcsShape) -> Classes:
    """Put subjects of like length into the same warp, so that its threads finish together.

    Args:
        lengths: int64, of the whole batch.
        indices: int64 (n,): which of them, in input order.
    """
    width = _WARP // shape.lanes
    order = indices[np.argsort(-lengths[indices], kind="stable")]
    warp_chunks = -(-lengths[order[::width]] // _CHUNK)
    starts = offsets_of(warp_chunks * width)
    warp_start = starts[:-1].astype(np.uint32)
    return Classes(shape, order.astype(np.uint32), warp_start, warp_chunks.astype(np.uint32), int(starts[-1]))


def much_longer(lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool (n,): subjects so much longer than the others that one thread would still be at work when all are done."""
    return lengths > max(_LONG, 16 * int(lengths.mean()))


class LcsKernel(HalvingKernel[SequenceBatch, ScoredBatch]):
    """The LCS stage on one device."""

    def __init__(
        self,
        device: Device,
        queries: Sequence[LcsQuery],
        shape: LcsShape | None = None,
    ) -> None:
        super().__init__(device)
        self.queries = queries
        self._shape = shape
        self._shapes: dict[tuple[int, bool], LcsShape] = {}
        self._images: dict[tuple[int, LcsShape], ProfileImage] = {}
        self._id = next(_serial)
        self._multiprocessors = device.processors
        self._shared_limit = device.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")

    def launch(self, slot: Slot, batch: SequenceBatch) -> None:
        """Copy a batch and enqueue all queries on it."""
        wanted = [q for q, query in enumerate(self.queries) if self._on_gpu(query)]
        if not len(batch) or not wanted:
            return
        slot.device_array("bases", batch.bases.nbytes + _PADDING, zeroed=True)  # kernels read the padding
        slot.upload("bases", batch.bases)
        slot.upload("offsets", batch.base_offsets)
        classes: dict[tuple[LcsShape, bool], Classes] = {}
        for q in wanted:
            for long, indices in self._parts(batch):
                shape = self.shape_for(q, 1 if long else len(batch), long)
                if (shape, long) not in classes:
                    classes[shape, long] = self.upload_classes(slot, batch, indices, shape, long)
                self.encode(slot, q, classes[shape, long], long)
                self.score(slot, q, classes[shape, long], len(batch), long)
            slot.download(f"lengths {q}", len(batch), np.int32)

    @staticmethod
    def _parts(batch: SequenceBatch) -> list[tuple[bool, NDArray[np.int64]]]:
        """(are they outliers of length, their indices): the outliers first, as they take longest."""
        long = much_longer(batch.lengths)
        parts = [(True, np.flatnonzero(long)), (False, np.flatnonzero(~long))]
        return [(is_long, indices) for is_long, indices in parts if len(indices)]

    def result(self, slot: Slot, batch: SequenceBatch, launched: None) -> ScoredBatch:
        """The lengths of a batch, (queries, n)."""
        rows = np.zeros((len(self.queries), len(batch)), np.int32)
        for q, query in enumerate(self.queries):
            if len(batch) and self._on_gpu(query):
                rows[q] = slot.pinned(f"lengths {q}", len(batch), np.int32)
            elif len(query):
                rows[q] = score_on_cpu([query], batch).lengths[0]
        return ScoredBatch(batch, rows)

    @staticmethod
    def _on_gpu(query: LcsQuery) -> bool:
        return len(query) > 0 and query.symbols <= MAX_SYMBOLS

    # -- the steps, apart for benchmarks

    def shape_for(self, q: int, subjects: int, long: bool = False) -> LcsShape:
        """The threads and words for each subject: decided by the first batch, as each shape is a kernel to load."""
        if (q, long) not in self._shapes:
            query = self.queries[q]
            self._shapes[q, long] = self._shape or choose_lcs_shape(
                len(query), query.symbols + 1, subjects, self._multiprocessors, self._shared_limit
            )
        return self._shapes[q, long]

    def upload_classes(
        self, slot: Slot, batch: SequenceBatch, indices: NDArray[np.int64], shape: LcsShape, long: bool = False
    ) -> Classes:
        """Sort some of the batch for ``shape`` and copy the order."""
        classes = sort_into_classes(batch.lengths, indices, shape)
        key = _key(shape, long)
        slot.upload(f"order {key}", classes.order)
        slot.upload(f"warp_start {key}", classes.warp_start)
        slot.upload(f"warp_chunks {key}", classes.warp_chunks)
        return classes

    def encode(self, slot: Slot, q: int, classes: Classes, long: bool = False) -> None:
        """Bytes to the query's codes, interleaved by warps."""
        query, key = self.queries[q], _key(classes.shape, long)
        slot.launch(
            self._function("lcs_encode", classes.shape),
            len(classes.warp_start),
            _ENCODE_THREADS,
            slot.device_array("bases", 0),
            slot.device_array("offsets", 0),
            slot.device_array(f"order {key}", 0),
            self._resident(f"table {q}", lambda: query.table.astype(np.uint8)),
            slot.device_array(f"warp_start {key}", 0),
            slot.device_array(f"warp_chunks {key}", 0),
            np.uint32(len(classes.order)),
            np.uint32(query.symbols),
            slot.device_array("text", _CHUNK * classes.chunks),
        )

    def score(self, slot: Slot, q: int, classes: Classes, subjects: int, long: bool = False) -> None:
        """LCS lengths of query ``q`` against the encoded text; ``subjects``: of the whole batch."""
        query, shape, key = self.queries[q], classes.shape, _key(classes.shape, long)
        image = self._image(q, shape)
        n, warps = len(classes.order), len(classes.warp_start)
        # with threads together the carries of a warp end up to a delay and a chunk after its text
        tail = 0 if shape.lanes == 1 else (-(-(shape.lanes - 1) // _CHUNK) + 1) * (_WARP // shape.lanes)
        carries = 2 * (classes.chunks + tail * warps) if image.passes > 1 else 0
        slot.launch(
            self._function("lcs_lengths", shape, image.nbytes),
            -(-warps * _WARP // shape.threads),
            shape.threads,
            slot.device_array("text", 0),
            slot.device_array(f"warp_start {key}", 0),
            slot.device_array(f"warp_chunks {key}", 0),
            slot.device_array("carries", carries),
            slot.device_array(f"order {key}", 0),
            slot.device_array(f"lengths {q}", 4 * subjects),
            np.uint32(n),
            self._resident(f"image {q} {shape}", lambda: image.words),
            np.uint32(image.nbytes // _BYTE_SLOT),
            np.uint32(image.passes),
            np.uint32(image.row_stride),
            np.uint32(image.slot_stride),
            np.uint32(query.symbols),
            shared=image.nbytes,
        )

    def _image(self, q: int, shape: LcsShape) -> ProfileImage:
        if (q, shape) not in self._images:
            self._images[q, shape] = profile_image(self.queries[q], shape)
        return self._images[q, shape]

    def _resident(self, key: str, make: Callable[[], NDArray[Any]]) -> Any:
        return self.device.resident(f"lcs {self._id} {key}", lambda: self.device.driver.to_device(make()))

    def _function(self, name: str, shape: LcsShape, shared: int = 0) -> Any:
        return self.device.function("lcs", name, shape.defines, shared)


def _key(shape: LcsShape, long: bool) -> str:
    """Addresses of the slot's arrays for a shard's order; the subjects of a warp depend on the lanes alone."""
    return f"{shape.lanes}{' long' if long else ''}"


_TESTED_QUERY = 1500
#: kernels of :func:`self_tests`, which ``devices --check`` compiles in parallel
SELF_TEST_MODULES: tuple[Variant, ...] = (("lcs", choose_lcs_shape(_TESTED_QUERY, 5, 143, 132, 227 << 10).defines),)


def self_tests() -> Iterator[SelfTest]:
    """Lengths of a small batch."""
    rng = np.random.default_rng(0)
    query = encode_query("self-test", rng.integers(65, 69, _TESTED_QUERY, dtype=np.uint8).tobytes(), "bytes")
    bases, offsets = join_bytes([rng.integers(65, 70, n, dtype=np.uint8).tobytes() for n in range(0, 1000, 7)])
    batch = SequenceBatch(np.zeros(0, np.uint8), np.zeros(len(offsets), np.int64), bases, offsets)
    yield SelfTest(
        "LCS lengths",
        lambda device: run_alone(device, lambda device: LcsKernel(device, [query]), batch).lengths,
        lambda: score_on_cpu([query], batch).lengths,
    )
