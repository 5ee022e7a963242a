"""Pipelines that are written around bwa mem, run with `gpualign mem` instead.

    python benchmarks/pipelines.py [--pairs 20000] [--threads 2]

Hi-C: pairs of 100 bases across ligations of two random loci of E. coli, `mem -5SP`, pairtools parse; counted are the
lines that are the same. Duplicates: pairs of E. coli, a tenth of them twice, `mem`, samtools fixmate, sort and markdup;
counted are the reads that are duplicates by both. Result: benchmarks/results/pipelines-<machine>.json. Needs Debian's
bwa and samtools, and pairtools (PyPI).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import data
import harness
import numpy as np
from bases import BASES, bases_of, complement
from map_devices import simulate
from numpy.typing import NDArray

GPUALIGN = [sys.executable, "-m", "gpualign", "mem", "-v", "1"]
LENGTH, ARM = 100, 600
_ERRORS = 0.005


def ligations(genome: NDArray[np.uint8], pairs: int, outputs: list[Path]) -> None:
    """Fragments of 200 to 500 bases that begin at one locus and end at another, either way round."""
    rng = np.random.default_rng(5)
    files = [open(path, "wb") for path in outputs]
    for i in range(pairs):
        arms = []
        for at in rng.integers(ARM, len(genome) - ARM, 2):
            forward = genome[at : at + ARM]
            arms.append(forward if rng.random() < 0.5 else complement(forward)[::-1])
        size = int(rng.integers(200, 500))
        junction = int(rng.integers(20, size - 20))
        fragment = np.concatenate([arms[0][ARM - junction :], arms[1][: size - junction]])
        for file, end in zip(files, (fragment, complement(fragment)[::-1]), strict=True):
            read = end[:LENGTH].copy()
            wrong = rng.random(LENGTH) < _ERRORS
            read[wrong] = BASES[rng.integers(0, 4, int(wrong.sum()))]
            file.write(b"@h%d\n%s\n+\n%s\n" % (i, read.tobytes(), b"I" * LENGTH))
    for file in files:
        file.close()


def hi_c(mapper: list[Any], genome: Path, reads: list[Path], folder: Path) -> tuple[list[str], dict[str, int]]:
    """Lines of pairtools, and how many there are of each type."""
    sam, sizes, pairs = (folder / name for name in ("hic.sam", "sizes", "hic.pairs"))
    harness.run_timed([*mapper, "-5SP", genome, *reads], sam)
    name = genome.read_text().split(maxsplit=1)[0][1:]
    sizes.write_text(f"{name}\t{len(bases_of(genome))}\n")
    pairtools = [str(Path(sys.executable).parent / "pairtools"), "parse", "-c", str(sizes), "--drop-sam"]
    subprocess.run([*pairtools, str(sam), "-o", str(pairs)], check=True, capture_output=True)
    lines = [line for line in pairs.read_text().splitlines() if not line.startswith("#")]
    types = [line.split("\t")[7] for line in lines]
    return sorted("\t".join(line.split("\t")[:8]) for line in lines), {
        kind: types.count(kind) for kind in sorted(set(types))
    }


def duplicates(mapper: list[Any], genome: Path, reads: list[Path], folder: Path) -> set[str]:
    """Names and ends of the reads that samtools marks."""
    paths = [folder / f"step{number}.bam" for number in range(4)]
    harness.run_timed([*mapper, genome, *reads], paths[0])
    for words in (["fixmate", "-m"], ["sort"], ["markdup"]):
        tail = [str(paths[0]), "-o", str(paths[1])] if words == ["sort"] else [str(paths[0]), str(paths[1])]
        subprocess.run(["samtools", *words, *tail], check=True, capture_output=True)
        paths = paths[1:]
    shown = subprocess.run(
        ["samtools", "view", "-f", "1024", str(paths[0])], check=True, capture_output=True, text=True
    )
    return {
        f"{fields[0]}/{int(fields[1]) & 0xC0}" for fields in (line.split("\t") for line in shown.stdout.splitlines())
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--genome", default="ecoli_mg1655")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=data.folder()) as name:
        folder = Path(name)
        genome = folder / "ref.fa"
        genome.write_bytes(data.genome(arguments.genome).read_bytes())
        subprocess.run(["bwa", "index", str(genome)], check=True, capture_output=True)
        threads = ["-t", str(arguments.threads)]
        mappers = {"gpualign": [*GPUALIGN, *threads], "bwa": ["bwa", "mem", "-v", "1", *threads]}
        across, plain = ([folder / f"{kind}_{end}.fq" for end in (1, 2)] for kind in ("hic", "plain"))
        ligations(bases_of(genome), arguments.pairs, across)
        simulate(genome, arguments.pairs, True, plain, arguments.threads)
        for path in plain:
            lines = path.read_bytes().splitlines(keepends=True)
            again = lines[: 4 * (arguments.pairs // 10)]
            again[::4] = [b"@again" + line[1:] for line in again[::4]]
            path.write_bytes(b"".join(lines + again))
        found = {tool: hi_c(mapper, genome, across, folder) for tool, mapper in mappers.items()}
        marked = {tool: duplicates(mapper, genome, plain, folder) for tool, mapper in mappers.items()}
    table = {
        "Hi-C: mem -5SP, pairtools parse": {
            "counted": "lines",
            "gpualign": len(found["gpualign"][0]),
            "bwa": len(found["bwa"][0]),
            "both": len(set(found["gpualign"][0]) & set(found["bwa"][0])),
        },
        "mem, samtools fixmate, sort, markdup": {
            "counted": "duplicates",
            **{tool: len(names) for tool, names in marked.items()},
            "both": len(marked["gpualign"] & marked["bwa"]),
        },
    }
    print(table)
    harness.save("pipelines", harness.machine(["bwa", "samtools"], ["pairtools"]), {"pipelines": table})


if __name__ == "__main__":
    main()
