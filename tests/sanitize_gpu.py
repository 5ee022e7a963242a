"""The kernels under NVIDIA's compute-sanitizer (`make sanitize-gpu`): memory errors, races in shared memory, and memory
that is read or copied before anything has written it. Exits with 1 where one of the tools finds something.

    python tests/sanitize_gpu.py [--sanitizer FILE] [--tools memcheck,racecheck,initcheck] [--device cuda:0] [--seed 1]
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
from pathlib import Path

TOOLS = ("memcheck", "racecheck", "initcheck")
#: of what a tool has found, and of racecheck (its warnings are places where a warp lacks a barrier)
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")
_GENOME, _REPEAT = 60_000, 400
_PAIRS, _CLIPPED, _LONG = 100, 100, 6
_LENGTH, _LONG_LENGTH = 150, 3000


def find_sanitizer() -> str | None:
    """compute-sanitizer of the CUDA toolkit or of the package nvidia-cuda-sanitizer-api."""
    package = Path(sysconfig.get_paths()["purelib"]).glob("nvidia/cu*/bin/compute-sanitizer")
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "compute-sanitizer"
    return shutil.which("compute-sanitizer") or next(
        (str(path) for path in (toolkit, *package) if path.is_file()), None
    )


def _bases(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("ACGT", k=count))


def _with_errors(rng: random.Random, text: str, share: float, kinds: str = "XID") -> str:
    """Bases changed (X), inserted (I) or deleted (D)."""
    out = []
    for base in text:
        kind = rng.choice(kinds) if rng.random() < share else "="
        out.append({"X": rng.choice("ACGT"), "I": base + rng.choice("ACGT"), "D": "", "=": base}[kind])
    return "".join(out)


def _reverse(text: str) -> str:
    return text.translate(str.maketrans("ACGT", "TGCA"))[::-1]


def write_inputs(folder: Path, seed: int) -> dict[str, list[str]]:
    """Name -> what `gpualign map` is called with. A reference with repeats; pairs, some of them with gaps, with unknown
    bases or without a locus; reads of which a part is from elsewhere; long reads."""
    rng = random.Random(seed)
    repeat = _bases(rng, _REPEAT)
    genome = "".join(_bases(rng, _GENOME // 10) + _with_errors(rng, repeat, 0.01) for _ in range(10))
    (folder / "ref.fa").write_text(f">g\n{genome}\n")

    def piece(length: int) -> str:
        at = rng.randrange(len(genome) - length)
        return genome[at : at + length]

    def mates(number: int) -> tuple[str, str]:
        insert = piece(rng.randrange(250, 450))
        share, kinds = rng.choice([(0.0, "X"), (0.01, "X"), (0.02, "XID"), (0.04, "XID")])
        ends = [_with_errors(rng, end, share, kinds) for end in (insert[:_LENGTH], _reverse(insert[-_LENGTH:]))]
        if number % 10 == 0:
            ends[1] = _bases(rng, _LENGTH)
        if number % 10 == 5:
            ends[0] = ends[0][:60] + "N" * 5 + ends[0][65:]
        return ends[0], ends[1]

    def clipped() -> str:
        end = rng.randrange(30, 100)
        foreign = _bases(rng, end) if rng.random() < 0.5 else piece(end)
        return _with_errors(rng, rng.choice([foreign + piece(_LENGTH - end), piece(_LENGTH - end) + foreign]), 0.01)

    pairs = [mates(number) for number in range(_PAIRS)]
    reads = {
        "r1": [one for one, _ in pairs],
        "r2": [two for _, two in pairs],
        "clipped": [clipped() for _ in range(_CLIPPED)],
        "long": [_with_errors(rng, piece(_LONG_LENGTH), 0.06) for _ in range(_LONG)],
    }
    for name, sequences in reads.items():
        lines = [f"@{name.rstrip('12')}{i}\n{bases}\n+\n{'I' * len(bases)}\n" for i, bases in enumerate(sequences)]
        (folder / f"{name}.fq").write_text("".join(lines))
    files = {name: str(folder / f"{name}.fq") for name in reads}
    reference = str(folder / "ref.fa")
    return {
        "plain": [reference, files["r1"], files["r2"]],
        "clipped": [reference, files["clipped"]],
        "long": ["-x", "ont", reference, files["long"]],
    }


def commands(folder: Path, device: str, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Name and command line."""
    start = [sys.executable, "-m", "gpualign"]
    yield "devices --check", [*start, "devices", "--check"]
    for name, words in write_inputs(folder, seed).items():
        yield f"map, {name} reads", [*start, "map", "--device", device, "-o", str(folder / f"{name}.sam"), *words]


def run(words: list[str]) -> tuple[int, str]:
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def verdict(code: int, output: str) -> str:
    """What is wrong, "" for nothing."""
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
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--reports", type=Path, default=Path("build/sanitize-gpu"), help="folder for what the tools print"
    )
    options = parser.parse_args()
    if options.sanitizer is None:
        sys.exit("compute-sanitizer is not there: pip install nvidia-cuda-sanitizer-api, or name it with --sanitizer")
    options.reports.mkdir(parents=True, exist_ok=True)
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        for name, words in commands(Path(temporary), options.device, options.seed):
            code, output = run(words)  # compiles what is not compiled yet, and must work by itself
            if code:
                sys.exit(f"{name}: exit code {code} without a tool\n{output}")
            for tool in options.tools.split(","):
                begin = time.perf_counter()
                checked = [options.sanitizer, "--tool", tool, "--error-exitcode", "9", "--print-limit", "1000", *words]
                code, output = run(checked)
                report = options.reports / f"{re.sub('[^a-z]+', '-', name)}.{tool}.txt"
                report.write_text(output)
                wrong = verdict(code, output)
                failed |= bool(wrong)
                seconds = time.perf_counter() - begin
                print(
                    f"{name:<20} {tool:<10} {seconds:6.1f} s  {f'{wrong}: {report}' if wrong else 'clean'}", flush=True
                )
    sys.exit(failed)


if __name__ == "__main__":
    main()
