"""Maximal exact matches on a GPU: count a tile's matches, number them, write and order them.

The reference's index stays on the device when it fits; else its pages pass by for every piece of the queries.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.run.abi import struct
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.seeds.matches.cpu import (
    Matches,
    MemColumns,
    Piece,
    Printed,
    Search,
    join_columns,
    sort_columns,
    sort_tiles,
)
from gpualign.seeds.matches.device_text import LinePrinter
from gpualign.seeds.matches.pages import Page, cut_pages, index_bytes
from gpualign.seeds.matches.queries import QueryText
from gpualign.seeds.matches.scan import LEFT_OVER_HEAD, Scan
from gpualign.seeds.matches.tuning import MemsShape, choose_mems_shape

WARP = 32
#: what a search leaves besides its matches, and the maximum number of parts of tiles with many hits
LEFT_OVER = struct("LeftOver")
_MAX_PARTS = LEFT_OVER["parts"].shape[0]
#: bytes of a match: in the output, and as it is written while matches are counted
_FILLED_BYTES, FOUND_BYTES = struct("Mem").itemsize, struct("FoundMem").itemsize
#: of the kernel that moves matches to their final positions
_SCATTER_THREADS = 256
#: blocks of kernels whose amount of work only the device knows
_PART_BLOCKS, _SCATTER_BLOCKS = 1024, 1024
#: more matches than there are
_ALL = np.uint64(2**64 - 1)
#: share of the device's memory that a resident index may take
RESIDENT_SHARE = 0.6
#: share for the matches written at a time, as a divisor
_SLICE_SHARE = 16

#: positions of a text that a thread of mems_strands makes, and its threads
_STRAND_BLOCK, _STRAND_THREADS = 64, 256
_FORWARD = ("words", "breaks", "begins")

serial = itertools.count()


@dataclass(frozen=True)
class _PageArrays:
    """A page's arrays on the device, as the kernels' arguments."""

    page: Page
    arguments: tuple[Any, ...]


def upload_text(slot: Slot, source: QueryText, make_strands: Any) -> None:
    """The text that a piece is of, once for all of its pieces.

    Args:
        make_strands: the kernel that makes a deferred text from its forward strands.
    """
    words, breaks, *begins = source.packed
    if not begins:
        slot.upload_once("text words", words, source)
        slot.upload_once("text breaks", breaks, source)
        return

    def make() -> None:
        forward = [slot.upload(f"forward {name}", array) for name, array in zip(_FORWARD, source.packed, strict=True)]
        blocks = source.text.length // _STRAND_BLOCK + 4  # with what searches read after the end
        made = slot.device_array("text words", 16 * blocks), slot.device_array("text breaks", 8 * blocks)
        strands = np.int32(source.text.strands)
        slot.launch(
            make_strands, -(-blocks // _STRAND_THREADS), _STRAND_THREADS,
            *forward, np.uint32(source.records), strands, np.uint64(blocks), *made,
        )  # fmt: skip

    slot.once("text words", source, make)


class MemsKernel(DeviceKernel[Piece, Matches]):
    """The matches of a piece.

    Args:
        printing: as text, of a piece whose matches have space on the device.
    """

    def __init__(self, device: Device, search: Search, printing: bool = False) -> None:
        super().__init__(device)
        assert isinstance(search.index, MinimizerIndex)
        self.search = search
        self.shape: MemsShape = choose_mems_shape(search.index.params.w)
        defines = self.shape.defines
        self.load(lambda name: device.function("mems", name, defines))
        share = int(device.budget * RESIDENT_SHARE)
        if index_bytes(search.index) > share:
            share //= 4  # each of two slots holds a page, and builds on it
        self.pages = cut_pages(search.index, share, search.params.min_length, search.threads)
        self._natives = [search.native_of(page.index) for page in self.pages]
        self._key = f"mems reference {next(serial)}"
        self._printer = self.printer() if printing and len(self.pages) == 1 else None

    def printer(self) -> LinePrinter:
        return LinePrinter(self.device, self.search, self._key, self._scan)

    def load(self, function: Callable[[str], Any]) -> None:
        """Take the kernels by name."""
        self._count, self._count_parts, self._count_unique = (
            function(f"mems_{name}") for name in ("count", "count_parts", "count_unique")
        )
        self._strands = function("mems_strands")
        self._scan = Scan(function("mems_sum"), function("mems_number"))
        self._scatter, self._fill, self._order = (function(f"mems_{name}") for name in ("scatter", "fill", "order"))

    # -- the runner's interface

    def launch(self, slot: Slot, item: Piece) -> None:
        # it is whole there for each of its pieces: a match may go on after them
        upload_text(slot, item.source, self._strands)
        if len(self.pages) == 1:
            self._launch(slot, item, self._on_device(slot, 0))

    def result(self, slot: Slot, item: Piece, launched: None) -> Matches:
        if self._printer is not None:
            total = int(slot.pinned("left over", 1, LEFT_OVER_HEAD)[0]["total"])
            if total <= self._capacity(item):
                return Matches(item, item.stop, printed=self._printer.printed(slot, item, "ordered", total))
        if len(self.pages) == 1:
            columns, complete_to = self._fetch(slot, item, self._on_device(slot, 0))
            return self._result(item, columns, complete_to)
        parts, complete_to = [], item.stop
        for number, page in enumerate(self.pages):
            arrays = self._on_device(slot, number)
            self._launch(slot, item, arrays)
            slot.wait()
            columns, reached = self._fetch(slot, item, arrays)
            complete_to = min(complete_to, reached)
            _native.complete_mems(self.search.native, item.source.text, columns, page.end)
            parts.append(columns)
        joined = join_columns(parts)
        sort_columns(joined)
        return self._result(item, joined, complete_to)

    def split(self, item: Piece) -> list[Piece]:
        middle = (item.start + item.stop) // 2
        if item.stop - item.start <= self.shape.tile:
            return [item]
        return [Piece(item.source, item.start, middle), Piece(item.source, middle, item.stop)]

    def join(self, results: Sequence[Matches]) -> Matches:
        first, last = results
        piece = Piece(first.piece.source, first.piece.start, last.piece.stop)
        if first.reached < first.piece.stop:
            return Matches(piece, first.reached, columns=first.columns)
        if first.printed is not None or last.printed is not None:
            last_piece = Piece(last.piece.source, last.piece.start, last.reached)
            parts = [first.printed or self._report(first.piece, first), last.printed or self._report(last_piece, last)]
            texts, headers = np.concatenate([part.text for part in parts]), sum(part.headers for part in parts)
            return Matches(piece, last.reached, printed=Printed(texts, headers, None))
        assert first.columns is not None
        assert last.columns is not None
        return Matches(piece, last.reached, columns=join_columns([first.columns, last.columns]))

    def _report(self, piece: Piece, matches: Matches) -> Printed:
        assert matches.columns is not None
        return self.search.report(piece, matches.columns)

    # -- the reference

    def _on_device(self, slot: Slot, number: int) -> _PageArrays:
        page = self.pages[number]
        native = self._natives[number]
        arrays: tuple[NDArray[Any], ...] = (
            page.index.offsets,
            page.index.entries,
            page.index.reference.words,
            native.near_break,
            native.segment_starts,
            native.segment_ends,
        )
        if len(self.pages) == 1:
            resident = self.device.resident(self._key, lambda: DeviceArrays(self.device, *arrays))
            pointers = [np.uint64(address) for address in resident.addresses]
        else:
            pointers = [slot.upload(f"page array {i}", array) for i, array in enumerate(arrays)]
        offsets, entries, *others = pointers
        numbers = np.uint32(len(native.segment_starts)), np.uint32(page.index.reference.bases)
        own, params = (np.uint32(page.own_begin), np.uint32(page.own_end)), page.index.params
        rules = np.int32(params.k), np.int32(params.w), np.uint32(self.search.params.min_length)
        return _PageArrays(page, (offsets, entries, np.int32(page.index.bucket_bits), *others, *numbers, *own, *rules))

    # -- the kernels

    def _tiles(self, item: Piece) -> tuple[int, int]:
        """The tiles that hold a piece's starts."""
        return item.start // self.shape.tile, -(-item.stop // self.shape.tile)

    def _task(self, slot: Slot, item: Piece, arrays: _PageArrays) -> tuple[Any, ...]:
        text = (slot.device_array("text words", 0), slot.device_array("text breaks", 0))
        return (*text, np.uint64(item.source.text.length), *arrays.arguments)

    def _launch(self, slot: Slot, item: Piece, arrays: _PageArrays) -> None:
        """All that a page's matches take, where there is space for them."""
        first, last = self._tiles(item)
        tiles, capacity = last - first, self._capacity(item)
        units = tiles + _MAX_PARTS
        counts, totals = slot.device_array("counts", 4 * units), slot.device_array("totals", 4 * units)
        found = slot.device_array("found", FOUND_BYTES * capacity)
        task = self._task(slot, item, arrays)
        tile_numbers, space = (np.uint32(first), np.uint32(tiles)), np.uint64(capacity)
        by_warps = -(-tiles // self.shape.warps), WARP * self.shape.warps
        left_over = slot.clear("left over", LEFT_OVER.itemsize)
        counting = (*task, *tile_numbers, counts, totals, space, found, left_over)
        slot.launch(self._count, *by_warps, *counting)
        slot.launch(self._count_parts, _PART_BLOCKS, by_warps[1], *counting)
        self._number_and_scatter(slot, tiles, units, capacity, arrays.page.begin)
        self._launch_order(slot, item, (0, tiles), (0, capacity), space)
        slot.download("left over", 1, LEFT_OVER_HEAD)

    def _number_and_scatter(self, slot: Slot, tiles: int, units: int, capacity: int, page_begin: int) -> None:
        """Move counted matches to where their units' begin, if there was space for all of them."""
        counts, totals, found, left_over = (
            slot.device_array(name, 0) for name in ("counts", "totals", "found", "left over")
        )
        offsets = self._scan.launch(slot, "offsets", totals, units, tiles, left_over)
        filled = slot.device_array("filled", _FILLED_BYTES * capacity)
        slot.launch(
            self._scatter, _SCATTER_BLOCKS, _SCATTER_THREADS,
            found, left_over, np.uint32(tiles), counts, offsets, np.uint64(capacity), np.uint32(page_begin), filled,
        )  # fmt: skip

    def _capacity(self, item: Piece) -> int:
        """Matches that are written down while they are counted: more than a piece without repeats has."""
        by_memory = self.device.budget // _SLICE_SHARE // (FOUND_BYTES + 2 * _FILLED_BYTES)
        return int(min(self.search.slice_matches, by_memory, 4096 + 64 * (item.stop - item.start)))

    def _fetch(self, slot: Slot, item: Piece, arrays: _PageArrays) -> tuple[MemColumns, int]:
        """The matches of a page whose kernels have ended, and up to which start they are complete."""
        left_over = slot.pinned("left over", 1, LEFT_OVER_HEAD)[0]
        total = int(left_over["total"])
        if total == 0:
            return join_columns([]), item.stop
        if total > self._capacity(item):
            return self._fill_all(slot, item, arrays, int(left_over["part_count"]))
        return self._download(slot, total), item.stop

    def _download(self, slot: Slot, count: int, name: str = "ordered") -> MemColumns:
        """The matches in order, in pinned memory that the slot no longer uses. Waits for the device."""
        columns = slot.download(name, (len(MemColumns._fields), count), np.uint32)
        slot.finish()
        slot.detach_pinned(name)
        return MemColumns(*columns)

    def _fill_all(self, slot: Slot, item: Piece, arrays: _PageArrays, part_count: int) -> tuple[MemColumns, int]:
        """Fetch more matches than there was space for: search again, a part of the tiles at a time."""
        first, last = self._tiles(item)
        offsets = slot.download("offsets", last - first + 1, np.uint64)
        slot.finish()
        tiles, complete_to = last - first, item.stop
        keep = int(np.searchsorted(offsets, np.uint64(self.search.max_matches), "right")) - 1
        if keep < tiles:  # too many to hold: whole tiles, the rest is left to the caller
            complete_to = max(item.start, min(item.stop, (first + keep) * self.shape.tile))
        total = int(offsets[keep])
        columns = MemColumns(*(np.empty(total, np.uint32) for _ in range(3)))
        by_memory = self.device.budget // _SLICE_SHARE // (2 * _FILLED_BYTES)
        maximum = max(1, min(total, self.search.slice_matches, by_memory))
        parts = (tiles, tiles + min(part_count, _MAX_PARTS))
        for start in range(0, total, maximum):
            span = (start, min(start + maximum, total))
            begin = int(np.searchsorted(offsets, np.uint64(span[0]), "right")) - 1
            end = min(int(np.searchsorted(offsets, np.uint64(span[1]), "left")), keep)
            for units in ((begin, end), parts):
                self._launch_fill(slot, item, arrays, units, span)
            self._launch_order(slot, item, (begin, end), span)
            for column, part in zip(columns, self._download(slot, span[1] - span[0]), strict=True):
                column[span[0] : span[1]] = part
        if maximum < total:  # some tiles were written in two parts
            sort_tiles(columns, offsets[: keep + 1].astype(np.int64), self.search.threads)
        return columns, complete_to

    def _launch_fill(
        self, slot: Slot, item: Piece, arrays: _PageArrays, units: tuple[int, int], span: tuple[int, int]
    ) -> None:
        """The matches numbered ``span`` that the units [units[0], units[1]) have."""
        first, last = self._tiles(item)
        slot.launch(
            self._fill,
            -(-(units[1] - units[0]) // self.shape.warps),
            WARP * self.shape.warps,
            *self._task(slot, item, arrays),
            np.uint32(first),
            np.uint32(last - first),
            *(slot.device_array(name, 0) for name in ("left over", "counts", "offsets")),
            np.uint32(units[0]),
            np.uint32(units[1]),
            np.uint64(span[0]),
            np.uint64(span[1]),
            np.uint32(arrays.page.begin),
            slot.device_array("filled", _FILLED_BYTES * (span[1] - span[0])),
        )

    def _launch_order(
        self, slot: Slot, item: Piece, tiles: tuple[int, int], span: tuple[int, int], space: np.uint64 = _ALL
    ) -> None:
        """The filled matches numbered ``span`` of the tiles [tiles[0], tiles[1]), counted from the piece's first; none
        if there are more than ``space``.
        """
        slot.launch(
            self._order,
            -(-(tiles[1] - tiles[0]) // self.shape.warps),
            WARP * self.shape.warps,
            np.uint32(self._tiles(item)[0]),
            np.uint32(tiles[0]),
            np.uint32(tiles[1]),
            slot.device_array("offsets", 0),
            slot.device_array("left over", 0),
            space,
            np.uint64(span[0]),
            np.uint64(span[1]),
            *(slot.device_array(name, _FILLED_BYTES * (span[1] - span[0])) for name in ("filled", "ordered")),
        )

    def _result(self, item: Piece, columns: MemColumns, complete_to: int) -> Matches:
        """Without the starts of neighbouring pieces that share a tile."""
        # in the columns' own type: NumPy would convert all of them to the common type
        bounds = np.array([item.start, complete_to], columns.starts.dtype)
        begin, end = np.searchsorted(columns.starts, bounds, "left").tolist()
        return Matches(item, complete_to, columns=columns.part(begin, end))
