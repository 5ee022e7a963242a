"""Commands on a Dask cluster of two workers: the same bytes as on one machine."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpualign.align.near import tuning as near_tuning
from gpualign.errors import GpualignError
from gpualign.pairwise import run as pairwise
from gpualign.run.stage import Stage
from gpualign.sequences.encoded import EncodedSequences
from gpualign.text import bgzf
from gpualign.text.bgzf import bgzf_writer
from gpualign.text.fastx import Chunk
from gpualign.text.text import HeldText
from tests.helpers.cluster import KILLED, Cluster, squares
from tests.helpers.command_lines import ON_DASK
from tests.helpers.commands import program
from tests.helpers.paths import EXAMPLES
from tests.helpers.sam import without_program
from tests.helpers.soak import some_of

pytest.importorskip("distributed")

from gpualign.run.dask import backend as cluster_backend
from gpualign.run.dask import connect
from gpualign.run.dask.backend import ClusterBackend

pytestmark = KILLED

Cli = Callable[..., tuple[int, bytes, str]]


def test_samples_are_spread_over_the_workers(
    cluster: Cluster, inputs: dict[str, Path], cli: Cli, tmp_path: Path
) -> None:
    """The outputs of one machine, and what is wrong with one sample stops no other."""
    lines = inputs["reads.fq"].read_text().splitlines(keepends=True)
    rows = ["sample,fastq_1", "gone,gone.fq"]
    for number in range(12):
        path = tmp_path / f"{number}.fq"
        path.write_text("".join(lines[400 * number : 400 * (number + 1)]))
        rows.append(f"s{number},{path}")
    (tmp_path / "sheet.csv").write_text("\n".join(rows) + "\n")
    words = ["map", str(inputs["genomes.fa"]), "--samples", str(tmp_path / "sheet.csv"), "--output-format", "sam"]
    alone = cli(*words, "-o", tmp_path / "alone")
    report = tmp_path / "report.json"
    on_cluster = cli(*words, "-o", tmp_path / "spread", "--dask", cluster.address, "--json", report)
    assert alone[0] == on_cluster[0] == 3
    assert "1 of 13 samples failed: gone" in on_cluster[2]
    names = sorted(os.listdir(tmp_path / "alone"))
    assert names == sorted(os.listdir(tmp_path / "spread")) == sorted(f"s{number}.sam" for number in range(12))
    for name in names:
        found, expected = (without_program((tmp_path / folder / name).read_bytes()) for folder in ("spread", "alone"))
        assert found == expected
        assert found.count(b"\n") > 100
    facts = json.loads(report.read_text())
    assert (facts["reads"], sum(facts["workers"].values())) == (1200, 13)


#: as others of their command, with other options or in another compression
IN_SOAK = {
    *("map in one batch", "map, pairs in gzip", "map, interleaved bgzf", "map, bgzf", "mems, bgzf", "lcs-filter, bgzf"),
    *("max gaps, best", "lcs-filter ties", "lcs-filter stream", "search in bgzf", "mums of a long query"),
    *("search for groups of patterns, one a target", "verify records", "pairwise"),
}


@pytest.mark.parametrize("name", some_of(zip(ON_DASK), lambda name: name not in IN_SOAK))
def test_same_bytes_as_one_machine(name: str, cluster: Cluster, inputs: dict[str, Path], cli: Cli) -> None:
    words = [str(inputs.get(word, word)) for word in ON_DASK[name].split()]
    alone, on_cluster = cli(*words), cli(*words, "--dask", cluster.address)
    assert alone[0] == on_cluster[0] == 0, on_cluster[2]
    assert without_program(alone[1]) == without_program(on_cluster[1])
    assert len(alone[1]) > 0
    assert f"cluster {cluster.address}, 2 workers, 2 threads" in on_cluster[2]


UNSEEN = [
    "map genomes.fa reads.fq --batch-size 20K",
    "map genomes.fa 1.fq 2.fq --batch-size 20K",
    "map genomes.fa -p pairs.bgz --batch-size 20K",
    "verify genomes.fa reads.fq -c many.tsv --all --batch-size 20K",
    "verify genomes.fa reads.fq -c many.tsv --best 2 --batch-size 20K",
    "verify reads.fq reads.fq --batch-size 20K",
    "pairwise few.fa reads.fq --id 0.7",
    "lcs-filter -Q query.fa reads.fq -n 20 --batch-size 10K",
    "lcs-filter -Q query.fa --multi-query reads.fq -n 9 --lines --batch-size 30K",
    "mems -maxmatch -b -l 12 genomes.fa reads.fq --batch-size 10K",
    "mems -b -l 12 genomes.fa long.fa --batch-size 4K",
]


@pytest.mark.parametrize("words", UNSEEN)
def test_files_that_the_client_alone_has(words: str, cluster: Cluster, inputs: dict[str, Path], cli: Cli) -> None:
    """By the number of a descriptor, which is that of another file, or of none, in a worker's process."""
    alone = cli(*(str(inputs.get(word, word)) for word in words.split()))
    with ExitStack() as stack:
        paths = {name: f"/dev/fd/{stack.enter_context(open(path)).fileno()}" for name, path in inputs.items()}
        given = [paths.get(word, word) for word in words.split()]
        on_cluster = cli(*given, "--dask", cluster.address)
    assert alone[0] == on_cluster[0] == 0, on_cluster[2]
    assert without_program(alone[1]) == without_program(on_cluster[1])
    assert len(alone[1]) > 0


@pytest.mark.parametrize(
    ("saving", "using"),
    [
        ("index genomes.fa -d FILE", "map FILE reads.fq --batch-size 20K"),
        ("mems -b -l 12 genomes.fa long.fa -save FILE", "mems -b -l 12 -load FILE genomes.fa reads.fq"),
        ("makedb reads.fq -o FILE", "pairwise few.fa FILE --mode local --top 3"),
    ],
)
def test_a_saved_file_that_the_client_alone_has(
    saving: str, using: str, cluster: Cluster, inputs: dict[str, Path], cli: Cli, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    code, _, message = cli(*(saved if word == "FILE" else inputs.get(word, word) for word in saving.split()))
    assert code == 0, message
    alone = cli(*(saved if word == "FILE" else inputs.get(word, word) for word in using.split()))
    with open(saved) as file:
        given = {**inputs, "FILE": f"/dev/fd/{file.fileno()}"}
        on_cluster = cli(*(given.get(word, word) for word in using.split()), "--dask", cluster.address)
    assert alone[0] == on_cluster[0] == 0, on_cluster[2]
    assert without_program(alone[1]) == without_program(on_cluster[1])
    assert len(alone[1]) > 0


def test_clusters_by_parts_of_the_centroids(
    cluster: Cluster, inputs: dict[str, Path], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers get the sequences once, and look in parts of the centroids; the clusters are the same. The pairs that are
    left to be aligned are not: one machine aligns the likely centroid of each sequence first."""
    monkeypatch.setattr(near_tuning, "PART_SYMBOLS", 5000)
    monkeypatch.setattr(near_tuning, "QUERIES_SENT", 50)
    sent: list[object] = []
    send = ClusterBackend._send

    def sending(self: ClusterBackend, obj: Any) -> Any:
        sent.append(obj)
        return send(self, obj)

    monkeypatch.setattr(ClusterBackend, "_send", sending)
    words = ["cluster", inputs["reads.fq"], "--id", "0.8", "--batch-size", "20K", "-p", "--json"]
    alone = cli(*words, tmp_path / "alone.json")
    spread = cli(*words, tmp_path / "spread.json", "--dask", cluster.address)
    assert alone[0] == spread[0] == 0, spread[2]
    assert alone[1] == spread[1]
    facts = [json.loads((tmp_path / name).read_text()) for name in ("alone.json", "spread.json")]
    assert min(fact["pairs_after_words"] for fact in facts) > 0
    assert len([obj for obj in sent if isinstance(obj, Stage)]) == 1
    assert sum(facts[1]["workers"].values()) > 200  # 40 pieces of queries, and several parts for most


@pytest.mark.parametrize("reads", [("reads.bgz",), ("1.bgz", "2.bgz")])
def test_bam_is_compressed_by_the_workers(
    cluster: Cluster, inputs: dict[str, Path], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: Any
) -> None:
    """The same content, of which the client compresses the header alone."""
    words = ["map", inputs["genomes.fa"], *(inputs[name] for name in reads), "--batch-size", "20K", "-o"]
    assert cli(*words, tmp_path / "alone.bam")[0] == 0
    here: list[int] = []
    blocks = bgzf._blocks

    def counted(content: bytes, level: int | None = None) -> bytes | memoryview:
        here.append(len(content))
        return blocks(content, level)

    monkeypatch.setattr(bgzf, "_blocks", counted)
    code, _, message = cli(*words, tmp_path / "far.bam", "--dask", cluster.address)
    assert code == 0, message
    alone, far = (gzip.decompress((tmp_path / name).read_bytes()) for name in ("alone.bam", "far.bam"))
    assert len(alone) > 300_000
    assert sum(here) < 10_000
    assert without_header(alone) == without_header(far)


def without_header(bam: bytes) -> bytes:
    """Of BAM's content, whose @PG lines differ."""
    return bam[8 + int.from_bytes(bam[4:8], "little") :]


def test_saved_index_is_read_by_the_workers(
    cluster: Cluster, inputs: dict[str, Path], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run in another folder."""
    monkeypatch.chdir(tmp_path)
    alone = cli("map", inputs["genomes.fa"], inputs["reads.fq"], "--save-index", "genomes.gpi")
    on_cluster = cli("map", "genomes.gpi", inputs["reads.fq"], "--dask", cluster.address, "--batch-size", "30K")
    assert on_cluster[0] == 0, on_cluster[2]
    assert without_program(alone[1]) == without_program(on_cluster[1])


def test_local_cluster_of_the_command_itself(inputs: dict[str, Path], tmp_path: Path) -> None:
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"], "--batch-size", "50K"]
    alone = subprocess.run(program(*words), capture_output=True, check=True)
    local = subprocess.run(program(*words, "--dask", "local:1"), capture_output=True, check=True)
    assert without_program(alone.stdout) == without_program(local.stdout)
    # what is said is ours alone
    assert all(line.startswith(b"gpualign map: ") for line in local.stderr.splitlines())


def test_malformed_input_keeps_its_position_and_exit_code(cluster: Cluster, cli: Cli, tmp_path: Path) -> None:
    reads = tmp_path / "bad.fq"
    reads.write_text("@a\nACGTACGT\n+\nIIIIIIII\n@b\nACGT\n+\nIII\n")
    code, _, message = cli("map", EXAMPLES / "genomes.fa", reads, "-o", tmp_path / "out.sam", "--dask", cluster.address)
    assert code == 3
    assert f"{reads}:" in message
    assert [path.name for path in tmp_path.iterdir()] == ["bad.fq"]


@pytest.mark.parametrize("packed", [False, True])
def test_lines_of_malformed_input_that_a_worker_reads(
    cluster: Cluster, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """Workers run in another folder, and nobody has counted the lines before."""
    monkeypatch.chdir(tmp_path)
    good = "@a\nACGTACGT\n+\nIIIIIIII\n"
    text = good * 20_000 + "@b\nACGT\n+\nIII\n" + good * 1000
    with open("bad.fq", "wb") as out, bgzf_writer(out.write, 1) if packed else nullcontext(out) as file:
        file.write(text.encode())
    words = ["map", EXAMPLES / "genomes.fa", "bad.fq", "-o", tmp_path / "out.sam", "--batch-size", "50K"]
    alone, on_cluster = cli(*words), cli(*words, "--dask", cluster.address)
    assert alone[0] == on_cluster[0] == 3
    assert "bad.fq:8000" in alone[2]
    assert alone[2].splitlines()[-1] == on_cluster[2].splitlines()[-1]


def test_the_line_of_a_malformed_candidate(cluster: Cluster, inputs: dict[str, Path], cli: Cli, tmp_path: Path) -> None:
    lines = inputs["many.tsv"].read_text().splitlines(keepends=True)
    lines[2000] = "nobody\t" + lines[2000].split("\t", 1)[1]
    (tmp_path / "bad.tsv").write_text("".join(lines))
    with open(tmp_path / "bad.tsv") as file:
        path = f"/dev/fd/{file.fileno()}"
        words = ["verify", inputs["genomes.fa"], inputs["reads.fq"], "-c", path, "--batch-size", "20K"]
        code, _, message = cli(*words, "-o", tmp_path / "out.tsv", "--dask", cluster.address)
    assert code == 3
    assert f"{path}:2001: no query is named 'nobody'" in message


def test_tasks_are_cut_by_time_and_bytes(backend: ClusterBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items that grow in the course of a run, as those of mems do: the last ones are not all one task."""
    tasks: list[int] = []
    submitted = ClusterBackend._tasks

    def seen(self: ClusterBackend, stage: Any, items: list[Any]) -> Iterator[Any]:
        for task in submitted(self, stage, items):
            if task.items is items:
                tasks.append(len(items))
            yield task

    monkeypatch.setattr(ClusterBackend, "_tasks", seen)
    monkeypatch.setattr(cluster_backend, "_TASK_BYTES", 100_000)
    sizes = [10] * 100 + [30_000] * 50 + [200_000]
    chunks = [Chunk(HeldText((np.full(size, ord("@"), np.uint8),)), "fastq", "-", 1) for size in sizes]
    stage: Stage[Chunk, int] = Stage(lambda chunk: len(chunk.text()), lambda device: None)  # type: ignore[arg-type,return-value]
    assert list(backend.run(chunks, stage)) == sizes
    assert sum(tasks) == len(sizes)
    assert max(tasks) > 1
    assert max(tasks[-10:]) <= 3  # of 30,000 bytes each


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--id", "0.6"), ("--max-gaps", 1, "--batch-size", "1K")])
def test_tiles_of_a_run_that_broke_off(
    options: tuple[object, ...], cluster: Cluster, inputs: dict[str, Path], cli: Cli, tmp_path: Path, monkeypatch: Any
) -> None:
    """On a cluster, then on another kind of device, then with everything there; a worker is lost on the way."""
    monkeypatch.setattr(pairwise, "KEPT_BLOCK", (64, 1 << 29))
    words = ["pairwise", inputs["few.fa"], *options]
    resume = [*words, "--resume", tmp_path / "tiles"]
    alone = cli(*words)[1]
    run = ClusterBackend.run
    given = 0

    def breaking(self: ClusterBackend, items: Any, stage: Any) -> Iterator[Any]:
        nonlocal given
        for given, result in enumerate(run(self, items, stage)):
            if given == 4:
                cluster.kill()
            if given == 9:
                raise GpualignError("the power is out")
            yield result

    monkeypatch.setattr(ClusterBackend, "run", breaking)
    code, out, message = cli(*resume, "--dask", cluster.address)
    assert (code, out) == (1, alone[: len(out)])
    assert "the power is out" in message
    kept = {tile: tile.stat().st_mtime_ns for tile in (tmp_path / "tiles").glob("*.tile")}
    assert len(kept) == 9
    monkeypatch.setattr(ClusterBackend, "run", run)
    assert cli(*resume)[1] == alone
    assert {tile: tile.stat().st_mtime_ns for tile in kept} == kept
    tiles = sorted((tmp_path / "tiles").glob("*.tile"))
    for tile in (*tiles[3:6], *tiles[12:]):
        tile.unlink()
    tiles[8].write_bytes(tiles[8].read_bytes()[:-1])
    for _ in range(2):
        assert cli(*resume, "--dask", cluster.address)[1] == alone
        assert sorted((tmp_path / "tiles").glob("*.tile")) == tiles
    assert cli(*resume, "--gapext", 2, "--dask", cluster.address)[0] == 2


def test_dask_that_is_not_installed(cli: Cli, inputs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, message = cli("map", inputs["genomes.fa"], inputs["reads.fq"], "--dask", "local:2")
    assert code == 2
    assert message == "gpualign map: error: --dask needs Dask (pip install 'gpualign[cluster]')\n"


def test_dask_is_not_imported_without_a_cluster(inputs: dict[str, Path]) -> None:
    code = (
        "import sys; from gpualign.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: assert not {'dask', 'distributed', 'cloudpickle'} & set(sys.modules)"
    )
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"], "-o", os.devnull]
    subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True)


def test_results_of_workers_out_of_reach_come_by_the_scheduler(
    cluster: Cluster, backend: ClusterBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connect.reachable(cluster.address)
    assert not connect.reachable("tcp://127.0.0.1:1")
    assert not connect.reachable("inproc://nowhere")
    monkeypatch.setattr(cluster_backend, "reachable", lambda worker: False)
    assert list(backend.run(range(10), squares())) == [item * item for item in range(10)]


def test_items_with_shared_objects_of_their_own(backend: ClusterBackend) -> None:
    """More of them in one task than are kept for the next one."""

    def sets() -> Iterator[EncodedSequences]:
        for i in range(60):
            yield EncodedSequences([f"s{i}"], np.full(4, i, np.uint8), np.array([0, 4]))

    def first_symbol(sequences: EncodedSequences) -> int:
        return int(sequences.sequence(0)[0])

    stage: Stage[EncodedSequences, int] = Stage(first_symbol, lambda device: None)  # type: ignore[arg-type,return-value]
    assert list(backend.run(sets(), stage)) == list(range(60))


def test_the_limit_follows_the_workers(backend: ClusterBackend) -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        while taken < 1000:
            taken += 1
            yield taken

    results = backend.run(items(), squares())
    next(results)
    assert taken <= cluster_backend._PER_THREAD * 2 + 1


def test_the_former_name_of_the_option(cli, inputs: dict[str, Path], tmp_path: Path) -> None:
    """--cluster is --dask still, unseen in the help; --dask wins."""
    words = ("map", inputs["genomes.fa"], inputs["reads.fq"], "-o", tmp_path / "out.sam")
    for given in (["--cluster", "no-such"], ["--cluster", "local:1", "--dask", "no-such"]):
        status, _, errors = cli(*words, *given)
        assert status == 2
        assert "dask must be local:N, tcp://host:port or a scheduler.json file, not 'no-such'" in errors
    shown = cli("map", "--help-all")[1].decode()
    assert "--dask WHERE" in shown
    assert "--cluster" not in shown
