"""Patterns from files and command lines, and which of their symbols must match exactly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gpualign.align.patterns import tuning
from gpualign.align.patterns.cpu import Patterns
from gpualign.errors import InputError, UsageError
from gpualign.search.params import LONGEST_PATTERN, SearchParams
from gpualign.sequences.batch import join_bytes
from gpualign.sequences.identity import edits_within
from gpualign.text.chunks import read_chunks
from gpualign.text.fastx import parse
from gpualign.text.files import InputFile
from gpualign.text.text import Streamed

_NUCLEOTIDES = frozenset(b"ACGTRYSWKMBDHVN")
_MOTIF = re.compile(r"(?:([35]):)?([A-Za-z]+)")
_CHUNK = 1 << 22
#: bytes that no text has
_CONTROLS = frozenset(range(9)) | frozenset(range(14, 32)) | {127}
_LINE = "a line is a pattern, or a name, a tab and a pattern"
#: a name, a pattern, and its line where patterns are lines
Named = tuple[str, bytes, int | None]


def read_patterns(path: str, alphabet: str, pairs: bool = False) -> list[Named]:
    """The records of a FASTA or FASTQ file; or of other text the lines: a pattern each, or a name, a tab and a pattern.

    Args:
        pairs: lines may have another tab and a second pattern of the same name.

    Raises:
        InputError: the file cannot be read, or has a line or record that is no pattern.
    """
    with InputFile(path) as file:
        head = file.read(_CHUNK)
        if head.lstrip()[:1] in (b">", b"@", b";"):
            chunks = read_chunks(Streamed(file, head), _CHUNK)
            batches = [parse(chunk, "nucleotide" if alphabet == "dna" else "any") for chunk in chunks]
            return [(batch.name(i), batch.sequence(i), None) for batch in batches for i in range(len(batch))]
        parts = [head]
        while part := file.read(_CHUNK):
            parts.append(part)
    text = b"".join(parts)
    if not _CONTROLS.isdisjoint(text):
        raise InputError("neither FASTA nor FASTQ, nor lines of text", path)
    return list(_lines(text, path, 2 if pairs else 1))


def _lines(text: bytes, path: str, most: int) -> Iterator[Named]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith(b"#"):
            continue
        fields = [field.strip() for field in line.split(b"\t")]
        if len(fields) > 1 and not fields[1]:
            raise InputError(f"the pattern is empty ({_LINE})", path, number)
        for symbols in fields[1 : 1 + most] or fields:
            yield fields[0].decode("latin-1"), symbols, number


def given_patterns(texts: Sequence[str | bytes]) -> list[Named]:
    """Patterns without names are called as they are."""
    symbols = [text.encode("latin-1") if isinstance(text, str) else bytes(text) for text in texts]
    return [(text.decode("latin-1"), text, None) for text in symbols]


def make_patterns(
    named: Sequence[Named], params: SearchParams, text: float | None, path: str | None = None
) -> Patterns:
    """Patterns ready for the search.

    Args:
        text: symbols that are to be searched, about; None: many.
        path: of their file.

    Raises:
        InputError: no pattern, an empty or too long one, a symbol that is not of the alphabet, or a pattern without the
            end that must match exactly.
        UsageError: what must match exactly is not understood.
    """
    if not named:
        raise InputError("no pattern (expected FASTA, FASTQ, or a pattern a line)", path)
    before, after = _pam(params.pam)
    symbols, fixed, lengths = [], [], []
    for number, (name, given, line) in enumerate(named, start=1):
        try:
            pattern = _checked(given, params.alphabet)
            lengths.append(len(pattern))
            symbols.append(before + pattern + after)
            fixed.append(_fixed_symbols(symbols[-1], len(before), len(after), params.fixed))
        except ValueError as error:
            shown = f"'{name}'" if path and line is None else number
            raise InputError(f"{error}; {_LINE}" if line else f"pattern {shown}: {error}", path, line) from None
    limits = np.array(lengths, np.int64)
    if params.max_errors is not None:
        limits = np.minimum(limits, params.max_errors)
    elif params.error_rate is not None:
        limits = edits_within(params.error_rate, limits)
    kept = limits.astype(np.int32)
    # a pattern that is not worse by the margin must be found
    farther = max(0, params.margin - 1) if params.best_per_target else 0
    joined, offsets = join_bytes(symbols)
    return Patterns(
        names=[name for name, _, _ in named],
        symbols=joined,
        offsets=offsets,
        limits=kept + np.int32(farther),
        kept=kept,
        fixed=np.concatenate(fixed),
        alphabet=params.alphabet,
        strands=params.strands,
        all_ends=params.hits == "all",
        max_bulges=params.bulges,
        max_ambiguous=params.max_ambiguous,
        overhang=params.overhang_cost if params.ends == "free" else -1.0,
        text=1e10 if text is None else text,
        max_hits=tuning.MAX_HITS,
    )


def _checked(given: bytes, alphabet: str) -> bytes:
    pattern = given if alphabet == "bytes" else given.upper()
    if alphabet == "dna":
        pattern = pattern.replace(b"U", b"T")
        if wrong := [symbol for symbol in pattern if symbol not in _NUCLEOTIDES]:
            shown = chr(wrong[0]) if 32 <= wrong[0] < 127 else f"byte {wrong[0]}"
            raise ValueError(f"{shown!r} is not a nucleotide code (--alphabet protein or bytes takes others)")
    if not pattern:
        raise ValueError("it has no sequence")
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"it has {len(pattern):,} symbols (at most {LONGEST_PATTERN:,})")
    return pattern


def _pam(text: str | None) -> tuple[bytes, bytes]:
    """What is added before each pattern, and after it."""
    if text is None:
        return b"", b""
    match = _MOTIF.fullmatch(text)
    if match is None or set(match[2].upper().replace("U", "T").encode()) - _NUCLEOTIDES:
        raise UsageError(f"a PAM is bases and IUPAC codes, as NGG or 5:TTTV, not {text!r}")
    motif = match[2].upper().replace("U", "T").encode()
    return (motif, b"") if match[1] == "5" else (b"", motif)


def _fixed_symbols(symbols: bytes, before: int, after: int, text: str | None) -> NDArray[np.uint8]:
    """1 where a symbol must match: the PAM, and what ``--fixed`` says of the pattern without it.

    Raises:
        ValueError: the pattern does not have it.
    """
    fixed = np.zeros(len(symbols), np.uint8)
    fixed[:before] = 1
    fixed[len(symbols) - after :] = 1
    if text is None:
        return fixed
    inner, length = fixed[before : len(symbols) - after], len(symbols) - before - after
    for part in text.split(","):
        if motif := re.fullmatch(r"([35]):([A-Za-z]+)", part):
            wanted, pattern = motif[2].upper().encode(), symbols[before : before + length]
            if not (pattern.endswith(wanted) if motif[1] == "3" else pattern.startswith(wanted)):
                raise ValueError(f"it does not {'end' if motif[1] == '3' else 'begin'} with {motif[2].upper()}")
            inner[slice(length - len(wanted), length) if motif[1] == "3" else slice(0, len(wanted))] = 1
        elif interval := re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part):
            first, last = int(interval[1]), int(interval[2] or interval[1])
            if not 1 <= first <= last:
                raise UsageError(f"positions are counted from 1, and the first is not after the last: {part!r}")
            if last > length:
                raise ValueError(f"it has no position {last}")
            inner[first - 1 : last] = 1
        else:
            raise UsageError(f"--fixed takes ends (3:NGG, 5:TTTV) and positions (1-4,20), not {part!r}")
    return fixed
