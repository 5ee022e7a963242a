"""What the device's code makes of FASTQ text, by one thread of the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.gpu.abi import struct
from gpualign.io.mates import UnparsedReads
from gpualign.map.device.fastq import StagedText
from gpualign.sequences.batch import SequenceBatch
from tests.helpers import native as native_tests
from tests.helpers.emulated import Emulated


@dataclass(frozen=True)
class Found:
    batch: SequenceBatch
    draws: NDArray[np.uint32]
    templates: NDArray[np.uint32]
    longest: int


def read_in_scalar_code(reads: UnparsedReads, longest: int = 1 << 31) -> Found | None:
    """The reads; None of text that the host must read."""
    return _read(reads, longest, lambda batch, staged: native_tests.read_fastq(batch.tobytes()))


def read_by_kernels(kernels: Sequence[Emulated], reads: UnparsedReads, longest: int = 1 << 31) -> Found | None:
    """The same by the kernels in turn, each with as many blocks as on a device."""

    def run(batch: np.void, staged: StagedText) -> None:
        for kernel, (blocks, threads) in zip(kernels, staged.launches, strict=True):
            kernel(batch, (blocks,), (threads,), 0, None)

    return _read(reads, longest, run)


def _read(reads: UnparsedReads, longest: int, run: Callable[[np.void, StagedText], None]) -> Found | None:
    staged, count = StagedText.of(reads), len(reads)
    memory: dict[str, NDArray[np.uint8]] = {}

    def array(name: str, nbytes: int) -> int:
        memory[name] = np.full(nbytes, 0xA5, np.uint8)
        return int(memory[name].ctypes.data)

    sizes = {"names": staged.most_name_bytes, "bases": staged.most_bases, "qualities": staged.most_bases}
    sizes |= {"name_offsets": 8 * (count + 1), "base_offsets": 8 * (count + 1), "mates": count}
    sizes |= {"draws": 4 * count, "templates": 4 * (reads.count + 1)}
    columns = {name: array(name, nbytes) for name, nbytes in sizes.items()}
    facts = np.zeros(1, struct("FastqFacts"))
    others = {"facts": int(facts.ctypes.data), "template_reads": len(reads.texts), "longest": longest}
    batch = staged.native(int(staged.block.ctypes.data), array, **columns, **others)
    run(batch, staged)
    if facts[0]["odd"] or facts[0]["odd_symbols"]:
        return None
    offsets = {name: memory[name].view(np.int64) for name in ("name_offsets", "base_offsets")}
    bases, names = (int(offsets[name][-1]) for name in ("base_offsets", "name_offsets"))
    found = SequenceBatch(
        memory["names"][:names],
        offsets["name_offsets"],
        memory["bases"][:bases],
        offsets["base_offsets"],
        memory["qualities"][:bases],
        mates=memory["mates"] if reads.paired else None,
    )
    draws, templates = (memory[name].view(np.uint32) for name in ("draws", "templates"))
    return Found(found, draws, templates, int(facts[0]["longest"]))
