"""The index of a sorted BAM file, made while the file is written."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.offsets import offsets_of, positions_of
from gpualign.text.bgzf import bgzf_writer
from gpualign.text.output_file import open_output

#: bases above which a .bai cannot index a contig (SAM specification, section 5.1.1)
_LONGEST_IN_BAI = 1 << 29


class BamIndex:
    """A .bai, or a .csi where a contig is too long for one.

    Args:
        lengths: of the contigs.
        write: takes the blocks of the file, which go through :meth:`write`.
    """

    def __init__(self, lengths: NDArray[np.int64], write: Callable[[bytes | memoryview], object]) -> None:
        self._lengths = lengths.astype(np.int64)
        self._csi = bool(self._lengths.max(initial=0) >= _LONGEST_IN_BAI)
        self._write = write
        self._blocks: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._builder: _native.BamIndexBuilder

    def start(self, header_bytes: int) -> None:
        """Call before the first records, which follow ``header_bytes`` bytes of header."""
        self._builder = _native.BamIndexBuilder(self._lengths, self._csi, header_bytes)

    def spans(self, records: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """What the index needs of records sorted by coordinate; from any thread, after :meth:`start`."""
        return self._builder.spans(records)

    def add(self, spans: NDArray[np.uint64]) -> None:
        """Add the spans of the next records."""
        self._builder.add(spans)

    def write(self, data: bytes | memoryview) -> None:
        """Write the next whole blocks of the file."""
        self._blocks.append(_native.bgzf_block_sizes(np.frombuffer(data, np.uint8)))
        self._write(data)

    def save(self, path: str) -> str:
        """Write the index of the file ``path`` next to it, and return the index's path.

        Raises:
            GpualignError: as :func:`open_output`.
        """
        sizes, contents = map(np.concatenate, zip(*self._blocks, strict=True))
        index = self._builder.finish(virtual_offsets(sizes, contents), _native.BGZF_STEP)
        with open_output(path + (".csi" if self._csi else ".bai")) as out:
            if not self._csi:
                out.write(index)
            else:
                with bgzf_writer(out.write, 1) as packed:
                    packed.write(index)
        return out.path


def virtual_offsets(sizes: NDArray[np.int64], contents: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The virtual offset (SAM specification, section 4.1.1) of every ``BGZF_STEP`` bytes of the content of a file's
    blocks, which hold multiples of that, but for the last one with content. An empty block has one, too.

    Args:
        sizes, contents: of the blocks, as stored and inflated.
    """
    steps = np.maximum(1, -(-contents // _native.BGZF_STEP))
    within = positions_of(0, steps) * _native.BGZF_STEP
    return (np.repeat(offsets_of(sizes)[:-1] << 16, steps) | within).astype(np.uint64)
