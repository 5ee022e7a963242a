"""Standard error as the command line uses it."""

from __future__ import annotations

import contextlib
import io
import sys


class _Lossy(io.FileIO):
    """Characters that cannot be encoded are dropped."""

    def write(self, text: object) -> int:
        try:
            return super().write(text) or 0  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(text))  # type: ignore[arg-type]


def lose_messages_rather_than_results() -> None:
    """A full disk under standard error, or a reader of it that has gone, does not end a run: its output is whole, and
    so is its exit code. Programs in C do the same, as they do not look whether a message was written.
    """
    before = sys.__stderr__
    if before is None or sys.stderr is not before:
        return
    raw = _Lossy(before.fileno(), "w", closefd=False)
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), before.encoding, before.errors, line_buffering=True)


def complain(prefix: str, message: str) -> None:
    """An error, as one line."""
    with contextlib.suppress(OSError, ValueError):
        print(f"{prefix}: error: {' '.join(message.split())}", file=sys.stderr, flush=True)
