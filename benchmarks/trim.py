"""`gpualign search --trim` beside cutadapt and fastp, by CPU seconds of whole commands with two threads.

    python benchmarks/trim.py adapters [--pairs 1000000]     Illumina's adapters, plain and compressed
    python benchmarks/trim.py barcodes [--pairs 200000]      96 unique dual barcodes, a file for each and each mate

cutadapt and fastp must be on PATH. Pairs of 150 bases of fragments of 200 +- 60 bases, 0.5 % of the bases drawn anew;
barcodes of 10 bases, any two of which differ in at least 4 at the same positions. Outputs are compared with cutadapt's.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bases import BASES, complement
from harness import Timing, interleave, machine, ratio, run_timed, save, summary
from numpy.typing import NDArray

LENGTH, BARCODES = 150, 96
ADAPTERS = ("AGATCGGAAGAGCACACGTCTGAACTCCAGTCAC", "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT")
QUALITIES = np.frombuffer(b"FFFFFFFF:FFFF,FF#FF", np.uint8)


def codes(seed: int) -> list[bytes]:
    rng, found = np.random.default_rng(seed), np.zeros((0, 10), np.uint8)
    while len(found) < BARCODES:
        code = BASES[rng.integers(0, 4, 10)]
        if ((found != code).sum(axis=1) >= 4).all():
            found = np.concatenate([found, code[None]])
    return [code.tobytes() for code in found]


def write_pairs(where: Path, pairs: int, barcodes: list[list[bytes]]) -> None:
    rng = np.random.default_rng(len(barcodes))
    adapters = [np.frombuffer(adapter.encode(), np.uint8) for adapter in ADAPTERS]
    files = [(where / f"r{mate}.fastq").open("wb") for mate in (1, 2)]
    for pair in range(pairs):
        insert = BASES[rng.integers(0, 4, int(np.clip(rng.normal(200, 60), 30, 500)))]
        number = int(rng.integers(0, BARCODES))
        ahead = [np.frombuffer(side[number], np.uint8) for side in barcodes] or [insert[:0]] * 2
        for mate, bases in enumerate((insert, complement(insert)[::-1])):
            filled = BASES[rng.integers(0, 4, LENGTH)]
            read: NDArray[np.uint8] = np.concatenate([ahead[mate], bases, adapters[mate], filled])[:LENGTH]
            wrong = np.flatnonzero(rng.random(LENGTH) < 0.005)
            read[wrong] = BASES[rng.integers(0, 4, len(wrong))]
            quality = QUALITIES[rng.integers(0, len(QUALITIES), LENGTH)]
            files[mate].write(b"@r%d %d:N:0\n%s\n+\n%s\n" % (pair, mate + 1, read.tobytes(), quality.tobytes()))
    for file in files:
        file.close()


_SEARCH = f"{sys.executable} -m gpualign search"


def adapters(given: argparse.Namespace, where: Path) -> list[dict[str, Any]]:
    write_pairs(where, given.pairs, [])
    rows = []
    for packed in ("", ".gz"):
        for mate in (1, 2):
            if packed:
                subprocess.run(["gzip", "-1", "-k", str(where / f"r{mate}.fastq")], check=True)
        reads = [where / f"r{mate}.fastq{packed}" for mate in (1, 2)]
        out = {
            name: [where / f"{name}{mate}.fastq{packed}" for mate in (1, 2)]
            for name in ("gpualign", "cutadapt", "fastp")
        }
        (r1, r2), (first, second) = reads, ADAPTERS
        lines = {
            "gpualign": f"{_SEARCH} -P {first} --pattern2 {second} {r1} {r2} --trim 3 --min-length 20 -t 2 -q "
            "-o {} --paired-output {}".format(*out["gpualign"]),
            "cutadapt": f"cutadapt -j 2 --compression-level 1 -a {first} -A {second} -m 20 {r1} {r2} "
            "-o {} -p {}".format(*out["cutadapt"]),
            "fastp": f"fastp -w 2 -z 1 --adapter_sequence {first} --adapter_sequence_r2 {second} -Q -l 20 "
            f"-i {r1} -I {r2} -j /dev/null -h /dev/null " + "-o {} -O {}".format(*out["fastp"]),
        }
        rows.append(compared(lines, given.rounds) | {"pairs": given.pairs, "input": "plain" if not packed else "gzip"})
        texts = [[content(path) for path in out[name]] for name in ("gpualign", "cutadapt")]
        rows[-1]["same_as_cutadapt"] = texts[0] == texts[1]
        show(rows[-1])
    return rows


def barcodes(given: argparse.Namespace, where: Path) -> list[dict[str, Any]]:
    sides = [codes(1), codes(2)]
    write_pairs(where, given.pairs, sides)
    for mate, side in enumerate(sides, start=1):
        text = b"".join(b">b%d\n^%s\n" % named for named in enumerate(side))
        (where / f"codes{mate}.fa").write_bytes(text)
    for name in ("gpualign", "cutadapt"):
        (where / name).mkdir()
    r1, r2 = (where / f"r{mate}.fastq" for mate in (1, 2))
    codes1, codes2 = (where / f"codes{mate}.fa" for mate in (1, 2))
    lines = {
        "gpualign": f"{_SEARCH} {codes1} {r1} {r2} --patterns2 {codes2} --trim 5 --unique-dual -t 2 -q "
        f"--split {where}/gpualign",
        "cutadapt": f"cutadapt -j 2 --pair-adapters -g file:{codes1} -G file:{codes2} {r1} {r2} "
        f"-o {where}/cutadapt/{{name}}_1.fastq -p {where}/cutadapt/{{name}}_2.fastq",
    }
    row = compared(lines, given.rounds) | {"pairs": given.pairs, "barcodes": BARCODES}
    differ = 0
    for number in range(BARCODES):
        texts = [(where / name / f"b{number}_{mate}.fastq") for name in ("gpualign", "cutadapt") for mate in (1, 2)]
        first, second, *others = (set(path.read_bytes().split(b"\n@")) for path in texts)
        differ += len(first ^ others[0]) + len(second ^ others[1])
    row["reads_elsewhere"] = differ
    show(row)
    return [row]


def content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def compared(lines: dict[str, str], rounds: int) -> dict[str, Any]:
    cases: dict[str, Callable[[], Timing]] = {name: partial(run_timed, line.split()) for name, line in lines.items()}
    runs = interleave(cases, rounds)
    cpu = {name: [run.cpu_s for run in some] for name, some in runs.items()}
    row: dict[str, Any] = {
        f"{name}_{key}": value for name, some in runs.items() for key, value in summary(some).items()
    }
    return row | {
        f"{name}_cpu_ratio": ratio(cpu["gpualign"], times) for name, times in cpu.items() if name != "gpualign"
    }


def show(row: dict[str, Any]) -> None:
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("adapters", "barcodes"))
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results")
    given = parser.parse_args()
    given.pairs = given.pairs or {"adapters": 1_000_000, "barcodes": 200_000}[given.what]
    with tempfile.TemporaryDirectory() as folder:
        rows = {"adapters": adapters, "barcodes": barcodes}[given.what](given, Path(folder))
    if given.save:
        save(f"trim-{given.what}", machine(packages=()), {"results": rows})


if __name__ == "__main__":
    main()
