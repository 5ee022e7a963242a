"""ALT contigs: which they are, and reads that are mapped with them in mind, as bwa mem does.

A read is mapped to the primary assembly as if there were no other, so that its choice, its pairing and its quality are
made there, and to the ALT contigs by itself; then the records are joined (cuda/algo/map/alt.hpp). Decoys are primary.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.index.minimizers import AltPart, MinimizerIndex
from gpualign.io.files import InputFile
from gpualign.map.cpu import map_batch
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments
from gpualign.sequences.batch import SequenceBatch

#: names of ALT contigs where no file says which they are: of GRCh38 and of its HLA genes
_ALT_NAME = re.compile(r".+_alt|HLA[-*:].+")
_MAX_BYTES = 1 << 30


def alt_contigs(names: list[str], path: str | None) -> NDArray[np.uint8]:
    """uint8 (contigs,): 1 for ALT ones.

    Args:
        path: bwa's ``.alt`` file: SAM with records named as the ALT contigs, or their names, one a line; None: the
            contigs' own names say it.

    Raises:
        InputError: the file cannot be read, or names no contig of the reference.
    """
    if path is None:
        return np.array([_ALT_NAME.fullmatch(name) is not None for name in names], np.uint8)
    with InputFile(path) as file:
        lines = file.read(_MAX_BYTES).decode("latin-1").splitlines()
    listed = {line.split("\t")[0].strip() for line in lines if line.strip() and not line.startswith("@")}
    chosen = np.array([name in listed for name in names], np.uint8)
    if not chosen.any():
        raise InputError("it names no contig of the reference", path)
    return chosen


def split_index(index: MinimizerIndex, path: str | None) -> MinimizerIndex:
    """The index of the primary assembly, with that of the ALT contigs apart, where there are both."""
    chosen = alt_contigs(index.reference.names, path)
    if not chosen.any() or chosen.all():
        return index
    parts = _native.split_index(index.reference.native, index.offsets, index.entries, chosen)
    primary, alt = (
        replace(index, offsets=offsets, entries=entries, path=None) for offsets, entries in (parts[:2], parts[2:])
    )
    return replace(primary, alt=AltPart(chosen, alt))


def with_alt_records(index: MinimizerIndex, batch: SequenceBatch, found: Alignments, params: MapParams) -> Alignments:
    """The records of reads that were mapped to the primary assembly, with those on ALT contigs."""
    assert index.alt is not None
    alone = map_batch(index.alt.index, batch, params)
    edit = params.scoring.match + params.scoring.mismatch
    return Alignments(*_native.join_alt_records(found.native, alone.native, edit, params.reporting.secondary))
