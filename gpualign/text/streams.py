"""Streams of bytes and text: with bytes put back, read ahead, decompressed, or made of pieces."""

from __future__ import annotations

import codecs
import io
import os
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpualign.streaming.timeline import STEPS

#: length of ``PrefixedStream.last``: end-of-file markers are shorter
_REMEMBERED = 64
#: bytes that a thread reads from a pipe at a time
_READ_BYTES = 1 << 16
#: what a member begins with; the others of zstd are of skippable frames, such as pzstd's
GZIP_MAGIC, BZIP2_MAGIC, XZ_MAGIC = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"
ZSTD_MAGICS = (b"\x28\xb5\x2f\xfd", *(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60)))
#: compressed bytes to decompress at a time; few, as one may expand to 32,768
_FED = 1 << 12


class Damaged(zlib.error):
    """What is compressed is damaged; the message, with which a sentence can end, says how."""


class OtherBytes(Damaged):
    """Something else follows what is compressed."""


class TextStream(Protocol):
    """A source of text, such as an InputFile."""

    path: str

    def readinto(self, view: memoryview, /) -> int:
        """Fill ``view``; returns the number of bytes, fewer only at the end."""


class Pieces(io.RawIOBase):
    """A stream over pieces of text; a piece is released when the next one is requested."""

    def __init__(self, pieces: Iterable[NDArray[np.uint8]]) -> None:
        self._pieces, self._piece = iter(pieces), np.empty(0, np.uint8)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._piece = piece
        count = min(len(buffer), len(self._piece))
        np.frombuffer(buffer, np.uint8)[:count] = self._piece[:count]  # releases the GIL
        self._piece = self._piece[count:]
        return count


def fill(stream: Any, view: memoryview) -> int:
    """Fill ``view`` by repeated reads, as a stream returns what it has; fewer bytes only at the end."""
    filled = 0
    while filled < len(view) and (count := stream.readinto(view[filled:])):
        filled += count
    return filled


def read_at(descriptor: int, view: memoryview, offset: int) -> int:
    """Fill ``view`` with a file's bytes from an offset on, from any thread; fewer bytes only at the end."""
    filled = 0
    while filled < len(view) and (count := os.preadv(descriptor, [view[filled:]], offset + filled)):
        filled += count
    return filled


class TextOfPieces:
    """Pieces of a file's text as a :class:`TextStream`."""

    def __init__(self, path: str, pieces: Iterable[NDArray[np.uint8]]) -> None:
        self.path, self._text = path, Pieces(pieces)

    def readinto(self, view: memoryview, /) -> int:
        return fill(self._text, view)


class PrefixedStream(io.RawIOBase):
    """``head``, followed by the stream ``rest``.

    Attributes:
        last: the last bytes that were read.
    """

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest, self.last = head, rest, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            count = min(len(buffer), len(self._head))
            buffer[:count] = self._head[:count]
            self._head = self._head[count:]
        else:
            with STEPS.at("read"):  # also if the caller inflates
                count = int(self._rest.readinto(buffer))
        self.last = (self.last + bytes(buffer[max(0, count - _REMEMBERED) : count]))[-_REMEMBERED:]
        return count


class PrefetchedPipe(io.RawIOBase):
    """The bytes of ``pipe``, read from now on.

    Attributes:
        limit: about how many bytes are read ahead.
    """

    def __init__(self, pipe: Any, limit: int) -> None:
        self.limit = limit
        self._pipe, self._held = pipe, 0
        self._blocks: deque[bytes] = deque()
        self._ended: BaseException | bool = False
        self._changed = threading.Condition()
        # a daemon: the pipe's writer may never write again
        threading.Thread(target=self._read_on, daemon=True, name="gpualign-pipe").start()

    def _read_on(self) -> None:
        ended: BaseException | bool = True
        try:
            while block := self._pipe.read(_READ_BYTES):
                with self._changed:
                    self._blocks.append(block)
                    self._held += len(block)
                    self._changed.notify()
                    self._changed.wait_for(lambda: self._held < self.limit or self.closed)
        except (OSError, ValueError) as error:  # the pipe was closed
            ended = error
        with self._changed:
            self._ended = ended
            self._changed.notify()

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._pipe.fileno())

    def readinto(self, buffer: Any) -> int:
        with self._changed:
            while not self._changed.wait_for(lambda: self._blocks or self._ended, 1):
                pass  # signals are handled between two waits
            if not self._blocks:
                if isinstance(self._ended, BaseException):
                    raise self._ended
                return 0
            block = self._blocks.popleft()
            count = min(len(buffer), len(block))
            if count < len(block):
                self._blocks.appendleft(block[count:])
            self._held -= count
            self._changed.notify()
        buffer[:count] = block[:count]
        return count

    def allow(self, size: int) -> None:
        """Raise the limit to ``size``."""
        with self._changed:
            self.limit = max(self.limit, size)
            self._changed.notify()

    def close(self) -> None:
        if not self.closed:
            super().close()
            with self._changed:
                self._changed.notify()
            self._pipe.close()


def may_be_member(data: bytes | NDArray[np.uint8], magics: Sequence[bytes]) -> bool:
    """Whether these bytes, which may be few, begin as a member does."""
    return any(bytes(data[: len(magic)]) == magic[: len(data)] for magic in magics)


class MemberReader(io.RawIOBase):
    """The text of any number of members; zero bytes may follow a member, as in files from tapes. Reading raises
    EOFError if the stream is truncated, the decompressor's exception if it is damaged, and :class:`OtherBytes`. A byte
    order mark at the beginning is left out.

    Args:
        stream: the compressed bytes.
        magics: what members begin with.
        new: factory of decompressors.
    """

    def __init__(self, stream: Any, magics: Sequence[bytes], new: Callable[[], Any]) -> None:
        self._stream, self._magics, self._new = stream, magics, new
        self._member: Any = None
        self._fed, self._text, self._begun = b"", memoryview(b""), False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._text:
            fed, self._fed = self._fed or self._stream.read(_FED), b""
            if not fed:
                if self._member is not None:
                    raise EOFError("a member is cut short")
                return 0
            if self._member is None:
                fed = fed.lstrip(b"\0")
                if not may_be_member(fed, self._magics):
                    raise OtherBytes("other bytes follow it")
                self._member = self._new() if fed else None
            if self._member is not None:
                text = self._member.decompress(fed)
                self._text = memoryview(text if self._begun else text.removeprefix(codecs.BOM_UTF8))
                self._begun |= bool(text)
                if self._member.eof:
                    self._fed, self._member = self._member.unused_data, None
        count = min(len(buffer), len(self._text))
        buffer[:count] = self._text[:count]
        self._text = self._text[count:]
        return count
