"""Opens inputs: files and standard input (``-``), with compression recognized by content."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, TypeVar, cast
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import InputError
from gpualign.streaming.prefetch import Prefetch
from gpualign.streaming.timeline import STEPS
from gpualign.text import tuning
from gpualign.text.bgzf import BAM_MAGIC, BGZF_END, BgzfCodec, BgzfReader, Inflated, is_bgzf
from gpualign.text.deflate_packages import open_gzip
from gpualign.text.gzip_parts import inflated_parts
from gpualign.text.streams import (
    BZIP2_MAGIC,
    GZIP_MAGIC,
    XZ_MAGIC,
    ZSTD_MAGICS,
    Damaged,
    MemberReader,
    OtherBytes,
    PrefetchedPipe,
    PrefixedStream,
    fill,
    read_at,
)

Argument = TypeVar("Argument")
Value = TypeVar("Value")

#: what a decompressor raises on damaged input
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError)
#: the message for a zstd window that zstd itself refuses without an option
_LARGE_WINDOW = "needs more than 128M to be decompressed (pipe it: zstd -dc --long=31 FILE | gpualign … -)"
_HEAD_SIZE = 1 << 16


#: files on disk that are open, and by path how many stored bytes were read of others
_OPEN: WeakSet[InputFile] = WeakSet()
_CLOSED: dict[str, int] = {}


def share_read(paths: Sequence[str]) -> float | None:
    """The share of files' stored bytes that this process has read; None if one is a pipe or all are empty."""
    read = size = 0
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:  # "-" among others
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        positions = [file.bytes_read() for file in _OPEN if file.path == path]
        read += min(max(positions, default=_CLOSED.get(path, 0)), status.st_size)
        size += status.st_size
    return read / size if size else None


def stamp_of(status: os.stat_result) -> tuple[int, int]:
    """A file's size and modification time (ns), to detect changes."""
    return status.st_size, status.st_mtime_ns


class StoredFile:
    """An open plain file, closed with its last reference.

    Attributes:
        path: the file, for messages.
        descriptor: the file descriptor.
    """

    def __init__(self, descriptor: int, path: str) -> None:
        self.path = path
        self.descriptor = os.dup(descriptor)

    def __reduce__(self) -> Any:
        raise TypeError(f"{self.path} is open in this process: send its text")

    def part(self, offset: int, size: int) -> NDArray[np.uint8]:
        """Read bytes at an offset; from any thread.

        Raises:
            InputError: they are not there (any more).
        """
        text = np.empty(size, np.uint8)
        self.read_into(text, offset)
        return text

    def read_into(self, memory: NDArray[np.uint8], offset: int) -> None:
        """Fill ``memory`` with the bytes at an offset; from any thread; raises like :meth:`part`."""
        try:
            with STEPS.at("read"):
                read = read_at(self.descriptor, memory.data, offset)
        except OSError as error:
            raise InputError(os_reason(error), self.path) from error
        if read < len(memory):
            raise InputError("became shorter while it was read", self.path)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


def open_input(path: str) -> Any:
    """Open an input without reading or decompressing anything.

    Raises:
        InputError: it cannot be opened.
    """
    try:
        if path == "-":  # unbuffered: a buffered read loops in C, where a Ctrl-C has no effect before more data comes
            return getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise InputError(os_reason(error), path) from error


def open_together(paths: Sequence[str], stack: contextlib.ExitStack) -> list[Any]:
    """Open inputs that are read alternately. All are opened before any is read, and pipes are read ahead, as one
    program may open several and write to them alternately.

    Raises:
        InputError: one cannot be opened.
    """
    opened = []
    for path in paths:
        opened.append(open_input(path))
        if path != "-":
            stack.callback(opened[-1].close)
    for number, path in enumerate(paths):
        if path != "-" and not stat.S_ISREG(os.fstat(opened[number].fileno()).st_mode):
            opened[number] = PrefetchedPipe(opened[number], tuning.PIPE_READ_AHEAD)
            stack.callback(opened[number].close)
    return opened


class InputFile:
    """A decompressed byte stream of one input; damage becomes an :class:`InputError` that names the file.

    gzip (also BGZF and several members), bzip2, xz and zstd are recognized by their first bytes. A byte order mark at
    the beginning of text is left out.

    Args:
        threads: threads that inflate BGZF.
        opened: the open file of :func:`open_together`.

    Attributes:
        magic: the first bytes of the decompressed content (not consumed).
        regular: a file on disk, which can be opened again, unlike pipes and devices.
        plain: an uncompressed regular file, whose bytes can be read in any order.
        size: bytes of a plain file; else 0.
        bgzf: gzip in blocks, like BAM.
        in_pieces: BGZF inflated by threads; :meth:`pieces` can be used.
        has_lines: it is text, not BAM.
        one_stream: other gzip on disk, large enough for :meth:`inflated`.
        taken: stored bytes that were read at offsets; 0 if they are read in order.
    """

    def __init__(self, path: str, threads: int = 1, opened: Any = None) -> None:
        self.path, self.taken = path, 0
        self._ahead = contextlib.ExitStack()
        self._file = opened or open_input(path)
        try:
            head = read_fully(self._file, _HEAD_SIZE)
            status = None if path == "-" else os.fstat(self._file.fileno())
        except OSError as error:
            raise InputError(os_reason(error), path) from error
        self.regular = status is not None and stat.S_ISREG(status.st_mode)
        marked = head.startswith(codecs.BOM_UTF8)
        head = head.removeprefix(codecs.BOM_UTF8)
        self._prefixed = PrefixedStream(head, self._file)
        self._raw = io.BufferedReader(self._prefixed, tuning.READ_SIZE)
        self.magic = head[:16]
        self._stream: BinaryIO = cast(BinaryIO, self._raw)
        self._damage: tuple[type[Exception], ...] = _DAMAGE
        packed = head.startswith((GZIP_MAGIC, BZIP2_MAGIC, XZ_MAGIC, *ZSTD_MAGICS))
        self.plain = self.regular and not (packed or marked)
        self.bgzf = self.in_pieces = self.one_stream = False
        self.size = status.st_size if status is not None and self.plain else 0
        if head.startswith(GZIP_MAGIC):
            with contextlib.suppress(zlib.error):  # reported when it is read
                self.magic = zlib.decompressobj(wbits=31).decompress(head, 16)
            marked = self.magic.startswith(codecs.BOM_UTF8)
            self.bgzf = is_bgzf(head) and not marked
            self.in_pieces = self.bgzf and threads > 1
            self.one_stream = (
                not (self.bgzf or marked)
                and status is not None
                and self.regular
                and status.st_size >= tuning.LARGE_GZIP
            )
            stream = BgzfReader(self._raw, threads, open_gzip) if self.in_pieces else open_gzip(self._prefixed)
            self._stream = cast(BinaryIO, stream)
            if marked:
                read_fully(self._stream, len(codecs.BOM_UTF8))
                self.magic = self.magic.removeprefix(codecs.BOM_UTF8)
        elif packed:
            self._stream = cast(BinaryIO, self._unpacked(head))
            self.magic = b""
        self.has_lines = not self.magic.startswith(BAM_MAGIC)
        if self.regular:
            _OPEN.add(self)

    def bytes_read(self) -> int:
        """Stored bytes of a file on disk that have been read; from any thread."""
        if not self.taken and not self._file.closed:
            with contextlib.suppress(OSError, ValueError):  # another thread closes it just now
                return os.lseek(self._file.fileno(), 0, os.SEEK_CUR)
        return self.taken

    def _unpacked(self, head: bytes) -> Any:
        if head.startswith(BZIP2_MAGIC):
            return MemberReader(self._raw, [BZIP2_MAGIC], bz2.BZ2Decompressor)
        if head.startswith(XZ_MAGIC):
            return MemberReader(self._raw, [XZ_MAGIC], partial(lzma.LZMADecompressor, lzma.FORMAT_XZ))
        import zstandard  # few inputs need it

        self._damage = (*_DAMAGE, zstandard.ZstdError)
        return MemberReader(self._raw, ZSTD_MAGICS, zstandard.ZstdDecompressor().decompressobj)

    def read_ahead(self, size: int) -> None:
        """Allow about ``size`` bytes of a pipe opened by :func:`open_together` to be read ahead."""
        if isinstance(self._file, PrefetchedPipe):
            self._file.allow(size)

    def inflate_by(self, codec: BgzfCodec) -> None:
        """Let ``codec`` inflate the rest of a BGZF file, if that is inflated in pieces."""
        if self.in_pieces:
            cast("BgzfReader", self._stream).codec = codec

    def raw(self) -> BinaryIO:
        """The stored (compressed) stream from its first byte; instead of :meth:`read`."""
        return cast(BinaryIO, self._raw)

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; fewer only at the end of the input."""
        return self._checked(read_fully, size)

    def rest(self) -> bytes:
        """All that is left of the input, for files that are held as text."""
        return b"".join(iter(lambda: self.read(1 << 24), b""))

    def readinto(self, view: memoryview) -> int:
        """Fill ``view``; returns the number of bytes, fewer only at the end of the input."""
        return self._checked(fill, view)

    def pieces(self) -> Iterator[Inflated]:
        """The text of a BGZF file in the pieces that threads inflate; instead of :meth:`read`.

        Raises:
            InputError: damaged compression.
        """
        pieces = cast("BgzfReader", self._stream).pieces(self.has_lines)
        while (piece := self._checked(lambda _, each: next(each, None), pieces)) is not None:
            yield piece

    def ahead(self, items: Iterator[Value], count: int) -> Iterator[Value]:
        """Items made of this file by a thread that stays ``count`` ahead; closing the file ends the thread first."""
        return self._ahead.enter_context(Prefetch(items, count))

    def marked_end(self) -> bool:
        """Whether BGZF ends with the empty block that marks the end of a BAM file; True for other files."""
        return not self.bgzf or self.tail(len(BGZF_END)) == BGZF_END

    def tail(self, size: int) -> bytes:
        """The last stored bytes, up to 64, of a file or of a pipe that has been read to its end."""
        if not self.regular:
            return self._prefixed.last[-size:]
        descriptor = self._file.fileno()
        return os.pread(descriptor, size, max(0, os.fstat(descriptor).st_size - size))

    def stored(self) -> StoredFile:
        """The plain file as an object that stays open when this one is closed."""
        return StoredFile(self._file.fileno(), self.path)

    def inflated(self, threads: int) -> Iterator[NDArray[np.uint8]]:
        """The text of a gzip file on disk in pieces, inflated by several threads; instead of :meth:`read`.

        Raises:
            InputError: damaged compression.
        """
        descriptor = self._file.fileno()
        with self.explained():
            for text, end in inflated_parts(descriptor, os.fstat(descriptor).st_size, threads):
                self.taken = end
                yield text

    def _checked(self, read: Callable[[Any, Argument], Value], argument: Argument) -> Value:
        step = STEPS.at("read" if self._stream is self._raw else "inflate")
        with self.explained(), contextlib.nullcontext() if self.in_pieces else step:  # threads record their own
            return read(self._stream, argument)

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of reading into an :class:`InputError` that names the file."""
        try:
            yield
        except self._damage as error:
            raise InputError(damage(error), self.path) from error
        except OSError as error:
            what = os_reason(error) if error.errno else damage(error)  # bz2's of damage is an OSError
            raise InputError(what, self.path) from error

    def close(self) -> None:
        if self.regular:
            _CLOSED[self.path] = self.bytes_read()
            _OPEN.discard(self)
        self._ahead.close()
        if self._stream is not self._raw:
            self._stream.close()
        if self.path != "-":
            self._file.close()

    def __enter__(self) -> InputFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_fully(stream: Any, size: int) -> bytes:
    """Read ``size`` bytes, fewer only at the end: a single read of a pipe returns what is there."""
    parts: list[bytes] = []
    missing = size
    while missing > 0 and (part := stream.read(missing)):
        parts.append(part)
        missing -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def damage(error: Exception) -> str:
    """What a decompressor's exception means, but not in its words, which are a library's."""
    if isinstance(error, EOFError):
        return "compressed file ended early (copy or download it again)"
    if isinstance(error, OtherBytes):
        return "other bytes follow the compressed data (cut them off, or decompress it and compress it again)"
    if isinstance(error, Damaged):
        return f"compressed data is damaged: {error} (copy or download it again)"
    if "too much memory" in str(error):
        return _LARGE_WINDOW
    return "compressed data is damaged (copy or download it again)"


def os_reason(error: OSError) -> str:
    return error.strerror or str(error)
