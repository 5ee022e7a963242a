"""What one process at a time may do: a lock that the system lifts when its process ends, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import time
from collections.abc import Callable, Iterator

_LOOKED_EVERY_S = 0.05


@contextlib.contextmanager
def alone(
    lock: str, waits: Callable[[], object] = lambda: None, patience_s: float = math.inf
) -> Iterator[OSError | None]:
    """Keep out other processes, and threads, that come with the same file, which is removed at the end. So whoever gets
    in looks first whether the work has been done.

    Where the file system has no locks, or after ``patience_s`` seconds, as the process that is in may be stopped, the
    caller gets in as well.

    Args:
        lock: path of the file.
        waits: called before it waits for another process.

    Yields:
        why the file cannot be made, and so nobody is kept out; None: it is there.
    """
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        yield error
        return
    try:
        _take(descriptor, waits, patience_s)
        yield None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(lock)
        os.close(descriptor)


def _take(descriptor: int, waits: Callable[[], object], patience_s: float) -> None:
    """Not by a call that waits, which no other thread could end."""
    until = time.monotonic() + patience_s
    waited = False
    while time.monotonic() < until:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not waited:
                waits()
            waited = True
            time.sleep(_LOOKED_EVERY_S)
        except OSError:
            return
