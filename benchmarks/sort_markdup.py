"""`gpualign sort` and `gpualign markdup` on BAM files of another mapper, next to samtools, sambamba and Picard; and
UMIs with errors next to UMI-tools.

    python benchmarks/sort_markdup.py [--rounds 3] [--threads 2] [--pairs 2000000] [--records FILE] [--molecules 250000]
        [--umi-tools umi_tools] [--only sort,names,mark,sorted,umis]

The records are those that minibwa writes of realistic pairs of chr20 (realistic_reads.py), 15 % of them copies, in the
order of the reads; --records takes a BAM file in their place. Rounds are interleaved; ratios are medians of those of a
round. As many records must be marked as Picard marks. Molecules have a UMI of 10 bases and 4 pairs on average, 1 % of
the bases of UMIs are wrong, and about 5 molecules begin and end at the same places; the number of molecules that is
found is compared with that of the simulation. Result: benchmarks/results/sort-markdup-<machine>.json. Needs Debian's
samtools, sambamba and picard-tools, minibwa (github lh3/minibwa) and umi_tools (PyPI).
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import data
import harness
import numpy as np
import sort_and_mark

_OURS = f"{sys.executable} -m gpualign"
_QUIET = " VALIDATION_STRINGENCY=SILENT QUIET=true VERBOSITY=ERROR"
_PICARD, _SORT_SAM = (f"PicardCommandLine {tool}{_QUIET}" for tool in ("MarkDuplicates", "SortSam"))
#: work -> program -> command; the first is ours
WORK: dict[str, dict[str, str]] = {
    "sort": {
        "gpualign": _OURS + " sort {name} -o {out} -t {threads} -q --device cpu",
        "gpualign, level 1": _OURS + " sort {name} -o {out} -t {threads} -q --device cpu --compression-level 1",
        "samtools": "samtools sort -@ {threads} {name} -o {out}",
    },
    "names": {
        "gpualign": _OURS + " sort -n {sorted} -o {out} -t {threads} -q --device cpu",
        "samtools": "samtools sort -n -@ {threads} {sorted} -o {out}",
    },
    "mark": {
        "gpualign": _OURS + " markdup {name} --sort --write-index -o {out} -t {threads} -q --device cpu",
        "gpualign, level 5": _OURS
        + " markdup {name} --sort --write-index -o {out} -t {threads} -q --device cpu --compression-level 5",
        "samtools": "samtools fixmate -u -m -@ {threads} {name} - | samtools sort -u -@ {threads} -T {out} - "
        "| samtools markdup -S -@ {threads} - {out} && samtools index -@ {threads} {out}",
        "sambamba": "sambamba sort -q -t {threads} --tmpdir={folder} -o {out}.sorted.bam {name} "
        "&& sambamba markdup -q -t {threads} --tmpdir={folder} {out}.sorted.bam {out} && rm {out}.sorted.bam",
        "Picard": f"{_PICARD} ASSUME_SORT_ORDER=queryname I={{name}} O={{out}}.marked.bam M={{out}}.txt "
        f"&& {_SORT_SAM} SORT_ORDER=coordinate CREATE_INDEX=true I={{out}}.marked.bam O={{out}} "
        "&& rm {out}.marked.bam",
    },
    "sorted": {
        "gpualign": _OURS + " markdup {sorted} -o {out} -t {threads} -q --device cpu",
        "gpualign, with tags of mates": _OURS + " markdup {sorted} -o {out} -t {threads} -q --device cpu --mate-tags",
        "sambamba": "sambamba markdup -q -t {threads} --tmpdir={folder} {sorted} {out}",
        "Picard": _PICARD + " I={sorted} O={out} M={out}.txt",
    },
    "umis": {
        "gpualign": _OURS + " markdup {umis} -o {out} -t {threads} -q --device cpu --barcode-tag RX --umi-distance 1 "
        "--remove-duplicates",
        "gpualign, distance auto": _OURS
        + " markdup {umis} -o {out} -t {threads} -q --device cpu --barcode-tag RX --umi-distance auto "
        "--remove-duplicates",
        "gpualign, compared exactly": _OURS + " markdup {umis} -o {out} -t {threads} -q --device cpu --barcode-tag RX "
        "--remove-duplicates",
        "UMI-tools": "{umi_tools} dedup --paired --extract-umi-method=tag --umi-tag=RX --method=directional "
        "-I {umis} -S {out} -L /dev/null",
    },
}
_UMI_BASES, _PAIRS_OF_MOLECULE, _ERRORS, _MOLECULES_OF_PLACE = 10, 4, 0.01, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=2_000_000)
    parser.add_argument("--records", type=Path)
    parser.add_argument("--molecules", type=int, default=250_000)
    parser.add_argument("--umi-tools", default="umi_tools")
    parser.add_argument("--only", default=",".join(WORK))
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    with tempfile.TemporaryDirectory(dir=data.folder()) as name:
        folder = Path(name)
        values = {"threads": arguments.threads, "umi_tools": arguments.umi_tools, "folder": folder}
        values |= {
            "name": arguments.records or folder / "name.bam",
            "sorted": folder / "sorted.bam",
            "umis": folder / "umis.bam",
        }
        if set(wanted) - {"umis"}:
            if arguments.records is None:
                make_records(arguments.pairs, values["name"], folder)
            _run(f"samtools sort -@ {arguments.threads} {values['name']} -o {values['sorted']}")
        if "umis" in wanted:
            causes = make_umis(arguments.molecules, values["umis"])
        table = {work: _measure(WORK[work], values, arguments.rounds) for work in wanted}
    if "umis" in table:
        for row in table["umis"].values():
            row["off"] = round(row["kept"] / 2 / arguments.molecules - 1, 5)
            print(row["off"])
        table["umis"]["molecules at distance 1, by cause"] = causes
    facts = harness.machine(["samtools", "picard", "sambamba", "minibwa"], ["isal", "zlib-ng"])
    settings = {key: str(value) for key, value in vars(arguments).items()}
    harness.save("sort-markdup", facts, {**settings, **table})


def make_records(pairs: int, path: Path, folder: Path) -> None:
    """Pairs of chr20 as minibwa maps them."""
    genome = data.genome("chr20")
    script = harness.FOLDER / "realistic_reads.py"
    _run(f"{sys.executable} {script} {genome} {folder}/u {round(0.85 * pairs)} --processes 2")
    reads = sort_and_mark.with_duplicates((folder / "u_1.fq", folder / "u_2.fq"), pairs, folder)
    _run(
        f"minibwa index {genome} {folder}/index "
        f"&& minibwa map -t 2 {folder}/index {reads[0]} {reads[1]} | samtools view -b -o {path}"
    )


def make_umis(molecules: int, path: Path) -> dict[str, int]:
    """A sorted BAM file of pairs of molecules with UMIs, of which each base is wrong with a small probability; returns
    what `excess` says of them."""
    rng = np.random.default_rng(1)
    places = molecules // _MOLECULES_OF_PLACE
    place = rng.integers(0, places, molecules)
    begin, insert = np.sort(rng.integers(1000, 60_000_000, places)), rng.integers(150, 500, places)
    umis = rng.integers(0, 4, (molecules, _UMI_BASES))
    copies = np.maximum(1, rng.poisson(_PAIRS_OF_MOLECULE, molecules))
    of = np.repeat(np.arange(molecules), copies)
    read = umis[of]
    wrong = rng.random(read.shape) < _ERRORS
    read = np.where(wrong, (read + rng.integers(1, 4, read.shape)) % 4, read)
    texts = np.frombuffer(b"ACGT", np.uint8)[read]
    errors = (read != umis[of]).sum(axis=1).tolist()
    bases, qualities = "ACGTTGCAAT" * 10, "F" * 100
    with subprocess.Popen(["samtools", "sort", "-o", str(path), "-"], stdin=subprocess.PIPE, text=True) as sort:
        assert sort.stdin is not None
        sort.stdin.write("@HD\tVN:1.6\n@SQ\tSN:20\tLN:63025520\n")
        for i, molecule in enumerate(of.tolist()):
            left = int(begin[place[molecule]])
            size = int(insert[place[molecule]])
            right = left + size - 100
            umi = texts[i].tobytes().decode()
            for flag, at, mate, length in ((99, left, right, size), (147, right, left, -size)):
                fields = f"m{molecule}_{i}\t{flag}\t20\t{at}\t60\t100M\t=\t{mate}\t{length}"
                sort.stdin.write(f"{fields}\t{bases}\t{qualities}\tMC:Z:100M\tMQ:i:60\tRX:Z:{umi}\n")
    _run(f"samtools index {path}")
    by_place: dict[tuple[int, int], list[Pair]] = {}
    for i, molecule in enumerate(of.tolist()):
        ends = int(begin[place[molecule]]), int(insert[place[molecule]])
        by_place.setdefault(ends, []).append(Pair(molecule, texts[i].tobytes().decode(), errors[i]))
    return excess(by_place.values())


class Pair(NamedTuple):
    molecule: int
    umi: str
    errors: int


def excess(places: Iterable[list[Pair]]) -> dict[str, int]:
    """Why directional adjacency at distance 1 finds more molecules than there are: of what does not join its molecule,
    the pair with the fewest errors."""
    found: Counter[str] = Counter()
    for pairs in places:
        cluster = directional(Counter(pair.umi for pair in pairs))
        found["molecules found"] += len(set(cluster.values()))
        clusters_of: dict[int, dict[int, list[Pair]]] = {}
        molecules_of: dict[int, set[int]] = {}
        for pair in pairs:
            clusters_of.setdefault(pair.molecule, {}).setdefault(cluster[pair.umi], []).append(pair)
            molecules_of.setdefault(cluster[pair.umi], set()).add(pair.molecule)
        found["molecules joined to another"] += sum(len(joined) - 1 for joined in molecules_of.values())
        for parts in clusters_of.values():
            rest = sorted(parts.values(), key=lambda part: (min(pair.errors for pair in part), -len(part)))
            for part in rest[1:]:
                errors = min(pair.errors for pair in part)
                seen = rest[0][0].errors == 0 or any(pair.errors == 0 for pair in rest[0])
                why = "several errors" if errors > 1 else "one error, as often as the UMI" if seen else "no right UMI"
                found[why] += 1
    return dict(found)


def directional(seen: Counter[str]) -> dict[str, int]:
    """UMI-tools' method at distance 1, as its paper has it: the cluster of each UMI."""
    clusters: dict[str, int] = {}
    for first, _ in sorted(seen.items(), key=lambda item: (-item[1], item[0])):
        if first in clusters:
            continue
        waiting = [first]
        clusters[first] = number = len(set(clusters.values()))
        while waiting:
            at = waiting.pop()
            for umi, count in seen.items():
                near = sum(a != b for a, b in zip(at, umi, strict=True)) == 1
                if umi not in clusters and near and seen[at] >= 2 * count - 1:
                    clusters[umi] = number
                    waiting.append(umi)
    return clusters


def _measure(commands: dict[str, str], values: dict[str, Any], rounds: int) -> dict[str, Any]:
    outputs = {program: values["folder"] / f"out{i}.bam" for i, program in enumerate(commands)}
    texts = {
        program: text.format(out=shlex.quote(str(outputs[program])), **values) for program, text in commands.items()
    }
    bash = ["bash", "-o", "pipefail", "-c"]
    cases = {program: lambda text=text: harness.run_timed([*bash, text]) for program, text in texts.items()}
    timings = harness.interleave(cases, rounds)
    ours, table = next(iter(commands)), {}
    for program, runs in timings.items():
        row = harness.summary(runs)
        row["wall_ratio"] = harness.ratio([t.wall_s for t in timings[ours]], [t.wall_s for t in runs])
        row["cpu_ratio"] = round(
            statistics.median(b.cpu_s / a.cpu_s for a, b in zip(timings[ours], runs, strict=True)), 3
        )
        row["file_mib"] = round(outputs[program].stat().st_size / 2**20, 1)
        row["marked"] = _count(outputs[program], "-f", "0x400")
        row["kept"] = _count(outputs[program], "-F", "0x400")
        print(program, {key: value for key, value in row.items() if key != "runs"}, flush=True)
        table[program] = row
        outputs[program].unlink()
    return table


def _count(path: Path, *options: str) -> int:
    return int(subprocess.run(["samtools", "view", "-c", *options, path], check=True, capture_output=True).stdout)


def _run(command: str) -> None:
    subprocess.run(["bash", "-o", "pipefail", "-c", command], check=True, capture_output=True)


if __name__ == "__main__":
    main()
