"""Batches with more hits than are held at once are cut until they fit: the output is the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import gpualign
from gpualign.align.patterns import tuning
from gpualign.align.patterns.cpu import SearchHits
from gpualign.search import run
from gpualign.search.select import FoundHits
from tests.helpers.files import write_fasta, write_fastq

RNG = random.Random(21)
#: one target that is far longer than the others, repeats, ambiguous bases, none
TEXTS = ["".join(RNG.choices("ACGT", k=size)) for size in (40, 300, 0, 3, 90, 61)]
TEXTS[1] = TEXTS[1][:150] + "AC" * 20 + "NNNNNNN" + TEXTS[1][150:]
PATTERNS = ["ACACGT", TEXTS[1][20:40], TEXTS[1][300:340], "GATT", "NNAC"]
MOST = 40


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many hits there are in each result of the stage."""
    found: list[int] = []
    init = FoundHits.__init__

    def noted(self: FoundHits, names, name_offsets, lengths, hits: SearchHits, *rest, **more) -> None:
        found.append(len(hits))
        init(self, names, name_offsets, lengths, hits, *rest, **more)

    monkeypatch.setattr(FoundHits, "__init__", noted)
    return found


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--hits", "all", "-p"],
        pytest.param(["--hits", "all", "--merge"], marks=pytest.mark.slow),
        ["--hits", "best", "-p"],
        ["--hits", "first"],
        ["--best-per-target", "--margin", "0"],
        ["--within", "45", "--hits", "all"],
        ["--within", "120", "--merge"],
        ["--paf", "--hits", "all"],
        ["--ends", "free"],
        ["--max-n", "2", "--bed"],
        ["--alphabet", "bytes", "--hits", "all"],
    ],
)
def test_the_same_output(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    """Also of groups of patterns, and for some options of an index, whose targets come in parts."""
    targets, patterns = write_fasta(tmp_path / "t.fa", TEXTS), write_fasta(tmp_path / "p.fa", PATTERNS)
    inputs = [targets]
    if options in ([], ["--hits", "all", "--merge"], ["--best-per-target", "--margin", "0"]):
        assert cli("index", write_fasta(tmp_path / "g.fa", [TEXTS[1], TEXTS[4]]), "-d", tmp_path / "g.gpi")[0] == 0
        inputs.append(tmp_path / "g.gpi")
    for path in inputs:
        written = []
        for most, group, batch in ((1 << 20, 1024, "1M"), (MOST, 1024, "1M"), (MOST, 2, "300")):
            with monkeypatch.context() as small:
                small.setattr(tuning, "MAX_HITS", most)
                small.setattr(run, "_GROUP", group)
                report, counts = tmp_path / "report.json", tmp_path / "counts"
                words = ("search", patterns, path, "-k", "3", "--batch-size", batch, "--json", report, *options)
                status, out, errors = cli(*words, "--counts", counts, *(() if "--merge" in options else ["--no-merge"]))
                assert status == 0, errors
                written.append((out, counts.read_bytes(), errors.splitlines()[-1].split(" on ")[0]))
        assert written[0] == written[1] == written[2]
        assert written[0][0].count(b"\n") > 1


def test_no_more_hits_at_once(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A result has at most so many, unless they all begin at one position."""
    expected = len(gpualign.search(PATTERNS, TEXTS, 3, hits="all"))
    sizes.clear()
    monkeypatch.setattr(tuning, "MAX_HITS", MOST)
    tables = list(gpualign.iter_search(PATTERNS, TEXTS, 3, hits="all"))
    assert sum(map(len, tables)) == expected > 10 * MOST
    assert max(sizes) <= MOST
    assert sum(sizes) == expected


def test_files_of_targets(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that is searched in pieces is written once, whole."""
    patterns = write_fasta(tmp_path / "p.fa", PATTERNS[:2])
    reads = write_fastq(tmp_path / "r.fq", *((f"r{i} x", text, "I" * len(text)) for i, text in enumerate(TEXTS)))
    written = []
    for most in (1 << 20, 2):
        monkeypatch.setattr(tuning, "MAX_HITS", most)
        folder = tmp_path / str(most)
        words = ("search", patterns, reads, "-k", "3", "--best-per-target", "--margin", "0", "--split", folder)
        status, out, errors = cli(*words)
        assert status == 0, errors
        written.append((out, {path.name: path.read_bytes() for path in folder.iterdir()}))
    assert written[0] == written[1]
    assert len(written[0][1]) == 3
