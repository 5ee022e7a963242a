"""`map` to references of different size, up to a human genome's; with minibwa, minimap2, bwa-mem2 on the same cores.

    python benchmarks/map_references.py [--bases 300000000,3100000000] [--share 2000000] [--pairs 50000000]
        [--device cuda] [--threads 16] [--limits 12G] [--rounds 1] [--patience 300] [--folder FOLDER [--prepare]]

References are those of synthetic_genome.py, pairs those of many_pairs.py, in BGZF. gpualign's indexes are made alone,
the peers' together (--at-once) and while reads are made, so that their seconds are an upper bound. A peer that has no
index after --patience s is left out, as is bwa-mem2 where its index needs too much (_LARGEST). Then every tool maps
--share pairs: whole commands, which load the index, to SAM, whose accuracy is told; to the largest reference also to
BAM, sorted BAM, and sorted, marked and indexed BAM, for which peers are piped into samtools. The device maps --pairs to
the largest as well, and --share with less memory (--limits).

--prepare makes genomes, reads and indexes in --folder; a run with that folder goes on from there.
Result: benchmarks/results/map-references-<machine>.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import harness
import many_pairs
import numpy as np
import synthetic_genome
from map import GPUALIGN, LEADING_CLIP, MAPPERS
from map_devices import without_program

#: bases for which a peer makes an index in minutes; bwa-mem2 takes 28 bytes and half a microsecond of one core for each
_LARGEST = {"minibwa": 1 << 32, "minimap2": 1 << 32, "bwa-mem2": 300_000_000}
#: what is added to gpualign's command, and to a peer's
OUTPUTS = {
    "SAM": ("-o {out}.sam", "> {out}.sam"),
    "BAM": ("-o {out}.bam", "| samtools view -@ {threads} -b -o {out}.bam"),
    "sorted": ("--sort -o {out}.bam", "| samtools sort -@ {threads} -T {out}.s -o {out}.bam"),
    "marked": (
        "--sort --mark-duplicates --write-index -o {out}.bam",
        "| samtools fixmate -@ {threads} -m -u - - | samtools sort -@ {threads} -u -T {out}.s"
        " | samtools markdup -@ {threads} -T {out}.m --write-index - {out}.bam",
    ),
}
_DUPLICATES, _SEED, _WARM_UP = 0.15, 1, 20_000
#: bases that a read may lie off its true start
_TOLERANCE = 10
#: the CPU's SAM, which a device's with less memory is compared with
_KEPT = "o-gpualign-cpu.sam"


class Reference:
    """A genome, its indexes and reads in a folder of their own."""

    def __init__(self, bases: int, folder: Path) -> None:
        self.bases, self.folder = bases, folder / str(bases)
        self.name = f"synthetic, {bases / 1e6:,.0f} Mbp"
        self.genome, self.index = self.folder / "genome.fa", self.folder / "index"
        self.folder.mkdir(exist_ok=True)

    def reads(self, pairs: int) -> list[Path]:
        return [self.folder / f"r{pairs}_{end}.fq.gz" for end in (1, 2)]

    def make_reads(self, pairs: int, processes: int) -> None:
        program = [sys.executable, str(harness.FOLDER / "many_pairs.py"), self.genome, self.folder / f"r{pairs}"]
        options = ["--duplicates", _DUPLICATES, "--seed", _SEED, "--processes", processes]
        subprocess.run([str(word) for word in (*program, pairs, *options)], check=True)

    def make_index(self, tool: str, threads: int, patience: float) -> dict[str, Any]:
        """What it took, or why there is none."""
        if self.bases > _LARGEST.get(tool, self.bases):
            return {"left_out": f"index of {_LARGEST[tool] / 1e6:,.0f} Mbp at most"}
        words = MAPPERS[tool].index.format(ref=self.genome, index=f"{self.index}.{tool}", threads=threads).split()
        try:
            # threads of OpenMP that wait for one another would take the cores of those that work
            taken = harness.run_timed(["env", "OMP_WAIT_POLICY=passive", "timeout", str(patience), *words])
        except RuntimeError as error:
            return {"left_out": f"no index after {patience:.0f} s or no memory for it: {str(error)[-200:]}"}
        size = sum(path.stat().st_size for path in self.folder.glob(f"index.{tool}*"))
        figures = {"s": taken.wall_s, "cpu_s": taken.cpu_s, "gb": size / 1e9, "peak_gib": taken.peak_mib / 1024}
        return {key: round(value, 2) for key, value in figures.items()}


def indexes_of(peer: str, references: list[Reference], arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """A peer's, one after the other from the largest reference on; by reference, what they took."""
    table = {}
    for one in reversed(references):
        table[one.name] = one.make_index(peer, arguments.threads, arguments.patience)
        print(one.name, peer, table[one.name], flush=True)
    return table


def prepared(references: list[Reference], peers: list[str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Genomes, reads and indexes; what the indexes took, by reference and tool."""
    threads, table = arguments.threads, {}
    for one in references:
        synthetic_genome.make(one.bases, one.genome, threads)
        table[one.name] = {"gpualign": one.make_index("gpualign", threads, arguments.patience)}
        print(one.name, table[one.name], flush=True)
    with ThreadPoolExecutor(arguments.at_once) as pool:
        indexing = pool.map(indexes_of, peers, repeat(references), repeat(arguments))
        for one in references:
            for pairs in {_WARM_UP, arguments.share, arguments.pairs if one is references[-1] else 0} - {0}:
                one.make_reads(pairs, threads)
        for peer, taken in zip(peers, indexing, strict=True):
            for name, row in taken.items():
                table[name][peer] = row
    os.sync()  # else the disk is still busy with them while the first command runs
    return table


def command(one: Reference, tool: str, output: str, out: Path, pairs: int, threads: int, more: str = "") -> list[str]:
    """Of a shell; a tool is a peer, or gpualign and the device that it uses."""
    ours, theirs = OUTPUTS[output]
    reads = " ".join(map(str, one.reads(pairs)))
    name, _, device = tool.partition(", ")
    if device:
        line = f"{GPUALIGN} map {one.index}.gpualign.gpi {reads} -t {threads} --device {device} -q {more} {ours}"
    else:
        index = f"{one.index}.{name}"
        line = MAPPERS[name].map.format(index=index, reads=reads, threads=threads) + f" {theirs}"
    return ["bash", "-o", "pipefail", "-c", line.format(out=out, threads=threads)]


def positions(sam: Path) -> Iterator[tuple[int, int, bool]]:
    """Of each primary record: MAPQ, -1 where unmapped; where its leftmost base, clipped or not, lies in the genome, the
    contigs one after another, from 0; whether it is of the other strand.
    """
    offsets, total = {}, 0
    with sam.open() as file:
        for line in file:
            if line.startswith("@"):
                if line.startswith("@SQ"):
                    tags = dict(tag.split(":", 1) for tag in line.split("\t")[1:])
                    offsets[tags["SN"]] = total
                    total += int(tags["LN"])
                continue
            _, flags, contig, position, mapq, cigar, _ = line.split("\t", 6)
            flag = int(flags)
            if flag & 0x900:
                continue
            if flag & 4:
                yield -1, 0, False
                continue
            hard, soft = LEADING_CLIP.match(cigar).groups()  # type: ignore[union-attr]
            clipped = int(hard or 0) + int(soft or 0)
            yield int(mapq), offsets[contig] + int(position) - 1 - clipped, bool(flag & 16)


def accuracy(sam: Path, pairs: int, bases: int) -> dict[str, Any]:
    """Records come in the order of the reads, R1 before R2, from all tools."""
    found = np.fromiter(positions(sam), [("mapq", "i2"), ("at", "i8"), ("back", "?")])
    starts, backward = many_pairs.first_bases(pairs, bases, _DUPLICATES, _SEED)
    if len(found) != len(starts):
        raise RuntimeError(f"{sam}: {len(found)} reads of {len(starts)}")
    right = (np.abs(found["at"] - starts) <= _TOLERANCE) & (found["back"] == backward) & (found["mapq"] >= 0)
    return {
        "mapped_percent": round(100 * float((found["mapq"] >= 0).mean()), 3),
        "correct_percent": round(100 * float(right.mean()), 3),
        **{f"wrong_at_mapq_{level}": int((~right & (found["mapq"] >= level)).sum()) for level in (1, 20, 40)},
    }


def figures(timings: list[harness.Timing], reads: int) -> dict[str, Any]:
    row = harness.summary(timings)
    per_s = {"reads_per_s": round(reads / row["wall_s"]), "reads_per_cpu_s": round(reads / row["cpu_s"])}
    return per_s | {"wall_s": round(row["wall_s"], 2), "peak_gib": round(row["peak_mib"] / 1024, 2)}


def compared(one: Reference, indexes: dict[str, Any], arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row of every tool, all with the same reads."""
    own = list(dict.fromkeys(f"gpualign, {device}" for device in (arguments.device, "cpu")))
    tools = [*own, *(tool for tool in indexes if tool != "gpualign" and "left_out" not in indexes[tool])]
    outs = {tool: one.folder / f"o-{tool.replace(', ', '-')}" for tool in tools}
    rows: dict[str, dict[str, Any]] = {}
    for tool in [*tools, *(set(indexes) - set(tools) - {"gpualign"})]:
        rows[tool] = {"reference": one.name, "tool": tool, "index": indexes[tool.partition(",")[0]]}
    for output in arguments.outputs:
        if output != "SAM" and one.bases < max(arguments.bases):
            continue
        for tool in own:  # compiles its kernels
            harness.run_timed(command(one, tool, output, outs[tool], _WARM_UP, arguments.threads))
        cases = {
            tool: partial(harness.run_timed, command(one, tool, output, outs[tool], arguments.share, arguments.threads))
            for tool in tools
            if tool == own[0] or output in arguments.peer_outputs
        }
        for tool, timings in harness.interleave(cases, arguments.rounds).items():
            rows[tool][output] = figures(timings, 2 * arguments.share)
            print(one.name, tool, output, rows[tool][output], flush=True)
        if output == "SAM":
            files = [Path(f"{out}.sam") for out in outs.values()]
            with ProcessPoolExecutor(min(len(files), arguments.threads)) as pool:
                truths = pool.map(accuracy, files, [arguments.share] * len(files), [one.bases] * len(files))
                for tool, truth in zip(tools, truths, strict=True):
                    rows[tool] |= {"reads": 2 * arguments.share, **truth}
                    print(one.name, tool, truth, flush=True)
            if len(own) == 2:
                texts = [without_program(Path(f"{outs[tool]}.sam")) for tool in own]
                rows[own[0]]["same_bytes"] = texts[0] == texts[1]
            for file in files:
                if file.name != _KEPT:
                    file.unlink()
        for path in one.folder.glob("o-*.bam*"):
            path.unlink()
    return list(rows.values())


def on_device(
    one: Reference, index: dict[str, Any], pairs: int, outputs: list[str], limit: str, arguments: argparse.Namespace
) -> dict[str, Any]:
    """A row of the device alone, with the index's way to it."""
    report, out = one.folder / "report.json", one.folder / "o-device"
    row: dict[str, Any] = {"reference": one.name, "reads": 2 * pairs, "max_gpu_mem": limit or None}
    row["sort_memory"] = arguments.sort_memory if "marked" in outputs else None
    row |= {"index_s": index["s"], "index_bytes_a_base": round(1e9 * index["gb"] / one.bases, 3)}
    for output in outputs:
        more = f"--json {report}" + (f" --max-gpu-mem {limit}" if limit else "")
        more += f" --sort-memory {arguments.sort_memory}" if output in ("sorted", "marked") else ""
        line = command(one, f"gpualign, {arguments.device}", output, out, pairs, arguments.threads, more)
        if output == "SAM" and not limit:
            line[-1] = line[-1].replace(f"{out}.sam", os.devnull)
        row[output] = figures([harness.run_timed(line)], 2 * pairs)
        facts = json.loads(report.read_text())
        device = (facts.get("devices") or [{}])[0]
        row[output] |= {key: facts["seconds"].get(key) for key in ("mapping", "output")}
        if output == "SAM":
            row |= {key: device.get(key) for key in ("load_s", "peak_vram_mb", "mapped_host_mb")}
        if limit:
            kept = one.folder / _KEPT
            row["same_bytes"] = without_program(Path(f"{out}.sam")) == without_program(kept)
        for path in one.folder.glob("o-device*"):
            path.unlink()
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bases", default="300000000,3100000000", help="of the references, with commas")
    parser.add_argument("--share", type=int, default=2_000_000, help="pairs for all tools")
    parser.add_argument("--pairs", type=int, default=50_000_000, help="pairs for the device alone, 0 for none")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--limits", default="12G", help="device memory of the cases with less, with commas")
    parser.add_argument("--sort-memory", default="8G", help="of the device's run with --pairs")
    parser.add_argument("--outputs", default=",".join(OUTPUTS), help="of gpualign on the device, largest reference")
    parser.add_argument("--peer-outputs", default=",".join(OUTPUTS), help="of the others, largest reference")
    parser.add_argument("--peers", default="minibwa,minimap2,bwa-mem2")
    parser.add_argument("--at-once", type=int, default=9, help="peers that make their indexes at the same time")
    parser.add_argument("--patience", type=int, default=300)
    parser.add_argument("--folder", type=Path, help="for what is made, kept; default: a temporary one")
    parser.add_argument("--prepare", action="store_true")
    arguments = parser.parse_args()
    for name, convert in (("bases", int), ("limits", str), ("outputs", str), ("peer_outputs", str), ("peers", str)):
        setattr(arguments, name, [convert(one) for one in getattr(arguments, name).split(",") if one])
    with tempfile.TemporaryDirectory() as temporary:
        measure(arguments, arguments.folder or Path(temporary))


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    peers = [peer for peer, installed in harness.have(arguments.peers).items() if installed]
    references, stored = [Reference(bases, folder) for bases in sorted(arguments.bases)], folder / "indexes.json"
    if not stored.exists():
        stored.write_text(json.dumps(prepared(references, peers, arguments)))
    if arguments.prepare:
        return
    indexes = json.loads(stored.read_text())
    largest, gpus = references[-1], harness.gpu_names() if arguments.device != "cpu" else []
    facts = harness.machine([*peers, "samtools"], ("pycuda",), gpus)
    settings = {key: getattr(arguments, key) for key in ("threads", "rounds", "at_once")}
    rows: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []

    def save() -> None:
        """What there is so far."""
        harness.save("map-references", facts, {**settings, "duplicates": _DUPLICATES, "rows": rows, "tools": tools})

    for one in references:
        tools += compared(one, indexes[one.name], arguments)
        save()
    if arguments.device != "cpu":
        own = indexes[largest.name]["gpualign"]
        if arguments.pairs:
            rows.append(on_device(largest, own, arguments.pairs, ["SAM", "marked"], "", arguments))
            save()
        for limit in arguments.limits:
            rows.append(on_device(largest, own, arguments.share, ["SAM"], limit, arguments))
            save()


if __name__ == "__main__":
    main()
