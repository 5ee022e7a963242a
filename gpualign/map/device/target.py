"""The reference and its index where a device's mappers want them."""

from __future__ import annotations

import numpy as np

from gpualign.engine.gpu.abi import filled
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.device_arrays import DeviceArrays, DeviceText
from gpualign.index.minimizers import MinimizerIndex


def target_of(index: MinimizerIndex, offsets: int, entries: int, text: int, mask: int, contig_offsets: int) -> np.void:
    """``MapTarget`` of cuda/abi/map.hpp, whose arrays are at these addresses."""
    split = filled("HashSplit", k=index.params.k, bucket_bits=index.bucket_bits)
    return filled(
        "MapTarget",
        index=filled("IndexView", offsets=offsets, entries=entries, split=split),
        text=text,
        acgt_mask=mask,
        contig_offsets=contig_offsets,
        contigs=len(index.reference.contig_offsets) - 1,
    )


def resident_target(device: Device, index: MinimizerIndex) -> np.void:
    """``MapTarget`` with the arrays on the device, where they stay."""
    reference = index.reference
    text = device.resident(f"text {id(reference)}", lambda: DeviceText(device, reference, beyond=True))
    arrays = device.resident(
        f"map index {id(index)}",
        lambda: DeviceArrays(device, reference.contig_offsets, index.offsets, index.entries, beyond=True),
    )
    contig_offsets, offsets, entries = arrays.addresses
    return target_of(index, offsets, entries, text.text, text.known, contig_offsets)
