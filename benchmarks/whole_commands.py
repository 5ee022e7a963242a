"""Whole commands whose kernels take a fraction of a second: what the GPU's rate leaves for reading and writing.

    python benchmarks/whole_commands.py [--devices cpu+cuda] [--rows verify,lcs-filter,mems,pairwise] [--cores 4]

Inputs are random with a fixed seed. Each row is run on each device in turns, once before to load what is compiled; a
device's speed is the ratio of the first one's seconds to its own within a round, then the median. Outputs are compared
byte for byte.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
from devices import random_rows, write_fasta
from families import write_family
from mems import simulate
from verify import make_input

#: rows of an input that are written at once
_PART = 5000


def verify(folder: Path, scale: float) -> list[str | Path]:
    """A million reads of 100 bases with 20 candidates each, as TSV."""
    make_input(folder, round(1_000_000 * scale), 1 << 26)
    return ["verify", folder / "ref.fa", folder / "reads.fa", "-c", folder / "candidates.tsv", "-e", "0.2"]


def lcs_filter(folder: Path, scale: float) -> list[str | Path]:
    """188,000 subjects of 4,096 bases in plain FASTA, the 100 best."""
    rng = np.random.default_rng(4)
    subjects = round(188_000 * scale)
    parts = (random_rows(rng, min(_PART, subjects - first), 4096) for first in range(0, subjects, _PART))
    query = write_fasta(folder / "query.fa", iter([random_rows(rng, 1, 4096)]))
    return ["lcs-filter", "-Q", query, write_fasta(folder / "subjects.fa", parts), "-n", "100"]


def mems(folder: Path, scale: float) -> list[str | Path]:
    """Ten million reads of 150 bases in plain FASTA, matches of 50 bases in a genome of 64 Mbp."""
    genome = random_rows(np.random.default_rng(6), 1, 1 << 26)
    reference, reads = write_fasta(folder / "genome.fa", iter([genome])), folder / "queries.fa"
    with open(reads, "wb") as out:
        for part in simulate(genome.tobytes(), round(10_000_000 * scale), 150):
            out.write(part)
    return ["mems", *["-maxmatch", "-b", "-l", "50", "-n", "-F"], reference, reads]


def pairwise(folder: Path, scale: float) -> list[str | Path]:
    """25,000 genes of 1,500 bases in families, all against all at 97 %."""
    count = round(25_000 * scale**0.5)
    path = write_family(folder / "genes.fa", count, 1500, max(1, count * 3 // 50), 0.15, 0.05, seed=5)
    return ["pairwise", path, "--id", "0.97"]


#: rows that take cores minutes
_LONG_ON_CORES = {"pairwise"}
ROWS = {"verify": verify, "lcs-filter": lcs_filter, "mems": mems, "pairwise": pairwise}


def run(command: list[str | Path], device: str, output: Path) -> harness.Timing:
    output.unlink(missing_ok=True)  # to replace a large file takes long
    program = [sys.executable, "-m", "gpualign", *command, "-q", "--device", device, "-o", output]
    return harness.run_timed(program)


def measure(
    folder: Path, command: list[str | Path], devices: list[str], rounds: int, cores: int | None
) -> dict[str, Any]:
    outputs = {device: folder / f"{device.replace(':', '-').replace(',', '-')}.out" for device in devices}
    for device in devices:
        run(command, device, outputs[device])
    cases = {device: partial(run, command, device, outputs[device]) for device in devices}
    for device in (one for one in devices if cores and one != "cpu"):
        cases[f"{device}, {cores} cores"] = partial(harness.on_cores, cores, cases[device])
    runs = harness.interleave(cases, rounds)
    walls = {case: [timing.wall_s for timing in runs[case]] for case in cases}
    return {
        case: harness.summary(runs[case])
        | {
            "speed_to_first": harness.ratio(walls[case], walls[devices[0]]),
            "same_bytes": filecmp.cmp(outputs[devices[0]], outputs[case.split(", ")[0]], shallow=False),
        }
        for case in cases
    }


def shown(row: str, device: str, figures: dict[str, Any]) -> str:
    return (
        f"{row:<11} {device:<20} {figures['wall_s']:7.2f} s  {figures['cpu_s']:7.2f} CPU s  "
        f"speed {figures['speed_to_first']:6.2f}  {'same bytes' if figures['same_bytes'] else 'OTHER BYTES'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="cpu", help="cases joined by +, such as cpu+cuda:0+cuda:0,1")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the work")
    parser.add_argument("--cores", type=int, help="GPUs with so few cores as well")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where inputs stay for the next time")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for row in arguments.rows.split(","):
        with tempfile.TemporaryDirectory() as temporary:
            folder = (arguments.folder or Path(temporary)) / row
            folder.mkdir(parents=True, exist_ok=True)
            words = folder / "command.json"
            if not words.exists():
                words.write_text(json.dumps([str(word) for word in ROWS[row](folder, arguments.scale)]))
            devices = [one for one in arguments.devices.split("+") if one != "cpu" or row not in _LONG_ON_CORES]
            results[row] = measure(folder, json.loads(words.read_text()), devices, arguments.rounds, arguments.cores)
        for device, figures in results[row].items():
            print(shown(row, device, figures), flush=True)
    harness.record("whole-commands", {"scale": arguments.scale, "rows": results})


if __name__ == "__main__":
    main()
