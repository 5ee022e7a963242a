"""BGZF by devices: groups of blocks are inflated, contents are deflated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.deflate import Deflater
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.inflate import BlockGroup, InflateKernel
from gpualign.engine.gpu.nvcomp import Nvcomp, NvcompError
from gpualign.engine.gpu.runner import DevicePool
from gpualign.errors import GpualignError
from gpualign.streaming.clock import STEPS
from gpualign.streaming.turns import Turns


@dataclass(frozen=True)
class Content:
    """What is to be deflated.

    Attributes:
        memory: uint8, of which it is the head; the blocks come back in it if they fit.
        nbytes: of it.
    """

    memory: NDArray[np.uint8]
    nbytes: int


class DeflateKernel:
    """Deflates contents on one device (see ``gpu.runner.Kernel``)."""

    def __init__(self, device: Device, nvcomp: Nvcomp) -> None:
        self._deflater = Deflater(device, nvcomp)

    def submit(self, slot: Slot, item: Content) -> None:
        """
        Raises:
            NvcompError: nvCOMP failed.
        """
        slot.step = "deflate"
        content = int(slot.upload("content", item.memory[: item.nbytes]))
        totals = int(slot.upload("content totals", np.array([item.nbytes, 0, 0], np.uint64)))
        self._deflater.submit(slot, content, totals, item.nbytes)
        slot.download("content totals", 3, np.uint64)

    def collect(self, slot: Slot, item: Content) -> NDArray[np.uint8]:
        nbytes, memory = int(slot.pinned("content totals", 3, np.uint64)[2]), item.memory
        if len(memory) < nbytes:
            memory = slot.pinned("blocks", nbytes, np.uint8)
            slot.part_with("blocks")
        slot.download_into(memory[:nbytes], "blocks")
        slot.submitted()
        slot.wait()
        return memory[:nbytes]

    def split(self, item: Content) -> list[Content]:
        """A content is not split: the CPU deflates what does not fit."""
        return [item]


class CompressionKernel:
    """Inflates and deflates (see ``gpu.runner.Kernel``)."""

    def __init__(self, device: Device, nvcomp: Nvcomp) -> None:
        self._inflate, self._deflate = InflateKernel(device, nvcomp), DeflateKernel(device, nvcomp)

    def _of(self, item: BlockGroup | Content) -> Any:
        return self._inflate if isinstance(item, BlockGroup) else self._deflate

    def submit(self, slot: Slot, item: BlockGroup | Content) -> None:
        """
        Raises:
            NvcompError: nvCOMP failed.
        """
        self._of(item).submit(slot, item)

    def collect(self, slot: Slot, item: BlockGroup | Content) -> NDArray[np.uint8] | None:
        found: NDArray[np.uint8] | None = self._of(item).collect(slot, item)
        return found

    def split(self, item: BlockGroup | Content) -> list[BlockGroup | Content]:
        """Itself."""
        return [item]


class Compression:
    """What host threads hand to devices; of what these cannot do they get None.

    Args:
        pool: drives a :class:`CompressionKernel`, or what knows its items as well.
        lend: page-locked memory of so many bytes, if there is any.
        most: of each kind that are staged at a time.
    """

    def __init__(self, pool: DevicePool[Any, Any], lend: Callable[[int], NDArray[np.uint8] | None], most: int) -> None:
        self._pool, self._lend = pool, lend
        self._inflating, self._deflating = Turns(most), Turns(most)

    def inflate(self, blocks: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        """The text of whole blocks, in memory to be given back soon."""
        return self._run(self._inflating, lambda: BlockGroup.of(blocks, self._lend))

    def deflate(self, nbytes: int, fill: Callable[[NDArray[np.uint8]], None]) -> NDArray[np.uint8] | None:
        """The blocks of so many bytes that ``fill`` writes, in memory to be given back soon."""
        return self._run(self._deflating, lambda: self._content(nbytes, fill))

    @STEPS.at("copy")
    def _content(self, nbytes: int, fill: Callable[[NDArray[np.uint8]], None]) -> Content | None:
        if (memory := self._lend(nbytes)) is None:
            return None
        fill(memory)
        return Content(memory, nbytes)

    def _run(self, turns: Turns, staged: Callable[[], BlockGroup | Content | None]) -> NDArray[np.uint8] | None:
        try:
            with STEPS.at("wait"), turns.taken(ahead=False):
                found: NDArray[np.uint8] | None = None if (item := staged()) is None else self._pool.run(item)
            return found
        except (ValueError, GpualignError, NvcompError):  # said by the CPU when it does the same
            return None
