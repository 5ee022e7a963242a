"""Devices that stay open between calls, since a context takes longer to start than most calls take."""

from __future__ import annotations

import os
import threading

from gpualign.params import RunOptions
from gpualign.run.select import Work, open_backend
from gpualign.run.stage import Backend

#: seconds of a core's work that are worth a call to an open device
_WORTH_A_CALL_S = 2e-3
_lock = threading.Lock()
#: one per process: a forked child must not use its parent's
_open: dict[tuple[int, str, int | None], Backend] = {}


def backend_for(options: RunOptions, work: Work) -> Backend:
    """The backend for a call: one that is open already, or a new one, which stays open where it has devices.

    Raises:
        as :func:`open_backend`.
    """
    key = (os.getpid(), options.device, options.max_gpu_mem)
    with _lock:
        known = _open.get(key)
        if known is not None and all(not device.closing.is_set() for device in known.devices):
            seconds = work.core_seconds
            if options.device != "auto" or seconds is None or seconds / options.threads > _WORTH_A_CALL_S:
                return known
            return open_backend(RunOptions(threads=options.threads, device="cpu"), "distances")
        backend = open_backend(options, "distances", work)
        if backend.devices:
            _open[key] = backend
        return backend
