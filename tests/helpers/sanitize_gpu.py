"""The kernels under NVIDIA's compute-sanitizer (`make sanitize-gpu`): memory errors, races in shared memory, and memory
that is read or copied before anything has written it. Exits with 1 where one of the tools finds something.

    python -m tests.helpers.sanitize_gpu [--sanitizer FILE] [--tools memcheck,racecheck,initcheck] [--only map,pairwise]
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpualign.cli.device_check import SELF_TESTS
from tests.helpers.commands import program
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sequences import mutate, random_text, reverse_complement, substitute

TOOLS = ("memcheck", "racecheck", "initcheck")
#: what a tool has found; racecheck counts its warnings as well: places where a warp lacks a barrier
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")
_PAIRS, _CLIPPED, _LONG = 100, 100, 6
_ADAPTER = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCA"
_LENGTH, _LONG_LENGTH = 150, 3000
#: exit code of what takes too long, as `timeout` has it
_TOO_LONG = 124
#: one self-test of `devices --check`, by its name
_SELF_TEST = """
import sys
from gpualign.cli.device_check import SELF_TESTS, check
from gpualign.run.gpu.device import Device, list_devices
with Device(list_devices()[0]) as device:
    check(device, SELF_TESTS[sys.argv[1]])
"""


def find_sanitizer() -> str | None:
    """compute-sanitizer of the CUDA toolkit or of the package nvidia-cuda-sanitizer-api."""
    package = Path(sysconfig.get_paths()["purelib"]).glob("nvidia/cu*/bin/compute-sanitizer")
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "compute-sanitizer"
    return shutil.which("compute-sanitizer") or next(
        (str(path) for path in (toolkit, *package) if path.is_file()), None
    )


def write_inputs(folder: Path, seed: int) -> dict[str, list[str]]:
    """Name -> what `gpualign map` is called with. A reference with repeats; pairs, some of them with gaps, with unknown
    bases or without a locus; reads of which a part is from elsewhere; pairs of spliced, chimeric and short inserts;
    long reads."""
    rng = random.Random(seed)
    repeat = random_text(rng, 400)
    genome = "".join(random_text(rng, 6000) + mutate(rng, repeat, 0.01) for _ in range(10))

    def piece(length: int) -> str:
        at = rng.randrange(len(genome) - length)
        return genome[at : at + length]

    def mates(number: int) -> list[str]:
        insert, rate = piece(rng.randrange(250, 450)), rng.choice([0.0, 0.01, 0.04])
        change = substitute if number % 2 else mutate
        ends = [change(rng, end, rate) for end in (insert[:_LENGTH], reverse_complement(insert[-_LENGTH:]))]
        if number % 10 == 0:
            ends[1] = random_text(rng, _LENGTH)
        if number % 10 == 5:
            ends[0] = ends[0][:60] + "N" * 5 + ends[0][65:]
        return ends

    def clipped() -> str:
        end = rng.randrange(30, 100)
        parts = [piece(_LENGTH - end), random_text(rng, end) if rng.random() < 0.5 else piece(end)]
        rng.shuffle(parts)
        return mutate(rng, "".join(parts), 0.01)

    def split_mates(number: int) -> list[str]:
        """Inserts of three exons, of two distant loci, and inserts of every length that end in the adapters."""
        if number % 3 == 0:
            start = rng.randrange(len(genome) - 3000)
            insert = "".join(genome[start + at : start + at + rng.randrange(40, 150)] for at in (0, 700, 2500))
        elif number % 3 == 1:
            insert = piece(rng.randrange(60, 240)) + reverse_complement(piece(rng.randrange(60, 240)))
        else:
            insert = piece(number)
        strands = (insert, reverse_complement(insert))
        return [mutate(rng, (strand + _ADAPTER + random_text(rng, _LENGTH))[:_LENGTH], 0.005) for strand in strands]

    def written(name: str, reads: list[str]) -> str:
        return str(write_fastq(folder / name, *((f"r{i}", read, "I" * len(read)) for i, read in enumerate(reads))))

    reference, pairs = str(write_fasta(folder / "ref.fa", g=genome)), [mates(number) for number in range(_PAIRS)]
    split = [split_mates(number) for number in range(_PAIRS)]
    long_reads = [mutate(rng, piece(_LONG_LENGTH), 0.06) for _ in range(_LONG)]
    return {
        "plain": [reference, *(written(f"{end}.fq", [pair[end] for pair in pairs]) for end in (0, 1))],
        "clipped": [reference, written("clipped.fq", [clipped() for _ in range(_CLIPPED)])],
        "split": [reference, *(written(f"split{end}.fq", [pair[end] for pair in split]) for end in (0, 1))],
        "long": ["-x", "ont", reference, written("long.fq", long_reads)],
    }


def commands(folder: Path, device: str, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Name and command line: each self-test of `devices --check` by itself, and maps."""
    for name in SELF_TESTS:
        yield name, [sys.executable, "-c", _SELF_TEST, name]
    for name, words in write_inputs(folder, seed).items():
        yield f"{name} reads", program("map", "-o", folder / f"{name}.sam", *words, device=device)


def run(words: list[str], limit_s: float) -> tuple[int, str]:
    """Exit code and output; a code of its own where it takes longer than so many seconds."""
    try:
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        return _TOO_LONG, ""
    return done.returncode, done.stdout


def verdict(code: int, output: str) -> str:
    """What is wrong, "" for nothing."""
    if code == _TOO_LONG:
        return "took too long"
    counts = [int(count) for count in _SUMMARY.findall(output)]
    if not counts:
        return f"no summary, exit code {code}"
    if sum(counts):
        return f"{sum(counts)} found"
    return f"exit code {code}" if code else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sanitizer", default=find_sanitizer(), help="compute-sanitizer, where it is not on the path")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--only", help="names of self-tests and maps, with commas between them")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reports", type=Path, default=Path("build/sanitize-gpu"), help="folder for what tools print")
    parser.add_argument("--jobs", type=int, default=4, help="runs side by side")
    parser.add_argument("--limit", type=float, default=1800, help="seconds after which a run counts as failed")
    options = parser.parse_args()
    if options.sanitizer is None:
        sys.exit("compute-sanitizer is not there: pip install nvidia-cuda-sanitizer-api, or name it with --sanitizer")
    options.reports.mkdir(parents=True, exist_ok=True)

    def check(name: str, words: list[str], tool: str) -> bool:
        begin = time.perf_counter()
        code, output = run(
            [options.sanitizer, "--tool", tool, "--error-exitcode", "9", "--print-limit", "1000", *words], options.limit
        )
        report = options.reports / f"{re.sub('[^a-z]+', '-', name)}.{tool}.txt"
        report.write_text(output)
        wrong = verdict(code, output)
        outcome = f"{wrong}: {report}" if wrong else "clean"
        print(f"{name:<20} {tool:<10} {time.perf_counter() - begin:6.1f} s  {outcome}", flush=True)
        return not wrong

    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(options.jobs) as pool:
        names = options.only.split(",") if options.only else None
        wanted = [
            command
            for command in commands(Path(temporary), options.device, options.seed)
            if names is None or command[0] in names
        ]
        # compiles what is not compiled yet, and must work by itself
        for (name, _), (code, output) in zip(
            wanted, pool.map(lambda each: run(each[1], options.limit), wanted), strict=True
        ):
            if code:
                sys.exit(f"{name}: exit code {code} without a tool\n{output}")
        runs = [pool.submit(check, *each, tool) for tool in options.tools.split(",") for each in wanted]
        clean = [each.result() for each in runs]
    sys.exit(not all(clean))


if __name__ == "__main__":
    main()
