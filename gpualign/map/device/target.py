"""The reference and its index in device memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.gpu.abi import filled
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.device_arrays import DeviceArrays, DeviceText
from gpualign.index.minimizers import MinimizerIndex
from gpualign.sequences.reference import Reference


def target_of(index: MinimizerIndex, offsets: int, entries: int, text: int, mask: int, contig_offsets: int) -> np.void:
    """``MapTarget`` of cuda/abi/map.hpp; the arguments after ``index`` are addresses."""
    split = filled("HashSplit", k=index.params.k, bucket_bits=index.bucket_bits)
    return filled(
        "MapTarget",
        index=filled("IndexView", offsets=offsets, entries=entries, split=split),
        text=text,
        acgt_mask=mask,
        contig_offsets=contig_offsets,
        contigs=len(index.reference.contig_offsets) - 1,
    )


def padded_mask(reference: Reference) -> NDArray[np.uint32]:
    """The ACGT mask, padded with the words that kernels read beyond it."""
    return np.append(reference.acgt_mask(), np.zeros(2, np.uint32))


def resident_text(device: Device, reference: Reference) -> DeviceText:
    """The reference's bases and ACGT mask, resident on the device."""
    return device.resident("text", lambda: DeviceText(device, reference, beyond=True), reference)


def resident_bytes(index: MinimizerIndex) -> int:
    """Bytes of device memory for a reference and its index."""
    reference = index.reference
    return reference.words.nbytes + 4 * reference.mask_words + index.offsets.nbytes + index.entries.nbytes


def resident_target(device: Device, index: MinimizerIndex) -> np.void:
    """``MapTarget`` with its arrays resident on the device."""

    def target() -> np.void:
        reference = index.reference
        text = resident_text(device, reference)
        arrays = device.resident(
            "map index",
            lambda: DeviceArrays(device, reference.contig_offsets, index.offsets, index.entries, beyond=True),
            index,
        )
        contig_offsets, offsets, entries = arrays.addresses
        return target_of(index, offsets, entries, text.text, text.mask, contig_offsets)

    return device.resident("map target", target, index)
