"""What names of amplicons say: abundances (``;size=N``), samples, and taxonomy (``;tax=d:…,p:…``); and the table of
abundances by sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, RecordError
from gpualign.sequences.batch import join_bytes
from gpualign.text.files import InputFile

_SIZE = re.compile(rb"(^|;)size=\d+;?")
_TAXONOMY = re.compile(r"(?:^|;)tax=([^;]*)")
_RANK = re.compile(r"\s*([dkpcofgstDKPCOFGST])(?::|__)(.*)")
#: what `abundances` says of a size beyond 63 bits
_TOO_LARGE = -1
#: letters of the ranks in ``tax=``, from domain to strain, as vsearch and USEARCH have them
RANKS = "dkpcofgst"


def sizes_of(names: NDArray[np.uint8], offsets: NDArray[np.int64], path: str | None) -> NDArray[np.int64]:
    """int64 (n,): ``;size=N`` of each name, else 1.

    Raises:
        RecordError: a size that is no number from 1 on, or that no 64 bits hold.
    """
    sizes: NDArray[np.int64] = _native.abundances(names, offsets)
    if len(wrong := np.flatnonzero(sizes < 0)):
        name = names[offsets[wrong[0]] : offsets[wrong[0] + 1]].tobytes().decode("latin-1")
        large = sizes[wrong[0]] == _TOO_LARGE
        what = "is too large" if large else "is not a number from 1 on (;size=N)"
        raise RecordError(f"the size of sequence {name} {what}", path, name)
    return sizes


def with_size(name: bytes, size: int) -> bytes:
    """The name with this ``;size=N``, and no other."""
    return _SIZE.sub(rb"\1", name).strip(b";") + b";size=%d" % size


def unit_of(name: bytes) -> bytes:
    """What a table of abundances calls a sequence: its name up to the first semicolon."""
    return name.split(b";", 1)[0]


def taxonomy_of(label: str) -> list[str]:
    """The ranks of ``tax=`` in a label, such as ["d:Bacteria", "p:Firmicutes"], in the order of the ranks; [] without.

    A rank that is named twice counts as it stands last, as in vsearch.
    """
    return ranks_in(taxonomy_in(label))


def taxonomy_in(label: str) -> str:
    """What a label has after ``tax=``."""
    found = _TAXONOMY.search(label)
    return "" if found is None else found[1]


def ranks_in(text: str) -> list[str]:
    """The ranks of a taxonomy such as ``d:Bacteria,p:Firmicutes`` or ``d__Bacteria; p__Firmicutes``, in their order;
    what is no rank is left out.
    """
    found = (_RANK.match(part) for part in re.split("[,;]", text))
    by_rank = {rank[1].lower(): rank[2].strip() for rank in found if rank}
    return [f"{rank}:{by_rank[rank]}" for rank in RANKS if by_rank.get(rank)]


def read_taxonomy(path: str) -> dict[str, list[str]]:
    """The ranks of each name of a table: name and taxonomy on a line, with a tab between them.

    Raises:
        InputError: a line without a tab, or a file that cannot be read.
    """
    with InputFile(path) as file:
        text = file.rest().decode("latin-1")
    taxonomy = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, tab, ranks = line.partition("\t")
        if not tab and line.strip():
            raise InputError("no tab between a name and its taxonomy", path, number)
        if tab:
            taxonomy[name] = ranks_in(ranks.split("\t")[0])
    return taxonomy


def common_ranks(taxonomies: Sequence[list[str]], share: float = 1.0) -> list[str]:
    """The ranks on which at least this share of some taxonomies agree, each with all ranks above it.

    Args:
        share: above 0.5, so that there is one such name at most.
    """
    common: list[str] = []
    left = list(taxonomies)
    for rank in RANKS:
        names = [next((part for part in ranks if part[0] == rank), None) for ranks in left]
        most = max(set(names), key=names.count, default=None) if any(names) else None
        if not any(names):
            continue
        if most is None or names.count(most) < share * len(taxonomies) - 1e-9:
            break
        common.append(most)
        left = [ranks for ranks, name in zip(left, names, strict=True) if name == most]
    return common


def counts_by_sample(
    units: Iterable[bytes],
    unit: NDArray[np.integer],
    names: tuple[NDArray[np.uint8], NDArray[np.int64]],
    sizes: NDArray[np.int64],
    taxonomy: dict[bytes, str] | None = None,
) -> bytes:
    """A table of abundances, with units in rows and samples in columns, both sorted by name, as vsearch's --otutabout.

    Args:
        units: names of rows; equal ones are one row.
        unit: (n,), which of the units each sequence belongs to.
        names: n names, which have the samples, with their offsets.
        sizes: int64 (n,), abundances.
        taxonomy: what the last column has of each unit, if any.
    """
    samples, sample = _numbered(*_native.samples_of_names(*names))
    rows, row_of = _numbered(*join_bytes(list(units)))
    cells, which = np.unique(row_of[unit] * len(samples) + sample, return_inverse=True)
    counts = np.zeros(len(cells), np.int64)
    np.add.at(counts, which, sizes)
    starts = np.searchsorted(cells, np.arange(len(rows) + 1) * len(samples))
    lines = [b"\t".join([b"#OTU ID", *samples, *([b"taxonomy"] if taxonomy else [])])]
    for number, name in enumerate(rows):
        row = np.zeros(len(samples), np.int64)
        here = slice(starts[number], starts[number + 1])
        row[cells[here] - number * len(samples)] = counts[here]
        last = [taxonomy.get(name, "").encode("latin-1")] if taxonomy else []
        lines.append(b"\t".join([name, *(b"%d" % count for count in row.tolist()), *last]))
    return b"".join(line + b"\n" for line in lines)


def _numbered(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[list[bytes], NDArray[np.int64]]:
    """The different ones of some texts, sorted, and int64 (n,) which of them each is."""
    _, first, which = np.unique(_native.first_equal(text, offsets), return_index=True, return_inverse=True)
    different = [text[offsets[i] : offsets[i + 1]].tobytes() for i in first.tolist()]
    order = sorted(range(len(different)), key=different.__getitem__)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return [different[i] for i in order], rank[which]
