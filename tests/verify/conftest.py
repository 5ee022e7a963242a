"""The command on a device, and candidates in every format."""

from __future__ import annotations

import random

import pytest

from gpualign.cli import main
from tests.helpers.sequences import mutate, random_text, reverse_complement


@pytest.fixture
def run(device, capsys):
    def run_main(*arguments, expect=0):
        with pytest.raises(SystemExit) as exit_:
            main(["verify", *map(str, arguments), "--device", device])
        captured = capsys.readouterr()
        assert exit_.value.code == expect, captured.err
        return captured.out, captured.err

    return run_main


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two targets, 60 queries with errors on both strands, and their candidates in every format."""
    folder = tmp_path_factory.mktemp("verify")
    rng = random.Random(3)
    targets = {"chr1": random_text(rng, 3000) + "N" * 30 + random_text(rng, 500), "chr2": random_text(rng, 2000)}
    (folder / "ref.fa").write_text("".join(f">{name} text\n{text}\n" for name, text in targets.items()))
    queries, rows = {}, []
    for i in range(60):
        target = rng.choice(list(targets))
        length = rng.choice((30, 100, 150, 300))
        begin = rng.randrange(len(targets[target]) - length)
        query = mutate(rng, targets[target][begin : begin + length], rng.choice((0, 0.03, 0.08)))
        strand = rng.choice("+-")
        queries[f"q{i}"] = reverse_complement(query) if strand == "-" else query
        window = max(0, begin - 20), min(len(targets[target]), begin + length + 20)
        rows.append((f"q{i}", target, *window, strand))
        other = rng.choice(list(targets))
        at = rng.randrange(len(targets[other]) - 100)
        rows.append((f"q{i}", other, at, at + 100, rng.choice("+-.")))
    (folder / "q.fa").write_text("".join(f">{name}\n{query}\n" for name, query in queries.items()))
    (folder / "c.tsv").write_text("".join(f"{q}\t{t}\t{b + 1}\t{e}\t{s}\n" for q, t, b, e, s in rows))
    (folder / "c.bed").write_text("".join(f"{t}\t{b}\t{e}\t{q}\t0\t{s}\n" for q, t, b, e, s in rows))
    return folder, targets, queries, rows
