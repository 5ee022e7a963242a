"""File names: what they ask for, and checks before any file is opened."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Sequence

from gpualign.errors import GpualignError, InputError, UsageError
from gpualign.text.files import os_reason

#: extensions of outputs to compress (BGZF is gzip)
_PACKED_AS = (".gz", ".bgz")
#: extensions of formats that are never written
_NOT_WRITTEN = (".bz2", ".xz", ".lzma", ".zst", ".zstd", ".lz4", ".z", ".zip", ".7z", ".br")
#: extensions of formats that some outputs can have
ALIGNMENTS, TABLES = (".sam", ".bam", ".ubam", ".cram"), (".parquet", ".arrow", ".feather")


def listed_files(text: str) -> tuple[str, ...]:
    """The files that an argument names, separated by commas. An existing file with commas in its name is one file."""
    return (text,) if os.path.exists(text) else tuple(text.split(","))


def file_of(name: str | None) -> str | None:
    """The path that a name is; None if there is no such file, as the name then means something built in."""
    return name if name is not None and (name == "-" or os.path.exists(name)) else None


def check_paths(
    inputs: Sequence[str | None], outputs: Sequence[str | None], output: str | None = None, formats: Sequence[str] = ()
) -> None:
    """Refuse inputs that do not exist, and outputs that cannot be written, that are inputs, or that are the same file.

    Args:
        inputs, outputs: None and "-" are not files.
        output: the main output, which may be in other formats than plain text.
        formats: extensions of these formats.

    Raises:
        UsageError: an output is an input or another output, or a name is empty or contradicts the format.
        GpualignError: an output cannot be created.
        InputError: an input does not exist.
    """
    if "" in (*inputs, output, *outputs):
        raise UsageError("a file's name is empty (is a variable of the shell unset?)")
    read = [path for path in inputs if path not in (None, "-")]
    written: list[str] = []
    for path in (output, *outputs):
        if path is None or path == "-":
            continue
        if any(are_same(path, str(other)) for other in read):
            raise UsageError(f"the output {path} is also an input")
        if not is_special(path) and any(are_same(path, other) for other in written):
            raise UsageError(f"two outputs are named {path} (give each a name of its own)")
        if path.lower().endswith(_NOT_WRITTEN):
            raise UsageError(f"{path}: this compression is not written (.gz is, or leave the extension out)")
        extension = os.path.splitext(path.lower())[1]
        if extension in (*ALIGNMENTS, *TABLES) and not (path == output and extension in formats):
            raise UsageError(f"{path} is named as a format that it cannot have (give it another extension)")
        _check_folder(path)
        written.append(path)
    for path in map(str, read):
        try:
            os.stat(path)
        except OSError as error:  # now, as the header of an output is written before some inputs are opened
            raise InputError(os_reason(error), path) from error


def _check_folder(path: str) -> None:
    """Check that a file of this name can be created in its folder."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.lstat(target)  # a name too long, a file where a folder should be
        os.stat(folder)
    except OSError as error:
        raise GpualignError(f"cannot write {path}: {os_reason(error)}") from error
    if not (is_special(path) or (os.access(folder, os.W_OK) and may_replace(target))):
        raise GpualignError(f"cannot write {path}: {os.strerror(errno.EACCES)}")


def are_same(one: str, other: str) -> bool:
    """Whether two paths, after links, mean one file, which need not exist."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def is_packed(path: str | None) -> bool:
    """Whether an output's name asks for compression."""
    return path is not None and path.lower().endswith(_PACKED_AS)


def may_replace(path: str) -> bool:
    """Whether there is no file, or a writable one."""
    return not os.path.lexists(path) or os.access(path, os.W_OK)


def is_regular(output: str | None) -> bool:
    """Whether an output (None and "-" are standard output) is a regular file, so that writing never blocks."""
    if output is not None and output != "-":
        return not is_special(output)
    with contextlib.suppress(OSError, AttributeError):
        return stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    return False


def is_file(path: str | None) -> bool:
    """Whether an output is, or will be, a regular file: not standard output, a device or a named pipe."""
    return path is not None and path != "-" and not is_special(path)


def temporary_folder(path: str | None, given: str | None = None) -> str:
    """The folder for an output's temporary files.

    Args:
        given: value of --tmp-dir; None: TMPDIR, or else the output's own folder, or the system's if it is not a file.
    """
    folder = given or os.environ.get("TMPDIR")
    if folder and os.path.isdir(folder):
        return os.path.abspath(folder)
    if is_file(path):
        return os.path.dirname(os.path.realpath(str(path)))
    import tempfile  # few outputs need it

    return tempfile.gettempdir()


def is_special(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False
