"""Variant calling written around bwa mem (calling.smk), run unchanged with either mapper.

    python benchmarks/calling.py

With gpualign a file called bwa comes first on PATH, which hands `bwa mem` to `gpualign mem`. 200 SNPs and 100 indels
are planted in 1 Mbp of human chromosome 20 (variants.py), with 500 kb on both sides for a reference; 30x in two lanes,
and a twentieth of the pairs twice. Result: benchmarks/results/calling-<machine>.json. Needs Debian's bwa, samtools,
bcftools and picard-tools, and snakemake (PyPI).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import data
import harness
import numpy as np
import variants

FLANK, LENGTH, COVERAGE = 500_000, 1_000_000, 30.0
_BEGIN = variants.BEGIN - FLANK
_SHIM = """#!/bin/sh
if [ "$1" = mem ]; then shift; exec {python} -m gpualign mem "$@"; fi
exec {bwa} "$@"
"""


def lanes(chromosome: str, planted: list[variants.Variant], folder: Path) -> None:
    """L1_1.fq to L2_2.fq: every other pair, and copies of some in the second."""
    for end, path in enumerate(variants.simulate(chromosome, planted, COVERAGE, folder, FLANK, FLANK + LENGTH), 1):
        lines = path.read_bytes().splitlines(keepends=True)
        records = [lines[i : i + 4] for i in range(0, len(lines), 4)]
        copies = [[b"@copy" + name[1:], *rest] for name, *rest in records[::20]]
        for lane, chosen in (("L1", records[::2]), ("L2", records[1::2] + copies)):
            (folder / f"{lane}_{end}.fq").write_bytes(b"".join(line for record in chosen for line in record))


def run(mapper: str, inputs: Path, folder: Path, bwa: str) -> tuple[set[tuple[int, str, str]], dict[str, int]]:
    """Calls, and counts of records that samtools and Picard give, after the pipeline in ``folder``."""
    (folder / "bin").mkdir(parents=True)
    for path in inputs.glob("*.f*"):
        (folder / path.name).symlink_to(path)
    if mapper == "gpualign":
        (folder / "bin" / "bwa").write_text(_SHIM.format(python=sys.executable, bwa=bwa))
        (folder / "bin" / "bwa").chmod(0o755)
    snakemake = [sys.executable, "-m", "snakemake", "-s", str(Path(__file__).with_suffix(".smk")), "--cores", "2"]
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(snakemake, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"calling.smk with {mapper}: {done.stderr[-2000:]}")
    flags = (folder / "donor.flagstat").read_text()
    counts = {
        name: int(re.search(rf"^(\d+) \+ \d+ {words}", flags, re.MULTILINE)[1])  # type: ignore[index]
        for name, words in (("mapped", "primary mapped"), ("proper", "properly paired"), ("duplicates", "duplicates"))
    }
    return variants.normalised(f"cat {folder / 'calls.vcf'}", folder / "ref.fa"), counts


def compare(folder: Path) -> dict[str, Any]:
    """Of either mapper: recall and precision (variants.py), and counts of records."""
    chromosome = data.read_fasta(data.genome("chr20"))["20"].decode()[_BEGIN : _BEGIN + LENGTH + 2 * FLANK]
    inputs, fasta = folder / "inputs", folder / "inputs" / "ref.fa"
    inputs.mkdir()
    fasta.write_text(f">20\n{chromosome}\n")
    bwa = shutil.which("bwa") or sys.exit("needs bwa")
    subprocess.run([bwa, "index", str(fasta)], check=True, capture_output=True)
    subprocess.run(["samtools", "faidx", str(fasta)], check=True)
    planted = variants.plant(chromosome, np.random.default_rng(variants.SEED), FLANK, FLANK + LENGTH)
    lanes(chromosome, planted, inputs)
    truth = variants.truth_of(planted, len(chromosome), folder, fasta)
    rows, found = {}, {}
    for mapper in ("gpualign", "bwa"):
        found[mapper], counts = run(mapper, inputs, folder / mapper, bwa)
        rows[mapper] = {"records": counts, **variants.compared(found[mapper], truth)["all"]}
    return {"same_calls": len(found["gpualign"] & found["bwa"]), "calling": rows}


def main() -> None:
    with tempfile.TemporaryDirectory(dir=data.folder()) as name:
        figures = compare(Path(name))
    print(figures)
    harness.save("calling", harness.machine(["bwa", "samtools", "bcftools"], ["snakemake"]), figures)


if __name__ == "__main__":
    main()
