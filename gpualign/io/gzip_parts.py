"""One stream of gzip inflated by several threads: each decodes a part of the file as far as it can without what comes
before it, and fills in what it copies from there when that is known (``gpualign/native/gzip/part.hpp``).
"""

from __future__ import annotations

import zlib
from collections.abc import Generator
from contextlib import closing
from typing import Any

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from gpualign import _native
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS

#: compressed bytes of a part, and the text of one, at most, in times of them: more is decoded in order
PART_BYTES, _MOST_TIMES = 1 << 20, 16
_WINDOW_BYTES = 1 << 15
#: a bit that no file has
_NOWHERE = 2**64 - 1
#: threads that decode for each one that fills in
_DECODERS = 2

#: a part and the text before it
_Placed = tuple[Any, NDArray[np.uint8]]


def inflated_parts(
    descriptor: int, size: int, threads: int, part_bytes: int = PART_BYTES
) -> Generator[NDArray[np.uint8], None, None]:
    """The text of a gzip file of so many bytes in pieces, inflated by ``threads`` threads and half as many more.

    Raises:
        EOFError: the file ends early; after what is whole, as all others.
        zlib.error: it is damaged.
        OSError: it cannot be read.
    """
    with (
        closing(_placed(descriptor, size, threads, part_bytes)) as placed,
        closing(run_ordered(placed, _text, max(1, threads // _DECODERS))) as texts,
    ):
        yield from _checked(texts)


def _placed(descriptor: int, size: int, threads: int, part_bytes: int) -> Generator[_Placed, None, None]:
    """The file's parts in order, each of which begins where the one before ends. A part that was decoded from something
    that only looked like a block, or after blocks of other kinds, is decoded again.
    """
    most = _MOST_TIMES * part_bytes
    window, bit = np.zeros(_WINDOW_BYTES, np.uint8), 0

    def decode(begin: int) -> tuple[int, Any]:
        with STEPS.at("inflate"):
            end = min(begin + part_bytes, size)
            return end, _native.gzip_part(descriptor, size, begin, end, most)

    def placed(part: Any) -> Generator[_Placed, None, bool]:
        """It, and what follows it up to the next part; True: to the end of all."""
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
            part = _native.gzip_part_from_block(descriptor, size, bit, stop, window, most)
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


def _checked(texts: Generator[tuple[Any, NDArray[np.uint8]], None, None]) -> Generator[NDArray[np.uint8], None, None]:
    """The texts, whose members have the checksums and sizes that they say."""
    crc = length = 0
    for part, text in texts:
        begin = 0
        for end, expected_crc, expected_size in part.members:
            crc, length = isal_zlib.crc32(text[begin:end], crc), length + end - begin
            if crc != expected_crc:
                raise zlib.error("CRC check failed")
            if length % 2**32 != expected_size:
                raise zlib.error("wrong length")
            crc, length, begin = 0, 0, end
        crc, length = isal_zlib.crc32(text[begin:], crc), length + len(text) - begin
        yield text
        if part.ended_early:
            raise EOFError(part.error)
        if part.error:
            raise zlib.error(part.error)
