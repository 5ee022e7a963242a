"""What the --json report of every command says of the run itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import gpualign
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sequences import random_genome

Cli = Callable[..., tuple[int, bytes, str]]
#: words of a command, its inputs, its reference, and outputs besides the main one
CASES: dict[str, tuple[list[str], list[str], str | None, list[str]]] = {
    "map": (["map", "r.fa", "q.fq", "--sort", "--write-index", "--un", "u.fq"], ["q.fq"], "r.fa", ["u.fq", "out.bai"]),
    "mem": (["mem", "-v", "1", "r.fa", "q.fq"], ["q.fq"], "r.fa", []),
    "sort": (["sort", "a.sam"], ["a.sam"], None, []),
    "markdup": (["markdup", "a.sam", "--duplicate-metrics", "m.txt"], ["a.sam"], None, ["m.txt"]),
    "verify": (["verify", "r.fa", "r.fa"], ["r.fa"], "r.fa", []),
    "pairwise": (["pairwise", "q.fa"], ["q.fa"], None, []),
    "bounded gaps": (["pairwise", "--max-gaps", "1", "q.fa", "r.fa"], ["q.fa", "r.fa"], None, []),
    "pairwise --top": (["pairwise", "--top", "1", "q.fa", "r.fa"], ["q.fa", "r.fa"], None, []),
    "cluster": (["cluster", "--id", "0.9", "q.fa", "--members", "d"], ["q.fa"], None, ["d"]),
    "derep": (["derep", "q.fa", "--uc", "u"], ["q.fa"], None, ["u"]),
    "sintax": (["sintax", "q.fa", "--db", "r.fa"], ["q.fa", "r.fa"], None, []),
    "chimeras": (["chimeras", "q.fa", "--denovo", "--chimeras", "c.fa"], ["q.fa"], None, ["c.fa"]),
    "lcs-filter": (["lcs-filter", "-Q", "q.fa", "r.fa"], ["q.fa", "r.fa"], None, []),
    "mems": (["mems", "r.fa", "q.fa"], ["q.fa"], "r.fa", []),
    "search": (["search", "q.fa", "r.fa", "-k", "1", "--counts", "c.tsv"], ["q.fa", "r.fa"], None, ["c.tsv"]),
}


@pytest.mark.parametrize("name", CASES)
def test_reports_say_what_was_run(name: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    words, inputs, reference, outputs = CASES[name]
    monkeypatch.chdir(tmp_path)
    genome = random_genome(1, 400)
    write_fasta(Path("r.fa"), [genome])
    write_fasta(Path("q.fa"), [genome[50:150]])
    write_fastq(Path("q.fq"), ("a", genome[50:150], "I" * 100))
    Path("a.sam").write_text("@SQ\tSN:c\tLN:9\na\t0\tc\t1\t60\t1M\t*\t0\t0\tA\tI\n")
    output = "out.bam" if "--sort" in words else "out"
    arguments = [*words, "-o", output, "--json", "report.json"]
    monkeypatch.setattr(sys, "argv", ["/somewhere/gpualign", *arguments])
    status, _, errors = cli(*arguments)
    assert status == 0, errors
    report = json.loads(Path("report.json").read_text())
    assert report["command_line"] == " ".join(["gpualign", *arguments])
    assert report["command"] == words[0]
    assert report["version"] == gpualign.__version__
    assert (report["inputs"], report["reference"]) == (inputs, reference)
    assert report["outputs"] == [output, *(other.replace("out.bai", "out.bam.bai") for other in outputs)]
    assert all(Path(path).exists() for path in report["outputs"])
    then = datetime.fromisoformat(report["date"])
    assert abs(datetime.now().astimezone() - then) < timedelta(hours=1)


def test_standard_output_and_python(tmp_path: Path, cli: Cli) -> None:
    queries = write_fasta(tmp_path / "q.fa", ["ACGT"])
    assert cli("pairwise", queries, "--self", "--json", tmp_path / "report.json")[0] == 0
    assert json.loads((tmp_path / "report.json").read_text())["outputs"] == ["-"]
    records = tmp_path / "a.sam"
    records.write_text("@SQ\tSN:c\tLN:9\n")
    report = gpualign.sort(records, tmp_path / "b.sam")
    assert (report["command_line"], report["outputs"]) == (None, [str(tmp_path / "b.sam")])
