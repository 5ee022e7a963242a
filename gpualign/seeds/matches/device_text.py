"""A piece's matches as text, written on a GPU: ``cuda/mems_text.cu``."""

from __future__ import annotations

import numpy as np

from gpualign.run.abi import changed, filled
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.seeds.matches.cpu import Piece, Printed, Search
from gpualign.seeds.matches.queries import QueryText
from gpualign.seeds.matches.scan import LEFT_OVER_HEAD, Scan

#: threads of a block, each for a line
_THREADS = 256
_NAMES = ("names", "name_offsets", "begins")


class LinePrinter:
    """Writes the matches that a slot holds as the CPU's :meth:`Search.report` would.

    Args:
        key: of what stays on the device.
        scan: says where lines begin.
    """

    def __init__(self, device: Device, search: Search, key: str, scan: Scan) -> None:
        self._device, self._search, self._key = device, search, f"{key} names"
        self._scan = scan
        self._measure, self._write = (
            device.function("mems_text", f"{name}_lines", {}) for name in ("measure", "write")
        )

    def printed(self, slot: Slot, item: Piece, columns: str, matches: int) -> Printed:
        """The text of the matches in the device array ``columns``. Waits for the device."""
        slot.step = "format"
        lines = self._lines(slot, item, int(slot.device_array(columns, 0)), matches)
        count = int(lines["headers"]) + matches
        if count == 0:
            return Printed(np.empty(0, np.uint8), 0, None)
        sizes, nbytes = (
            slot.device_array("line sizes", 4 * (count + 1)),
            slot.clear("text bytes", LEFT_OVER_HEAD.itemsize),
        )
        lines, blocks = changed(lines, sizes=int(sizes)), -(-(count + 1) // _THREADS)
        slot.launch(self._measure, blocks, _THREADS, lines)
        offsets = self._scan.launch(slot, "lines at", sizes, count + 1, count, nbytes)
        of_text = slot.download("text bytes", 1, LEFT_OVER_HEAD)
        slot.finish()
        size = int(of_text[0]["total"])
        out = slot.device_array("lines", size)
        slot.launch(self._write, blocks, _THREADS, changed(lines, offsets=int(offsets), out=int(out)))
        text = slot.download("lines", size, np.uint8)
        slot.finish()
        slot.detach_pinned("lines")
        slot.step = "kernel"
        return Printed(text, int(lines["headers"]), None)

    def _lines(self, slot: Slot, item: Piece, columns: int, matches: int) -> np.void:
        """``MemLines`` of cuda/abi/mems.hpp, without the memory for the text."""
        source, params, reference = item.source, self._search.params, self._search.index.reference
        names, offsets = reference.shown_name_bytes
        resident = self._device.resident(
            self._key, lambda: DeviceArrays(self._device, reference.contig_offsets, names, offsets)
        )
        contig_offsets, contig_names, contig_name_offsets = resident.addresses
        first, strands = source.text.strands_between(item.start, item.stop)
        return filled(
            "MemLines",
            **self._names(slot, source),
            contig_offsets=contig_offsets,
            contig_names=contig_names,
            contig_name_offsets=contig_name_offsets,
            starts=columns,
            references=columns + 4 * matches,
            lengths=columns + 8 * matches,
            **{"from": item.start, "to": item.stop},
            records=source.records,
            contigs=len(offsets) - 1,
            width=int(np.diff(offsets).max(initial=0)),
            strands=source.text.strands,
            matches=matches,
            first_header=first,
            headers=0 if params.table else strands,
            style=self._search.style,
        )

    @staticmethod
    def _names(slot: Slot, source: QueryText) -> dict[str, int]:
        """Device addresses of the names of a text's records, copied once for all of its pieces."""
        arrays = zip(_NAMES, source.records_printed, strict=True)
        return {name: int(slot.upload_once(f"query {name}", array, source)) for name, array in arrays}
