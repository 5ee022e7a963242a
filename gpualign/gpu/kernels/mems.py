"""Maximal exact matches on a GPU: count a tile's matches, place the tiles, write and order the matches.

The reference's index stays on the device when it fits; else its pages pass by for every piece of the queries.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpualign import _native
from gpualign.errors import DeviceError
from gpualign.gpu.kernels.mems_units import LEFT_OVER, MOST_PARTS, Units, number_units
from gpualign.gpu.resident import ResidentArrays
from gpualign.gpu.runner import run_alone
from gpualign.gpu.tuning import MemsShape, choose_mems_shape
from gpualign.index.minimizers import build_index
from gpualign.index.pages import Page, cut_pages, index_bytes
from gpualign.index.reference import Reference
from gpualign.sequences import SequenceBatch
from gpualign.workflows.mems_params import MemsParams, choose_index
from gpualign.workflows.mems_search import Columns, Matches, Piece, Search, join_columns, sort_columns, sort_tiles

if TYPE_CHECKING:
    from gpualign.gpu.buffers import Slot
    from gpualign.gpu.device import Device

_WARP = 32
_COLUMN_BYTES = 24  # a match, before and after it is put in order
_FOUND_BYTES = 20  # a match that is written down while they are counted (FoundMem of cuda/mems.cu)
_PLACE_THREADS = 256
#: blocks that go through the parts of tiles with many hits, whose number only the device knows
_PART_BLOCKS = 1024
#: of the device's memory, what an index may take that stays
_RESIDENT_SHARE = 0.6
#: and, as a divisor, what the matches written at a time may take
_SLICE_SHARE = 16

_serial = itertools.count()


@dataclass(frozen=True)
class _PageArrays:
    """A page's arrays on the device, as the kernels' arguments."""

    page: Page
    arguments: tuple[Any, ...]


class MemsKernel:
    """The kernel object of :mod:`gpualign.gpu.runner`; an item is a :class:`Piece`, a result its :class:`Matches`."""

    def __init__(self, device: Device, search: Search) -> None:
        self.device, self.search = device, search
        self.shape: MemsShape = choose_mems_shape(device.info.capability, search.index.params.w)
        defines = self.shape.defines
        self._count, self._count_parts, self._place, self._fill, self._order = (
            device.function("mems", f"mems_{name}", defines)
            for name in ("count", "count_parts", "place", "fill", "order")
        )
        share = int(device.budget * _RESIDENT_SHARE)
        if index_bytes(search.index) > share:
            share //= 4  # each of two slots holds a page, and builds on it
        self.pages = cut_pages(search.index, share, search.params.min_length, search.threads)
        self._natives = [search.native_of(page.index) for page in self.pages]
        self._key = f"mems reference {next(_serial)}"

    # -- the runner's interface

    def submit(self, slot: Slot, item: Piece) -> None:
        # it is whole there for each of its pieces: a match may go on behind them
        slot.upload_once("text words", item.source.text.words, item.source)
        slot.upload_once("text breaks", item.source.text.breaks, item.source)
        if len(self.pages) == 1:
            self._launch_count(slot, item, self._on_device(slot, 0))

    def collect(self, slot: Slot, item: Piece) -> Matches:
        if len(self.pages) == 1:
            columns, complete_to = self._fill_page(slot, item, self._on_device(slot, 0))
            return self._result(item, columns, complete_to)
        parts, complete_to = [], item.stop
        for number, page in enumerate(self.pages):
            arrays = self._on_device(slot, number)
            self._launch_count(slot, item, arrays)
            slot.wait()
            columns, reached = self._fill_page(slot, item, arrays)
            complete_to = min(complete_to, reached)
            _native.complete_mems(self.search.native, item.source.text, *columns, page.end)
            parts.append(columns)
        joined = join_columns(parts)
        sort_columns(joined)
        return self._result(item, joined, complete_to)

    def split(self, item: Piece) -> list[Piece]:
        middle = (item.start + item.stop) // 2
        if item.stop - item.start <= self.shape.tile:
            return [item]
        return [Piece(item.source, item.start, middle), Piece(item.source, middle, item.stop)]

    def join(self, results: list[Matches]) -> Matches:
        first, last = results
        piece = Piece(first.piece.source, first.piece.start, last.piece.stop)
        if first.reached < first.piece.stop:
            return Matches(piece, first.reached, columns=first.columns)
        assert first.columns is not None
        assert last.columns is not None
        return Matches(piece, last.reached, columns=join_columns([first.columns, last.columns]))

    # -- the reference

    def _on_device(self, slot: Slot, number: int) -> _PageArrays:
        page = self.pages[number]
        native = self._natives[number]
        arrays = (
            page.index.offsets,
            page.index.entries,
            page.index.reference.words,
            native.near_break,
            native.segment_starts,
            native.segment_ends,
        )
        if len(self.pages) == 1:
            resident = self.device.resident(self._key, lambda: ResidentArrays(self.device, *arrays))
            pointers = [np.uint64(address) for address in resident.addresses]
        else:
            pointers = [slot.upload(f"page array {i}", array) for i, array in enumerate(arrays)]
        offsets, entries, words, near_break, segment_starts, segment_ends = pointers
        return _PageArrays(
            page,
            (
                offsets,
                entries,
                np.int32(page.index.bucket_bits),
                words,
                near_break,
                segment_starts,
                segment_ends,
                np.uint32(len(native.segment_starts)),
                np.uint32(page.index.reference.bases),
                np.uint32(page.own_begin),
                np.uint32(page.own_end),
                np.int32(page.index.params.k),
                np.int32(page.index.params.w),
                np.uint32(self.search.params.min_length),
            ),
        )

    # -- the kernels

    def _tiles(self, item: Piece) -> tuple[int, int]:
        """The tiles that hold a piece's starts."""
        return item.start // self.shape.tile, -(-item.stop // self.shape.tile)

    def _task(self, slot: Slot, item: Piece, arrays: _PageArrays) -> tuple[Any, ...]:
        text = (slot.device_array("text words", 0), slot.device_array("text breaks", 0))
        return (*text, np.uint64(item.source.text.length), *arrays.arguments)

    def _launch_count(self, slot: Slot, item: Piece, arrays: _PageArrays) -> None:
        first, last = self._tiles(item)
        task, capacity = self._task(slot, item, arrays), np.uint64(self._capacity(item))
        counts = slot.device_array("counts", 4 * (last - first))
        found = slot.device_array("found", _FOUND_BYTES * int(capacity))
        left_over = int(slot.device_array("left over", LEFT_OVER.itemsize))
        found_count, part_count, parts, part_counts = (
            np.uint64(left_over + LEFT_OVER.fields[name][1])  # type: ignore[index]
            for name in ("found", "part_count", "parts", "counts")
        )
        list_of_parts = (part_count, parts, np.uint32(MOST_PARTS))
        blocks, threads = -(-(last - first) // self.shape.warps), _WARP * self.shape.warps
        slot.clear("left over", LEFT_OVER.itemsize)
        slot.launch(
            self._count, blocks, threads,
            *task, np.uint32(first), np.uint32(last), counts, capacity, found_count, found, *list_of_parts,
        )  # fmt: skip
        slot.launch(
            self._count_parts, _PART_BLOCKS, threads,
            *task, np.uint32(first), np.uint32(last - first), part_counts, capacity, found_count, found, *list_of_parts,
        )  # fmt: skip
        slot.download("counts", last - first, np.uint32)
        slot.download("left over", LEFT_OVER.itemsize, np.uint8)

    def _capacity(self, item: Piece) -> int:
        """Matches that are written down while they are counted: more than a piece without repeats has."""
        by_memory = self.device.budget // _SLICE_SHARE // _FOUND_BYTES
        return int(min(self.search.slice_matches, by_memory, 4096 + 64 * (item.stop - item.start)))

    def _fill_page(self, slot: Slot, item: Piece, arrays: _PageArrays) -> tuple[Columns, int]:
        """The piece's matches on a page whose counts have arrived, and up to which start they are complete."""
        first, last = self._tiles(item)
        left_over = slot.pinned("left over", LEFT_OVER.itemsize, np.uint8).view(LEFT_OVER)
        units = number_units(slot.pinned("counts", last - first, np.uint32), left_over)
        complete_to = item.stop
        keep = int(np.searchsorted(units.tile_offsets, self.search.most_matches, "right")) - 1
        if keep < units.tiles:  # too many to hold: whole tiles, the rest is left to the caller
            complete_to = max(item.start, min(item.stop, (first + keep) * self.shape.tile))
        total = int(units.tile_offsets[keep])
        if total == 0:
            return join_columns([]), complete_to
        slot.upload("tile offsets", units.tile_offsets)
        slot.upload("unit offsets", units.offsets)
        if keep == units.tiles and total <= self._capacity(item):
            return self._place_all(slot, arrays, first, units), complete_to
        return self._fill_all(slot, item, arrays, units, keep), complete_to

    def _place_all(self, slot: Slot, arrays: _PageArrays, first_tile: int, units: Units) -> Columns:
        """From the matches that were written down."""
        total = int(units.tile_offsets[-1])
        slot.launch(
            self._place,
            -(-total // _PLACE_THREADS),
            _PLACE_THREADS,
            slot.device_array("found", 0),
            np.uint64(total),
            slot.device_array("unit offsets", 0),
            np.uint32(arrays.page.begin),
            *self._columns_on(slot, "filled", total),
        )
        return self._ordered(slot, first_tile, (0, units.tiles), (0, total))

    def _fill_all(self, slot: Slot, item: Piece, arrays: _PageArrays, units: Units, tiles: int) -> Columns:
        """Of the first ``tiles``: search again, a part of the matches at a time."""
        total, first_tile = int(units.tile_offsets[tiles]), self._tiles(item)[0]
        columns = Columns(*(np.empty(total, np.uint32) for _ in range(3)))
        most = max(1, min(total, self.search.slice_matches, self.device.budget // _SLICE_SHARE // _COLUMN_BYTES))
        slot.upload("unit counts", units.counts)
        for start in range(0, total, most):
            span = (start, min(start + most, total))
            begin = int(np.searchsorted(units.tile_offsets, span[0], "right")) - 1
            end = min(int(np.searchsorted(units.tile_offsets, span[1], "left")), tiles)
            for some in ((begin, end), (units.tiles, len(units.offsets))):
                self._launch_fill(slot, item, arrays, units, some, span)
            for column, part in zip(columns, self._ordered(slot, first_tile, (begin, end), span), strict=True):
                column[span[0] : span[1]] = part
        if most < total:  # some tiles were written in two parts
            sort_tiles(columns, units.tile_offsets[: tiles + 1], self.search.threads)
        return columns

    def _launch_fill(
        self,
        slot: Slot,
        item: Piece,
        arrays: _PageArrays,
        units: Units,
        some: tuple[int, int],
        span: tuple[int, int],
    ) -> None:
        """The matches numbered ``span`` that ``some`` of the units have."""
        parts = int(slot.device_array("left over", 0)) + LEFT_OVER.fields["parts"][1]  # type: ignore[index]
        slot.launch(
            self._fill,
            -(-(some[1] - some[0]) // self.shape.warps),
            _WARP * self.shape.warps,
            *self._task(slot, item, arrays),
            np.uint32(self._tiles(item)[0]),
            np.uint32(units.tiles),
            np.uint64(parts),
            np.uint32(some[0]),
            np.uint32(some[1]),
            slot.device_array("unit offsets", 0),
            slot.device_array("unit counts", 0),
            np.uint64(span[0]),
            np.uint64(span[1]),
            np.uint32(arrays.page.begin),
            *self._columns_on(slot, "filled", span[1] - span[0]),
        )

    def _columns_on(self, slot: Slot, which: str, count: int) -> list[Any]:
        return [slot.device_array(f"{which} {name}", 4 * count) for name in Columns._fields]

    def _ordered(self, slot: Slot, first_tile: int, tiles: tuple[int, int], span: tuple[int, int]) -> Columns:
        """The filled matches numbered ``span`` of ``tiles`` (counted from ``first_tile``) in order, in page-locked
        memory that is the slot's no more. Waits for the device.
        """
        count = span[1] - span[0]
        slot.launch(
            self._order,
            -(-(tiles[1] - tiles[0]) // self.shape.warps),
            _WARP * self.shape.warps,
            np.uint32(first_tile),
            np.uint32(tiles[0]),
            np.uint32(tiles[1]),
            slot.device_array("tile offsets", 0),
            np.uint64(span[0]),
            np.uint64(span[1]),
            *self._columns_on(slot, "filled", count),
            *self._columns_on(slot, "ordered", count),
        )
        staged = [slot.download(f"ordered {name}", count, np.uint32) for name in Columns._fields]
        slot.submitted()
        slot.wait()
        for name in Columns._fields:
            slot.part_with(f"ordered {name}")
        return Columns(*staged)

    def _result(self, item: Piece, columns: Columns, complete_to: int) -> Matches:
        """Without the starts of neighbouring pieces that share a tile."""
        begin, end = np.searchsorted(columns.starts, [item.start, complete_to], "left").tolist()
        return Matches(item, complete_to, columns=columns.part(begin, end))


def self_test(device: Device) -> None:
    """Compare a small search with the CPU backend.

    Raises:
        DeviceError: the matches differ.
    """
    generator = np.random.default_rng(0)
    text = np.frombuffer(b"ACGT", np.uint8)[generator.integers(0, 4, 20_000)]
    packer = _native.ReferencePacker()
    packer.append(text)
    reference = Reference(["self-test"], np.array([0, len(text)], np.int64), *packer.finish())
    params = MemsParams(min_length=12, kind="maxmatch", strands="both")
    search = Search(build_index(reference, choose_index(params.min_length, reference.bases)), params)
    changed = text.copy()
    changed[::97] = ord("A")
    query = changed.tobytes().decode()
    source = search.prepare(
        SequenceBatch.from_records([("long", query), *(("", query[i : i + 99]) for i in range(50))])
    )
    piece = Piece(source, 0, source.text.length)

    found = run_alone(device, lambda device: MemsKernel(device, search), piece).columns
    expected = search.find(piece).columns
    assert found is not None
    assert expected is not None
    if not all(np.array_equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True)):
        raise DeviceError("maximal exact matches differ from the CPU's")
