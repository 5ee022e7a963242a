"""What the benchmark scripts share: timed commands, interleaved rounds, medians and ratios, and the results file.

A figure is worth something only next to its peer's in the same run: rounds are interleaved and their order rotates, so
that what else the machine does falls on all alike, and ratios are taken within a round before their median.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from gpualign import GpualignError

FOLDER = Path(__file__).resolve().parent
#: how busy the machine was before anything was measured
LOAD_BEFORE = round(os.getloadavg()[0], 2)
RESULTS = Path(os.environ.get("GPUALIGN_BENCH_RESULTS", FOLDER / "results"))
Value = TypeVar("Value")

#: how a program tells its version, and where in what it prints
_VERSION_COMMANDS = {
    "bcftools": (["bcftools", "--version"], r"bcftools (\S+)"),
    "blastp": (["blastp", "-version"], r"blastp: (\S+)"),
    "bowtie2": (["bowtie2", "--version"], r"version (\S+)"),
    "bwa": (["bwa"], r"Version: (\S+)"),
    "bwa-mem2": (["bwa-mem2", "version"], r"^(\d\S+)"),
    "minibwa": (["minibwa", "version"], r"(\S+)"),
    "minimap2": (["minimap2", "--version"], r"(\S+)"),
    "mmseqs": (["mmseqs", "version"], r"(\S+)"),
    "mosdepth": (["dpkg-query", "-W", "-f", "${Version}", "mosdepth"], r"(\S+)"),
    "mummer": (["dpkg-query", "-W", "-f", "${Version}", "mummer"], r"(\S+)"),
    "picard": (["dpkg-query", "-W", "-f", "${Version}", "picard-tools"], r"(\S+)"),
    "razers3": (["razers3", "--version"], r"razers3 version: (\S+)"),
    "sambamba": (["dpkg-query", "-W", "-f", "${Version}", "sambamba"], r"(\S+)"),
    "samtools": (["samtools", "--version"], r"samtools (\S+)"),
    "vsearch": (["vsearch", "--version"], r"vsearch v(\S+?)[_,]"),
    "yara_mapper": (["yara_mapper", "--version"], r"yara_mapper version: (\S+)"),
}


@dataclass(frozen=True)
class Timing:
    """One run: seconds of wall clock and of processor time, peak resident memory of the process tree in MiB."""

    wall_s: float
    user_s: float
    system_s: float
    peak_mib: float

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s


def on_cores(count: int, case: Callable[[], Value]) -> Value:
    """A case with so many of the cores, its threads included."""
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_cores)[:count])
    try:
        return case()
    finally:
        os.sched_setaffinity(0, all_cores)


def run_timed(command: Sequence[str | Path], output: str | Path = os.devnull) -> Timing:
    """Run a command, standard output to a file, and time it.

    Raises:
        RuntimeError: it failed; with the end of what it wrote to standard error.
    """
    launcher = [sys.executable, "-S", "-E", str(FOLDER / "timed_command.py"), str(output)]
    with tempfile.TemporaryFile("w+") as errors:
        # some containers forbid byte code; without it each start compiles all modules, as no user's does
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        words = [*launcher, *map(str, command)]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        errors.seek(0)
        text = errors.read()
    taken = json.loads(done.stdout) if done.returncode == 0 else {"status": done.returncode}
    if taken.pop("status") != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{text[-2000:]}")
    return Timing(**taken)


def seconds(call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of a call in this process; with time.thread_time, of what the calling thread computes."""
    start = clock()
    call()
    return clock() - start


def interleave(cases: Mapping[str, Callable[[], Value]], rounds: int) -> dict[str, list[Value]]:
    """Call every case once a round, each round beginning with another one."""
    names = list(cases)
    values: dict[str, list[Value]] = {name: [] for name in names}
    for turn in range(rounds):
        for i in range(len(names)):
            name = names[(turn + i) % len(names)]
            values[name].append(cases[name]())
    return values


def ratio(of: Iterable[float], to: Iterable[float]) -> float:
    """Median over the rounds of ``to / of``: how many times as fast ``of`` is."""
    return round(statistics.median(b / a for a, b in zip(of, to, strict=True)), 3)


def summary(timings: Sequence[Timing]) -> dict[str, Any]:
    """Medians of a case's runs."""
    return {
        "wall_s": round(statistics.median(t.wall_s for t in timings), 3),
        "cpu_s": round(statistics.median(t.cpu_s for t in timings), 3),
        "peak_mib": round(statistics.median(t.peak_mib for t in timings), 1),
    }


def have(programs: Iterable[str]) -> dict[str, bool]:
    return {program: shutil.which(program) is not None for program in programs}


def _program_version(program: str) -> str | None:
    command, pattern = _VERSION_COMMANDS[program]
    with contextlib.suppress(OSError):
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if found := re.search(pattern, done.stdout + done.stderr):
            return found[1]
    return None


def _package_version(package: str) -> str | None:
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version(package)
    return None


def processor() -> str:
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return platform.processor() or platform.machine()


def memory_gib() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)


def slug(gpus: Sequence[str]) -> str:
    """A short name for this kind of machine, for file names: "2-core-xeon", or that of the first GPU, "h200"."""
    if gpus:
        words = re.findall(r"[a-z0-9]+", gpus[0].split(",")[0].lower())
        return "-".join(word for word in words if word not in ("nvidia", "geforce", "tesla"))
    words = re.findall(r"[a-z]+", processor().lower())
    known = ("xeon", "epyc", "ryzen", "core", "graviton", "neoverse", "ampere", "apple")
    kind = next((word for word in known if word in words), platform.machine())
    return f"{len(os.sched_getaffinity(0))}-core-{kind}"


def machine(programs: Iterable[str] = (), packages: Iterable[str] = (), gpus: Sequence[str] = ()) -> dict[str, Any]:
    """What the figures were measured on and with, and by which command; paths in it without their folders."""
    from gpualign import __version__, _native

    facts: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(
            Path(word).name if at == 0 or word.startswith("/") else word for at, word in enumerate(sys.argv)
        ),
        "load_before": LOAD_BEFORE,
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": memory_gib(),
        "system": platform.system() + " " + platform.release().split("-")[0],
        "gpualign": __version__,
        "instruction_set": _native.isa,
        "python": platform.python_version(),
    }
    if gpus:
        facts["gpus"] = list(gpus)
    facts |= {program: version for program in programs if (version := _program_version(program))}
    facts |= {package: version for package in ("numpy", *packages) if (version := _package_version(package))}
    return facts


def gpu_names() -> list[str]:
    """The GPUs that gpualign can use, with their driver; none is a fact as well."""
    from gpualign.run.gpu.device import list_devices

    try:
        return [f"{info.name}, driver for CUDA {info.driver}" for info in list_devices()]
    except GpualignError:
        return []


def rows(value: Any, indent: str = "") -> str:
    """JSON with a row of a table a line: a row is what holds numbers or texts, and fits into 320 characters."""
    line = json.dumps(value, ensure_ascii=False)
    members = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    nested = sum(isinstance(one, dict | list) for one in members)
    if nested == 0 or (nested < len(members) and len(line) <= 320):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {rows(one, inner)}" for name, one in value.items()]
    else:
        parts = [rows(one, inner) for one in members]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{last}"


def save(name: str, facts: Mapping[str, Any], figures: Mapping[str, Any]) -> Path:
    """Write <name>-<machine>.json into benchmarks/results, or where GPUALIGN_BENCH_RESULTS says, and say so.

    Args:
        facts: of :func:`machine`; the file is named after the GPU if they have one.
    """
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}-{slug(facts.get('gpus', ()))}.json"
    path.write_text(rows({"machine": dict(facts), **figures}) + "\n")
    print(f"wrote {path}")
    return path


def record(name: str, results: Any) -> Path:
    """:func:`save` for scripts whose peers are Python packages."""
    facts = machine(packages=("edlib", "parasail", "rapidfuzz", "pycuda"), gpus=gpu_names())
    return save(name, facts, {"results": results})
