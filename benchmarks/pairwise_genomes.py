"""One pair of genomes on a GPU, its score and its alignment: `python benchmarks/pairwise.py genomes a.fa b.fa`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
import numpy as np

_GAPS = {"linear": (["--gap", "10"], 10, 10), "affine": ([], 10, 1)}
_MATCH, _MISMATCH = 5, -4


def genomes(files: list[str], symbols: int | None, run: Callable[[list[str]], dict[str, Any]]) -> dict[str, Any]:
    """Both commands with linear and affine gaps, on the first ``symbols`` of each file's first record. Scores must be
    equal, and that of the path's own operations as well.

    Args:
        run: one command in this process; its report.
    """
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths, pair = [], []
        for name in files:
            record, sequence = next(iter(data.read_fasta(Path(name)).items()))
            pair.append(np.frombuffer(sequence.upper()[:symbols], np.uint8))
            paths.append(Path(folder) / f"{len(paths)}.fa")
            paths[-1].write_bytes(b">%s\n%s\n" % (record.encode(), pair[-1].tobytes()))
        output = Path(folder) / "out.tsv"
        command = [*map(str, paths), "--device", "cuda", "-o", str(output)]
        for gaps, (options, gap_open, gap_extend) in _GAPS.items():
            rows: dict[str, dict[str, Any]] = {}
            for of, extra in (("score", ["--score-only"]), ("alignment", [])):
                report = run([*command, *options, *extra])
                kernel = report["devices"][0]["kernel_s"]
                rows[of] = {
                    "letters": [len(sequence) for sequence in pair],
                    "kernel_s": round(kernel, 4),
                    "wall_s": report["wall_s"],
                    "tcups": round(len(pair[0]) * len(pair[1]) / kernel / 1e12, 3),
                    "peak_vram_mb": report["devices"][0]["peak_vram_mb"],
                    **_found(output, pair, gap_open, gap_extend),
                }
                results[f"{of}, {gaps}"] = rows[of]
                print(f"{of}, {gaps}", rows[of], flush=True)
            scores = {rows["score"]["score"], rows["alignment"]["score"], rows["alignment"]["path_score"]}
            if len(scores) > 1:
                raise RuntimeError(f"scores differ: {scores}")
    return results


def _found(output: Path, pair: list[np.ndarray], gap_open: int, gap_extend: int) -> dict[str, Any]:
    """The score that the command printed, and how many operations its path has.

    Raises:
        RuntimeError: the path has another score.
    """
    header, line = output.read_text().splitlines()
    row = dict(zip(header.split("\t"), line.split("\t"), strict=True))
    found: dict[str, Any] = {"score": int(row["score"])}
    if "cigar" in row:
        runs = [(int(length), operation) for length, operation in re.findall(r"(\d+)([MID])", row["cigar"])]
        found["runs"] = len(runs)
        if _path_score(runs, pair, gap_open, gap_extend) != found["score"]:
            raise RuntimeError("the path has another score")
    return found


def _path_score(runs: list[tuple[int, str]], pair: list[np.ndarray], gap_open: int, gap_extend: int) -> int:
    i = j = score = 0
    for length, operation in runs:
        if operation == "M":
            matches = int(np.count_nonzero(pair[0][i : i + length] == pair[1][j : j + length]))
            score += _MATCH * matches + _MISMATCH * (length - matches)
        else:
            score -= gap_open + (length - 1) * gap_extend
        i += length if operation != "D" else 0
        j += length if operation != "I" else 0
    if (i, j) != (len(pair[0]), len(pair[1])):
        raise RuntimeError(f"the path ends at {i}, {j}")
    return score
