"""`index`: a reference's minimizer index, chosen, built, saved and opened again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from gpualign.errors import InputError, counted
from gpualign.params import RunOptions
from gpualign.report import Progress, Report
from gpualign.seeds.index.file import check_index_path, is_index, load_index, save_index
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from gpualign.seeds.index.source import SourceFile
from gpualign.text.files import share_read
from gpualign.text.paths import check_paths
from gpualign.text.references import read_reference

#: whether an index is for bisulfite reads -> what is wrong if the reads are not as it is
_OTHER_READS = {
    False: "the index is not for bisulfite reads (build it with gpualign index --meth)",
    True: "the index is for bisulfite reads (map them with --meth, or build it again without --meth)",
}


def choose_index_params(bases: int, k: int | None = None, w: int | None = None, meth: bool = False) -> IndexParams:
    """Seeds for mapping reads, or bisulfite reads (``meth``), onto a reference of ``bases`` bases.

    Long seeds hit few loci by chance, short and dense ones survive errors. A small reference can afford every 11-mer,
    which finds reads that share no more than 11 bases in a row with it; a chromosome wants one k-mer in four or five.
    In three letters a base has three quarters of the information, and an index holds the k-mers of both strands.
    """
    if bases < 1 << 20:
        best = (15, 1) if meth else (11, 1)
    elif bases < 1 << 25:
        best = (19, 5) if meth else (15, 5)
    else:
        best = (21, 7) if meth else (19, 8)
    k, w = best[0] if k is None else k, best[1] if w is None else w
    return IndexParams(k, w, meth)


def open_index(
    reference: str,
    k: int | None,
    w: int | None,
    threads: int,
    choose: Callable[[int], IndexParams] | None = None,
    shared: bool = False,
    options: RunOptions | None = None,
    meth: bool = False,
) -> MinimizerIndex:
    """A saved index, or one built from a reference file.

    Args:
        choose: for how many bases which parameters, in place of k and w.
        shared: a saved index is mapped, so that processes share it.
        options: whether to show progress.
        meth: for bisulfite reads.

    Raises:
        InputError: unreadable input, or a saved index of other parameters than those asked for.
    """
    if is_index(reference):
        index = load_index(reference, threads, shared)
        for name, wanted, found in (("k", k, index.params.k), ("w", w, index.params.w)):
            if wanted is not None and wanted != found:
                raise InputError(f"the index was built with {name} = {found}, not {wanted} (build it again)", reference)
        if index.params.meth != meth:
            raise InputError(_OTHER_READS[index.params.meth], reference)
        return index
    return _build(reference, choose or (lambda bases: choose_index_params(bases, k, w, meth)), threads, options)


def _build(path: str, choose: Callable[[int], IndexParams], threads: int, options: RunOptions | None) -> MinimizerIndex:
    options = options or RunOptions(progress=False)
    source = SourceFile.of(path)
    with Progress(options, " bases read", share=partial(share_read, (path,))) as progress:
        packed = read_reference(path, progress.update)
    done = np.zeros(1, np.uint64)
    # each base is scanned, and its seed sorted
    with Progress(options, " bases scanned and sorted", total=2 * packed.bases) as progress, progress.watching(done):
        return replace(build_index(packed, choose(packed.bases), threads, done), source=source)


def run_index(
    reference: str,
    output: str,
    options: RunOptions,
    k: int | None = None,
    w: int | None = None,
    meth: bool = False,
) -> None:
    """Build the index of a reference, a FASTA, GenBank or EMBL file, and save it.

    Args:
        k, w: minimizer parameters; None: chosen from the reference's size.
        meth: for bisulfite reads.

    Raises:
        UsageError, InputError, GpualignError: as the functions say.
    """
    choose = partial(choose_index_params, k=k, w=w, meth=meth)
    check_index_path(output)
    choose(1)  # refuses k and w before the reference is read
    check_paths((reference,), (output,))
    report = Report("index", options)
    index = _build(reference, choose, options.threads, options)
    packed = index.reference
    save_index(index, output)
    size = index.offsets.nbytes + index.entries.nbytes + packed.words.nbytes
    report.finish(
        f"{counted(len(packed.names), 'contig')}, {counted(packed.bases, 'base')}, k = {index.params.k}, "
        f"w = {index.params.w}, {counted(len(index.entries), 'minimizer')}, {size / packed.bases:.2f} bytes a base"
    )
