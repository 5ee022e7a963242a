"""Adapters as users write them, and as the native code takes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpualign import _native
from gpualign.errors import InputError
from gpualign.search.params import SearchParams
from gpualign.search.patterns import Named
from gpualign.search.trim_params import ADAPTER_ERROR_RATE, TrimParams
from gpualign.sequences.batch import join_bytes
from gpualign.sequences.strands import reverse_complement

#: what an alignment may leave out (gpualign/native/align/patterns/adapters.hpp)
_ADAPTER_START, _READ_START, _ADAPTER_STOP, _READ_STOP = 1, 2, 4, 8
_REPEAT = re.compile(rb"(.)\{(\d{1,4})\}")
_NUCLEOTIDES = frozenset(b"ACGTRYSWKMBDHVN")
_ANY_ENDS = 15
#: cutadapt's words for what an adapter may leave out
KINDS = {
    _READ_START | _READ_STOP | _ADAPTER_STOP: "regular_three_prime",
    _READ_START | _ADAPTER_STOP: "noninternal_three_prime",
    _READ_START: "anchored_three_prime",
    _READ_START | _READ_STOP | _ADAPTER_START: "regular_five_prime",
    _READ_STOP | _ADAPTER_START: "noninternal_five_prime",
    _READ_STOP: "anchored_five_prime",
    _ANY_ENDS: "anywhere",
}


@dataclass(frozen=True)
class Adapter:
    """One adapter. Attributes: ``ends``: what an alignment may leave out; ``overlap``: bases that must be there."""

    symbols: bytes
    ends: int
    rate: float
    overlap: int


@dataclass(frozen=True)
class Group:
    """What is found as one: an adapter, or one at the 5' and one at the 3' end.

    Attributes:
        needed: of two adapters: bit 0 the first must be found, bit 1 the second.
    """

    name: str
    front: Adapter | None
    back: Adapter | None
    needed: int = 0

    @property
    def barcode(self) -> bytes:
        """The symbols of the first adapter, without marks."""
        return next(each.symbols for each in (self.front, self.back) if each)


def groups_of(named: Sequence[Named], params: SearchParams, trim: TrimParams, path: str | None = None) -> list[Group]:
    """Adapters of a file or of the command line, in cutadapt's notation.

    Raises:
        InputError: an adapter is empty, has other symbols, or marks that do not go together.
    """
    if not named:
        raise InputError("no adapter (expected FASTA, or an adapter a line)", path)
    found = []
    for number, (name, text, line) in enumerate(named, start=1):
        if path is None and b"=" in text:
            name, text = text.partition(b"=")[0].decode("latin-1"), text.partition(b"=")[2]
        symbols = _REPEAT.sub(lambda match: match[1] * int(match[2]), text).upper().replace(b"U", b"T")
        try:
            found.append(_group(name, symbols, params, trim))
        except ValueError as error:
            shown = f"adapter '{name}'" if path else f"adapter {number}"
            raise InputError(str(error) if line else f"{shown}: {error}", path, line) from None
    return found


def _group(name: str, text: bytes, params: SearchParams, trim: TrimParams) -> Group:
    first, dots, second = text.partition(b"...")
    if first and second:
        if trim.trim in ("any", "both"):
            raise ValueError(f"linked adapters say themselves where they are (give --trim 3 or 5, not {trim.trim})")
        front, back = _adapter(first, "5", params, trim), _adapter(second, "3", params, trim)
        all_needed = trim.trim == "5"
        anchored = (1 if front.ends == _READ_STOP else 0) | (2 if back.ends == _READ_START else 0)
        return Group(name, front, back, 3 if all_needed else anchored)
    if dots:
        return _one(name, first or second, "5" if first else "3", params, trim)
    if trim.trim == "both":
        return Group(name, _adapter(text, "5", params, trim), _adapter(reverse_complement(text), "3", params, trim))
    return _one(name, text, str(trim.trim), params, trim)


def _one(name: str, text: bytes, where: str, params: SearchParams, trim: TrimParams) -> Group:
    if where == "any":
        adapter = _adapter(text, "any", params, trim)
        return Group(name, adapter, adapter)
    if text.startswith((b"^", b"X")):
        where = "5"
    elif text.endswith((b"$", b"X")):
        where = "3"
    adapter = _adapter(text, where, params, trim)
    return Group(name, adapter, None) if where == "5" else Group(name, None, adapter)


def _adapter(text: bytes, where: str, params: SearchParams, trim: TrimParams) -> Adapter:
    symbols = text.strip(b"^$X")
    marks = text[: len(text) - len(text.lstrip(b"^X"))], text[len(text.rstrip(b"$X")) :]
    allowed = {"5": ((b"", b"^", b"X"), (b"",)), "3": ((b"",), (b"", b"$", b"X")), "any": ((b"",), (b"",))}[where]
    if not symbols:
        raise ValueError("it has no sequence")
    if marks[0] not in allowed[0] or marks[1] not in allowed[1]:
        raise ValueError(f"^ and X stand before an adapter of the 5' end, $ and X after one of the 3' end: {text!r}")
    if wrong := [symbol for symbol in symbols if symbol not in _NUCLEOTIDES]:
        raise ValueError(f"{chr(wrong[0])!r} is not a nucleotide code")
    ends = {"5": _READ_START | _READ_STOP | _ADAPTER_START, "3": _READ_START | _READ_STOP | _ADAPTER_STOP, "any": 15}
    mark = marks[0] or marks[1]
    inner = {b"^": _READ_START | _ADAPTER_START, b"$": _READ_STOP | _ADAPTER_STOP}
    inner[b"X"] = _READ_START if where == "5" else _READ_STOP
    counted = len(symbols) - symbols.count(b"N") or len(symbols)
    rate = params.error_rate if params.error_rate is not None else ADAPTER_ERROR_RATE
    rate = rate if params.max_errors is None else params.max_errors / counted
    overlap = len(symbols) if mark in (b"^", b"$") else min(trim.min_overlap, len(symbols))
    return Adapter(symbols, ends[where] & ~inner.get(mark, 0), rate, overlap)


def native_set(groups: Sequence[Group], indels: bool) -> _native.AdapterSet:
    """The adapters of one mate, ready to be looked for: the first one of each group, then the others."""
    linked = [group for group in groups if group.front and group.back and group.front is not group.back]
    firsts: list[Any] = [group.front or group.back for group in groups]
    adapters: list[Adapter] = [*firsts, *(group.back for group in linked if group.back)]
    symbols, offsets = join_bytes([each.symbols for each in adapters])
    seconds = {id(group): len(groups) + number for number, group in enumerate(linked)}
    return _native.AdapterSet(
        symbols=symbols,
        offsets=offsets,
        ends=np.array([each.ends for each in adapters], np.uint8),
        rates=np.array([each.rate for each in adapters], np.float64),
        overlaps=np.array([each.overlap for each in adapters], np.int32),
        indels=indels,
        back=np.array([seconds.get(id(group), -1) for group in groups], np.int32),
        needed=np.array([group.needed for group in groups], np.uint8),
        keeps=np.array([0 if g.front is g.back else 5 if g.front else 3 for g in groups], np.uint8),
    )
