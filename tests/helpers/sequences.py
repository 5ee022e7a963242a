"""Random sequences, what becomes of them, and sequences as native code takes them.

Generators are Python's or NumPy's: all that is drawn from them is ``random()``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import AnyStr, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.reference import Reference

_COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
_T = TypeVar("_T")


class Generator(Protocol):
    def random(self) -> float: ...


def reverse_complement(text: AnyStr) -> AnyStr:
    """Of A, C, G, T; other symbols stay."""
    if isinstance(text, bytes):
        return text.translate(bytes.maketrans(b"ACGTN", b"TGCAN"))[::-1]
    return text.translate(_COMPLEMENT)[::-1]


def _pick(rng: Generator, values: Sequence[_T]) -> _T:
    return values[int(rng.random() * len(values))]


def random_text(rng: Generator, length: int, changed: str = "ACGT") -> str:
    return "".join(_pick(rng, changed) for _ in range(length))


def random_genome(seed: int, length: int) -> str:
    return random_text(random.Random(seed), length)


def random_codes(rng: np.random.Generator, length: int, symbols: int) -> bytes:
    """Bytes below ``symbols``."""
    return rng.integers(0, symbols, length).astype(np.uint8).tobytes()


def mutate(rng: Generator, text: AnyStr, rate: float, changed: AnyStr | None = None) -> AnyStr:
    """Deletions, insertions and substitutions of one symbol, a third of ``rate`` each."""
    alphabet = list(changed if changed is not None else "ACGT")
    out = []
    for symbol in text:
        kind = rng.random()
        if kind < rate / 3:
            continue
        if kind < 2 * rate / 3:
            out += [symbol, _pick(rng, alphabet)]
        elif kind < rate:
            out.append(_pick(rng, [other for other in alphabet if other != symbol] or alphabet))
        else:
            out.append(symbol)
    return bytes(out) if isinstance(text, bytes) else "".join(out)


def with_errors(seed: int, text: str, rate: float) -> str:
    return mutate(random.Random(seed), text, rate)


def substitute(rng: Generator, text: str, rate: float, changed: str = "ACGTN") -> str:
    """Every symbol is drawn anew with the probability ``rate``."""
    return "".join(_pick(rng, changed) if rng.random() < rate else symbol for symbol in text)


def with_edits(rng: Generator, text: str, count: int, sizes: Sequence[int] = (1,)) -> str:
    """So many substitutions, insertions and deletions, each of one of ``sizes`` symbols; a symbol at least is left."""
    out = list(text)
    for _ in range(count):
        at, size = _pick(rng, range(len(out) + 1)), _pick(rng, sizes)
        old, new = _pick(rng, ((size, size), (0, size), (size, 0)))
        out[at : at + old] = random_text(rng, new)
    return "".join(out) or "A"


def batch_of(sequences: Iterable[bytes], mates: NDArray[np.uint8] | None = None) -> SequenceBatch:
    """Records without names."""
    bases, offsets = join_bytes(list(sequences))
    return SequenceBatch(np.zeros(0, np.uint8), np.zeros(len(offsets), np.int64), bases, offsets, mates=mates)


def make_reference(*contigs: str | bytes) -> Reference:
    """Contigs c0, c1, …; they may be empty."""
    packer = _native.ReferencePacker()
    for contig in contigs:
        packer.append(np.frombuffer(contig.encode() if isinstance(contig, str) else contig, np.uint8))
    offsets = np.cumsum([0, *map(len, contigs)], dtype=np.int64)
    return Reference([f"c{i}" for i in range(len(contigs))], offsets, *packer.finish())


#: the bases that a code stands for
IUPAC = {
    "A": "A", "C": "C", "G": "G", "T": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC",
    "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT",
}  # fmt: skip


def with_codes(rng: random.Random, text: str, share: float) -> str:
    """Some symbols as codes that stand for them and others, so that they still match."""
    wider = {symbol: [code for code in IUPAC if set(IUPAC[symbol]) <= set(IUPAC[code])] for symbol in IUPAC}
    return "".join(rng.choice(wider[c]) if rng.random() < share else c for c in text)
