"""How much there is in files, estimated before they are read: symbols, pairs, lengths."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import select
import stat
import struct
import sys
import termios
from collections.abc import Iterable

from gpualign.errors import GpualignError
from gpualign.io.files import InputFile

#: bytes of text from a byte of compressed files, by how their names end
_EXPANDED = {".gz": 4.0, ".bgz": 4.0, ".bz2": 4.5, ".xz": 5.0, ".zst": 4.5, ".bam": 4.0, ".cram": 6.0}
#: files with qualities, and the share of bases in their text
_QUALITIES, _QUALITIES_SHARE = (".fastq", ".fq", ".sam", ".bam", ".cram"), 0.45
#: bytes that tell how long the records of a file are
_HEAD = 1 << 16
#: bytes of a line of candidates where that cannot be looked up
_LINE = 50.0


def symbols_in_files(*paths: str | None) -> float | None:
    """About how many symbols these files hold; None where one is a pipe whose writer is still there."""
    sizes = [_symbols(path) for path in paths if path is not None]
    return None if None in sizes else math.fsum(size for size in sizes if size is not None)


def pairs_in(candidates: str) -> float | None:
    """About how many lines a file of pairs or candidates has; BAM has as much text as SAM."""
    size = _bytes_of(candidates)
    if size is None:
        return None
    return size * _EXPANDED.get(os.path.splitext(candidates.lower())[1], 1.0) / _line_bytes(candidates)


def _line_bytes(path: str) -> float:
    head = b"" if path.lower().endswith(".bam") else _head(path)
    return len(head) / lines if (lines := head.count(b"\n")) else _LINE


def mean_length(path: str) -> float | None:
    """Symbols of a record of FASTA or FASTQ, estimated from the first ones; None where they cannot be read twice."""
    head = _head(path)
    if not head:
        return None
    fastq = head.startswith(b"@")
    records = head.count(b"\n") / 4 if fastq else head.count(b"\n>") + 1
    if records <= 1 and len(head) == _HEAD:
        return symbols_in_files(path)
    return len(head) * (_QUALITIES_SHARE if fastq else 1.0) / max(1.0, records)


def longest_read(path: str) -> int:
    """Of what a file begins with, where its records have their symbols on one line; 0: not known."""
    head = _head(path)
    step = {b"@": 4, b">": 2}.get(head[:1])
    lines = head.split(b"\n")
    if step is None or any(line[:1] != head[:1] for line in lines[::step] if line):
        return 0
    return max(map(len, lines[1::step]), default=0)


def _head(path: str) -> bytes:
    """The first bytes of a file's text; none of a pipe, or of a file that will be found to be damaged."""
    if os.path.isfile(path):
        with contextlib.suppress(GpualignError), InputFile(path) as file:
            return file.read(_HEAD)
    return b""


def cells_of_pairs(queries: str, targets: str | None, pairs: str | None, one_to_one: bool) -> float | None:
    """About the cells of what ``pairwise`` aligns: all against all, each with each, or the pairs of a list."""
    if pairs is not None or one_to_one:
        lengths = mean_length(queries), mean_length(targets or queries)
        count = (
            product((symbols_in_files(queries), 1 / max(1.0, lengths[0] or 0))) if one_to_one else pairs_in(str(pairs))
        )
        return product((count, *lengths))
    if targets is None:
        return product((symbols_in_files(queries), symbols_in_files(queries), 0.5))
    return product((symbols_in_files(queries), symbols_in_files(targets)))


def product(amounts: Iterable[float | None]) -> float | None:
    """None where one of them is unknown."""
    known = list(amounts)
    return None if None in known else math.prod(amount for amount in known if amount is not None)


def _symbols(path: str) -> float | None:
    size = _bytes_of(path)
    return None if size is None else size * _factor(path)


def _factor(path: str) -> float:
    stem, end = os.path.splitext(path.lower())
    named = stem if end in _EXPANDED and end not in _QUALITIES else stem + end  # without what says how it is compressed
    return _EXPANDED.get(end, 1.0) * (_QUALITIES_SHARE if named.endswith(_QUALITIES) else 1.0)


def _bytes_of(path: str) -> float | None:
    """Bytes of a file; None where that is not known, as of a pipe."""
    try:
        if path != "-":
            status = os.stat(path)
            return None if stat.S_ISFIFO(status.st_mode) else float(status.st_size)
        descriptor = sys.stdin.fileno()
        status = os.fstat(descriptor)
        return _waiting(descriptor) if stat.S_ISFIFO(status.st_mode) else float(status.st_size)
    except (OSError, ValueError, AttributeError):  # also where standard input is an object of the caller's
        return None


def _waiting(descriptor: int) -> float | None:
    """Bytes of a pipe: known once its writer has written all of them and gone."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not any(events & select.POLLHUP for _, events in poll.poll(0)):
        return None
    return float(struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))[0])
