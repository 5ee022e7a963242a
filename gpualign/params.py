"""Options that every command shares. Each command's own parameters stand next to its workflow.

Defaults exist here once; the command line reads them from the dataclass fields.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range

#: bytes, where the system does not say
_UNKNOWN_MEMORY = 4 << 30
#: what control groups say of the process's own one
_CONTAINER = "/sys/fs/cgroup"
_MAX_THREADS, _LARGEST_BATCH = 1 << 14, 1 << 40
#: of tables
TABLE_FORMATS = ("tsv", "parquet", "arrow")
_CLUSTER = re.compile(r"local:[1-9]\d*|\w+://.+|.+\.json")


def available_cores() -> int:
    """Processors this process may run on (respects affinity and container limits)."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def available_memory() -> int:
    """Bytes that this process may still take, by the system and by a container's limit."""
    free = _UNKNOWN_MEMORY
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo") as lines:
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    with contextlib.suppress(OSError, ValueError):  # "max" is no number
        limit, used = (int(Path(_CONTAINER, name).read_text()) for name in ("memory.max", "memory.current"))
        free = min(free, max(0, limit - used))
    return free


@dataclass(frozen=True)
class RunOptions:
    """How to run, as opposed to what to compute: none of these changes a byte of the output.

    Attributes:
        output: path, None or "-" for standard output.
        threads: host threads.
        device: "auto", "cpu", "cuda" or "cuda:0,1".
        max_gpu_mem: bytes of device memory to use at most per GPU; None: what is free, less headroom.
        batch_size: bases per batch.
        progress: show a progress bar where standard error is a terminal.
        quiet: no summary on standard error.
        json: path of the run report, or None.
        output_format: of a table, one of :data:`TABLE_FORMATS`.
        command_line: for the run report; None: a Python function was called.
        dask: "local:N", a Dask scheduler's address or its scheduler file; None: this machine alone.
    """

    output: str | None = None
    threads: int = 0
    device: str = "auto"
    max_gpu_mem: int | None = None
    batch_size: int = 1 << 22
    progress: bool = True
    quiet: bool = False
    json: str | None = None
    dask: str | None = None
    output_format: str = "tsv"
    command_line: str | None = None

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        if self.threads == 0:
            object.__setattr__(self, "threads", available_cores())
        check_range("threads", self.threads, 1, _MAX_THREADS)
        check_range("batch size", self.batch_size, 1, _LARGEST_BATCH)
        if self.max_gpu_mem is not None and self.max_gpu_mem < 1 << 20:
            raise UsageError(f"max GPU memory must be at least 1M, not {self.max_gpu_mem}")
        if self.output_format not in TABLE_FORMATS:
            raise UsageError(f"a table's format is {', '.join(TABLE_FORMATS)}, not {self.output_format!r}")
        if self.dask is not None and not _CLUSTER.fullmatch(self.dask):
            raise UsageError(f"dask must be local:N, tcp://host:port or a scheduler.json file, not {self.dask!r}")

    @classmethod
    def of_api(cls, device: str, threads: int) -> RunOptions:
        """The options of a call of the Python API, which prints nothing."""
        return cls(device=device, threads=threads, progress=False, quiet=True)
