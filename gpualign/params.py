"""Options that every command shares. Each command's own parameters stand next to its workflow.

Defaults exist here once; the command line reads them from the fields (:mod:`gpualign.fields`).
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.fields import check_choices, parameter

#: bytes, where the system does not say
_UNKNOWN_MEMORY = 4 << 30
#: what control groups say of the process's own one
_CONTAINER = "/sys/fs/cgroup"
_MAX_THREADS, _LARGEST_BATCH = 1 << 14, 1 << 40
TableFormat = Literal["tsv", "parquet", "arrow"]
_CLUSTER = re.compile(r"local:[1-9]\d*|\w+://.+|.+\.json")
_output, _running = partial(parameter, under="Output"), partial(parameter, under="Running")


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
        command_line: for the run report; None: a Python function was called.
    """

    output: str | None = _output(
        None, "-o --output", "Output file; '-' is standard output.  [default: standard output]", metavar="FILE"
    )
    threads: int = _running(
        0, "-t --threads", "CPU threads; the output does not depend on them.  [default: all cores]", limits=(1, None)
    )
    device: str = _running(
        "auto",
        "--device",
        "auto, cpu, cuda or cuda:0,1. auto: a GPU if there is one and enough work for it.",
        metavar="DEV",
    )
    max_gpu_mem: int | None = _running(
        None, "--max-gpu-mem", "GPU memory to use at most, with K, M or G.  [default: the free memory]", unit="bytes"
    )
    batch_size: int = _running(
        1 << 22,
        "--batch-size",
        "Bases per batch; larger batches take more memory, and the output is the same.",
        unit="bases",
    )
    progress: bool = _running(
        True, "--no-progress", "Show no progress: neither the bar on a terminal nor, elsewhere, a line a minute."
    )
    quiet: bool = _running(False, "-q --quiet", "Print no summary and no warnings.")
    json: str | None = _running(None, "--json", "Write a run report as JSON.", metavar="FILE")
    dask: str | None = _running(
        None,
        "--dask",
        "Run on a Dask cluster: local:N, tcp://host:port or scheduler.json (docs/guides/dask.md).",
        metavar="WHERE",
    )
    output_format: TableFormat = _output(
        "tsv",
        "--output-format",
        "Format of the table; Parquet and Arrow have the content of TSV.  [default: by the output's name: .parquet or "
        ".arrow, else tsv]",
    )
    command_line: str | None = None

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        if self.threads == 0:
            object.__setattr__(self, "threads", available_cores())
        check_range("threads", self.threads, 1, _MAX_THREADS)
        check_range("batch size", self.batch_size, 1, _LARGEST_BATCH)
        if self.max_gpu_mem is not None and self.max_gpu_mem < 1 << 20:
            raise UsageError(f"max GPU memory must be at least 1M, not {self.max_gpu_mem}")
        check_choices(self)
        if self.dask is not None and not _CLUSTER.fullmatch(self.dask):
            raise UsageError(f"dask must be local:N, tcp://host:port or a scheduler.json file, not {self.dask!r}")

    @classmethod
    def of_api(cls, device: str, threads: int) -> RunOptions:
        """The options of a call of the Python API, which prints nothing."""
        return cls(device=device, threads=threads, progress=False, quiet=True)


def header_field(help: str = "Write no header line.") -> Any:
    """The field of a table's header line."""
    return _output(True, "--no-header", help)
