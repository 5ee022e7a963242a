"""One gzip stream inflated by several threads. Each decodes a part of the file without its preceding window, and
resolves the references into the window once that is known (``gpualign/native/text/gzip/part.hpp``).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from gpualign import _native
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS
from gpualign.text import tuning
from gpualign.text.streams import Damaged, OtherBytes

_WINDOW_BYTES = 1 << 15
#: a bit offset beyond any file
_NOWHERE = 2**64 - 1

#: a part and its preceding window
_Placed = tuple[Any, NDArray[np.uint8]]


def inflated_parts(
    descriptor: int, size: int, threads: int, part_bytes: int = tuning.GZIP_PART_BYTES
) -> Generator[tuple[NDArray[np.uint8], int], None, None]:
    """The text of a gzip file in pieces, decoded by ``threads`` threads and resolved by half as many more, each with
    the byte of the file where it ends.

    Raises:
        EOFError: the file is truncated. Errors are raised after the text before them.
        Damaged: it is.
        OSError: it cannot be read.
    """
    with (
        closing(_placed(descriptor, size, threads, part_bytes)) as placed,
        closing(run_ordered(placed, _text, max(1, threads // tuning.GZIP_DECODERS))) as texts,
    ):
        yield from _checked(texts)


def _placed(descriptor: int, size: int, threads: int, part_bytes: int) -> Generator[_Placed, None, None]:
    """The file's parts in order, contiguous. A part that was decoded from a false block header, or that follows blocks
    of other types, is decoded again.
    """
    max_text = tuning.MAX_EXPANSION * part_bytes
    window, bit = np.zeros(_WINDOW_BYTES, np.uint8), 0

    def decode(begin: int) -> tuple[int, Any]:
        with STEPS.at("inflate"):
            end = min(begin + part_bytes, size)
            return end, _native.gzip_part(descriptor, size, begin, end, max_text)

    def placed(part: Any) -> Generator[_Placed, None, bool]:
        """Yield the part and its continuations; returns whether the file ends there."""
        nonlocal window, bit
        while True:
            yield part, window
            if part.error or part.at_end:
                return True
            window, bit = part.window_after(window), part.end
            if not part.full:
                return False
            part = part.rest(window)

    def between(stop: int) -> Generator[_Placed, None, bool]:
        with STEPS.at("inflate"):
            part = _native.gzip_part_from_block(descriptor, size, bit, stop, window, max_text)
        return (yield from placed(part))

    with closing(run_ordered(range(0, size, part_bytes), decode, threads)) as parts:
        for end, part in parts:
            if bit < min(part.begin, 8 * end) and (yield from between(min(part.begin, 8 * end))):
                return
            if bit == part.begin and (yield from placed(part)):
                return
    yield from between(_NOWHERE)


@STEPS.at("inflate")
def _text(placed: _Placed) -> tuple[Any, NDArray[np.uint8]]:
    part, window = placed
    return part, part.text(window)


def _checked(
    texts: Generator[tuple[Any, NDArray[np.uint8]], None, None],
) -> Generator[tuple[NDArray[np.uint8], int], None, None]:
    """The texts and their ends, with the members' checksums and sizes verified."""
    crc = length = 0
    for part, text in texts:
        begin = 0
        for end, expected_crc, expected_size in part.members:
            crc, length = isal_zlib.crc32(text[begin:end], crc), length + end - begin
            if crc != expected_crc:
                raise Damaged("a checksum is wrong")
            if length % 2**32 != expected_size:
                raise Damaged("a member has another length than it says")
            crc, length, begin = 0, 0, end
        crc, length = isal_zlib.crc32(text[begin:], crc), length + len(text) - begin
        yield text, part.end >> 3
        if part.ended_early:
            raise EOFError(part.error)
        if part.error:
            raise (OtherBytes if part.other_follows else Damaged)(part.error)
