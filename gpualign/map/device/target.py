"""The reference and its index in device memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map.params import MapParams
from gpualign.map.tuning import SMALL_DEVICE
from gpualign.run.abi import filled
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import Computed, DeviceArrays, DeviceText
from gpualign.run.tuning import RESIDENT_SHARE
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.sequences.reference import Reference

#: an index on a device has so much fewer buckets than on the host: their table would take more than the entries' tags
_FEWER_BUCKETS = 3


def target_of(index: MinimizerIndex, arrays: Mapping[str, int], text: int, mask: int, contig_offsets: int) -> np.void:
    """``MapTarget`` of cuda/abi/map.hpp; the arguments after ``index`` are addresses, ``arrays`` those of
    :func:`index_arrays`."""
    bits = packed_bits(index) if "tags" in arrays else index.bucket_bits
    return filled(
        "MapTarget",
        index=filled("IndexView", split=filled("HashSplit", k=index.params.k, bucket_bits=bits), **arrays),
        text=text,
        acgt_mask=mask,
        contig_offsets=contig_offsets,
        contigs=len(index.reference.contig_offsets) - 1,
    )


def resident_text(device: Device, reference: Reference) -> DeviceText:
    """The reference's bases and ACGT mask, resident on the device."""
    return device.resident("text", lambda: DeviceText(device, reference, beyond=True), reference)


def packed_bits(index: MinimizerIndex) -> int:
    """Bits of the hash that choose a bucket where the index is packed; more than its own if it cannot be."""
    return max(2 * index.params.k - _native.TAG_BITS, index.bucket_bits - _FEWER_BUCKETS)


def is_packed(index: MinimizerIndex, budget: int) -> bool:
    """Whether a device with so many bytes has 6 bytes an entry instead of 8. Its kernels are as fast, but packing takes
    longer than copying: so only if the device would not hold all, or batches would be smaller. The k-mers must be short
    enough for tags of 16 bits.
    """
    whole = _reference_bytes(index) + index.offsets.nbytes + index.entries.nbytes
    fits = whole <= min(RESIDENT_SHARE * budget, budget - SMALL_DEVICE)
    return not fits and packed_bits(index) <= index.bucket_bits


def index_arrays(index: MinimizerIndex, packed: bool) -> dict[str, NDArray[Any] | Computed]:
    """The arrays of ``IndexView`` (cuda/algo/seeds/index/minimizer.hpp), those first that are read most often."""
    bits, offsets, entries = packed_bits(index), index.offsets, index.entries
    if not packed:
        return {"offsets": offsets, "entries": entries}
    fewer = offsets[:: 1 << index.bucket_bits - bits]

    def fill_offsets(start: int, buffer: NDArray[np.uint8]) -> None:
        np.copyto(buffer.view(np.uint32), fewer[start // 4 : (start + len(buffer)) // 4])

    def fill_tags(start: int, buffer: NDArray[np.uint8]) -> None:
        tags = buffer.view(np.uint16)
        _native.fill_tags(offsets, entries, index.params.k, index.bucket_bits, bits, start // 2, tags)

    def fill_positions(start: int, buffer: NDArray[np.uint8]) -> None:
        some = entries[start // 4 :][: len(buffer) // 4]
        np.right_shift(some, 1, out=buffer.view(np.uint32), casting="unsafe")

    return {
        "offsets": Computed(fewer.nbytes, fill_offsets),
        "tags": Computed(2 * len(entries), fill_tags),
        "positions": Computed(4 * len(entries), fill_positions),
    }


def resident_bytes(index: MinimizerIndex, budget: int) -> int:
    """Bytes for a reference and its index on a device with so many."""
    return _reference_bytes(index) + sum(
        array.nbytes for array in index_arrays(index, is_packed(index, budget)).values()
    )


def _reference_bytes(index: MinimizerIndex) -> int:
    return index.reference.words.nbytes + 4 * index.reference.mask_words


def resident_target(device: Device, index: MinimizerIndex) -> np.void:
    """``MapTarget`` with its arrays resident on the device."""

    def target() -> np.void:
        reference = index.reference
        text = resident_text(device, reference)
        of_index = index_arrays(index, is_packed(index, device.budget))
        arrays = device.resident(
            "map index", lambda: DeviceArrays(device, reference.contig_offsets, *of_index.values(), beyond=True), index
        )
        contig_offsets, *addresses = arrays.addresses
        return target_of(index, dict(zip(of_index, addresses, strict=True)), text.text, text.mask, contig_offsets)

    return device.resident("map target", target, index)


def resident_introns(device: Device, params: MapParams) -> np.void:
    """``KnownIntrons`` with its arrays resident on the device."""
    if params.known_sites is None:
        return filled("KnownIntrons")
    begins, ends = params.known_sites
    arrays = device.resident("known introns", lambda: DeviceArrays(device, begins, ends), begins)
    first, last = arrays.addresses
    return filled("KnownIntrons", begins=first, ends=last, count=len(begins) // 3)
