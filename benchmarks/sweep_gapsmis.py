#!/usr/bin/env python3
"""Sweep the launch numbers of the bounded-gap kernels on this machine's GPU, over the paper's texts and patterns.

For each number of gaps, each width of the strips and each occupancy, the kernel's own time as events measure it; the
fastest go into ``gpualign/pairwise/bounded_gaps/tuning.py``. Variants are compiled side by side first.
"""

from __future__ import annotations

import argparse
import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from gpualign.engine.gpu import compiler
from gpualign.engine.gpu.buffers import slots_of
from gpualign.engine.gpu.device import Device, list_devices
from gpualign.pairwise.bounded_gaps import tuning
from gpualign.pairwise.bounded_gaps.cpu import GapModel, PairBlock
from gpualign.pairwise.bounded_gaps.device import GapsmisKernel, defines
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.matrices import match_mismatch

TEXTS, TEXT_LENGTH, PATTERNS = 2048, 250, 100


def paper_block(pattern_length: int | None = None, texts: int = TEXTS, seed: int = 1) -> PairBlock:
    """Random texts of 250 symbols and patterns of 50 to 200 (or one length), mutated prefixes of some of the texts."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (texts, TEXT_LENGTH)).astype(np.uint8)
    lengths = [pattern_length or (50, 100, 150, 200)[k % 4] for k in range(PATTERNS)]
    patterns = []
    for k, length in enumerate(lengths):
        pattern = np.delete(codes[k % texts], slice(20, 20 + k % 7))[:length].copy()
        changed = rng.random(length) < 0.03
        pattern[changed] = rng.integers(0, 4, int(changed.sum()))
        patterns.append(pattern)
    names = [str(i) for i in range(max(texts, PATTERNS))]
    return PairBlock(
        EncodedSequences(names[:PATTERNS], np.concatenate(patterns), np.cumsum([0, *lengths]).astype(np.int64)),
        EncodedSequences(names[:texts], codes.reshape(-1), np.arange(texts + 1, dtype=np.int64) * TEXT_LENGTH),
        np.repeat(np.arange(PATTERNS, dtype=np.int32), texts),
        np.tile(np.arange(texts, dtype=np.int32), PATTERNS),
    )


def model_for(gaps: int, traceback: bool) -> GapModel:
    """Match 5, mismatch -4, gaps 10 + 1 for each further symbol."""
    table = match_mismatch(5, -4).scores.astype(np.int16).reshape(-1)
    return GapModel(table, 5, gaps, 10, 1, traceback=traceback)


def time_kernels(device: Device, kernel: GapsmisKernel, block: PairBlock, repeats: int = 5) -> float:
    """Median seconds of a batch's kernels, without copies."""
    slot = slots_of(device, 1)[0]
    times = []
    for _ in range(repeats + 1):
        kernel.submit(slot, block)
        slot.submitted()
        before = device.timeline.summary()["kernel_s"]
        slot.wait()
        times.append(device.timeline.summary()["kernel_s"] - before)
    return float(np.median(times[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gaps", default="2", help="numbers of gaps, 0,1,2")
    parser.add_argument("--widths", default="8,16,24,32")
    parser.add_argument("--blocks", default="2,3,4")
    parser.add_argument("--kernels", default="packed,scores,trace")
    arguments = parser.parse_args()
    block = paper_block()
    cells = float((block.pattern_lengths * block.text_lengths).sum())
    info = list_devices()[0]
    numbers = [[int(x) for x in text.split(",")] for text in (arguments.gaps, arguments.widths, arguments.blocks)]
    plans = {}
    for kind, gaps, width, blocks in itertools.product(arguments.kernels.split(","), *numbers):
        launch = replace(tuning.gapsmis(info.capability, gaps), **{f"width_{kind}": width}, blocks=blocks)
        plans[kind, gaps, width, blocks] = (model_for(gaps, kind == "trace"), launch)
    with ThreadPoolExecutor() as pool:
        list(
            pool.map(lambda p: compiler.compile_module("bounded_gaps", info.architecture, defines(*p)), plans.values())
        )
    functions = {"packed": "gapsmis_packed", "scores": "gapsmis_scores_thread", "trace": "gapsmis_trace_thread"}
    with Device(info) as device:
        for (kind, gaps, width, blocks), (model, launch) in plans.items():

            def run(kind: str = kind, model: GapModel = model, launch: tuning.Gapsmis = launch) -> tuple[float, str]:
                kernel = GapsmisKernel(device, model, launch, packed=kind == "packed")
                function = kernel.module.get_function(functions[kind])
                resources = f"registers={function.num_regs} local={function.local_size_bytes}"
                return time_kernels(device, kernel, block), resources

            seconds, resources = device.call(run).result()
            rate = cells * (gaps + 1) / seconds / 1e12
            print(
                f"{kind:6} K={gaps} width={width:2} blocks={blocks} {resources} "
                f"{seconds * 1e3:.3f} ms {rate:.3f} TCUPS",
                flush=True,
            )


if __name__ == "__main__":
    main()
