"""The minimizer index: parameters, construction and look-up. One index serves `map` and `mems`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError
from gpualign.seeds.index.shared import SharedFile
from gpualign.seeds.index.source import SourceFile
from gpualign.sequences.reference import Reference

LONGEST_KMER = 31


@dataclass(frozen=True)
class IndexParams:
    """Selects the k-mers of an index.

    Attributes:
        k: odd, 1 to 31.
        w: consecutive k-mers per window; every window contributes its smallest hashes. Two sequences that share an
           exact match of at least ``w + k - 1`` bases share a minimizer.
        meth: for bisulfite reads: the k-mers of both strands, each with C as T, instead of canonical ones.
    """

    k: int
    w: int
    meth: bool = False

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        if self.k % 2 == 0 or not 1 <= self.k <= LONGEST_KMER:
            raise UsageError(f"k must be odd and between 1 and {LONGEST_KMER}, not {self.k}")
        if not 1 <= self.w <= 256:
            raise UsageError(f"w must be between 1 and 256, not {self.w}")


@dataclass(frozen=True)
class MinimizerIndex:
    """The minimizers of a reference and their positions.

    Attributes:
        reference: what was indexed.
        params: k and w.
        offsets: uint32 (2**bucket_bits + 1,), entries of each bucket; a bucket is the top bits of the k-mer's hash.
        entries: uint64 (n,), fingerprint << 33 | position << 1 | strand, sorted within a bucket
            (cuda/algo/seeds/index/minimizer.hpp).
        bucket_bits: number of hash bits that choose the bucket.
        source: the file that it was built from, or None.
        path, load: the file that it was loaded from, and the function that does so; or None.
        shared: that file, where its arrays are mapped and not read.
        alt: of contigs whose entries are apart, or None.
    """

    sent_once: ClassVar[bool] = True  # to a cluster's workers, apart from the items that hold it
    sent_by_path: ClassVar[bool] = True  # where they see the file: they load it
    reference: Reference
    params: IndexParams
    offsets: NDArray[np.uint32]
    entries: NDArray[np.uint64]
    bucket_bits: int
    source: SourceFile | None = field(default=None, compare=False)
    path: str | None = field(default=None, compare=False)
    load: Callable[[str], MinimizerIndex] | None = field(default=None, compare=False)
    shared: SharedFile | None = field(default=None, compare=False)
    alt: AltPart | None = field(default=None, compare=False)

    def check_unchanged(self) -> None:
        """After the index was used, and before what it led to is handed on.

        Raises:
            InputError: it is mapped, and its file was changed meanwhile.
        """
        if self.shared is not None:
            self.shared.check()

    @property
    def native(self) -> tuple[Any, NDArray[np.uint32], NDArray[np.uint64], int, int, int]:
        """The arguments native functions take: (reference, offsets, entries, k, w, bucket_bits)."""
        return (self.reference.native, self.offsets, self.entries, self.params.k, self.params.w, self.bucket_bits)


@dataclass(frozen=True)
class AltPart:
    """The part of an index that is of ALT contigs.

    Attributes:
        chosen: uint8 (contigs,), 1 for ALT ones.
        index: theirs alone, of the same reference.
    """

    chosen: NDArray[np.uint8]
    index: MinimizerIndex


def build_index(
    reference: Reference, params: IndexParams, threads: int = 1, done: NDArray[np.uint64] | None = None
) -> MinimizerIndex:
    """Index a reference. The result does not depend on ``threads``.

    Args:
        done: uint64 (1,), counts up to twice the reference's bases meanwhile, for whoever shows it.

    Raises:
        UsageError: more entries than 32 bits can count (raise w).
    """
    done = np.zeros(1, np.uint64) if done is None else done
    try:
        offsets, entries, bits = _native.build_index(reference.native, params.k, params.w, params.meth, threads, done)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return MinimizerIndex(reference, params, offsets, entries, bits)
