"""The reference of `mem`: found by the names that users of bwa and minimap2 give, and indexed once, next to it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from functools import partial

from gpualign.errors import GpualignError, InputError
from gpualign.index.file import is_index, is_index_of, save_index
from gpualign.index.minimizers import MinimizerIndex
from gpualign.index.run import open_index
from gpualign.io.files import os_reason

#: extensions of indexes of bwa, bwa-mem2 and minimap2, appended or in place of FASTA's
_INDEXES = (".amb", ".ann", ".bwt", ".pac", ".sa", ".bwt.2bit.64", ".0123", ".mmi")
_FASTA = ("", ".fa", ".fasta", ".fna", ".fa.gz", ".fasta.gz", ".fna.gz")


def find_reference(name: str) -> str:
    """The FASTA file, or our index, that ``name`` means: its path, or the prefix of another program's index; "-" is
    standard input.

    Raises:
        InputError: there is none.
    """
    if name == "-":
        return name
    stem = next((name[: -len(end)] for end in sorted(_INDEXES, key=len, reverse=True) if name.endswith(end)), name)
    for path in (stem + end for end in _FASTA):
        if os.path.exists(path) and not path.endswith(_INDEXES):
            return path
    if os.path.exists(stem + ".gpi"):
        return stem + ".gpi"
    there = [stem + end for end in _INDEXES if os.path.exists(stem + end)]
    if there:
        fasta = stem if stem.endswith(_FASTA[1:]) else f"{stem}.fa"
        raise InputError(f"{there[0]} is another program's index: put the FASTA file next to it, {fasta}", name)
    raise InputError("No such file or directory", name)


def alt_file(reference: str) -> str:
    """bwa's list of ALT contigs next to a reference; "" if there is none."""
    stem = reference.removesuffix(".gpi")
    return next((path for path in (stem + ".alt", os.path.splitext(stem)[0] + ".alt") if os.path.isfile(path)), "")


def index_next_to(reference: str, k: int | None, w: int | None, meth: bool = False) -> str:
    """Path of the saved index of a FASTA file."""
    seeds = "" if k is None and w is None else f".k{k or ''}w{w or ''}"
    return f"{reference}{seeds}{'.meth' if meth else ''}.gpi"


def open_next_to(
    reference: str,
    k: int | None,
    w: int | None,
    threads: int,
    note: Callable[[str], None],
    shared: bool = False,
    meth: bool = False,
) -> MinimizerIndex:
    """The index of a reference, built and saved next to it the first time; concurrent processes build it once.

    Args:
        note: prints a message about waiting, building, and why the index was not saved.
        shared, meth: see :func:`open_index`.

    Raises:
        InputError: the reference cannot be read.
    """
    if is_index(reference) or not os.path.isfile(reference):
        return open_index(reference, k, w, threads, shared=shared, meth=meth)
    path = index_next_to(reference, k, w, meth)
    load_saved = partial(
        _saved_index, path, reference, partial(open_index, path, k, w, threads, shared=shared, meth=meth)
    )
    index, _ = load_saved()
    if index is not None:
        return index
    with _alone(path, note) as writable:
        index, reason = load_saved()
        if index is not None:  # another process was first
            return index
        what = f"the index {path}" if writable else f"an index of {reference} for this run alone"
        note(f"building {what}{reason}")
        index = open_index(reference, k, w, threads, meth=meth)
        if writable:
            try:
                save_index(index, path)
                return open_index(path, k, w, threads, shared=True, meth=meth) if shared else index
            except GpualignError as error:
                note(f"the index is not kept: {error}")
        return index


def _saved_index(path: str, reference: str, load: Callable[[], MinimizerIndex]) -> tuple[MinimizerIndex | None, str]:
    """The saved index; or None and the reason, to end a message with."""
    if not os.path.exists(path):
        return None, ""
    try:
        if is_index_of(path, reference):
            return load(), ""
        return None, f": {path} was built from another content of {reference}"
    except InputError as error:
        return None, f": {error.what.partition(' (')[0]}"  # without what to do about it


@contextlib.contextmanager
def _alone(path: str, note: Callable[[str], None]) -> Iterator[bool]:
    """Lock ``path`` against other processes; yields False if the folder is not writable."""
    lock = path + ".lock"
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        note(f"no index kept next to {path.removesuffix('.gpi')}: {os_reason(error)} (gpualign index -d elsewhere)")
        yield False
        return
    try:
        _take(descriptor, path, note)
        yield True
    finally:
        with contextlib.suppress(OSError):
            os.unlink(lock)
        os.close(descriptor)


def _take(descriptor: int, path: str, note: Callable[[str], None]) -> None:
    """Wait for the lock. Without file locks two processes may both build."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        note(f"waiting for the process that builds {path}")
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return
