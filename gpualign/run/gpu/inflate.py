"""BGZF blocks to text on a device: nvCOMP inflates, ``cuda/bgzf.cu`` checks the CRCs."""

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
from gpualign.streaming.pinned import Allocate, pinned_or_pageable

_ALIGNMENT = 16
#: uint64 arrays with a value per block: addresses and sizes of payload and text
_NUMBERS = 4


@dataclass(frozen=True)
class BlockGroup:
    """Whole blocks on their way to a device.

    Attributes:
        block: uint8: four uint64 and a uint32 (CRC) per block, then the payloads.
        count: number of blocks with text.
        text_bytes: bytes of all text.
    """

    block: NDArray[np.uint8]
    count: int
    text_bytes: int

    @classmethod
    def of(cls, blocks: NDArray[np.uint8] | bytes, allocate: Allocate) -> BlockGroup:
        """
        Args:
            allocate: allocates pinned memory.

        Raises:
            ValueError: a block is damaged.
        """
        given = np.frombuffer(blocks, np.uint8)
        _, contents = _native.bgzf_block_sizes(given)
        count, text_bytes = int(np.count_nonzero(contents)), int(contents.sum())
        head = cls._head(count)
        nbytes = head + len(given) + _ALIGNMENT * count
        block = pinned_or_pageable(allocate, nbytes)
        payloads, sizes, texts, text_sizes = cls._numbers(block, count)
        arrays = (payloads, sizes, texts, text_sizes, cls._checksums(block, count))
        _native.stage_bgzf_blocks(given, block[head:], *arrays)
        return cls(block, count, text_bytes)

    @staticmethod
    def _head(count: int) -> int:
        return aligned((8 * _NUMBERS + 4) * count, _ALIGNMENT)

    @staticmethod
    def _numbers(block: NDArray[np.uint8], count: int) -> list[NDArray[np.uint64]]:
        return [block[8 * count * i : 8 * count * (i + 1)].view(np.uint64) for i in range(_NUMBERS)]

    @staticmethod
    def _checksums(block: NDArray[np.uint8], count: int) -> NDArray[np.uint32]:
        return block[8 * _NUMBERS * count :][: 4 * count].view(np.uint32)

    def with_addresses(self, block: int, text: int) -> None:
        """Turn the offsets of payloads and texts into device addresses."""
        offsets, _, text_offsets, _ = self._numbers(self.block, self.count)
        for places, begin in ((offsets, block + self._head(self.count)), (text_offsets, text)):
            places -= places[0]
            places += np.uint64(begin)

    def addresses(self, block: int) -> tuple[int, int, int, int, int]:
        """Device addresses of the arrays, if the block is at ``block``."""
        payloads, payload_bytes, texts, text_bytes = (block + 8 * self.count * i for i in range(_NUMBERS))
        return payloads, payload_bytes, texts, text_bytes, block + 8 * _NUMBERS * self.count


class InflateKernel(DeviceKernel[BlockGroup, NDArray[np.uint8] | None]):
    """Inflates groups of blocks on one device; returns None for a group that the CPU must inflate, to report errors."""

    def __init__(self, device: Device, nvcomp: Nvcomp) -> None:
        super().__init__(device)
        self._nvcomp = nvcomp

    def launch(self, slot: Slot, item: BlockGroup) -> None:
        """
        Raises:
            NvcompError: nvCOMP failed.
        """
        if item.count == 0:
            return
        slot.step = "inflate"
        block = int(slot.device_array("blocks to inflate", len(item.block)))
        text = int(slot.device_array("inflated", item.text_bytes))
        item.with_addresses(block, text)
        slot.upload("blocks to inflate", item.block)
        payloads, payload_bytes, texts, text_bytes, checksums = item.addresses(block)
        inflated_bytes = int(slot.device_array("inflated bytes", 8 * item.count))
        status = int(slot.device_array("inflate status", 4 * item.count))
        damaged = int(slot.clear("damaged", 4))
        scratch_bytes = self._nvcomp.inflate_scratch(item.count, item.text_bytes)
        scratch = int(slot.device_array("inflate scratch", scratch_bytes))
        slot.stream.inflate(
            self._nvcomp,
            item.count,
            deflated=payloads,
            deflated_bytes=payload_bytes,
            texts=texts,
            text_bytes=text_bytes,
            inflated_bytes=inflated_bytes,
            scratch=scratch,
            scratch_bytes=scratch_bytes,
            status=status,
        )
        batch = filled(
            "InflateBatch",
            deflated=payloads,
            deflated_bytes=payload_bytes,
            texts=texts,
            text_bytes=text_bytes,
            checksums=checksums,
            inflated_bytes=inflated_bytes,
            status=status,
            damaged=damaged,
            count=item.count,
        )
        slot.launch(self.device.function("bgzf", "check_texts"), item.count, tuning.BGZF_THREADS, batch)
        slot.download("damaged", 1, np.uint32)
        slot.download("inflated", item.text_bytes, np.uint8)

    def result(self, slot: Slot, item: BlockGroup, launched: None) -> NDArray[np.uint8] | None:
        if item.count == 0:
            return np.zeros(0, np.uint8)
        slot.detach_pinned("blocks to inflate")
        damaged = bool(slot.pinned("damaged", 1, np.uint32)[0])
        text = slot.detach_pinned("inflated")
        assert text is not None
        return None if damaged else text[: item.text_bytes]
