"""Bisulfite reads by the device's code, in scalar code, by the lanes of warps and on a GPU: the CPU's records."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import gpualign
from gpualign.map import tuning
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.kernel import KERNELS
from gpualign.map.device.slow_path import KERNELS as SLOW_PATH_KERNELS
from gpualign.map.device.slow_path import Capacity, SlowPath
from gpualign.map.params import MapParams
from gpualign.reads.reads import Reads
from gpualign.run.gpu.device import Device
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from gpualign.sequences.batch import SequenceBatch
from tests.helpers.bisulfite import bisulfite_pairs, bisulfite_reads, converted
from tests.helpers.emulated import Emulated, emulated_library
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.implementations import ON_GPU, same_on_gpu
from tests.helpers.map_cases import BASES, PAIRS, assert_same, kernel_records, repetitive_reference
from tests.helpers.sam import records, tags, without_program
from tests.helpers.scalar_kernels import map_scalar, same_records
from tests.helpers.sequences import batch_of, reverse_complement
from tests.helpers.soak import some_of

Cli = Callable[..., tuple[int, bytes, str]]
World = tuple[MinimizerIndex, list[NDArray[np.uint8]]]

CASES = {
    "plain": {},
    "secondary": {"secondary": 3, "strata": 2},
    "whole": {"end_to_end": True, "error_rate": 0.12},
    "few hits": {"max_hits": 20, "max_candidates": 3, "secondary": 2},
    "scores": {"match": 2, "mismatch": 3, "gap_open": 1, "gap_extend": 1, "clip_penalty": 0},
}
OPTIONS = [(), ("--tags", "XM,XR,XG", "--output-format", "bam"), ("--paf",), ("--batch-size", "5K", "--eqx")]
#: options of `map --meth`
LIBRARIES = {"directional": (), "pbat": ("--pbat",), "non-directional": ("--non-directional",)}


def params_of(case: str, library: str) -> MapParams:
    return MapParams.of_preset(**CASES[case], meth=library)


@pytest.fixture(scope="module")
def world(level: str) -> World:
    reference, contigs = repetitive_reference(3)
    return build_index(reference, IndexParams(15, 8, meth=True)), contigs


def with_qualities(batch: SequenceBatch) -> SequenceBatch:
    qualities = np.random.default_rng(1).choice(np.frombuffer(b"#5F", np.uint8), len(batch.bases))
    return replace(batch, qualities=qualities)


def single(contigs: list[NDArray[np.uint8]], count: int, longest: int, library: str) -> SequenceBatch:
    return with_qualities(batch_of(bisulfite_reads(contigs, 7, count, longest, library == "pbat")))


def paired(contigs: list[NDArray[np.uint8]], count: int, library: str) -> SequenceBatch:
    return with_qualities(batch_of(*bisulfite_pairs(contigs, 5, count, library == "pbat")))


def strands_of(text: NDArray[np.uint8], rng: np.random.Generator, count: int) -> list[bytes]:
    """Both strands of random places, of 300 bases."""
    starts = rng.integers(0, len(text) - 300, count)
    pieces = [bytes(text[start : start + 300]) for start in starts]
    return [reverse_complement(piece) if n % 2 else piece for n, piece in enumerate(pieces)]


def edited_bases(rng: np.random.Generator, read: bytes, edits: int) -> bytes:
    """A read with so many substitutions, or fewer."""
    bases = np.frombuffer(read, np.uint8).copy()
    bases[rng.integers(0, len(bases), edits)] = BASES[rng.integers(0, 4, edits)]
    return bytes(bases)


@pytest.mark.usefixtures("level")
class TestInScalarCode:
    @pytest.mark.parametrize(
        ("library", "case", "longest"),  # both lengths with one library, and each library with all options
        some_of(
            product(("directional", "pbat"), CASES, (150, 300)),
            lambda library, case, longest: case == "plain" or (library == "pbat") == (longest == 300),
        ),
    )
    def test_reads(self, world: World, case: str, longest: int, library: str) -> None:
        index, contigs = world
        batch, params = single(contigs, 300, longest, library), params_of(case, library)
        assert_same(map_scalar(index, batch, params), index, batch, params, None)

    @pytest.mark.parametrize("library", ["directional", "pbat"])
    @pytest.mark.parametrize("case", CASES)
    def test_pairs(self, world: World, case: str, library: str) -> None:
        index, contigs = world
        batch, params = paired(contigs, 250, library), params_of(case, library)
        assert_same(map_scalar(index, batch, params, PAIRS["fr"]), index, batch, params, PAIRS["fr"])

    def test_reads_of_the_wrong_library(self, world: World) -> None:
        """Most do not align end to end then."""
        index, contigs = world
        batch, params = paired(contigs, 150, "directional"), params_of("plain", "pbat")
        assert_same(map_scalar(index, batch, params, PAIRS["fr"]), index, batch, params, PAIRS["fr"])

    @pytest.mark.parametrize("size", [600, 1200])
    def test_long_ones(self, world: World, size: int) -> None:
        """The first are too long for the fast path, the others for alignments end to end."""
        index, contigs = world
        batch, params = single(contigs, 60, size, "directional"), params_of("plain", "directional")
        assert_same(map_scalar(index, batch, params), index, batch, params, None)

    def test_the_fast_path_suffices(self, world: World, slow_templates: list[int]) -> None:
        """For plain reads, on both strands: few templates are left to the slow path, which would map them as well."""
        index, contigs = world
        rng = np.random.default_rng(9)
        fragments = [converted(rng, strand) for strand in strands_of(contigs[4][7100:], rng, 300)]
        reads = [read for fragment in fragments for read in (fragment[:100], reverse_complement(fragment)[:100])]
        reads = [edited_bases(rng, read, n % 4) for n, read in enumerate(reads)]
        batch = batch_of(reads, np.tile(np.array([1, 2], np.uint8), len(fragments)))
        params = params_of("plain", "directional")
        assert_same(map_scalar(index, batch, params, PAIRS["fr"]), index, batch, params, PAIRS["fr"])
        assert sum(slow_templates) < 0.05 * len(fragments)

    def test_every_locus(self, world: World) -> None:
        index, contigs = world
        batch = single(contigs, 12, 120, "directional")
        params = MapParams.of_preset(meth="directional", full=True)
        assert_same(map_scalar(index, batch, params), index, batch, params, None)


Kernels = dict[str, Emulated]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ctypes.CDLL]:
    of_chains = {"LONG_GAPS": 0, "WIDE_LANES": 64, "WIDEST_LANES": 96}
    defines = {"map": tuning.map_shape(100).defines(True), "map_slow_path": {"LONG_GAPS": 0}, "map_chains": of_chains}
    return {module: emulated_library(tmp_path_factory, module, macros) for module, macros in defines.items()}


@pytest.fixture
def kernels(libraries: dict[str, ctypes.CDLL], use: Callable[[FakeDriver], FakeDriver]) -> Kernels:
    of_chains = (
        "plan_chains",
        "plan_ends",
        "cut_chains",
        "finish_chains",
        *(step.kernel for step in tuning.SHORT_PASSES if step.warps == 1),
    )
    modules = {"map": KERNELS, "map_slow_path": SLOW_PATH_KERNELS, "map_chains": of_chains}
    lanes = {name: Emulated(libraries[module], name) for module, names in modules.items() for name in names}
    for name in ("choose_loci", "report_loci"):  # a lane for each item
        lanes[name].blocks = 1 << 16
    use(FakeDriver()).functions |= lanes
    return lanes


def files_of(tmp_path: Path, contigs: list[NDArray[np.uint8]], count: int, library: str, mates: bool) -> list[Path]:
    """The reference and reads as files, none of them empty; of a non-directional library both kinds of reads."""
    kinds = ["directional", "pbat"] if library == "non-directional" else [library]
    fasta = write_fasta(tmp_path / "ref.fa", **{f"c{i}": bytes(contig).decode() for i, contig in enumerate(contigs)})
    ends: list[list[tuple[str, str, str]]] = [[], []]
    for kind in kinds:
        if mates:
            reads, numbers = bisulfite_pairs(contigs, 5, count, kind == "pbat")
            both = [read for read, number in zip(reads, numbers, strict=True) if number]
        else:
            reads = [read for read in bisulfite_reads(contigs, 7, count, 150, kind == "pbat") if read]
            both = [read for read in reads for _ in range(2)]
        for i, read in enumerate(both):
            name = f"{kind}{i // 2}"
            ends[i % 2].append((name, read.decode(), "".join("F5&"[(i + at) % 3] for at in range(len(read)))))
    files = [write_fastq(tmp_path / f"{mate + 1}.fq", *ends[mate]) for mate in range(1 + mates)]
    return [fasta, *files]


@pytest.mark.slow
@pytest.mark.parametrize("mates", [True, False], ids=["pairs", "reads"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_lanes_of_kernels(
    cli: Cli, kernels: Kernels, world: World, tmp_path: Path, library: str, mates: bool
) -> None:
    files = files_of(tmp_path, world[1], 40, library, mates)
    words = ("map", "-q", "--meth", *LIBRARIES[library], *files, "-k", 15, "-w", 8, "-N", 2)
    report = tmp_path / "report.json"
    written = []
    for device in ("cpu", "cuda"):
        status, out, errors = cli(*words, *(("-I", "300,30") if mates else ()), "--device", device, "--json", report)
        assert status == 0, errors
        written.append(without_program(out).splitlines())
    assert written[0] == written[1]
    assert all(kernel.calls for kernel in kernels.values())
    assert json.loads(report.read_text())["cpu_items"] == 0


@pytest.mark.parametrize(
    ("library", "mates", "options"),  # every library with the plain options, and all options with one
    some_of(
        product(LIBRARIES, (True, False), OPTIONS),
        lambda library, mates, options: not options or (library == "non-directional" and mates),
    ),
)
def test_whole_runs(
    cli: Cli,
    use: Callable[[FakeDriver], FakeDriver],
    found_in_text: list[int],
    world: World,
    tmp_path: Path,
    library: str,
    mates: bool,
    options: tuple[str, ...],
) -> None:
    """Text that the device parses, in batches, and records that it formats."""
    use(FakeDriver())
    files = files_of(tmp_path, world[1], 150, library, mates)
    inserts = ("-I", "300,30") if mates else ()
    words = ("map", "--meth", *LIBRARIES[library], *files, "-k", 15, "-w", 8, *inserts, *options)
    reports, written = [], []
    for device in ("cpu", "cuda"):
        report = tmp_path / f"{device}.json"
        status, _, errors = cli(*words, "--device", device, "--json", report, "-o", tmp_path / "out")
        assert status == 0, errors
        reports.append(json.loads(report.read_text()))
        written.append((tmp_path / "out").read_bytes())
    assert reports[0]["conversion"] == reports[1]["conversion"]
    assert reports[1]["gpu_items"] == reports[1]["reads"]
    in_text = library != "non-directional" and "--paf" not in options
    assert sum(found_in_text) == (reports[1]["reads"] if in_text else 0)
    if "bam" not in options:
        assert without_program(written[0]) == without_program(written[1])
    else:
        (tmp_path / "a.bam").write_bytes(written[0])
        (tmp_path / "b.bam").write_bytes(written[1])
        texts = [cli("sort", "--by-name", tmp_path / name, "--output-format", "sam")[1] for name in ("a.bam", "b.bam")]
        assert records(texts[0]) == records(texts[1])


def test_the_host_parses_no_text_to_count_cytosines(
    cli: Cli, use: Callable[[FakeDriver], FakeDriver], world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_of(tmp_path, world[1], 150, "directional", mates=True)
    words = ("map", "--meth", *files, "-I", "300,30", "-o", tmp_path / "out.sam", "--max-unconverted", 3)
    found, written = [], []
    for device in ("cpu", "cuda"):
        if device == "cuda":
            use(FakeDriver())
            monkeypatch.setattr(Reads, "columns", lambda _: pytest.fail("the host parses reads"))
        status, _, errors = cli(*words, "--device", device, "--json", tmp_path / "j")
        assert status == 0, errors
        found.append(json.loads((tmp_path / "j").read_text())["conversion"])
        written.append(without_program((tmp_path / "out.sam").read_bytes()))
    assert found[0] == found[1]
    assert found[0]["unconverted_reads"] > 0
    assert written[0] == written[1]


def test_batches_of_slow_reads_have_capacities_of_their_own(
    cli: Cli, use: Callable[[FakeDriver], FakeDriver], world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else all others would get space for as many."""
    planners: dict[str, set[SlowPath]] = {}
    capacity = SlowPath.capacity

    def noted(self: SlowPath, item: MapBatch, budget: float) -> Capacity:
        planners.setdefault(item.which, set()).add(self)
        return capacity(self, item, budget)

    monkeypatch.setattr(SlowPath, "capacity", noted)
    use(FakeDriver())
    files = files_of(tmp_path, world[1], 100, "non-directional", mates=True)
    words = ("map", "--meth", "--non-directional", *files, "-I", "300,30", "-o", tmp_path / "out.sam")
    assert cli(*words, "--device", "cuda")[0] == 0
    assert planners["all"] == planners["end to end"]
    assert planners["others"]
    assert not planners["others"] & planners["all"]


@pytest.mark.parametrize("options", [(), ("-a",), ("-K", 20_000)])
def test_mem(
    cli: Cli, use: Callable[[FakeDriver], FakeDriver], world: World, tmp_path: Path, options: tuple[object, ...]
) -> None:
    use(FakeDriver())
    files = files_of(tmp_path, world[1], 150, "directional", mates=True)
    texts = [cli("mem", "--meth", *files, *options, "--device", device)[1] for device in ("cpu", "cuda")]
    assert without_program(texts[0]) == without_program(texts[1])
    assert sum(tags(record).get("YC") == "GA" for record in records(texts[0])) > 100


def test_a_sheet_of_samples_and_counts(
    cli: Cli, use: Callable[[FakeDriver], FakeDriver], world: World, tmp_path: Path
) -> None:
    use(FakeDriver())
    fasta, *files = files_of(tmp_path, world[1], 150, "directional", mates=True)
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(f"sample,fastq_1,fastq_2\na,{files[0]},{files[1]}\n")
    for kind in ("--meth",), ("--meth", "--non-directional"):
        folders = [tmp_path / f"{device}{len(kind)}" for device in ("cpu", "cuda")]
        for folder in folders:
            device = folder.name[:-1]
            words = ("map", *kind, fasta, "--samples", sheet, "-o", folder, "--output-format", "sam")
            status, _, errors = cli(*words, "--device", device)
            assert status == 0, errors
        texts = [without_program((folder / "a.sam").read_bytes()) for folder in folders]
        assert texts[0] == texts[1]
    for device in ("cpu", "cuda"):
        counts = tmp_path / f"{device}.cov"
        words = ("map", "--meth", fasta, *files, "--sort", "--mark-duplicates", "-o", tmp_path / "sorted.bam")
        status, _, errors = cli(*words, "--methylation", counts, "--device", device)
        assert status == 0, errors
    assert (tmp_path / "cpu.cov").read_bytes() == (tmp_path / "cuda.cov").read_bytes()
    assert (tmp_path / "cpu.cov").read_bytes().count(b"\n") > 100


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_mapper(use: Callable[[FakeDriver], FakeDriver], world: World, library: str) -> None:
    use(FakeDriver())
    reads, numbers = bisulfite_pairs(world[1], 5, 60, library == "pbat")
    ends = [[read.decode() for read, n in zip(reads, numbers, strict=True) if n == number] for number in (1, 2)]
    contigs = [bytes(contig).decode() for contig in world[1]]
    rows = []
    for device in ("cpu", "cuda"):
        with gpualign.Mapper(contigs, device=device, meth=library, k=15, w=8) as mapper:
            rows.append((mapper.map(*ends).tolist(), mapper.map(ends[0]).tolist()))
    assert rows[0] == rows[1]
    assert len(rows[0][0]) >= 100


@pytest.mark.gpu
class TestOnGpu:
    @pytest.mark.parametrize("library", ["directional", "pbat"])
    @pytest.mark.parametrize(
        ("case", "longest"),
        [*((case, 150) for case in CASES), *(("plain", longest) for longest in (250, 300, 500, 1200))],
    )
    def test_reads(self, gpu: Device, world: World, case: str, longest: int, library: str) -> None:
        index, contigs = world
        batch, params = single(contigs, 1000, longest, library), params_of(case, library)
        found = kernel_records(gpu, index, batch, params, None)
        assert same_records(found, map_scalar(index, batch, params))
        assert_same(found, index, batch, params, None)

    @pytest.mark.parametrize("library", ["directional", "pbat"])
    @pytest.mark.parametrize("case", CASES)
    def test_pairs(self, gpu: Device, world: World, case: str, library: str) -> None:
        index, contigs = world
        batch, params = paired(contigs, 1000, library), params_of(case, library)
        found = kernel_records(gpu, index, batch, params, PAIRS["fr"])
        assert same_records(found, map_scalar(index, batch, params, PAIRS["fr"]))
        assert_same(found, index, batch, params, PAIRS["fr"])

    @pytest.mark.parametrize("mates", [True, False], ids=["pairs", "reads"])
    @pytest.mark.parametrize("library", LIBRARIES)
    def test_whole_runs(self, world: World, tmp_path: Path, library: str, mates: bool) -> None:
        files = files_of(tmp_path, world[1], 2000, library, mates)
        words = ("map", "-q", "--meth", *LIBRARIES[library], *files, "-k", 15, "-w", 8, "--tags", "XM,XR,XG")
        lines = records(same_on_gpu(*words, output=tmp_path / "out.sam", ways=ON_GPU.values()))
        mapped = [line for line in lines if not int(line[1]) & 4]
        assert len(mapped) > len(lines) / 2
        both = mates or library == "non-directional"
        expected = {"CT", "GA"} if both else {"CT"} if library == "directional" else {"GA"}
        assert {tags(line)["YC"] for line in mapped} == expected

    @pytest.mark.parametrize("options", [(), ("-a", "-K", 100_000)])
    def test_mem(self, world: World, tmp_path: Path, options: tuple[object, ...]) -> None:
        files = files_of(tmp_path, world[1], 2000, "directional", mates=True)
        ways = [("--device", "cuda:0"), ("--device", "cuda", "-t", 2)]
        lines = records(same_on_gpu("mem", "-v", 1, "--meth", *files, *options, output=tmp_path / "o.sam", ways=ways))
        assert len(lines) > 3800
        assert {tags(line)["YC"] for line in lines if not int(line[1]) & 4} == {"CT", "GA"}

    def test_every_locus(self, world: World, tmp_path: Path) -> None:
        files = files_of(tmp_path, world[1], 200, "directional", mates=True)
        words = ("map", "-q", "--meth", *files, "-N", 3, "--sensitivity", "full")
        assert len(records(same_on_gpu(*words, output=tmp_path / "out.sam"))) >= 400
