"""The reference of `mem`: found by the names that users of bwa and minimap2 give, and indexed once, next to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from gpualign.errors import GpualignError, InputError
from gpualign.seeds.index.file import is_index, is_index_of, save_index
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.seeds.index.run import open_index
from gpualign.text.file_lock import alone
from gpualign.text.files import os_reason

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
    with alone(f"{path}.lock", lambda: note(f"waiting for the process that builds {path}")) as refused:
        if refused is not None:
            kept = path.removesuffix(".gpi")
            note(f"no index kept next to {kept}: {os_reason(refused)} (gpualign index -d elsewhere)")
        index, reason = load_saved()
        if index is not None:  # another process was first
            return index
        what = f"an index of {reference} for this run alone" if refused else f"the index {path}"
        note(f"building {what}{reason}")
        index = open_index(reference, k, w, threads, meth=meth)
        if refused is None:
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
