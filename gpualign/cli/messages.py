"""Messages on standard error."""

from __future__ import annotations

import contextlib
import io
import sys


class _Lossy(io.FileIO):
    """A file whose failed writes are dropped."""

    def write(self, text: object) -> int:
        try:
            return super().write(text) or 0  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(text))  # type: ignore[arg-type]


def lose_messages_rather_than_results() -> None:
    """Ignore failed writes to standard error (a full disk, a closed pipe), like C programs that do not check."""
    before = sys.__stderr__
    if before is None or sys.stderr is not before:
        return
    raw = _Lossy(before.fileno(), "w", closefd=False)
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), before.encoding, before.errors, line_buffering=True)


def complain(prefix: str, message: str) -> None:
    """Print an error on one line; names in files may have characters that a terminal obeys."""
    line = "".join(character if character.isprintable() else "?" for character in " ".join(message.split()))
    with contextlib.suppress(OSError, ValueError):
        print(f"{prefix}: error: {line}", file=sys.stderr, flush=True)
