"""Opens outputs, which are either whole or absent."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO, Protocol, cast

from gpualign.ending import undone_at_the_end
from gpualign.errors import GpualignError
from gpualign.streaming.timeline import STEPS
from gpualign.text.files import os_reason
from gpualign.text.paths import is_packed, is_special, may_replace

_BUFFER_SIZE = 1 << 18


class Sink(Protocol):
    """Takes bytes in order."""

    def write(self, data: bytes | memoryview, /) -> object: ...


class OutputFile:
    """A byte sink. Use :func:`open_output`."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream, self.path = stream, path
        self.bytes_written = 0

    def write(self, data: bytes | memoryview) -> None:
        rest = memoryview(data).cast("B")
        with _writing(self.path), STEPS.at("write"):
            while rest:  # with PYTHONUNBUFFERED a write to standard output may be partial
                rest = rest[self._stream.write(rest) :]
        self.bytes_written += len(data)


@contextlib.contextmanager
def open_output(path: str | None, threads: int = 1, blocks: bool = False) -> Iterator[OutputFile]:
    """Open ``path`` (None and "-" are standard output) for writing, with BGZF if its name ends in .gz or .bgz.

    A regular file is written under a private temporary name in the same folder and renamed at the end, so that an
    interrupted run leaves no plausible file. It gets the permissions of the file that it replaces, if any. Devices and
    named pipes are written directly.

    Args:
        threads: threads that compress; they do not change the output.
        blocks: what is written to such names is BGZF already.

    Raises:
        GpualignError: the file cannot be created, written or closed (a full disk may show at close), or the file
            that it would replace is not writable.
    """
    with _open_plain(path) as out:
        if blocks or not is_packed(path):
            yield out
            return
        from gpualign.text.bgzf import bgzf_writer

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
            stream = open(path, "wb", buffering=_BUFFER_SIZE)
        with _closed(stream, path):
            yield OutputFile(stream, path)
        return
    with _temporary_next_to(path) as stream:
        yield OutputFile(stream, path)


@contextlib.contextmanager
def _temporary_next_to(path: str) -> Iterator[BinaryIO]:
    target = os.path.realpath(path)  # replaces the file that a link points to
    if not may_replace(target):
        raise GpualignError(f"cannot write {path}: {os.strerror(errno.EACCES)}")
    folder, name = os.path.split(target)
    # named before it exists, so that an interrupt right after its creation finds what to remove
    temporary = os.path.join(folder, f".{_cut(name, 100)}.{os.urandom(8).hex()}.tmp")
    with undone_at_the_end(lambda: os.unlink(temporary)):
        try:
            with _writing(path):
                # only its owner can read it until it is whole
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                stream = os.fdopen(descriptor, "wb", buffering=_BUFFER_SIZE)
            with _closed(stream, path):
                yield stream
            with _writing(path):
                os.chmod(temporary, _permissions(target))
                os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


@contextlib.contextmanager
def _writing(path: str) -> Iterator[None]:
    """Turn OSErrors into errors that name the output; a closed pipe is passed on."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        shown = "standard output" if path == "-" else path
        raise GpualignError(f"cannot write {shown}: {os_reason(error)}") from error


@contextlib.contextmanager
def _closed(stream: BinaryIO, path: str) -> Iterator[None]:
    """Close the stream at the end; errors of that are raised only if there was none before."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            stream.close()
        raise
    with _writing(path):
        stream.close()


def _cut(name: str, maximum: int) -> str:
    """The first bytes of a name: file systems limit bytes, not characters."""
    return os.fsencode(name)[:maximum].decode(sys.getfilesystemencoding(), "ignore")


def _permissions(path: str) -> int:
    """Permissions of the existing file, or of a new one."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode) & 0o777
    except FileNotFoundError:
        umask = os.umask(0o077)
        os.umask(umask)
        return 0o666 & ~umask
