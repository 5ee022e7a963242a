"""Proteins against a database: kernels on a GPU, and the whole command.

    python benchmarks/protein_search.py                      # kernels: 16 queries x 300,000 targets, every mode
    python benchmarks/protein_search.py --command            # `pairwise --top 10`, FASTA and .gpdb, begun to end
    python benchmarks/protein_search.py --record --cudasw ~/CUDASW4  # all of that, with the peer, into results/
    python benchmarks/protein_search.py --targets 3000 --device cpu

Lengths of targets are log-normal with Swiss-Prot's median and mean (about 300 and 360), or those of the sequences of
``--lengths-of FILE``. Prints one JSON line for each measurement; rates are cells of the matrices a second.
``--cudasw FOLDER`` has `align` and `makedb` of github.com/asbschmidt/CUDASW4.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import harness
import numpy as np

QUERY_LENGTHS = (100, 144, 189, 222, 375, 464, 567, 657, 850, 1000, 1500, 2005, 2504, 3005, 4061, 5000)
_RESIDUES = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8)
SCORING = ("--matrix", "BLOSUM62", "--gapopen", "12", "--gapext", "1")


def write_sequences(path: Path, lengths: Any, seed: int) -> None:
    """Random residues in the frequencies of proteins (Robinson and Robinson 1991, rounded)."""
    frequencies = np.array([78, 51, 45, 54, 19, 43, 63, 74, 22, 51, 90, 57, 22, 39, 52, 71, 58, 13, 32, 64], float)
    rng = np.random.default_rng(seed)
    residues = _RESIDUES[rng.choice(20, int(np.sum(lengths)), p=frequencies / frequencies.sum())].tobytes()
    at = 0
    with path.open("wb") as file:
        for number, length in enumerate(lengths):
            file.write(b">s%d\n%s\n" % (number, residues[at : at + length]))
            at += length


def target_lengths(count: int, like: str | None) -> Any:
    """int64 (count,)"""
    rng = np.random.default_rng(7)
    if like is None:
        return np.clip(rng.lognormal(5.7, 0.6, count).astype(int), 30, 35_000)
    from gpualign.text.chunks import read_batches

    known = np.concatenate([batch.lengths for batch in read_batches(like, alphabet="any")])
    return rng.choice(known, count)


def kernel_seconds(folder: Path, mode: str, kernel: str, device: str) -> float:
    """Of the scores of all pairs; on a CPU the seconds that they take."""
    from gpualign.align.pair_inputs import PairFiles
    from gpualign.align.score.params import PairwiseParams
    from gpualign.align.score.problem import make_problem
    from gpualign.pairwise.run import align_all
    from gpualign.params import RunOptions
    from gpualign.report import Progress
    from gpualign.run.select import open_backend

    params = PairwiseParams(
        mode=mode, matrix="BLOSUM62", gap_open=12, gap_extend=1, score_only=True, kernel=kernel  # type: ignore[arg-type]
    )  # fmt: skip
    options = RunOptions(quiet=True, device=device)
    scoring = params.load_scoring()
    inputs = PairFiles(str(folder / "q.fa"), str(folder / "db.fa")).read(scoring)
    problem = make_problem(params, options, scoring, inputs)
    best = float("inf")
    with open_backend(options, "pairwise") as backend:
        for _ in range(3):
            timeline = getattr(backend, "devices", [None])[0]
            before, start = 0.0, time.perf_counter()
            if timeline is not None:
                timeline.timeline.fold()
                before = timeline.timeline.kernel_s
            with Progress(options, "pair") as progress:
                for _ in align_all(problem, inputs.source, backend, progress):
                    pass
            seconds = time.perf_counter() - start
            if timeline is not None:
                timeline.timeline.fold()
                seconds = timeline.timeline.kernel_s - before
            best = min(best, seconds)
    return best


def traceback_seconds(folder: Path, mode: str, count: int, device: str) -> tuple[float, float]:
    """Seconds by the clock, and of the kernels, of ``count`` alignments of all queries with random targets."""
    from gpualign.align.pair_inputs import inputs_of, read_encoded
    from gpualign.align.score.params import PairwiseParams
    from gpualign.align.score.problem import make_problem
    from gpualign.pairwise.run import align_all
    from gpualign.params import RunOptions
    from gpualign.report import Progress
    from gpualign.run.select import open_backend
    from gpualign.sequences.pairs import PairBlock

    params = PairwiseParams(mode=mode, matrix="BLOSUM62", gap_open=12, gap_extend=1)  # type: ignore[arg-type]
    options, scoring = RunOptions(quiet=True, device=device), params.load_scoring()
    queries, targets = (read_encoded(str(folder / name), scoring) for name in ("q.fa", "db.fa"))
    chosen = np.random.default_rng(2).choice(len(targets), count, replace=False)
    pairs = PairBlock(np.sort(np.arange(count) % len(queries)).astype(np.int32), chosen.astype(np.int32))
    inputs = inputs_of(queries, targets, pairs)
    problem = make_problem(params, options, scoring, inputs)
    best = float("inf"), 0.0
    with open_backend(options, "pairwise") as backend:
        timeline = backend.devices[0].timeline  # type: ignore[attr-defined]
        for _ in range(3):
            timeline.fold()
            before, start = timeline.kernel_s, time.perf_counter()
            with Progress(options, "hit") as progress:
                list(align_all(problem, inputs.source, backend, progress))
            seconds = time.perf_counter() - start
            timeline.fold()
            best = min(best, (seconds, timeline.kernel_s - before))
    return best


def cudasw_rate(folder: Path, programs: Path) -> float:
    """TCUPS of CUDASW++ 4 over all queries, the better of its two kinds of kernels."""
    subprocess.run(
        [str(programs / "makedb"), str(folder / "db.fa"), str(folder / "cudasw")], check=True, capture_output=True
    )
    command = [str(programs / "align"), "--query", str(folder / "q.fa"), "--db", str(folder / "cudasw")]
    command += ["--top", "0", "--verbose", "--uploadFull", "--prefetchDBFile", "--mat", "blosum62"]
    best = 0.0
    for more in ([], ["--dpx"]):
        out = subprocess.run([*command, *more], check=True, capture_output=True, text=True).stdout
        best = max([best, *(float(rate) for rate in re.findall(r"Total time: \S+ s, (\S+) GCUPS", out))])
    return best / 1e3


def shape_rates(folder: Path, mode: str) -> None:
    """Prints the rate of every shape of lanes with one query that fills it, in one tile and in four."""
    from gpualign.align.pair_inputs import inputs_of, read_encoded
    from gpualign.align.score.device import query_lanes
    from gpualign.align.score.params import PairwiseParams
    from gpualign.align.score.problem import make_problem
    from gpualign.align.score.score_tile import ScoreTile
    from gpualign.align.score.tuning import LANE_SHAPES
    from gpualign.pairwise.database.scan import search_stage
    from gpualign.params import RunOptions
    from gpualign.run.select import open_backend

    params = PairwiseParams(mode=mode, matrix="BLOSUM62", gap_open=12, gap_extend=1, score_only=True)  # type: ignore[arg-type]
    options, scoring = RunOptions(quiet=True, device="cuda"), params.load_scoring()
    targets = read_encoded(str(folder / "db.fa"), scoring)
    with open_backend(options, "pairwise") as backend:
        timeline = backend.devices[0].timeline  # type: ignore[attr-defined]
        for shape in LANE_SHAPES:
            for tiles in (1, 4):
                rows = tiles * shape.lanes * shape.rows
                write_sequences(folder / "one.fa", [rows], 3)
                queries = read_encoded(str(folder / "one.fa"), scoring)
                problem = make_problem(params, options, scoring, inputs_of(queries, targets, None))
                query_lanes.shape_of = lambda _, shape=shape: shape  # type: ignore[assignment,misc]
                tile, best = ScoreTile(targets, 0, 1, 0, len(targets)), float("inf")
                for _ in range(3):
                    timeline.fold()
                    before = timeline.kernel_s
                    list(backend.run([tile], search_stage(problem)))
                    timeline.fold()
                    best = min(best, timeline.kernel_s - before)
                rate = rows * float(targets.offsets[-1]) / best / 1e12
                row = {"mode": mode, "lanes": shape.lanes, "rows": shape.rows, "tiles": tiles, "tcups": round(rate, 3)}
                print(json.dumps(row), flush=True)


def command_seconds(folder: Path, database: str, device: str) -> float:
    """Of the best of three whole searches, and what it printed last."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        command = [sys.executable, "-m", "gpualign", "pairwise", "--mode", "local", *SCORING, "--top", "10"]
        command += ["--json", str(folder / "report.json")]
        files = [str(folder / "q.fa"), str(folder / database), "-o", str(folder / "hits.tsv")]
        subprocess.run([*command, "--device", device, *files], check=True)
        best = min(best, time.perf_counter() - start)
    report = json.loads((folder / "report.json").read_text())
    print(json.dumps({"report": {k: v for k, v in report.items() if k not in ("command", "machine")}}), flush=True)
    return best


def begun_search(folder: Path, database: str, device: str) -> tuple[float, float, float]:
    """Seconds of a search in a process that has done one before: by the clock; of the device from its first kernel or
    copy to its last; of its kernels.
    """
    from gpualign.cli import main as gpualign

    arguments = ["pairwise", "-q", "--mode", "local", *SCORING, "--top", "10", "--json", str(folder / "report.json")]
    arguments += ["--device", device, str(folder / "q.fa"), str(folder / database), "-o", str(folder / "hits.tsv")]
    best = (float("inf"),) * 3
    for attempt in range(4):
        start = time.perf_counter()
        with contextlib.suppress(SystemExit):
            gpualign(arguments)
        seconds = time.perf_counter() - start
        of_device = json.loads((folder / "report.json").read_text())["devices"][0]
        if attempt:
            best = min(best, (seconds, of_device["wall_s"], of_device["kernel_s"]))
    return best


def long_pair_seconds(folder: Path, mode: str, score_only: bool, device: str) -> tuple[int, float, float]:
    """Cells of two sequences of 1 Mbp that differ by 10 %, and the best seconds of three: of whole calls, which open
    and close the device, and of the work once it is begun, on a device that is open.
    """
    import gpualign
    from gpualign.align.pair_inputs import PairFiles
    from gpualign.align.score.params import PairwiseParams
    from gpualign.align.score.problem import make_problem
    from gpualign.pairwise.run import align_all
    from gpualign.params import RunOptions
    from gpualign.report import Progress
    from gpualign.run.select import open_backend

    rng = np.random.default_rng(4)
    bases = np.frombuffer(b"ACGT", np.uint8)
    query, ends = (bases[rng.integers(0, 4, size)] for size in (1_000_000, 10_000))
    changed = query.copy()
    where = rng.random(len(query)) < 0.1
    changed[where] = bases[rng.integers(0, 4, int(where.sum()))]
    changed = np.delete(changed, rng.choice(len(changed), 5000, replace=False))
    target = np.concatenate([ends[:5000], changed, ends[5000:]])
    paths = [folder / "long-query.fa", folder / "long-target.fa"]
    for path, sequence in zip(paths, (query, target), strict=True):
        path.write_bytes(b">s\n" + sequence.tobytes() + b"\n")
    params = PairwiseParams(mode=mode, gap_open=10, gap_extend=1, score_only=score_only)  # type: ignore[arg-type]
    options, scoring = RunOptions(quiet=True, device=device), params.load_scoring()
    inputs = PairFiles(*map(str, paths)).read(scoring)
    problem = make_problem(params, options, scoring, inputs)
    begun = call = float("inf")
    with open_backend(options, "pairwise") as backend:
        for _ in range(3):
            start = time.perf_counter()
            with Progress(options, "pair") as progress:
                list(align_all(problem, inputs.source, backend, progress))
            begun = min(begun, time.perf_counter() - start)
    for _ in range(3):
        start = time.perf_counter()
        gpualign.pairwise(*map(str, paths), mode=mode, gap_open=10, gap_extend=1, score_only=score_only, device=device)  # type: ignore[call-overload]
        call = min(call, time.perf_counter() - start)
    return len(query) * len(target), call, begun


def all_figures(folder: Path, cells: float, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """What the result file has, a row a piece of work."""
    rows: dict[str, dict[str, float]] = {}

    def add(work: str, **row: float) -> None:
        rows[work] = {name: round(value, 4) for name, value in row.items()}
        print(json.dumps({"work": work} | rows[work]), flush=True)

    for mode in ("local", "global", "semi-global"):
        seconds = kernel_seconds(folder, mode, "auto", arguments.device)
        add(f"{mode} scores", tcups=cells / seconds / 1e12, kernel_s=seconds)
        if mode == "local" and arguments.cudasw:
            add("local scores, CUDASW++ 4", tcups=cudasw_rate(folder, arguments.cudasw))
    for mode in ("local", "semi-global"):
        wall, kernel = traceback_seconds(folder, mode, 1000, arguments.device)
        share = 100 * kernel / rows[f"{mode} scores"]["kernel_s"]
        add(f"1,000 {mode} alignments", kernel_s=kernel, wall_s=wall, percent_of_scores=share)
    make = [sys.executable, "-m", "gpualign", "makedb", str(folder / "db.fa"), "-o", str(folder / "db.gpdb")]
    subprocess.run(make, check=True)
    for database, name in (("db.fa", "FASTA"), ("db.gpdb", "makedb's file")):
        seconds = command_seconds(folder, database, arguments.device)
        add(f"whole search, {name}", tcups=cells / seconds / 1e12, wall_s=seconds)
    for mode in ("local", "semi-global", "global"):
        for score_only in (True, False):
            of_pair, call, begun = long_pair_seconds(folder, mode, score_only, arguments.device)
            what = f"{mode} {'score' if score_only else 'alignment'}, two sequences of 1 Mbp"
            add(f"{what}, a call", tcups=of_pair / call / 1e12, wall_s=call)
            add(f"{what}, begun", tcups=of_pair / begun / 1e12, wall_s=begun)
    lengths, query_lengths = target_lengths(570_000, arguments.lengths_of), [*QUERY_LENGTHS, *QUERY_LENGTHS[:4]]
    cells = float(sum(query_lengths)) * float(lengths.sum())
    write_sequences(folder / "db.fa", lengths, 1)
    write_sequences(folder / "q.fa", query_lengths, 2)
    wall, device, kernel = begun_search(folder, "db.fa", arguments.device)
    add("20 x 570,000, FASTA, begun", tcups=cells / device / 1e12, wall_s=wall, kernel_s=kernel)
    rows["20 x 570,000, FASTA, begun"]["percent_of_kernels_rate"] = round(100 * kernel / device, 1)
    return rows


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=300_000)
    parser.add_argument("--lengths-of", metavar="FILE")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--command", action="store_true")
    parser.add_argument("--queries", type=int, default=len(QUERY_LENGTHS))
    parser.add_argument("--shapes", metavar="MODES", help="the rates of the kernels' shapes instead")
    parser.add_argument("--kernels", default="lanes,lazy")
    parser.add_argument("--record", action="store_true", help="everything, into a result file")
    parser.add_argument("--cudasw", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    lengths = target_lengths(arguments.targets, arguments.lengths_of)
    query_lengths = [QUERY_LENGTHS[i % len(QUERY_LENGTHS)] for i in range(arguments.queries)]
    cells = float(sum(query_lengths)) * float(lengths.sum())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sequences(folder / "db.fa", lengths, 1)
        write_sequences(folder / "q.fa", query_lengths, 2)
        if arguments.shapes:
            for mode in arguments.shapes.split(","):
                shape_rates(folder, mode)
            return
        if arguments.record:
            harness.record("protein-search", all_figures(folder, cells, arguments))
            return
        if arguments.command:
            subprocess.run(
                [sys.executable, "-m", "gpualign", "makedb", str(folder / "db.fa"), "-o", str(folder / "db.gpdb")],
                check=True,
            )
            for database in ("db.fa", "db.gpdb"):
                seconds = command_seconds(folder, database, arguments.device)
                print(
                    json.dumps({"command": database, "seconds": seconds, "tcups": cells / seconds / 1e12}), flush=True
                )
            return
        for mode in ("local", "global", "semi-global"):
            for kernel in arguments.kernels.split(",") if arguments.device != "cpu" else ("auto",):
                seconds = kernel_seconds(folder, mode, kernel, arguments.device)
                row = {"mode": mode, "kernel": kernel, "seconds": seconds, "tcups": cells / seconds / 1e12}
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
