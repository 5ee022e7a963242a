"""Does `gpualign map` write the same bytes at every instruction-set level, with one thread and two, and on a GPU?

    python benchmarks/map_same_bytes.py [--sets pe150,hostile] [--share 0.1] [--devices cpu,cuda:0]

Of human chromosome 20: 100,000 reads or pairs like each set of simulate.py, as many pairs of realistic_reads.py, and
the long reads of simulate_long.py; two genomes of E. coli on a third; and hostile ones: of a family of repeats and of
tandem repeats, half of N and all of N, of 20 bases and of 1 Mbp. All lines of the SAM files are compared but @PG, which
has the command; the first two that differ end the run. Levels are those that the installation has (GPUALIGN_ISA_LEVELS
of CMake). Result: benchmarks/results/map-same-bytes-<machine>.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import data
import harness
import numpy as np
import realistic_reads
import simulate
import simulate_long
from bases import BASES
from kinds import Bases, Contigs, single, with_errors
from map import GPUALIGN

from gpualign import _native

READS = 100_000
Given = tuple[Path, list[Path]]  # a reference, and a file of reads or two


class ReadSet(NamedTuple):
    """Reads to map; ``make`` has a folder and a share of the reads."""

    preset: str
    make: Callable[[Path, float], Given]


def simulated(name: str) -> ReadSet:
    def make(_: Path, share: float) -> Given:
        model = dataclasses.replace(simulate.SETS[name], reads=int(share * READS), genomes=("chr20",))
        made = simulate.made(name, model, data.folder() / "same-bytes")
        return data.genome("chr20"), sorted(made.glob("*.fq"))

    return ReadSet("sr", make)


def realistic(folder: Path, share: float) -> Given:
    files = [folder / f"reads_{mate}.fq" for mate in (1, 2)]
    realistic_reads.write(data.genome("chr20"), int(share * READS), files, 2, seed=31)
    return data.genome("chr20"), files


def long(name: str) -> ReadSet:
    def make(_: Path, share: float) -> Given:
        reads, _ = simulate_long.simulate(name, data.folder() / "long")
        return data.genome(simulate_long.SETS[name].genome), [reads]

    return ReadSet(simulate_long.PRESETS[name], make)


def genomes(folder: Path, share: float) -> Given:
    both = folder / "genomes.fa"
    both.write_bytes(b"".join(data.genome(name).read_bytes() for name in ("ecoli_dh1", "ecoli_536")))
    return data.genome("ecoli_mg1655"), [both]


def hostile_contigs(rng: np.random.Generator) -> Contigs:
    """300 copies of 2,000 bases, of which 1 % are changed; tandem repeats; 2.5 Mbp without repeats."""
    unit = BASES[rng.integers(0, 4, 2000)]
    tandem = [np.resize(BASES[rng.integers(0, 4, size)], 20_000) for size in (1, 1, 2, 3, 4, 5, 6, 11, 31, 171)]
    return {
        "family": np.concatenate([with_errors(unit, 0.01, rng) for _ in range(300)]),
        "tandem": np.concatenate(tandem),
        "other": BASES[rng.integers(0, 4, 2_500_000)],
    }


def hostile_reads(contigs: Contigs, length: int, errors: float, count: int, rng: np.random.Generator) -> list[Bases]:
    """``count`` of each kind, three of 1 Mbp."""
    kinds = [(name, single(length, errors=errors), count) for name in ("family", "tandem")]
    kinds += [("family", single(length, errors=errors, n=share), count) for share in (0.5, 1.0)]
    kinds += [("other", single(20, errors=errors), count), ("other", single(1_000_000, errors=errors), 3)]
    made = [make({name: contigs[name]}, rng, number) for name, make, number in kinds]
    return [template[0][0] for templates in made for template in templates]


def hostile(preset: str, length: int, errors: float, count: int, mates: int = 1) -> ReadSet:
    """The same reads in another order are their mates."""

    def make(folder: Path, share: float) -> Given:
        rng = np.random.default_rng(length)
        contigs = hostile_contigs(rng)
        reference = folder / "reference.fa"
        reference.write_bytes(b"".join(b">%s\n%s\n" % (name.encode(), bases) for name, bases in contigs.items()))
        reads = hostile_reads(contigs, length, errors, int(share * count), rng)
        files = [folder / f"reads_{mate}.fq" for mate in range(mates)]
        for file, order in zip(files, (reads, reads[::-1]), strict=False):
            records = (b"@%d\n%s\n+\n%s\n" % (i, read, b"F" * len(read)) for i, read in enumerate(order))
            file.write_bytes(b"".join(records))
        return reference, files

    return ReadSet(preset, make)


SETS = {
    **{name: simulated(name) for name in simulate.SETS},
    "realistic": ReadSet("sr", realistic),
    **{name: long(name) for name in simulate_long.SETS},
    "genomes": ReadSet("asm20", genomes),
    "hostile": hostile("sr", 150, 0.02, 2000),
    "hostile pairs": hostile("sr", 150, 0.02, 2000, 2),
    "hostile ont": hostile("ont", 10_000, 0.1, 100),
    "hostile hifi": hostile("hifi", 10_000, 0.01, 100),
}


class Way(NamedTuple):
    """How to map."""

    level: str
    threads: int
    device: str


def ways(devices: list[str]) -> list[Way]:
    """On the CPU all levels, with one thread and two; on a GPU the best."""
    levels = _native.available_levels()
    return [
        Way(level, threads, device)
        for device in devices
        for level in (levels if device == "cpu" else levels[:1])
        for threads in ((1, 2) if device == "cpu" else (2,))
    ]


def map_reads(given: Given, preset: str, way: Way, sam: Path) -> None:
    command = [GPUALIGN, "map", "-x", preset, given[0], *given[1], "-t", way.threads, "--device", way.device, "-o", sam]
    environment = {**os.environ, "GPUALIGN_ISA": way.level}
    subprocess.run([*map(str, command), "-q"], env=environment, check=True)


def _lines(sam: Path) -> Iterator[bytes]:
    with sam.open("rb") as file:
        yield from (line for line in file if not line.startswith(b"@PG\t"))


def difference(first: Path, second: Path) -> tuple[bytes | None, bytes | None] | None:
    """The first lines in which two SAM files differ, but for @PG; None for a line that one does not have."""
    pairs = zip_longest(_lines(first), _lines(second))
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


def compare(name: str, share: float, chosen: list[Way]) -> dict[str, int | bool]:
    """Map a set in all ways.

    Raises:
        SystemExit: two of them differ.
    """
    with tempfile.TemporaryDirectory(dir=data.folder()) as scratch:
        given = SETS[name].make(Path(scratch), share)
        expected, sam = Path(scratch) / "expected.sam", Path(scratch) / "out.sam"
        for way in chosen:
            map_reads(given, SETS[name].preset, way, sam)
            if way is chosen[0]:
                sam.rename(expected)
            elif found := difference(expected, sam):
                raise SystemExit(f"{name}: {chosen[0]} and {way} differ:\n{found[0]!r}\n{found[1]!r}")
        flags = [flag for flag, _ in data.sam_records(expected, without=0)]
        reads = sum(not flag & 0x900 for flag in flags)
        mapped = sum(not flag & 0x904 for flag in flags)
        return {"reads": reads, "mapped": mapped, "records": len(flags), "runs": len(chosen), "same_bytes": True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--share", type=float, default=1.0, help="of each set's reads, but long ones")
    parser.add_argument("--devices", default="cpu")
    arguments = parser.parse_args()
    devices = arguments.devices.split(",")
    chosen = ways(devices)
    facts = harness.machine(gpus=harness.gpu_names() if devices != ["cpu"] else [])
    rows = {}
    for name in arguments.sets.split(","):
        rows[name] = compare(name, arguments.share, chosen)
        print(name, rows[name], flush=True)
        figures = {"ways": [way._asdict() for way in chosen], "sets": rows}
        harness.save("map-same-bytes", facts, figures)


if __name__ == "__main__":
    main()
