"""BGZF blocks of text that is on a device: nvCOMP deflates, ``cuda/bgzf.cu`` makes the blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign._native import Nvcomp
from gpualign.run import tuning
from gpualign.run.abi import filled
from gpualign.run.gpu.buffers import Slot, aligned
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.streaming.pinned import Allocate
from gpualign.streaming.timeline import STEPS

#: alignment of the space of a block
_ALIGNMENT = 16
#: bytes that a BGZF block adds to content that is stored uncompressed
_OVERHEAD = 31


class Deflater:
    """Deflates texts that a device has written."""

    def __init__(self, device: Device, nvcomp: Nvcomp) -> None:
        self._device, self._nvcomp = device, nvcomp

    def submit(self, slot: Slot, text: int, totals: int, capacity: int) -> None:
        """Enqueue the deflation of a text whose length only the device knows.

        Args:
            text: its address.
            totals: address of three uint64 on the device: the text's bytes; unused; 0 before, and after it the bytes of
                the blocks, which are the slot's array "blocks".
            capacity: bytes allocated at ``text``; a longer text yields no block.

        Raises:
            NvcompError: nvCOMP failed.
        """
        slot.step = "deflate"
        content, maximum = _native.BGZF_CONTENT, _native.BGZF_MAX_BLOCKS
        blocks = -(-capacity // content)
        at_once = min(blocks, maximum, self._at_once(content))
        scratch_bytes, space_bytes = self._nvcomp.deflate_sizes(at_once, content)
        space_bytes = aligned(space_bytes, _ALIGNMENT)
        scratch = int(slot.device_array("deflate scratch", scratch_bytes))

        def numbers(name: str, nbytes: int = 8) -> int:
            return int(slot.device_array(f"deflate {name}", nbytes * at_once))

        batch = filled(
            "BgzfBatch",
            content=text,
            totals=totals,
            capacity=capacity,
            given=numbers("given"),
            given_bytes=numbers("given bytes"),
            deflated=numbers("deflated"),
            deflated_bytes=numbers("deflated bytes"),
            status=numbers("status", 4),
            space=numbers("space", space_bytes),
            space_bytes=space_bytes,
            block_offsets=numbers("block_offsets"),
            out=int(slot.device_array("blocks", capacity + _OVERHEAD * blocks, zeroed=True)),
            out_bytes=totals + 16,
        )
        for first in range(0, blocks, at_once):
            count = min(at_once, blocks - first)
            batch["first"], batch["count"] = first, count
            self._run(slot, "set_tasks", -(-count // tuning.BGZF_THREADS), tuning.BGZF_THREADS, batch)
            slot.stream.deflate(
                self._nvcomp,
                count,
                content,
                texts=int(batch["given"]),
                text_bytes=int(batch["given_bytes"]),
                scratch=scratch,
                scratch_bytes=scratch_bytes,
                deflated=int(batch["deflated"]),
                deflated_bytes=int(batch["deflated_bytes"]),
                status=int(batch["status"]),
            )
            self._run(slot, "place_blocks", 1, tuning.BGZF_PLACERS, batch)
            self._run(slot, "write_blocks", count, tuning.BGZF_THREADS, batch)

    def _at_once(self, content: int) -> int:
        """The number of blocks that fit the budget for scratch memory."""
        scratch_bytes, space_bytes = self._nvcomp.deflate_sizes(tuning.BGZF_THREADS, content)
        return max(
            1,
            int(
                tuning.DEFLATE_SCRATCH_SHARE * self._device.budget / (scratch_bytes / tuning.BGZF_THREADS + space_bytes)
            ),
        )

    def _run(self, slot: Slot, name: str, blocks: int, threads: int, batch: np.void) -> None:
        slot.launch(self._device.function("bgzf", name), blocks, threads, batch)


@dataclass(frozen=True)
class Content:
    """Content to be deflated.

    Attributes:
        memory: uint8, pinned; the content is its head, and the blocks come back in it if they fit.
        nbytes: bytes of the content.
    """

    memory: NDArray[np.uint8]
    nbytes: int

    @classmethod
    @STEPS.at("copy")
    def of(cls, content: NDArray[np.uint8], allocate: Allocate) -> Content:
        """
        Args:
            allocate: allocates pinned memory.

        Raises:
            ValueError: none is available.
        """
        if (memory := allocate(len(content))) is None:
            raise ValueError("no pinned memory")
        np.copyto(memory, content)
        return cls(memory, len(content))


class DeflateKernel(DeviceKernel[Content, NDArray[np.uint8]]):
    """Deflates contents on one device."""

    def __init__(self, device: Device, nvcomp: Nvcomp) -> None:
        super().__init__(device)
        self._deflater = Deflater(device, nvcomp)

    def launch(self, slot: Slot, item: Content) -> None:
        """
        Raises:
            NvcompError: nvCOMP failed.
        """
        slot.step = "deflate"
        content = int(slot.upload("content", item.memory[: item.nbytes]))
        totals = int(slot.upload("content totals", np.array([item.nbytes, 0, 0], np.uint64)))
        self._deflater.submit(slot, content, totals, item.nbytes)
        slot.download("content totals", 3, np.uint64)

    def result(self, slot: Slot, item: Content, launched: None) -> NDArray[np.uint8]:
        nbytes, memory = int(slot.pinned("content totals", 3, np.uint64)[2]), item.memory
        if len(memory) < nbytes:
            memory = slot.pinned("blocks", nbytes, np.uint8)
            slot.detach_pinned("blocks")
        slot.download_into(memory[:nbytes], "blocks")
        slot.finish()
        return memory[:nbytes]
