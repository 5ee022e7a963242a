"""What the device's code makes of FASTQ text, by one thread of the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gpualign.map.device.batch import BlockLayout
from gpualign.map.device.fastq import StagedText
from gpualign.reads.reads import Reads
from gpualign.sequences.batch import SequenceBatch
from tests.helpers import native as native_tests
from tests.helpers.emulated import Emulated


@dataclass(frozen=True)
class Found:
    batch: SequenceBatch
    tie_breaks: NDArray[np.uint32]
    templates: NDArray[np.uint32]
    longest: int


def read_in_scalar_code(reads: Reads, longest: int = 1 << 31) -> Found | None:
    """The reads; None of text that the host must read."""
    return _read(reads, longest, lambda batch, staged: native_tests.read_fastq(batch.tobytes()))


def read_by_kernels(kernels: Sequence[Emulated], reads: Reads, longest: int = 1 << 31) -> Found | None:
    """The same by the kernels in turn, each with as many blocks as on a device."""

    def run(batch: np.void, staged: StagedText) -> None:
        for kernel, (blocks, threads) in zip(kernels, staged.launches, strict=True):
            kernel(batch, (blocks,), (threads,), 0, None)

    return _read(reads, longest, run)


def text_on_device(staged: StagedText) -> NDArray[np.uint8]:
    """What a device gets; 0xA5 between its arrays."""
    memory = np.full(staged.nbytes, 0xA5, np.uint8)
    for part, at in staged.copies:
        memory[at : at + len(part)] = part
    return memory


def _read(reads: Reads, longest: int, run: Callable[[np.void, StagedText], None]) -> Found | None:
    staged = StagedText.of(reads)
    count, layout = staged.count, staged.layout
    memory = np.full(layout.nbytes, 0xA5, np.uint8)
    others: list[NDArray[np.uint8]] = []

    def array(name: str, nbytes: int) -> int:
        others.append(np.full(nbytes, 0xA5, np.uint8))
        return int(others[-1].ctypes.data)

    text = text_on_device(staged)
    at = (int(text.ctypes.data), int(memory.ctypes.data))
    run(staged.native(*at, array, template_reads=len(reads.texts), longest=longest), staged)

    def column(name: str, size: int, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        begin = layout.fastq[name]
        return memory[begin : begin + size * np.dtype(dtype).itemsize].view(dtype)

    odd, found_longest, odd_symbols, _ = column("facts", 4, np.uint32).tolist()
    if odd or odd_symbols:
        return None
    assert not column("zeros", BlockLayout.counters_size, np.uint32).any()
    name_offsets, base_offsets = (column(name, count + 1, np.int64) for name in ("name_offsets", "base_offsets"))
    bases, names = int(base_offsets[-1]), int(name_offsets[-1])
    found = SequenceBatch(
        column("names", names),
        name_offsets,
        column("bases", bases),
        base_offsets,
        column("qualities", bases),
        mates=column("mates", count) if reads.paired else None,
    )
    tie_breaks, templates = column("tie_breaks", count, np.uint32), column("templates", staged.records + 1, np.uint32)
    return Found(found, tie_breaks, templates, found_longest)
