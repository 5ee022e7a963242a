"""Substitution matrices by name, or from files in NCBI's format."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import InputError, UsageError, counted
from gpualign.sequences.matrices import Scoring, scoring_of
from gpualign.text.files import InputFile


def load_matrix(name: str) -> Scoring:
    """One of Biopython's matrices by name, or a matrix file in NCBI's format.

    Raises:
        UsageError: neither a known name nor a file, or a matrix that cannot score single symbols.
        InputError: the file is not a square matrix of numbers.
    """
    if os.path.exists(name):
        symbols, values = _read_matrix_file(name)
        return scoring_of(os.path.basename(name), symbols, values)
    from Bio.Align import substitution_matrices

    known = substitution_matrices.load()
    exact = next((entry for entry in known if entry.upper() == name.upper()), None)
    if exact is None:
        raise UsageError(f"no matrix or file {name!r} (known: {', '.join(known)})")
    matrix = substitution_matrices.load(exact)
    if not isinstance(matrix.alphabet, str):
        raise UsageError(f"matrix {exact} scores codons, not symbols")
    return scoring_of(exact, matrix.alphabet, np.array(matrix, np.float64))


def _read_matrix_file(path: str) -> tuple[str, NDArray[np.float64]]:
    with InputFile(path) as file:
        text = file.read(1 << 24).decode("latin-1")
    rows = [(n, row.split()) for n, row in enumerate(text.splitlines(), 1) if row.strip() and row.strip()[0] != "#"]
    if not rows:
        raise InputError("no matrix (expected a line of symbols, then one line per symbol)", path)
    line, header = rows[0]
    if any(len(symbol) != 1 for symbol in header) or len(set(header)) != len(header):
        raise InputError("the first line must list single symbols, each once", path, line)
    values: dict[str, list[Any]] = {}
    for line, row in rows[1:]:
        try:
            values[row[0]] = [float(x) for x in row[1:]]
        except ValueError:
            raise InputError("expected a symbol and numbers", path, line) from None
        if len(row) != len(header) + 1:
            raise InputError(f"{counted(len(row) - 1, 'score')} for {counted(len(header), 'symbol')}", path, line)
    if set(values) != set(header):
        raise InputError("rows and columns name different symbols", path)
    matrix = np.array([values[symbol] for symbol in header], np.float64)
    return "".join(header).upper(), matrix
