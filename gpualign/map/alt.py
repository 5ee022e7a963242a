"""ALT-aware mapping, as in bwa mem.

A read is mapped to the primary assembly alone, which decides its locus, pairing and mapping quality, and separately to
the ALT contigs; then the records are joined (cuda/algo/map/alt.hpp). Decoys count as primary.
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

#: names of ALT contigs (GRCh38's and HLA genes), if no file lists them
_ALT_NAME = re.compile(r".+_alt|HLA[-*:].+")
_MAX_BYTES = 1 << 30


def alt_contigs(names: list[str], path: str | None) -> NDArray[np.uint8]:
    """uint8 (contigs,): 1 for ALT ones.

    Args:
        path: bwa's ``.alt`` file: SAM whose records are named as the ALT contigs, or one name per line; None: decide
            by the contigs' names.

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
    """The index split into primary assembly and ALT contigs, if it has both."""
    chosen = alt_contigs(index.reference.names, path)
    if not chosen.any() or chosen.all():
        return index
    parts = _native.split_index(index.reference.native, index.offsets, index.entries, chosen)
    primary, alt = (
        replace(index, offsets=offsets, entries=entries, path=None) for offsets, entries in (parts[:2], parts[2:])
    )
    return replace(primary, alt=AltPart(chosen, alt))


def with_alt_records(index: MinimizerIndex, batch: SequenceBatch, found: Alignments, params: MapParams) -> Alignments:
    """Add the records on ALT contigs to those on the primary assembly."""
    assert index.alt is not None
    alone = map_batch(index.alt.index, batch, params)
    edit = params.scoring.match + params.scoring.mismatch
    return Alignments(*_native.join_alt_records(found.native, alone.native, edit, params.reporting.secondary))
