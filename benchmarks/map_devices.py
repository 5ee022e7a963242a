#!/usr/bin/env python3
"""`map` on a GPU as a whole command, compared with itself on the CPU and minimap2 on the same cores, in one run.

    python benchmarks/map_devices.py [--reads 20000000] [--pairs 10000000] [--device cuda] [--threads 16] [--rounds 3]
    python benchmarks/map_devices.py --device cuda:0+cuda:0,1 --also "-x sr-sensitive --paf"    one GPU against two

    python benchmarks/map_devices.py --realistic --reads "" --packed --cores 4          realistic_reads.py's pairs

Reads of 150 bases are drawn from chr20 with 0.4 % of substitutions and, in one of twenty, a gap of one to three bases;
pairs have inserts of 400 ± 50; or they are those of realistic_reads.py. minimap2, minibwa and the CPU map a share of
them (--share), all from indexes made before, and rates are compared. Output goes to /dev/null, and once to files whose
bytes are compared.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import sys
import tempfile
import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import data
import harness
import numpy as np
import realistic_reads
from bases import BASES, bases_of, complement
from isal import isal_zlib
from numpy.typing import NDArray

from gpualign.text.bgzf import bgzf_writer

LENGTH = 150
_PART = 500_000
#: bytes that a thread deflates at a time
_DEFLATED = 1 << 18
_NAME_DIGITS = 9


def draw(genome: NDArray[np.uint8], starts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint8]:
    """uint8 (n, LENGTH): forward reads with errors from these starts."""
    n = len(starts)
    columns = np.arange(LENGTH, dtype=np.int32)
    gap = np.where(rng.random(n) < 0.05, rng.integers(-3, 4, n), 0)
    shift = np.where(columns >= rng.integers(10, LENGTH - 10, n)[:, None], gap[:, None], 0)
    reads = genome[starts[:, None] + columns + shift]
    wrong = np.flatnonzero(rng.random(n * LENGTH, dtype=np.float32) < 0.004)
    reads.reshape(-1)[wrong] = BASES[rng.integers(0, 4, len(wrong))]
    return reads


def fastq(reads: NDArray[np.uint8], first: int) -> bytes:
    """Records of one width, so that they are made as one array."""
    n = len(reads)
    width = 1 + _NAME_DIGITS + 1 + LENGTH + 3 + LENGTH + 1
    rows = np.full((n, width), ord("F"), np.uint8)
    rows[:, 0] = ord("@")
    numbers = np.arange(first, first + n)
    for digit in range(_NAME_DIGITS):
        rows[:, _NAME_DIGITS - digit] = ord("0") + numbers // 10**digit % 10
    at = 1 + _NAME_DIGITS
    rows[:, at] = ord("\n")
    rows[:, at + 1 : at + 1 + LENGTH] = reads
    rows[:, at + 1 + LENGTH : at + 4 + LENGTH] = np.frombuffer(b"\n+\n", np.uint8)
    rows[:, -1] = ord("\n")
    return rows.tobytes()


def reverse(reads: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return complement(reads[:, ::-1])


def known_starts(genome: NDArray[np.uint8], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Up to ``count`` loci, of reads and of pairs, that are not runs of N."""
    starts = rng.integers(0, len(genome) - 1000, 2 * count)
    return starts[(genome[starts] != ord("N")) & (genome[starts + 600] != ord("N"))][:count]


def single(genome: NDArray[np.uint8], starts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint8]:
    """uint8 (n, LENGTH): reads of either strand."""
    reads = draw(genome, starts, rng)
    back = rng.random(len(reads)) < 0.5
    reads[back] = reverse(reads[back])
    return reads


def simulate_part(sequence: Path, part: int, count: int, paired: bool) -> tuple[bytes, ...]:
    """FASTQ of the reads (both ends where ``paired``) of one part, from the genome's bases in a .npy file."""
    genome, rng = np.load(sequence, mmap_mode="r"), np.random.default_rng([17, part, paired])
    starts = known_starts(genome, count, rng)
    first = part * _PART
    if not paired:
        return (fastq(single(genome, starts, rng), first),)
    inserts = np.clip(rng.normal(400, 50, len(starts)), 200, 600).astype(np.int64)
    left, right = draw(genome, starts, rng), reverse(draw(genome, starts + inserts - LENGTH, rng))
    swap = rng.random(len(starts)) < 0.5
    left[swap], right[swap] = right[swap], left[swap]
    return fastq(left, first), fastq(right, first)


def simulate(genome: Path, count: int, paired: bool, outputs: list[Path], processes: int) -> None:
    """Write so many reads, or pairs."""
    parts = range(-(-count // _PART))
    counts = [min(_PART, count - part * _PART) for part in parts]
    sequence = outputs[0].with_suffix(".npy")
    np.save(sequence, bases_of(genome))
    with ProcessPoolExecutor(processes) as pool:
        files = [open(path, "wb") for path in outputs]
        for texts in pool.map(simulate_part, repeat(sequence), parts, counts, repeat(paired)):
            for file, text in zip(files, texts, strict=True):
                file.write(text)
        for file in files:
            file.close()
    sequence.unlink()


def head(path: Path, records: int, output: Path) -> Path:
    """The first records of a FASTQ file."""
    with open(path, "rb") as file, open(output, "wb") as out:
        out.writelines(itertools.islice(file, 4 * records))
    return output


def pack(path: Path, threads: int) -> Path:
    """The file as bgzf."""
    packed = path.with_name(path.name + ".gz")
    with open(packed, "wb") as out, bgzf_writer(out.write, threads) as writer, open(path, "rb") as file:
        while text := file.read(1 << 26):
            writer.write(text)
    return packed


def gzipped(path: Path, threads: int) -> Path:
    """The file as one stream of gzip, as ``gzip`` or ``pigz`` makes it at its usual level."""
    packed = path.with_name(path.name + ".one.gz")
    text = np.memmap(path, np.uint8, "r")
    starts = range(0, len(text), _DEFLATED)

    def deflated(start: int) -> bytes:
        """A part that goes on from the one before, whose last 32 KiB it refers to."""
        before = text[max(0, start - (1 << 15)) : start].tobytes()
        options = (zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -15, 8, zlib.Z_DEFAULT_STRATEGY)
        compressor = zlib.compressobj(*options, before) if before else zlib.compressobj(*options)
        end = zlib.Z_FINISH if start + _DEFLATED >= len(text) else zlib.Z_SYNC_FLUSH
        return compressor.compress(text[start : start + _DEFLATED]) + compressor.flush(end)

    with open(packed, "wb") as out, ThreadPoolExecutor(threads) as pool:
        out.write(b"\x1f\x8b\x08\0\0\0\0\0\0\x03")
        out.writelines(pool.map(deflated, starts))
        out.write(np.array([isal_zlib.crc32(text), len(text) % 2**32], "<u4").tobytes())
    return packed


def without_program(path: Path) -> list[bytes]:
    """The lines of a SAM file but @PG, which holds the options."""
    return [line for line in open(path, "rb") if not line.startswith(b"@PG")]


class Set:
    """Reads, or pairs, and a share of them."""

    def __init__(self, name: str, files: list[Path], reads: int, share: int) -> None:
        self.name, self.files, self.reads = name, files, reads
        self.share = min(share, reads)
        ends = len(files)
        self.few = [head(path, self.share // ends, path.with_name(f"few_{path.name}")) for path in files]


def measure(one: Set, index: Path, genome: Path, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    threads = str(arguments.threads)
    gpualign = [sys.executable, "-m", "gpualign", "map", index]
    genome_index = index.with_suffix(".mmi")
    if shutil.which("minimap2") and not genome_index.exists():
        harness.run_timed(["minimap2", "-x", "sr", "-d", genome_index, genome])
    report = folder / "report.json"
    devices = arguments.device.split("+")

    def rate(reads: int, command: list[Any]) -> dict[str, float]:
        return {"reads_per_s": reads / harness.run_timed(command).wall_s}

    def on_device(
        device: str, files: list[Path] = one.files, output: Path | str = os.devnull, more: Sequence[str] = ()
    ) -> dict[str, Any]:
        if isinstance(output, Path):
            output.unlink(missing_ok=True)  # to give up an old one's pages takes a second
        options = ["-t", threads, "--device", device, "-q", "--json", report, "-o", output, *more]
        taken = rate(one.reads, [*gpualign, *files, *options])
        facts = json.loads(report.read_text())
        busiest = max((device["kernel_s"] for device in facts.get("devices", ())), default=0.0)
        kernels = {"kernel_reads_per_s": one.reads / busiest} if busiest else {}
        return taken | {"once_begun": one.reads / facts["seconds"]["mapping"]} | kernels

    cases: dict[str, Any] = {device: partial(on_device, device) for device in devices}
    if arguments.packed:
        packed = [pack(path, arguments.threads) for path in one.files]
        for device in devices:
            cases[f"{device} bgzf to SAM"] = partial(on_device, device, packed)
            cases[f"{device} bgzf to BAM"] = partial(on_device, device, packed, os.devnull, ["--bam"])
            cases[f"{device} bgzf to BAM file"] = partial(on_device, device, packed, folder / "packed.bam")
    if arguments.gzip:
        streams = [gzipped(path, arguments.threads) for path in one.files]
        cases[f"{devices[0]} gzip to BAM file"] = partial(on_device, devices[0], streams, folder / "gzip.bam")
    for options, device in itertools.product(arguments.also, devices):
        cases[f"{device} {options}"] = partial(on_device, device, one.files, os.devnull, options.split())
    for name, case in list(cases.items()) if arguments.cores else ():
        cases[f"{name}, {arguments.cores} cores"] = partial(harness.on_cores, arguments.cores, case)
    cases["cpu"] = lambda: rate(one.share, [*gpualign, *one.few, "-t", threads, "--device", "cpu", "-q"])
    if shutil.which("minimap2"):
        cases["minimap2"] = lambda: rate(one.share, ["minimap2", "-ax", "sr", "-t", threads, genome_index, *one.few])
    if shutil.which("minibwa"):
        peer = index.with_suffix(".bwa")
        if not peer.exists():
            harness.run_timed(["minibwa", "index", "-t", threads, genome, peer])
            peer.touch()
        cases["minibwa"] = lambda: rate(one.share, ["minibwa", "map", "-t", threads, peer, *one.few])
    found = harness.interleave(cases, arguments.rounds)
    for device in ("cpu", *devices):
        harness.run_timed([*gpualign, *one.few, "-t", threads, "--device", device, "-q"], folder / f"{device}.sam")
    figures: dict[str, Any] = {"reads": one.reads, "share": one.share}
    for name, runs in found.items():
        figures[name] = {key: round(statistics.median(run[key] for run in runs)) for key in runs[0]}
        if name in devices:
            outputs = [without_program(folder / f"{tool}.sam") for tool in (name, "cpu")]
            figures[name]["same_bytes"] = outputs[0] == outputs[1]
        print(f"{one.name:<10} {name:<40}", figures[name], flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--genome", type=Path)
    parser.add_argument("--reads", default="20000000,4000000")
    parser.add_argument("--pairs", default="10000000")
    parser.add_argument("--share", type=int, default=1_000_000)
    parser.add_argument("--device", default="cuda", help="one or, joined by +, several")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--packed", action="store_true", help="from bgzf to SAM and BAM as well")
    parser.add_argument("--gzip", action="store_true", help="from one stream a file as well")
    parser.add_argument("--cores", type=int, help="all of that with so few cores as well")
    parser.add_argument("--realistic", action="store_true", help="the pairs are those of realistic_reads.py")
    parser.add_argument("--also", action="append", default=[], metavar="OPTIONS", help="cases with options of map")
    parser.add_argument("--folder", type=Path, help="for reads and index, kept")
    arguments = parser.parse_args()
    genome = arguments.genome or data.genome("chr20")
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        index = folder / "genome.gpi"
        harness.run_timed(
            [sys.executable, "-m", "gpualign", "index", genome, "-d", index, "-t", str(arguments.threads)]
        )
        sets = [("pairs", 2 * int(n), True) for n in arguments.pairs.split(",") if n]
        sets += [("single", int(n), False) for n in arguments.reads.split(",") if n]
        for kind, reads, paired in sets:
            files = [folder / f"{kind}_{end}.fq" for end in range(2 if paired else 1)]
            if paired and arguments.realistic:
                realistic_reads.write(genome, reads // 2, files, arguments.threads)
            else:
                simulate(genome, reads // len(files), paired, files, arguments.threads)
            one = Set(f"{kind} {reads:,}", files, reads, arguments.share)
            figures[one.name] = measure(one, index, genome, arguments, folder)
            kind_of_reads = "realistic" if arguments.realistic else "devices"
            record(figures, "map-scaling" if "," in arguments.device else f"map-{kind_of_reads}")


def record(figures: dict[str, Any], name: str) -> None:
    """Write what there is so far."""
    facts = harness.machine(("minimap2", "minibwa"), ("pycuda",), harness.gpu_names())
    harness.save(name, facts, {"minimap2_index": "made before", "map_devices": figures})


if __name__ == "__main__":
    main()
