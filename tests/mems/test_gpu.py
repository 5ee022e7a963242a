"""`mems` on a GPU: the same bytes as the CPU, whatever the pages, slices and pauses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpualign.mems.run import run_mems
from gpualign.params import RunOptions
from gpualign.seeds.matches.cpu import Search
from gpualign.seeds.matches.params import MemsParams
from tests.helpers.files import write_fasta
from tests.helpers.sequences import random_text, reverse_complement, substitute

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def genome(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A reference with repeats, N runs and small contigs; a long query; reads."""
    generator = np.random.default_rng(11)
    folder = tmp_path_factory.mktemp("genome")
    unit, element = random_text(generator, 171), random_text(generator, 300)
    parts = [random_text(generator, 40_000)]
    for _ in range(60):
        parts += [substitute(generator, element, 0.1), random_text(generator, 500)]
    parts += [unit * 80, "N" * 500, "A" * 700, random_text(generator, 30_000), "AC" * 400, "R", "TTTTTTTTT"]
    big = "".join(parts)
    contigs = [big, *(random_text(generator, int(n)) for n in generator.integers(1, 90, 40)), big[1000:6000]]
    related = substitute(generator, big, 0.01) + big[20_000:60_000] + reverse_complement(big)[:50_000] + "ACGT" * 50
    reads = []
    for _ in range(3000):
        at, size = int(generator.integers(0, len(big) - 160)), int(generator.integers(0, 160))
        read = substitute(generator, big[at : at + size], 0.02)
        reads.append(reverse_complement(read) if generator.random() < 0.5 else read)
    return (
        str(write_fasta(folder / "ref.fa", contigs)),
        str(write_fasta(folder / "long.fa", [related, "", "A" * 900])),
        str(write_fasta(folder / "reads.fa", reads)),
    )


def run(files: tuple[str, ...], folder: Path, device: str, params: MemsParams, **options: object) -> bytes:
    path = folder / "out"
    run_mems(files[0], files[1:], params, RunOptions(output=str(path), device=device, quiet=True, **options))  # type: ignore[arg-type]
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["maxmatch", "mumreference", "mum"])
@pytest.mark.parametrize("length", [9, 12, 14, 20, 31, 50, 100, 130])
def test_same_bytes_as_the_cpu(genome: tuple[str, str, str], tmp_path: Path, kind: str, length: int) -> None:
    params = MemsParams(min_length=length, kind=kind, strands="both", lengths=True, only_acgt=True)
    expected = run(genome, tmp_path, "cpu", params)
    assert len(expected) > 3000 * 10
    assert run(genome, tmp_path, "cuda:0", params) == expected
    assert run(genome, tmp_path, "cuda:0", params, batch_size=1 << 14) == expected


@pytest.mark.parametrize("kind", ["maxmatch", "mumreference"])
@pytest.mark.parametrize("strands", ["reverse", "both"])
@pytest.mark.parametrize(
    "style",
    [{}, {"table": True}, {"lengths": True, "four_columns": True}, {"strings": True}, {"forward_coordinates": True}],
)
def test_every_layout(genome: tuple[str, str, str], tmp_path: Path, style: dict, strands: str, kind: str) -> None:
    contig = Path(genome[0]).read_text().split(">")[1]
    (tmp_path / "one.fa").write_text(f">{contig}")
    params = MemsParams(min_length=20, kind=kind, strands=strands, only_acgt=True, **style)
    for files in (genome, (str(tmp_path / "one.fa"), *genome[1:])):
        expected = run(files, tmp_path, "cpu", params)
        assert run(files, tmp_path, "cuda:0", params) == expected
        assert run(files, tmp_path, "cuda:0", params, batch_size=1 << 14) == expected


@pytest.mark.parametrize("maximum", [1, 3, 40])
def test_frequent_strings_are_left_out_alike(genome: tuple[str, str, str], tmp_path: Path, maximum: int) -> None:
    params = MemsParams(min_length=12, kind="maxmatch", max_occ=maximum, strands="both", only_acgt=True)
    expected = run(genome, tmp_path, "cpu", params)
    assert expected.count(b"\n") > 3000
    assert run(genome, tmp_path, "cuda:0", params, batch_size=1 << 14) == expected


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6])
def test_tiny_lengths(tmp_path: Path, length: int) -> None:
    generator = np.random.default_rng(length)
    reference = str(write_fasta(tmp_path / "ref.fa", [random_text(generator, 400, "ACGTN"), "ACGTACG"]))
    query = str(write_fasta(tmp_path / "query.fa", [random_text(generator, 300, "ACGTN") for _ in range(4)]))
    params = MemsParams(min_length=length, kind="maxmatch", strands="both", only_acgt=True)
    files = (reference, query)
    assert run(files, tmp_path, "cuda:0", params) == run(files, tmp_path, "cpu", params)


@pytest.mark.parametrize("memory", [1 << 20, 2 << 20])
@pytest.mark.parametrize(("kind", "length"), [("maxmatch", 20), ("mum", 33)])
def test_pages_change_nothing(
    genome: tuple[str, str, str], tmp_path: Path, memory: int, kind: str, length: int
) -> None:
    from gpualign.seeds.matches import device as mems

    params = MemsParams(min_length=length, kind=kind, strands="both", only_acgt=True)
    expected = run(genome, tmp_path, "cpu", params)
    pages: list[int] = []
    cut = mems.cut_pages

    def counting(*arguments: object) -> object:
        result = cut(*arguments)  # type: ignore[arg-type]
        pages.append(len(result))
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mems, "cut_pages", counting)
        patch.setattr(mems, "RESIDENT_SHARE", 0.05)
        assert run(genome, tmp_path, "cuda:0", params, max_gpu_mem=memory, batch_size=1 << 13) == expected
    assert min(pages) > 3


def test_slices_and_overfull_results_change_nothing(genome: tuple[str, str, str], tmp_path: Path) -> None:
    params = MemsParams(min_length=14, kind="maxmatch", strands="both", only_acgt=True)
    expected = run(genome, tmp_path, "cpu", params)
    for attributes in (
        {"slice_matches": 5000},
        {"slice_matches": 97},
        {"slice_matches": 5000, "max_matches": 20_000},
        {"slice_matches": 97, "max_matches": 50},  # less than a tile has
        {"slice_matches": 1 << 20},
    ):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in attributes.items():
                patch.setattr(Search, name, value)
            assert run(genome, tmp_path, "cuda:0", params) == expected, attributes


def test_long_matches(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    text = random_text(generator, 300_000)
    broken = text[:1000] + "N" + text[1001:]
    reference = str(write_fasta(tmp_path / "ref.fa", ["ACG", text + text[:777], broken]))
    query = str(write_fasta(tmp_path / "query.fa", [text, text[:-1] + "N", reverse_complement(text)]))
    params = MemsParams(min_length=40, kind="maxmatch", strands="both", only_acgt=True)
    files = (reference, query)
    expected = run(files, tmp_path, "cpu", params)
    assert b"300000" in expected
    assert run(files, tmp_path, "cuda:0", params) == expected
    assert run(files, tmp_path, "cuda:0,cpu", params) == expected
