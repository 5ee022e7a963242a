"""The index of a sorted BAM file, made while the file is written."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.io.bgzf import bgzf_writer
from gpualign.io.output_file import open_output

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
        self._write, self._size = write, 0
        self._places: list[NDArray[np.uint64]] = []
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
        self._places.append(_native.bgzf_virtual_offsets(np.frombuffer(data, np.uint8), self._size))
        self._size += len(data)
        self._write(data)

    def save(self, path: str) -> str:
        """Write the index of the file ``path`` next to it, and return the index's path.

        Raises:
            GpualignError: as :func:`open_output`.
        """
        index = self._builder.finish(np.concatenate(self._places), _native.BGZF_STEP)
        with open_output(path + (".csi" if self._csi else ".bai")) as out:
            if not self._csi:
                out.write(index)
            else:
                with bgzf_writer(out.write, 1) as packed:
                    packed.write(index)
        return out.path
