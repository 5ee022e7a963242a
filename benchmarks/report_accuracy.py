"""What docs/benchmarks.md says of where reads are mapped: accuracy, mapping qualities, every place, validity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from report_results import Result, Results
from report_text import number, table

_LEVELS = (0, 1, 10, 20, 30, 60)


def accuracy(results: Results) -> list[str]:
    parts = [_simulated(found) for found in results.all("map-accuracy")]
    parts += [_every_place(found) for found in results.with_key("all_places")]
    return parts + [_validity(found) for found in results.with_key("validity")]


def _simulated(found: Result) -> str:
    rows, promises = [], []
    for name, tools in found.figures["sets"].items():
        model = tools["model"]
        for tool, row in tools.items():
            if tool == "model":
                continue
            wrong = [number(row["wrong_at_mapq"][level]) for level in _LEVELS]
            rows.append((name, tool, number(row["reads"]), number(row["correct_percent"], 6), _behind(row), *wrong))
        what = "pairs" if model["insert"] else "reads"
        promises.append((f"{name}, {number(model['reads'])} {what}", *_promise(tools["gpualign"])))
    header = ("simulated", "by", "reads", "correct %", "gpualign's lead", *(f"wrong at MAPQ ≥ {q}" for q in _LEVELS))
    interval = (
        "gpualign's lead: how many percent of the reads more gpualign has right, with the 95 % interval of that "
        "difference, from the reads that only one of the two has right. Beside bwa nearly all of those have several "
        "equally good places, of which each mapper reports one (gpualign the first, bwa any): of n such places either "
        "choice is right one time in n, so these differences are chance where the interval holds 0.\n"
    )
    promise = (
        "A MAPQ of q promises at most one wrong read in 10^(q/10). Of gpualign's reads of at least MAPQ q, these are "
        "the levels from 1 to 60 at which more than twice as many are wrong:\n\n"
    )
    calibration = table(("set", "levels", "wrong there", "of reads"), promises)
    roc = (
        "How wrong reads and mapped ones go together (ROC): where a peer keeps so many reads of MAPQ 1 to 60, how many "
        "are wrong among as many of gpualign's, by its MAPQ. Of those levels, the one at which gpualign compares "
        "worst; the difference is chance where the interval of 95 % holds 0:\n\n"
    )
    header_roc = ("set", "peer", "levels with more wrong reads", "the worst: reads", "wrong", "peer's", "difference")
    curves = table(header_roc, [row for name, tools in found.figures["sets"].items() for row in _roc(name, tools)])
    return f"{table(header, rows)}\n{interval}\n{promise}{calibration}\n{roc}{curves}\n{found.source}\n"


def _roc(name: str, tools: dict[str, Any]) -> list[tuple[str, ...]]:
    own, rows = tools["gpualign"], []
    for peer, row in tools.items():
        if peer in ("model", "gpualign"):
            continue
        kept, theirs = np.array(row["kept_at_mapq"][1:]), np.array(row["wrong_at_mapq"][1:])
        ours = np.interp(kept, own["kept_at_mapq"][::-1], own["wrong_at_mapq"][::-1])
        error = 1.96 * np.sqrt(np.maximum(1, ours + theirs))  # of the difference of two counts
        worst = int(np.argmax((ours - theirs) / error))
        difference = f"{ours[worst] - theirs[worst]:+.1f} ± {error[worst]:.1f}"
        more = f"{int((ours > theirs).sum())} of {len(kept)}"
        wrong = number(round(float(ours[worst]), 1))
        rows.append((name, peer, more, number(int(kept[worst])), wrong, number(int(theirs[worst])), difference))
    return rows


def _behind(row: dict[str, Any]) -> str:
    """How far a peer is behind gpualign, in percent of the reads; two shares of the same reads (McNemar 1947)."""
    if "correct_here_alone" not in row:
        return "–"
    ours, theirs, reads = row["correct_by_gpualign_alone"], row["correct_here_alone"], row["reads"]
    error = math.sqrt(ours + theirs - (ours - theirs) ** 2 / reads)
    return f"{100 * (ours - theirs) / reads:+.3f} ± {196 * error / reads:.3f}"


def _promise(row: dict[str, Any]) -> tuple[str, str, str]:
    """The levels at which it is not kept, and the counts at the first of them."""
    kept, wrong = row["kept_at_mapq"], row["wrong_at_mapq"]
    broken = [level for level in range(1, 61) if wrong[level] > 2 * 10 ** (-level / 10) * kept[level]]
    if not broken:
        return "none", "–", "–"
    spans = f"{broken[0]} to {broken[-1]}" if len(broken) == broken[-1] - broken[0] + 1 else ", ".join(map(str, broken))
    return spans, number(wrong[broken[0]]), number(kept[broken[0]])


def _every_place(found: Result) -> str:
    rows = [
        (
            f"{name}, {number(row['reads'])} × {row['length']}",
            tool,
            number(row["places"]),
            own["missed"],
            own["beyond_the_limit"],
            number(own["wall_s"]),
            number(own["peak_mib"]),
        )
        for name, row in found.figures["all_places"].items()
        for tool, own in row["tools"].items()
    ]
    header = ("every place", "by", "places there are", "missed", "beyond the limit", "s", "peak MiB")
    text = (
        f"`--sensitivity full --all` within {found.figures['error_limit_percent']} % of errors, beside mappers that "
        "promise the same; a place that any of them finds, and edlib confirms, is one:\n\n"
    )
    return f"{text}{table(header, rows)}\n{found.source}\n"


def _validity(found: Result) -> str:
    rows = []
    for name, verdicts in found.figures["validity"].items():
        checks = {what: verdict for what, verdict in verdicts.items() if what != "records"}
        wrong = [what for what, verdict in checks.items() if verdict != "ok"]
        rows.append((name, number(int(verdicts["records"])), len(checks), ", ".join(wrong) or "none"))
    checked = ", ".join(program for program in ("samtools", "bcftools", "picard") if program in found.machine)
    return f"{table(('read by ' + checked, 'records', 'checks', 'that complain'), rows)}\n{found.source}\n"
