#!/usr/bin/env python3
"""Draw the ablation of ``verify_kernels.py``: cells per second by threads a pair, a line for each query length."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="a result file of verify_kernels.py")
    parser.add_argument("-o", "--output", type=Path, help="image to write  [default: beside the result file, .svg]")
    arguments = parser.parse_args()
    data = json.loads(arguments.results.read_text())
    lines = [line for line in data["results"]["ablation"] if "blocks" not in line and line["query"] <= 1000]
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for length in sorted({line["query"] for line in lines}):
        mine = [line for line in lines if line["query"] == length]
        axes.plot([line["lanes"] for line in mine], [line["tcups"] for line in mine], "o-", label=f"{length} bases")
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 2, 4, 8, 16, 32], labels=["1", "2", "4", "8", "16", "32"])
    axes.set_xlabel("threads a pair")
    axes.set_ylabel("10¹² cells per second")
    axes.set_title(data["machine"]["gpus"][0].split(",")[0] + ", whole matrices, window 1.2 × query")
    axes.set_ylim(0)
    axes.legend()
    figure.tight_layout()
    figure.savefig(arguments.output or arguments.results.with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
