"""Pair lists: a text file with the names of two sequences on each line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import InputError, counted
from gpualign.text.files import InputFile


def read_pairs(path: str, queries: list[str], targets: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Read a pair list; names are separated by white space, blank lines and lines that begin with ``#`` are skipped.

    Args:
        queries: names that the first column may hold.
        targets: names that the second column may hold.

    Returns:
        int32 (p,) indices into ``queries`` and into ``targets``, in the file's order.

    Raises:
        InputError: a line without exactly two names, a name that no sequence has, or one that several have.
    """
    query_of, target_of = _index(queries), _index(targets)
    with InputFile(path) as file:
        parts = []
        while block := file.read(1 << 24):
            parts.append(block)
        text = b"".join(parts)  # not as text, in which parts of UTF-8 may be spaces or line ends
    first: list[int] = []
    second: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = [field.decode("latin-1") for field in line.split()]
        if not fields or fields[0].startswith("#"):
            continue
        if len(fields) != 2:
            raise InputError(f"{counted(len(fields), 'name')} (expected two, query and target)", path, number)
        first.append(_look_up(fields[0], query_of, path, number))
        second.append(_look_up(fields[1], target_of, path, number))
    return np.array(first, np.int32), np.array(second, np.int32)


def _index(names: list[str]) -> dict[str, int]:
    index: dict[str, int] = {}
    for i, name in enumerate(names):
        index[name] = -1 if name in index else i
    return index


def _look_up(name: str, index: dict[str, int], path: str, line: int) -> int:
    found = index.get(name)
    if found is None:
        raise InputError(f"no sequence is named '{name}'", path, line)
    if found < 0:
        raise InputError(f"several sequences are named '{name}' (make names unique to use --pairs)", path, line)
    return found
