"""Host side of the search for matches that are unique in the reference: a thread decides about a start."""

from __future__ import annotations

import numpy as np

from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.seeds.matches import device as mems
from gpualign.seeds.matches.cpu import Matches, Piece, Search, join_columns
from gpualign.seeds.matches.device import MemsKernel
from gpualign.seeds.matches.scan import LEFT_OVER_HEAD
from gpualign.seeds.matches.suffix_array import SuffixArray
from gpualign.seeds.matches.tuning import choose_mems_shape


def kernel_for(device: Device, search: Search, printing: bool = False) -> MemsKernel:
    """The kernel for the index of a search; arguments as of :class:`MemsKernel`."""
    return (UniqueMemsKernel if isinstance(search.index, SuffixArray) else MemsKernel)(device, search, printing)


class UniqueMemsKernel(MemsKernel):
    """Searches a suffix array. If a device cannot hold it, the search runs on the CPU."""

    def __init__(self, device: Device, search: Search, printing: bool = False) -> None:
        DeviceKernel.__init__(self, device)
        assert isinstance(search.index, SuffixArray)
        self.search, self.index = search, search.index
        self.shape = choose_mems_shape(1)
        self.load(lambda name: device.function("mems", name, self.shape.defines))
        self.fits = self.index.nbytes <= device.budget * mems.RESIDENT_SHARE
        self._key = f"mems reference {next(mems.serial)}"
        self._printer = self.printer() if printing else None

    def launch(self, slot: Slot, item: Piece) -> None:
        if not self.fits:
            return
        reference = self._reference()  # the first time much is copied: not between this batch's events
        mems.upload_text(slot, item.source, self._strands)
        first, last = self._tiles(item)
        tiles = last - first
        units, capacity = tiles + 1, tiles * self.shape.tile  # a start has one match at most
        counts, totals = slot.device_array("counts", 4 * units), slot.device_array("totals", 4 * units)
        found = slot.device_array("found", mems.FOUND_BYTES * capacity)
        left_over = slot.clear("left over", mems.LEFT_OVER.itemsize)
        slot.launch(
            self._count_unique, -(-units // self.shape.warps), mems.WARP * self.shape.warps,
            slot.device_array("text words", 0), slot.device_array("text breaks", 0),
            np.uint64(item.source.text.length), *reference,
            np.uint32(first), np.uint32(tiles), counts, totals, found, left_over,
        )  # fmt: skip
        self._number_and_scatter(slot, tiles, units, capacity, 0)
        slot.download("left over", 1, LEFT_OVER_HEAD)

    def result(self, slot: Slot, item: Piece, launched: None) -> Matches:
        if not self.fits:
            return self.search.find(item)
        total = int(slot.pinned("left over", 1, LEFT_OVER_HEAD)[0]["total"])
        if self._printer is not None:
            return Matches(item, item.stop, printed=self._printer.printed(slot, item, "filled", total))
        columns = self._download(slot, total, "filled") if total else join_columns([])
        return self._result(item, columns, item.stop)

    def _reference(self) -> tuple[np.generic, ...]:
        """The suffix array on the device and the minimum length, as the kernel's arguments."""
        native, reference = self.search.native, self.index.reference
        arrays = (
            self.index.offsets,
            self.index.positions,
            reference.words,
            native.near_break,
            native.segment_starts,
            native.segment_ends,
        )
        resident = self.device.resident(self._key, lambda: DeviceArrays(self.device, *arrays))
        offsets, positions, *others = (np.uint64(address) for address in resident.addresses)
        numbers = np.uint32(len(native.segment_starts)), np.uint32(reference.bases)
        return (offsets, positions, np.int32(self.index.k), *others, *numbers, np.uint32(self.search.params.min_length))
