"""Estimates of what files hold, before they are read: symbols, pairs, lengths."""

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
from gpualign.text.files import InputFile

#: expansion of compressed files, by extension
_EXPANDED = {".gz": 4.0, ".bgz": 4.0, ".bz2": 4.5, ".xz": 5.0, ".zst": 4.5, ".bam": 4.0, ".cram": 6.0}
#: extensions of files with qualities, and the share of bases in their text
_QUALITIES, _QUALITIES_SHARE = (".fastq", ".fq", ".sam", ".bam", ".cram"), 0.45
#: bytes to read for the lengths of records
_HEAD = 1 << 16
#: bytes of a line of candidates, if the file cannot be read
_LINE = 50.0


def symbols_in_files(*paths: str | None) -> float | None:
    """Estimated number of symbols; None if a file is a pipe that is still written to."""
    sizes = [_symbols(path) for path in paths if path is not None]
    return None if None in sizes else math.fsum(size for size in sizes if size is not None)


def pairs_in(candidates: str) -> float | None:
    """Estimated number of lines of pairs or candidates; BAM counts as SAM text."""
    size = _bytes_of(candidates)
    if size is None:
        return None
    head = b"" if candidates.lower().endswith(".bam") else _head(candidates)
    line_bytes = len(head) / lines if (lines := head.count(b"\n")) else _LINE
    return size * _EXPANDED.get(os.path.splitext(candidates.lower())[1], 1.0) / line_bytes


def mean_length(path: str) -> float | None:
    """Mean length of FASTA or FASTQ records, from the first ones; None if the file cannot be read twice."""
    head = _head(path)
    if not head:
        return None
    fastq = head.startswith(b"@")
    records = head.count(b"\n") / 4 if fastq else head.count(b"\n>") + 1
    if records <= 1 and len(head) == _HEAD:
        return symbols_in_files(path)
    return len(head) * (_QUALITIES_SHARE if fastq else 1.0) / max(1.0, records)


def longest_read(path: str) -> int:
    """Longest of the first reads, if each has its bases on one line; 0: unknown."""
    head = _head(path)
    step = {b"@": 4, b">": 2}.get(head[:1])
    lines = head.split(b"\n")
    if step is None or any(line[:1] != head[:1] for line in lines[::step] if line):
        return 0
    return max(map(len, lines[1::step]), default=0)


def _head(path: str) -> bytes:
    """The first bytes of a file's text; empty for pipes and damaged files."""
    if os.path.isfile(path):
        with contextlib.suppress(GpualignError), InputFile(path) as file:
            return file.read(_HEAD)
    return b""


def product(amounts: Iterable[float | None]) -> float | None:
    """The product; None if one amount is unknown."""
    known = list(amounts)
    return None if None in known else math.prod(amount for amount in known if amount is not None)


def _symbols(path: str) -> float | None:
    size = _bytes_of(path)
    return None if size is None else size * _factor(path)


def _factor(path: str) -> float:
    stem, end = os.path.splitext(path.lower())
    named = stem if end in _EXPANDED and end not in _QUALITIES else stem + end  # without the extension of compression
    return _EXPANDED.get(end, 1.0) * (_QUALITIES_SHARE if named.endswith(_QUALITIES) else 1.0)


def _bytes_of(path: str) -> float | None:
    """Bytes of a file; None if unknown, as for a pipe."""
    try:
        if path != "-":
            status = os.stat(path)
            return None if stat.S_ISFIFO(status.st_mode) else float(status.st_size)
        descriptor = sys.stdin.fileno()
        status = os.fstat(descriptor)
        return _waiting(descriptor) if stat.S_ISFIFO(status.st_mode) else float(status.st_size)
    except (OSError, ValueError, AttributeError):  # also if standard input is an object of the caller
        return None


def _waiting(descriptor: int) -> float | None:
    """Bytes in a pipe whose writer has closed it; else None."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not any(events & select.POLLHUP for _, events in poll.poll(0)):
        return None
    return float(struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))[0])
