"""Speed and memory of mems against MUMmer 3.23 and copMEM2, and of its devices.

    python benchmarks/mems.py DATA --contenders mummer,cpu  [--scale 0.05] [--runs 3] [WORKLOAD...]
    python benchmarks/mems.py DATA --contenders copmem2,cpu [--scale 0.05] [--runs 3] [WORKLOAD...]
    python benchmarks/mems.py DATA --contenders cpu,cuda   [WORKLOAD...]         needs a GPU
    python benchmarks/mems.py DATA --unique --threads 1    [WORKLOAD...]         unique matches, at small lengths

DATA holds FASTA files (see WORKLOADS for their names). Reads are simulated from the reference: either strand, 1 % of
their bases replaced. Runs are interleaved; times are medians of whole commands, index or suffix tree included; memory
is the largest resident set. Where MUMmer or copMEM2 run, their matches are compared with ours as sets. copMEM2
(github.com/wbieniec/copmem2, on PATH) finds all matches of both strands, of 50 bases or more.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import record

from gpualign.run.gpu import compiler
from gpualign.seeds.matches.cpu import Piece, Search
from gpualign.seeds.matches.index import index_for
from gpualign.seeds.matches.params import MemsParams
from gpualign.streaming.ordered import run_ordered
from gpualign.text.chunks import read_chunks
from gpualign.text.files import InputFile
from gpualign.text.references import read_reference
from gpualign.text.text import Streamed

_PEERS = ("mummer", "copmem2")
_COMPARED_BYTES = 400 << 20  # of output; more is not compared with MUMmer's


@dataclass(frozen=True)
class Workload:
    """A reference (a file, perhaps a part of it), queries (a file, or reads of the reference) and options.

    Attributes:
        reference: file name in the data folder.
        options: mummer's.
        query: file name, or None for reads.
        bases: use this many bases of the reference.
        reads, length: simulated reads.
    """

    reference: str
    options: str
    query: str | None = None
    bases: int | None = None
    reads: int = 0
    length: int = 0

    def suits(self, contender: str) -> bool:
        """copMEM2 has fewer options than the others."""
        kind, *_, length = self.options.split()
        return contender != "copmem2" or (kind == "-maxmatch" and int(length) >= 50)


WORKLOADS = {
    "mg1655-dh1-l20": Workload("ecoli_mg1655.fa", "-maxmatch -b -l 20", "ecoli_dh1.fa"),
    "mg1655-dh1-l50": Workload("ecoli_mg1655.fa", "-maxmatch -b -l 50", "ecoli_dh1.fa"),
    "mg1655-dh1-l100": Workload("ecoli_mg1655.fa", "-maxmatch -b -l 100", "ecoli_dh1.fa"),
    "mg1655-536-mum-l20": Workload("ecoli_mg1655.fa", "-mum -b -l 20", "ecoli_536.fa"),
    "mg1655-536-mumreference-l20": Workload("ecoli_mg1655.fa", "-mumreference -b -l 20", "ecoli_536.fa"),
    # the four of MUMmerGPU
    "ssuis-36-l10": Workload("ssuis_sc84.fa", "-maxmatch -b -l 10", reads=1_000_000, length=36),
    "lmono-120-l20": Workload("ecoli_mg1655.fa", "-maxmatch -b -l 20", bases=2_944_528, reads=1_000_000, length=120),
    "hsill-29-l14": Workload("chr20.fa", "-maxmatch -b -l 14", bases=16_000_000, reads=500_000, length=29),
    "cbrigg-700-l100": Workload("chr20.fa", "-maxmatch -b -l 100", bases=13_000_000, reads=500_000, length=700),
    # a chromosome
    "chr20-chrX-l100": Workload("chr20.fa", "-maxmatch -b -l 100", "chrXtrunc.fa"),
    "chr20-chrX-l50": Workload("chr20.fa", "-maxmatch -b -l 50", "chrXtrunc.fa"),
    "chr20-150-l50": Workload("chr20.fa", "-maxmatch -b -l 50", reads=10_000_000, length=150),
}

# matches that are unique in the reference where much of it is repeated, as in an AT-rich genome; 5 kb are cut at a time
UNIQUE = {
    **{
        f"pf-{kind}-l{length}": Workload("pf.fa", f"-{kind} -l {length}", reads=86, length=5000)
        for kind, lengths in (
            ("mumreference", (10, 14, 20, 31, 50, 100)),
            ("mum", (10, 14, 20)),
            ("maxmatch", (20, 50)),
        )
        for length in lengths
    },
    "pf-100-mumreference-l14": Workload("pf.fa", "-mumreference -b -l 14", reads=4300, length=100),
    "mg1655-536-mumreference-l10": Workload("ecoli_mg1655.fa", "-mumreference -b -l 10", "ecoli_536.fa"),
    "mg1655-536-mum-l14": Workload("ecoli_mg1655.fa", "-mum -b -l 14", "ecoli_536.fa"),
    "chr20-chrX-mum-l20": Workload("chr20.fa", "-mum -l 20", "chrXtrunc.fa"),
}


def part_of(path: Path, bases: int | None) -> bytes:
    """Bases of a one-record FASTA file, or ``bases`` of its second half (no centromere)."""
    reference = read_reference(str(path))
    begin = 0 if bases is None else max(0, (reference.bases - bases) * 3 // 4)
    end = reference.bases if bases is None else min(reference.bases, begin + bases)
    return reference.sequence(begin, end)


_source = np.empty(0, np.uint8)  # both strands of what reads are simulated from, in the simulating processes


def _set_source(text: bytes) -> None:
    global _source
    reverse = text[::-1].translate(bytes.maketrans(b"ACGT", b"TGCA"))
    _source = np.frombuffer(text + reverse, np.uint8)


def _simulate_part(first: int, count: int, length: int) -> bytes:
    generator = np.random.default_rng([7, first])
    size = len(_source) // 2
    starts = generator.integers(0, size - length, count) + size * generator.integers(0, 2, count)
    reads = _source[starts[:, None] + np.arange(length)]
    wrong = generator.random(reads.shape, np.float32) < 0.01
    reads[wrong] = np.frombuffer(b"ACGT", np.uint8)[generator.integers(0, 4, int(wrong.sum()))]
    return b"".join(b">%d\n%s\n" % (first + i, row.tobytes()) for i, row in enumerate(reads))


def simulate(text: bytes, count: int, length: int) -> Iterator[bytes]:
    """FASTA of ``count`` reads of either strand, 1 % of the bases replaced, in parts."""
    firsts = range(0, count, 50_000)
    counts = [min(50_000, count - first) for first in firsts]
    with ProcessPoolExecutor(initializer=_set_source, initargs=(text,)) as pool:
        yield from pool.map(_simulate_part, firsts, counts, [length] * len(counts))


def prepare(workload: Workload, data: Path, folder: Path, scale: float) -> tuple[Path, Path]:
    """The files of a workload."""
    reference = data / workload.reference
    if workload.bases is not None:
        text = part_of(reference, workload.bases)
        reference = folder / "reference.fa"
        lines = (text[i : i + 70] for i in range(0, len(text), 70))
        reference.write_bytes(b">" + workload.reference.encode() + b"\n" + b"\n".join(lines) + b"\n")
    if workload.query is not None:
        return reference, data / workload.query
    query = folder / "reads.fa"
    with query.open("wb") as out:
        for part in simulate(part_of(reference, None), max(1, int(workload.reads * scale)), workload.length):
            out.write(part)
    return reference, query


#: a small process between us and the command: a child's peak memory begins at its parent's
_LAUNCHER = """
import resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.call(sys.argv[2:], stdout=open(sys.argv[1], "wb"), stderr=subprocess.DEVNULL)
wall = time.perf_counter() - start
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def run(command: list[str], output: Path) -> dict[str, float]:
    """Wall seconds, CPU seconds and peak MiB of a command."""
    launcher = [sys.executable, "-S", "-c", _LAUNCHER, str(output), *command]
    fields = subprocess.run(launcher, check=True, capture_output=True, text=True).stdout.split()
    code, wall, cpu, peak = (float(field) for field in fields)
    if code:
        raise SystemExit(f"{' '.join(command)}: exit code {code:.0f}")
    return {"wall_s": wall, "cpu_s": cpu, "peak_mib": peak / 1024}


def interpreter_mib() -> float:
    """Peak MiB of an interpreter that has only loaded what every command needs."""
    return run([sys.executable, "-c", "import click, numpy"], Path("/dev/null"))["peak_mib"]


def command_for(
    contender: str, workload: Workload, reference: Path, query: Path, threads: int, report: Path, output: Path
) -> list[str]:
    options = [*workload.options.split(), "-n", "-F"]
    if contender == "copmem2":
        strand, length = options[1:2], options[-3]
        return ["copmem2", "-q", *strand, "-l", length, "-t", str(threads), "-o", *map(str, (output, reference, query))]
    if contender == "mummer":
        return ["mummer", *options, str(reference), str(query)]
    ours = [sys.executable, "-m", "gpualign", "mems", "-q", "--json", str(report), "-t", str(threads)]
    return [*ours, "--device", contender, *options, str(reference), str(query)]


def matches_of(path: Path) -> set[int]:
    """Hashes of (header, fields)."""
    found: list[int] = []
    header = b""
    with path.open("rb") as text:
        for line in text:
            if line.startswith(b">"):
                header = line
            else:
                found.append(hash((header, *line.split())))
    result = set(found)
    if len(result) != len(found):
        raise SystemExit(f"{path}: repeated matches")
    return result


def search_seconds(workload: Workload, reference: Path, query: Path, threads: int) -> float:
    """Wall seconds of the CPU backend's search alone, as a device's kernel seconds count no reading or writing."""
    kind, *strands, _, length = workload.options.split()
    params = MemsParams(min_length=int(length), kind=kind.lstrip("-"), strands="both" if strands else "forward")
    search = Search(index_for(read_reference(str(reference)), params, threads), params)
    with InputFile(str(query)) as file:
        texts = list(run_ordered(read_chunks(Streamed(file), 1 << 25), search.prepare, threads))
    step = 1 << 18
    pieces = [
        Piece(text, at, min(text.text.length, at + step)) for text in texts for at in range(0, text.text.length, step)
    ]
    start = time.perf_counter()
    maximum = search.max_occurrences
    for _ in run_ordered(pieces, lambda piece: search.find(piece, maximum, 1 << 62).reached, threads):
        pass
    return time.perf_counter() - start


def measure(name: str, workload: Workload, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    reference, query = prepare(workload, arguments.data, folder, arguments.scale)
    contenders = [contender for contender in arguments.contenders if workload.suits(contender)]
    samples: dict[str, list[dict[str, float]]] = {contender: [] for contender in contenders}
    for contender in contenders:
        # kernels that came with no wheel are compiled once
        if contender.startswith("cuda") and not (compiler.source_root() / "prebuilt").is_dir():
            nothing = folder / "none.fa"
            nothing.write_bytes(b"")
            files = reference, nothing, arguments.threads, folder / "report.json", Path("/dev/null")
            run(command_for(contender, workload, *files), Path("/dev/null"))
    for _ in range(arguments.runs):
        for contender in contenders:
            report = folder / "report.json"
            output = Path("/dev/null") if arguments.discard else folder / f"{contender.replace(':', '')}.out"
            command = command_for(contender, workload, reference, query, arguments.threads, report, output)
            sample = run(command, Path("/dev/null") if contender == "copmem2" else output)
            if contender not in _PEERS:
                fields = json.loads(report.read_text())
                if "devices" in fields:
                    sample["kernel_s"] = max(device["kernel_s"] for device in fields["devices"])
            samples[contender].append(sample)
    result: dict[str, Any] = {
        "workload": name,
        "reads": workload.reads and int(workload.reads * arguments.scale),
    }
    for contender, rows in samples.items():
        result[contender] = {key: round(statistics.median(row[key] for row in rows), 4) for key in rows[0]}
    if "cuda" in samples and "cpu" in samples:
        result["cpu"]["search_s"] = round(search_seconds(workload, reference, query, arguments.threads), 4)
    if arguments.discard:
        return result
    outputs = [folder / f"{contender.replace(':', '')}.out" for contender in contenders]
    peers = [contender for contender in contenders if contender in _PEERS]
    if peers:
        result["speed_up"] = round(result[peers[0]]["wall_s"] / result[contenders[-1]]["wall_s"], 2)
        if outputs[-1].stat().st_size < _COMPARED_BYTES:
            ours = matches_of(outputs[-1])
            result["equal_sets"] = all(matches_of(outputs[contenders.index(peer)]) == ours for peer in peers)
    else:
        result["equal_bytes"] = all(
            subprocess.run(["cmp", "-s", outputs[0], other]).returncode == 0 for other in outputs
        )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--unique", action="store_true", help="the workloads of unique matches")
    parser.add_argument("--contenders", default="mummer,cpu", type=lambda text: text.split(","))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the reads to simulate")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--discard", action="store_true", help="write to /dev/null and compare nothing")
    arguments = parser.parse_intermixed_args()
    options = {"threads": arguments.threads, "runs": arguments.runs, "scale": arguments.scale}
    workloads = UNIQUE if arguments.unique else WORKLOADS
    name = "mems-unique" if arguments.unique else "mems"
    if "mummer" not in arguments.contenders:
        name += "-peers" if "copmem2" in arguments.contenders else "-devices"
    facts = {**options, "mummer": "3.23", "interpreter_mib": round(interpreter_mib(), 1)}
    results: list[dict[str, Any]] = []
    for workload in arguments.workloads or workloads:
        if not (WORKLOADS | UNIQUE)[workload].suits(arguments.contenders[0]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure(workload, (WORKLOADS | UNIQUE)[workload], arguments, Path(folder)))
        print(json.dumps(results[-1]), flush=True)
        record(name, {**facts, "workloads": results})


if __name__ == "__main__":
    main()
