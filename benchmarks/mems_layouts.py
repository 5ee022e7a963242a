"""Where to put what: the choices of layout of the mems kernels, one changed at a time, on a GPU.

    python benchmarks/mems_layouts.py DATA [--repeats 3]

DATA as for mems.py. Every variant's matches are compared with the unchanged kernel's; times are device time of
counting, filling and ordering, the smallest of the repeats. The last row is the CPU's search of the same text with all
cores, wall time.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from harness import record
from mems import part_of, simulate

from gpualign.params import available_cores
from gpualign.run.gpu import compiler
from gpualign.run.gpu.buffers import slots_of
from gpualign.run.gpu.device import Device, list_devices
from gpualign.seeds.index.minimizers import MinimizerIndex, build_index
from gpualign.seeds.matches.cpu import MemColumns, Piece, QueryText, Search
from gpualign.seeds.matches.device import MemsKernel
from gpualign.seeds.matches.params import MemsParams, choose_index
from gpualign.seeds.matches.tuning import MemsShape, choose_mems_shape
from gpualign.streaming.ordered import run_ordered
from gpualign.text.chunks import read_batches
from gpualign.text.fastx import Chunk
from gpualign.text.references import read_reference
from gpualign.text.text import HeldText

Patch = Callable[[Path], None]
Relayout = Callable[[MinimizerIndex], MinimizerIndex]


@dataclasses.dataclass(frozen=True)
class Variant:
    """One choice: launch numbers, an edit of the sources, another order of the index."""

    name: str
    shape: dict[str, int] = dataclasses.field(default_factory=dict)
    patch: Patch | None = None
    relayout: Relayout | None = None
    two_passes: bool = False


def replace(path: Path, *pairs: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in pairs:
        if old not in text:
            raise SystemExit(f"{path}: no {old!r} (has the source changed?)")
        text = text.replace(old, new)
    path.write_text(text)


def loads(function: str) -> Patch:
    """Index and sequences through another kind of load."""

    def patch(folder: Path) -> None:
        head = f"#if defined(__CUDA_ARCH__)\n#define FETCH(x) {function}(&(x))\n#else\n#define FETCH(x) (x)\n#endif\n"
        dna, minimizer = folder / "algo" / "common" / "dna.hpp", folder / "algo" / "seeds" / "index" / "minimizer.hpp"
        replace(
            dna,
            ("constexpr uint8_t kNoBase", head + "constexpr uint8_t kNoBase"),
            ("low = words[i / kBasesPerWord] >>", "low = FETCH(words[i / kBasesPerWord]) >>"),
            ("low | words[i / kBasesPerWord + 1] <<", "low | FETCH(words[i / kBasesPerWord + 1]) <<"),
        )
        replace(
            minimizer,
            ("offsets[bucket], end = offsets[bucket + 1]", "FETCH(offsets[bucket]), end = FETCH(offsets[bucket + 1])"),
            ("entries[middle] <", "FETCH(entries[middle]) <"),
            ("entries[begin] <", "FETCH(entries[begin]) <"),
        )
        replace(
            folder / "device" / "seeds" / "matches" / "tile.cuh",
            (
                "task.index.entries[space.first[seed] + uint32_t(mine - space.before[seed])]",
                "FETCH(task.index.entries[space.first[seed] + uint32_t(mine - space.before[seed])])",
            ),
        )

    return patch


def stage_text(folder: Path) -> None:
    """The tile's packed text in shared memory before its k-mers are taken."""
    replace(
        folder / "device" / "seeds" / "matches" / "tile.cuh",
        (
            "    uint64_t hash[TILE];\n",
            "    uint64_t hash[TILE];\n    uint64_t text[TILE / 32 + MAX_WINDOW / 32 + 4];\n",
        ),
        ("warp_fill_keys(const Task& task, Minima&", "warp_fill_keys(const Task& task, WarpSpace& space, Minima&"),
        ("warp_fill_keys(task, minima, begin);", "warp_fill_keys(task, space, minima, begin);"),
        (
            "#pragma unroll\n    for (int j = 0; j < kChunks; j++) {\n        const uint64_t p = begin",
            "    for (int i = lane_number(); i < (TILE + task.w - 2) / 32 + 3; i += 32)\n"
            "        if (begin / 32 + i < task.text_length / 32 + 3) space.text[i] = task.text.words[begin / 32 + i];\n"
            "    __syncwarp();\n"
            "#pragma unroll\n    for (int j = 0; j < kChunks; j++) {\n        const uint64_t p = begin",
        ),
        (
            "key = seed_key(packed_window(task.text.words, p), task.k);",
            "key = seed_key(packed_window(space.text, p - begin), task.k);",
        ),
    )


def by_bucket(index: MinimizerIndex) -> np.ndarray:
    return np.repeat(np.arange(len(index.offsets) - 1, dtype=np.int64), np.diff(index.offsets.astype(np.int64)))


def larger_buckets(doublings: int) -> Relayout:
    """2^doublings buckets as one: a smaller table, longer searches."""

    def relayout(index: MinimizerIndex) -> MinimizerIndex:
        bits = index.bucket_bits - doublings
        below = min(2 * index.params.k - index.bucket_bits, 31)  # fingerprint bits in use
        bucket = by_bucket(index)
        fingerprint = (index.entries >> np.uint64(33)) | (
            (bucket & ((1 << doublings) - 1)).astype(np.uint64) << np.uint64(below)
        )
        excess = max(0, below + doublings - 31)
        entries = (fingerprint >> np.uint64(excess)) << np.uint64(33) | (index.entries & np.uint64((1 << 33) - 1))
        order = np.lexsort((entries, bucket >> doublings))
        return dataclasses.replace(
            index,
            offsets=np.ascontiguousarray(index.offsets[:: 1 << doublings]),
            entries=entries[order],
            bucket_bits=bits,
        )

    return relayout


def aligned_buckets(entries_per_sector: int) -> Relayout:
    """Every bucket begins at a multiple of 8 * entries_per_sector bytes; entries that match nothing fill the gaps."""

    def relayout(index: MinimizerIndex) -> MinimizerIndex:
        counts = np.diff(index.offsets.astype(np.int64))
        space = -(-counts // entries_per_sector) * entries_per_sector
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(space, out=offsets[1:])
        entries = np.full(int(offsets[-1]), np.uint64(0x7FFFFFFF << 33), np.uint64)
        entries[np.arange(len(index.entries)) - np.repeat(index.offsets[:-1] - offsets[:-1], counts)] = index.entries
        return dataclasses.replace(index, offsets=offsets.astype(np.uint32), entries=entries)

    return relayout


def strand_first(index: MinimizerIndex) -> MinimizerIndex:
    """Entries by fingerprint, strand, position: fingerprint << 33 | strand << 32 | position."""
    low = index.entries & np.uint64((1 << 33) - 1)
    entries = (
        (index.entries >> np.uint64(33) << np.uint64(33)) | (low & np.uint64(1)) << np.uint64(32) | low >> np.uint64(1)
    )
    return dataclasses.replace(index, entries=entries[np.lexsort((entries, by_bucket(index)))])


def find_strand_first(folder: Path) -> None:
    replace(
        folder / "algo" / "seeds" / "index" / "minimizer.hpp",
        ("return uint32_t(entry >> 1); }", "return uint32_t(entry); }"),
        ("return entry & 1; }", "return entry >> 32 & 1; }"),
        ("void find(uint64_t hash, uint32_t& first", "void find(uint64_t hash, bool reverse, uint32_t& first"),
        ("begin, end, uint64_t(wanted) << 33)", "begin, end, uint64_t(wanted) << 33 | uint64_t(reverse) << 32)"),
        (
            "entry_fingerprint(entries[first]) == wanted",
            "entries[first] >> 32 == (uint64_t(wanted) << 1 | uint64_t(reverse))",
        ),
        (
            "uint64_t(wanted) << 33 | 0x1FFFFFFFFu",
            "uint64_t(wanted) << 33 | uint64_t(reverse) << 32 | 0xFFFFFFFFu",
        ),
    )
    replace(
        folder / "device" / "seeds" / "matches" / "tile.cuh",
        ("hash[from + lane], first, last)", "hash[from + lane], on_reverse, first, last)"),
    )


VARIANTS = (
    Variant("as it is"),
    Variant("tile of 32 positions", {"tile": 32}),
    Variant("tile of 64 positions", {"tile": 64}),
    Variant("tile of 128 positions", {"tile": 128}),
    Variant("tile of 256 positions", {"tile": 256}),
    Variant("tile of 512 positions", {"tile": 512}),
    Variant("room for any window", {"max_window": 256, "warps": 2}),
    Variant("counted, then searched again", two_passes=True),
    Variant("1 warp a block", {"warps": 1}),
    Variant("2 warps a block", {"warps": 2}),
    Variant("8 warps a block", {"warps": 8}),
    Variant("read-only path", patch=loads("__ldg")),
    Variant("L2 only", patch=loads("__ldcg")),
    Variant("evict first", patch=loads("__ldcs")),
    Variant("text staged in shared memory", patch=stage_text),
    Variant("2 buckets as one", relayout=larger_buckets(1)),
    Variant("4 buckets as one", relayout=larger_buckets(2)),
    Variant("16 buckets as one", relayout=larger_buckets(4)),
    Variant("buckets at 32-byte sectors", relayout=aligned_buckets(4)),
    Variant("buckets at 64-byte sectors", relayout=aligned_buckets(8)),
    Variant("entries by strand, then position", patch=find_strand_first, relayout=strand_first),
)


@functools.cache
def build(patch: Patch | None, defines: tuple[tuple[str, str], ...], architecture: str) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "cuda"
        shutil.copytree(compiler.source_root(), folder)
        if patch:
            patch(folder)
        target = Path(name) / "mems.cubin"
        macros = [f"-D{key}={value}" for key, value in defines]
        nvcc = compiler.find_nvcc() or "nvcc"
        command = [nvcc, *compiler.FLAGS, f"-arch={architecture}", *macros, "-cubin", "-I", str(folder)]
        subprocess.run([*command, str(folder / "mems.cu"), "-o", str(target)], check=True)
        return target.read_bytes()


def measure(device: Device, search: Search, piece: Piece, variant: Variant, repeats: int) -> tuple[float, MemColumns]:
    """Seconds of device time, and the matches (in the device's thread)."""
    kernel = MemsKernel(device, search)
    kernel.shape = dataclasses.replace(kernel.shape, **variant.shape)
    code = build(variant.patch, tuple(kernel.shape.defines.items()), device.info.architecture)
    module = device.driver.module_from_buffer(code)
    kernel.load(module.get_function)
    if variant.two_passes:
        kernel._capacity = lambda item: 0  # type: ignore[method-assign]
    slot = slots_of(device, 1)[0]
    times = []
    for _ in range(repeats + 1):
        before = device.timeline.summary()["kernel_s"]
        kernel.submit(slot, piece)
        slot.submitted()
        slot.wait()
        matches = kernel.collect(slot, piece)
        slot.wait()
        times.append(device.timeline.summary()["kernel_s"] - before)
    assert matches.columns is not None
    return min(times[1:]), matches.columns


def workloads(data: Path) -> dict[str, tuple[Search, QueryText]]:
    def search(path: Path, bases: int | None, length: int) -> tuple[Search, bytes]:
        reference = read_reference(str(path))
        index = build_index(reference, choose_index(length, reference.bases), 8)
        return Search(index, MemsParams(min_length=length, kind="maxmatch", strands="both")), part_of(path, bases)

    result = {}
    genome, _ = search(data / "chr20.fa", 1000, 50)
    query = next(iter(read_batches(str(data / "chrXtrunc.fa"))))
    result["chr20-chrX-l50"] = (genome, genome.prepare(query))
    longer, _ = search(data / "chr20.fa", 1000, 100)
    result["chr20-chrX-l100"] = (longer, longer.prepare(query))
    for name, file, length, count, size in (
        ("lmono-120-l20", "ecoli_mg1655.fa", 20, 300_000, 120),
        ("ssuis-36-l10", "ssuis_sc84.fa", 10, 100_000, 36),
    ):
        reads, text = search(data / file, None, length)
        fasta = np.frombuffer(b"".join(simulate(text, count, size)), np.uint8)
        result[name] = (reads, reads.prepare(Chunk(HeldText((fasta,)), "fasta", name, 1)))
    return result


def build_all(shape: MemsShape, architecture: str) -> None:
    """Compile the variants side by side."""
    with ThreadPoolExecutor(available_cores()) as pool:
        for variant in VARIANTS:
            defines = dataclasses.replace(shape, **variant.shape).defines
            pool.submit(build, variant.patch, tuple(defines.items()), architecture)


def search_on_cpu(search: Search, piece: Piece) -> float:
    """Wall seconds of all cores."""
    pieces = [
        Piece(piece.source, at, min(piece.stop, at + (1 << 18))) for at in range(piece.start, piece.stop, 1 << 18)
    ]
    start = time.perf_counter()
    for _ in run_ordered(pieces, lambda part: search.find(part, 0, 1 << 62).reached, available_cores()):
        pass
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = [{"layout": variant.name} for variant in VARIANTS]
    results.append({"layout": f"CPU backend, {available_cores()} threads"})
    with Device(list_devices()[0]) as device:
        for name, (search, source) in workloads(arguments.data).items():
            piece = Piece(source, 0, min(source.text.length, 1 << 26))
            expected: MemColumns | None = None
            shape: MemsShape = choose_mems_shape(search.index.params.w)
            build_all(shape, device.info.architecture)
            print(name, search.index.params, len(search.index.entries), "entries", shape, flush=True)
            for row, variant in zip(results[:-1], VARIANTS, strict=True):
                used = search
                if variant.relayout:
                    used = Search(variant.relayout(search.index), search.params)
                seconds, columns = device.call(measure, device, used, piece, variant, arguments.repeats).result()
                if expected is None:
                    expected = columns
                same = all(np.array_equal(ours, theirs) for ours, theirs in zip(columns, expected, strict=True))
                if not same:
                    raise RuntimeError(f"{name}, {variant.name}: other matches")
                row[name] = round(seconds * 1e3, 3)
                print(f"  {variant.name:34}{seconds * 1e3:9.3f} ms", flush=True)
            seconds = min(search_on_cpu(search, piece) for _ in range(arguments.repeats))
            results[-1][name] = round(seconds * 1e3, 3)
            print(f"  {results[-1]['layout']:34}{seconds * 1e3:9.3f} ms", flush=True)
    record("mems-layouts", results)


if __name__ == "__main__":
    main()
