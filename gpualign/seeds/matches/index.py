"""The index that `mems` searches: loaded, or built as suits the matches that are looked for."""

from __future__ import annotations

import numpy as np

from gpualign.errors import InputError, UsageError
from gpualign.seeds.index.file import is_index, load_index, save_index
from gpualign.seeds.index.minimizers import MinimizerIndex, build_index
from gpualign.seeds.index.run import open_index
from gpualign.seeds.matches.params import MemsParams, choose_index
from gpualign.seeds.matches.suffix_array import SuffixArray, build_suffix_array, choose_prefix
from gpualign.sequences.reference import Reference
from gpualign.text.references import read_reference

#: sorting a reference's positions costs less than to look queries up in a saved index that have more than this share of
#: its length
_WORTH_SORTING = 1 / 64

#: index of a search
MemsIndex = MinimizerIndex | SuffixArray


def index_for(reference: Reference, params: MemsParams, threads: int = 1) -> MemsIndex:
    """Build what suits the matches that are looked for."""
    if params.by_suffix_array:
        return build_suffix_array(reference, choose_prefix(params.min_length, reference.bases), threads)
    return build_index(reference, choose_index(params.min_length, reference.bases), threads)


def index_of(reference: str, params: MemsParams, threads: int, query_bytes: int = 0) -> MemsIndex:
    """The index of a reference file: loaded, or built and perhaps saved.

    Where that is better for queries of ``query_bytes``, it is a suffix array of the reference.

    Raises:
        InputError: a file that cannot be read, or an index of another reference.
        UsageError: an index for longer matches.
    """
    if params.index is None and params.save_index is None and not is_index(reference):
        return index_for(read_reference(reference), params, threads)
    if params.index is not None:
        index = load_index(params.index, threads)
    else:
        index = open_index(reference, None, None, threads, lambda bases: choose_index(params.min_length, bases))
    if index.params.meth:
        raise UsageError("the index is for bisulfite reads: build one without --meth")
    longest = index.params.w + index.params.k - 1
    if longest > params.min_length:
        raise UsageError(
            f"the index holds every match of {longest} bases or more, not of {params.min_length} "
            f"(use -l {longest}, or build one for shorter matches)"
        )
    if params.index is not None:
        _check_same_reference(index, reference, threads)
    if params.save_index is not None:
        save_index(index, params.save_index)
    if params.by_suffix_array and query_bytes > _WORTH_SORTING * index.reference.bases:
        return index_for(index.reference, params, threads)
    return index


def _check_same_reference(index: MinimizerIndex, reference: str, threads: int) -> None:
    packed = load_index(reference, threads).reference if is_index(reference) else read_reference(reference)
    same = packed.names == index.reference.names and all(
        np.array_equal(getattr(packed, name), getattr(index.reference, name))
        for name in ("contig_offsets", "words", "run_starts", "run_ends", "run_bases")
    )
    if not same:
        raise InputError("the saved index is of another reference (build it again)", reference)
