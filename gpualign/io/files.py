"""Opening paths: ``-``, compression by content, and output that is either whole or absent."""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.ending import undone_at_the_end
from gpualign.errors import GpualignError, InputError
from gpualign.io.bgzf import BgzfReader, Inflated
from gpualign.io.prefixed_stream import Rewound
from gpualign.io.zstd import ZstdReader, is_zstd
from gpualign.streaming.clock import STEPS

Argument = TypeVar("Argument")
Value = TypeVar("Value")

_GZIP_MAGIC = b"\x1f\x8b"
_BZIP2_MAGIC = b"BZh"
_XZ_MAGIC = b"\xfd7zXZ\x00"
#: what a decompressor raises on damaged input
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError)
#: extensions of outputs that are compressed, as bgzf is gzip
_PACKED_AS = (".gz", ".bgz")
#: an empty block of bgzf
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_READ_SIZE = 1 << 18
_HEAD_SIZE = 1 << 16


def stamp_of(status: os.stat_result) -> tuple[int, int]:
    """What changes when a file is written to: its size, and the time of its last change in nanoseconds."""
    return status.st_size, status.st_mtime_ns


class StoredFile:
    """A plain file that stays open as long as anybody has it.

    Attributes:
        path, stamp: as of :class:`InputFile`.
        descriptor: of the open file.
    """

    def __init__(self, descriptor: int, path: str, stamp: tuple[int, int] | None) -> None:
        self.path, self.stamp = path, stamp
        self.descriptor = os.dup(descriptor)

    def part(self, offset: int, size: int) -> NDArray[np.uint8]:
        """Bytes of it, from any thread.

        Raises:
            InputError: they are not there (any more).
        """
        return _part(self.descriptor, self.path, offset, size)

    def read_into(self, memory: NDArray[np.uint8], offset: int) -> None:
        """The same into an array, as many as it holds."""
        _read_into(memory, self.descriptor, self.path, offset)

    def count_fastq_lines(self, offset: int, size: int, lines_before: NDArray[np.uint32]) -> tuple[int, bool]:
        """Lines of a part, and whether one is blank; fills in those before each tile."""
        counted = _native.count_stored_fastq_lines(self.descriptor, offset, size, lines_before)
        lines, blank, missing, error = counted
        if error:
            raise InputError(os_reason(OSError(error, os.strerror(error))), self.path)
        if missing:
            raise InputError("became shorter while it was read", self.path)
        return lines, blank

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


def _part(descriptor: int, path: str, offset: int, size: int) -> NDArray[np.uint8]:
    text = np.empty(size, np.uint8)
    _read_into(text, descriptor, path, offset)
    return text


def _read_into(memory: NDArray[np.uint8], descriptor: int, path: str, offset: int) -> None:
    read = 0
    try:
        with STEPS.at("read"):
            while read < len(memory) and (count := os.preadv(descriptor, [memory[read:].data], offset + read)):
                read += count
    except OSError as error:
        raise InputError(os_reason(error), path) from error
    if read < len(memory):
        raise InputError("became shorter while it was read", path)


class InputFile:
    """A decompressed byte stream of one input; damage becomes an :class:`InputError` that names the file.

    gzip, bgzf and several gzip members in one file, bzip2, xz and zstd are known by their first bytes, on standard
    input too, so a file's name does not matter.

    Args:
        threads: that inflate bgzf.

    Attributes:
        magic: the first bytes of the decompressed content (not consumed).
        regular: a file on disk, which can be opened again, unlike pipes and devices.
        plain: one that is not compressed, so that its bytes can be read again elsewhere.
        size: of a plain file, bytes; 0 of any other.
        stamp: of the file when it was opened; None of standard input.
        bgzf: gzip in blocks, as BAM is.
        in_pieces: such a one that is inflated by threads: :meth:`pieces` can be used.
    """

    def __init__(self, path: str, threads: int = 1) -> None:
        self.path = path
        try:
            self._file = _raw_standard_input() if path == "-" else open(path, "rb", buffering=0)
            head = read_fully(self._file, _HEAD_SIZE)
            status = None if path == "-" else os.fstat(self._file.fileno())
        except OSError as error:
            raise InputError(os_reason(error), path) from error
        self.regular = status is not None and stat.S_ISREG(status.st_mode)
        self._rewound = Rewound(head, self._file)
        self._raw = io.BufferedReader(self._rewound, _READ_SIZE)
        self.magic = head[:16]
        self._stream: BinaryIO = cast(BinaryIO, self._raw)
        self._damage: tuple[type[Exception], ...] = _DAMAGE
        packed = head.startswith((_GZIP_MAGIC, _BZIP2_MAGIC, _XZ_MAGIC)) or is_zstd(head)
        self.plain = self.regular and not packed
        self.bgzf = self.in_pieces = False
        self.size = status.st_size if status is not None and self.plain else 0
        self.stamp = None if status is None else stamp_of(status)
        if head.startswith(_GZIP_MAGIC):
            from isal import igzip, igzip_lib

            from gpualign.io.bgzf import BgzfReader, is_bgzf

            self._damage = (*_DAMAGE, cast("type[Exception]", igzip_lib.IsalError))

            def open_gzip(stream: Any) -> Any:
                return igzip.IGzipFile(fileobj=stream, mode="rb")

            self.bgzf = is_bgzf(head)
            self.in_pieces = self.bgzf and threads > 1
            stream = BgzfReader(self._raw, threads, open_gzip) if self.in_pieces else open_gzip(self._raw)
            self._stream = cast(BinaryIO, stream)
            with contextlib.suppress(zlib.error):  # said when it is read
                self.magic = zlib.decompressobj(wbits=31).decompress(head, 16)
        elif packed:
            self._stream = cast(BinaryIO, self._unpacked(head))
            self.magic = b""

    def _unpacked(self, head: bytes) -> Any:
        if head.startswith(_BZIP2_MAGIC):
            return bz2.BZ2File(self._raw)
        if head.startswith(_XZ_MAGIC):
            return lzma.LZMAFile(self._raw)
        try:
            stream = ZstdReader(self._raw)
        except ImportError:
            self.close()
            raise InputError("is compressed with zstd (pip install zstandard to read it)", self.path) from None
        self._damage = (*_DAMAGE, stream.damage)
        return stream

    def raw(self) -> BinaryIO:
        """The stream as it is stored, still compressed, from its first byte; instead of :meth:`read`."""
        return cast(BinaryIO, self._raw)

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; fewer only at the end of the input."""
        return self._checked(read_fully, size)

    def readinto(self, view: memoryview) -> int:
        """Fill ``view``; returns how many bytes, fewer only at the end of the input."""
        return self._checked(_fill, view)

    def pieces(self) -> Iterator[Inflated]:
        """The text of a bgzf file in the pieces in which threads inflate it; instead of :meth:`read`.

        Raises:
            InputError: damaged compression.
        """
        pieces = cast("BgzfReader", self._stream).pieces()
        while (piece := self._checked(_next_piece, pieces)) is not None:
            yield piece

    def marked_end(self) -> bool:
        """Whether bgzf ends in the empty block that every BAM file ends in; True of what is no bgzf."""
        return not self.bgzf or self.tail(len(BGZF_END)) == BGZF_END

    def tail(self, size: int) -> bytes:
        """The last bytes as they are stored, up to 64: of a file, or of a pipe that has been read to its end."""
        if not self.regular:
            return self._rewound.last[-size:]
        descriptor = self._file.fileno()
        return os.pread(descriptor, size, max(0, os.fstat(descriptor).st_size - size))

    def part(self, offset: int, size: int) -> NDArray[np.uint8]:
        """Bytes of a plain file, from any thread; :meth:`read` goes on where it was.

        Raises:
            InputError: they are not there (any more).
        """
        return _part(self._file.fileno(), self.path, offset, size)

    def stored(self) -> StoredFile:
        """A plain file, to be read by whoever has parts of it, also when this is closed."""
        return StoredFile(self._file.fileno(), self.path, self.stamp)

    def _checked(self, read: Callable[[Any, Argument], Value], argument: Argument) -> Value:
        try:
            with self._step():
                return read(self._stream, argument)
        except EOFError as error:
            raise InputError("compressed file ended early (copy or download it again)", self.path) from error
        except self._damage as error:
            raise InputError(f"compressed data is damaged: {error}", self.path) from error
        except OSError as error:
            # isal's and gzip's BadGzipFile (wrong CRC or length, garbage after a member) are OSErrors
            what = os_reason(error) if error.errno else f"compressed data is damaged: {error}"
            raise InputError(what, self.path) from error

    def _step(self) -> contextlib.AbstractContextManager[None]:
        """What a thread does that reads: where others inflate they say so themselves."""
        if self.in_pieces:
            return contextlib.nullcontext()
        return STEPS.at("read" if self._stream is self._raw else "inflate")

    def close(self) -> None:
        if self._stream is not self._raw:
            self._stream.close()
        if self.path != "-":
            self._file.close()

    def __enter__(self) -> InputFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Sink(Protocol):
    """What takes bytes in order."""

    def write(self, data: bytes | memoryview, /) -> object: ...


class OutputFile:
    """A byte sink. Use :func:`open_output`."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream, self.path = stream, path
        self.bytes_written = 0

    def write(self, data: bytes | memoryview) -> None:
        rest = memoryview(data).cast("B")
        with _writing(self.path), STEPS.at("write"):
            while rest:  # with PYTHONUNBUFFERED standard output takes what one system call takes
                rest = rest[self._stream.write(rest) :]
        self.bytes_written += len(data)


def is_packed(path: str | None) -> bool:
    """Whether an output's name asks for compression."""
    return path is not None and path.lower().endswith(_PACKED_AS)


@contextlib.contextmanager
def open_output(path: str | None, threads: int = 1) -> Iterator[OutputFile]:
    """Open ``path`` (None or "-" is standard output) for writing; in bgzf where its name ends in .gz or .bgz.

    A regular file is written under a private temporary name in the same folder and renamed at the end, so that an
    interrupted run leaves no plausible file. Devices and named pipes are written directly.

    Args:
        threads: that compress; they do not change the output.

    Raises:
        GpualignError: the file cannot be created, written or closed (disk full shows at close).
    """
    with _open_plain(path) as out:
        if not is_packed(path):
            yield out
            return
        from gpualign.io.bgzf import bgzf_writer

        with bgzf_writer(out.write, threads) as packed:
            yield OutputFile(cast(BinaryIO, packed), out.path)


@contextlib.contextmanager
def _open_plain(path: str | None) -> Iterator[OutputFile]:
    if path is None or path == "-":
        sink = OutputFile(sys.stdout.buffer, "-")
        yield sink
        with _writing("-"):
            sys.stdout.buffer.flush()
        return
    if is_special(path):
        with _writing(path):
            stream = open(path, "wb", buffering=_READ_SIZE)
        with _closed(stream, path):
            yield OutputFile(stream, path)
        return
    with _temporary_next_to(path) as stream:
        yield OutputFile(stream, path)


def _next_piece(_: Any, pieces: Iterator[Inflated]) -> Inflated | None:
    return next(pieces, None)


def _raw_standard_input() -> Any:
    """Standard input one system call at a time: a buffered one loops in C, where a Ctrl-C between two calls is not seen
    before more data comes."""
    return getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)


def read_fully(stream: Any, size: int) -> bytes:
    """``size`` bytes, fewer only at the end: a pipe gives what its writer has written so far."""
    parts: list[bytes] = []
    missing = size
    while missing > 0 and (part := stream.read(missing)):
        parts.append(part)
        missing -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _fill(stream: Any, view: memoryview) -> int:
    """The same into ``view``; how many bytes."""
    filled = 0
    while filled < len(view) and (count := stream.readinto(view[filled:])):
        filled += count
    return filled


@contextlib.contextmanager
def _temporary_next_to(path: str) -> Iterator[BinaryIO]:
    target = os.path.realpath(path)  # a link keeps pointing at its file
    folder, name = os.path.split(target)
    # named before it exists, so that no interrupt can fall between its making and our knowing what to remove
    temporary = os.path.join(folder, f".{_cut(name, 100)}.{os.urandom(8).hex()}.tmp")
    with undone_at_the_end(lambda: os.unlink(temporary)), _renamed(temporary, target, path) as stream:
        yield stream


@contextlib.contextmanager
def _renamed(temporary: str, target: str, path: str) -> Iterator[BinaryIO]:
    try:
        with _writing(path):
            stream = _created(temporary)
        with _closed(stream, path):
            yield stream
        with _writing(path):
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def _writing(path: str) -> Iterator[None]:
    """What the system refuses here is an error about that output; a reader that went away is not."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise GpualignError(f"cannot write {_shown(path)}: {os_reason(error)}") from error


@contextlib.contextmanager
def _closed(stream: BinaryIO, path: str) -> Iterator[None]:
    """Closed at the end, and whether that worked matters only where all went well before."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            stream.close()
        raise
    with _writing(path):
        stream.close()


def _created(temporary: str) -> BinaryIO:
    """A new file that nobody else may read until it is whole."""
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "wb", buffering=_READ_SIZE)


def _cut(name: str, maximum: int) -> str:
    """The first bytes of a name: file systems limit bytes, not characters."""
    return os.fsencode(name)[:maximum].decode(sys.getfilesystemencoding(), "ignore")


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


def is_regular(output: str | None) -> bool:
    """Whether an output (None or "-": standard output) is a regular file, which takes bytes whoever waits for them."""
    if output is not None and output != "-":
        return not is_special(output)
    with contextlib.suppress(OSError, AttributeError):
        return stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    return False


def is_file(path: str | None) -> bool:
    """Whether an output is, or will be, a regular file: not standard output, a device or a named pipe."""
    return path is not None and path != "-" and not is_special(path)


def folder_next_to(path: str | None) -> str:
    """The folder for temporary files of an output: its own where it is a file, as there is space there."""
    if is_file(path):
        return os.path.dirname(os.path.realpath(str(path)))
    import tempfile  # few outputs need it

    return tempfile.gettempdir()


def is_special(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _shown(path: str) -> str:
    return "standard output" if path == "-" else path


def os_reason(error: OSError) -> str:
    return error.strerror or str(error)
