"""`map --device cuda` without a GPU: the whole path, with a driver whose device is this process's memory and whose
kernel is the algorithm in scalar code. The bytes are the CPU's, and calls that fail end in the same or in an error."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pysam
import pytest

import gpualign
from gpualign.map.device import chains
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.fastq_batch import TextMapBatch
from gpualign.map.device.kernel import MapKernel
from gpualign.map.device.text import TextBatch, TextKernel
from gpualign.map.inputs import MapFiles, RecordOptions, Sample
from gpualign.map.outputs import MapOutputs
from gpualign.map.params import MapParams
from gpualign.map.run import run_map
from gpualign.params import RunOptions
from gpualign.records.alignment_output import AlignmentLayout
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.pinned_pool import is_pinned
from tests.helpers.fake_cuda import ALLOCATIONS, COPIES, FakeDriver, FaultyDriver
from tests.helpers.paths import GENOMES
from tests.helpers.sam import without_program
from tests.helpers.sequences import reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]


@pytest.fixture(scope="session")
def mates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Ends of 100 bases of 400 fragments of the bundled genomes, some with errors."""
    rng = np.random.default_rng(4)
    records = [text.split("\n", 1)[1].replace("\n", "") for text in GENOMES.read_text().split(">")[1:]]
    paths = tuple(tmp_path_factory.mktemp("mates") / f"{end}.fq" for end in (1, 2))
    ends = ["", ""]
    for i in range(400):
        genome = records[rng.integers(len(records))]
        size = int(rng.normal(300, 25))
        start = int(rng.integers(0, len(genome) - 400))
        fragment = genome[start : start + size]
        for end, bases in enumerate((fragment[:100], reverse_complement(fragment[-100:]))):
            at = int(rng.integers(100))
            ends[end] += f"@p{i}\n{bases[:at]}A{bases[at + 1 :]}\n+\n{'I' * 100}\n"
    for path, text in zip(paths, ends, strict=True):
        path.write_text(text)
    return paths[0], paths[1]


def sam_of(cli: Cli, *arguments: object) -> bytes:
    status, out, errors = cli("map", GENOMES, *arguments, "--quiet")
    assert status == 0, errors
    return without_program(out)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-N", 3),
        ("--all", "--strata", 4),
        ("--end-to-end", "-e", 0.3),
        ("--batch-size", "64K"),
        ("-k", 25, "-w", 4),
    ],
)
def test_reads_give_the_same_bytes(cli: Cli, use, some_reads: Path, options: tuple[object, ...]) -> None:
    expected = sam_of(cli, some_reads, *options, "--device", "cpu")
    driver = use(FakeDriver())
    assert sam_of(cli, some_reads, *options, "--device", "cuda") == expected
    assert driver.contexts == []


@pytest.mark.parametrize("sensitivity", ["default", "full"])
def test_nothing_is_left_to_the_cpu(cli: Cli, use, tmp_path: Path, sensitivity: str) -> None:
    """Split, clipped, long and short reads, N, and mates that are noise."""
    genome = GENOMES.read_text().split(">")[1].split("\n", 1)[1].replace("\n", "")
    rng = np.random.default_rng(12)
    noise = "".join(rng.choice(list("ACGT"), 100))
    wholes = [genome[at : at + size] for at, size in ((100, 600), (2000, 1000), (5000, 1200))]
    split = genome[300:380] + reverse_complement(genome[9000:9080])
    reads = [*wholes, split, noise[:40] + genome[7000:7080], noise, genome[8000:8100], "N" * 50, ""]
    mates = [reverse_complement(genome[at : at + 100]) for at in (700, 2300, 5400, 600, 7300)]
    mates += [reverse_complement(genome[8000:8100]), noise[:60] + reverse_complement(genome[8250:8300]), noise, noise]
    paths = []
    for number, ends in enumerate((reads, mates)):
        paths.append(tmp_path / f"{number}.fa")
        paths[-1].write_text("".join(f">r{i}\n{bases}\n" for i, bases in enumerate(ends)))
    options = ("--sensitivity", sensitivity, "-I", "400,80")
    report = tmp_path / "report.json"
    for files in (paths, paths[:1]):
        use(FakeDriver())
        expected = sam_of(cli, *files, *options, "--device", "cpu")
        assert sam_of(cli, *files, *options, "--device", "cuda", "--json", report) == expected
        found = json.loads(report.read_text())
        assert (found["gpu_items"], found["cpu_items"]) == (len(reads) * len(files), 0)


def test_host_threads_stage_the_batches(cli: Cli, use, some_reads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_place: list[bool] = []
    launch = MapKernel.launch

    def watched(self: MapKernel, slot: Slot, item: MapBatch) -> Any:
        in_place.append(is_pinned(item.text.block if isinstance(item, TextMapBatch) else item.block))
        return launch(self, slot, item)

    monkeypatch.setattr(MapKernel, "launch", watched)
    use(FakeDriver())
    sam_of(cli, some_reads, "--device", "cuda", "-t", 2, "--batch-size", "2K")
    assert len(in_place) > 50
    assert all(in_place)


def test_pairs_give_the_same_bytes(cli: Cli, use, mates: tuple[Path, Path]) -> None:
    expected = sam_of(cli, *mates, "--device", "cpu")
    assert expected.count(b"\n") > 500
    use(FakeDriver())
    assert sam_of(cli, *mates, "--device", "cuda", "--batch-size", "20K") == expected


def test_batches_with_more_records_than_there_is_space_for(
    cli: Cli, use, some_reads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Are mapped once more with enough, not in parts or by the CPU."""
    path, report = tmp_path / "repeats.fa", tmp_path / "report.json"
    rng = np.random.default_rng(9)
    unit = bytes(np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 400)])
    path.write_bytes(b">r\n" + b"\n".join([unit] * 60) + b"\n")
    reads = tmp_path / "reads.fa"
    reads.write_bytes(b"".join(b">r%d\n%b\n" % (i, unit[i % 300 : i % 300 + 100]) for i in range(900)))
    options = ("--all", "-q")
    expected = without_program(cli("map", path, reads, *options, "--device", "cpu")[1])
    assert expected.count(b"\n") > 900 * 50
    submitted: list[int] = []
    launch = MapKernel.launch
    monkeypatch.setattr(
        MapKernel, "launch", lambda self, slot, item: submitted.append(item.reads) or launch(self, slot, item)
    )
    use(FakeDriver())
    status, found, _ = cli("map", path, reads, *options, "--device", "cuda", "--json", report)
    assert status == 0
    assert without_program(found) == expected
    assert submitted == [900, 900]
    assert json.loads(report.read_text())["gpu_items"] == 900


def test_alt_contigs(cli: Cli, use, mates: tuple[Path, Path], tmp_path: Path) -> None:
    """The device maps to the primary assembly, and the CPU to ALT contigs."""
    names = [line[1:].split()[0] for line in GENOMES.read_text().splitlines() if line.startswith(">")]
    (tmp_path / "some.alt").write_text("\n".join(names[::2]) + "\n")
    words = (*mates, "--alt", tmp_path / "some.alt", "--xa", "3")
    expected = sam_of(cli, *words)
    assert expected != sam_of(cli, *mates, "--xa", "3")
    use(FakeDriver())
    assert sam_of(cli, *words, "--device", "cuda") == expected


@pytest.mark.parametrize("form", ["sam", "bam"])
def test_samples_share_a_device(
    cli: Cli, use, mates: tuple[Path, Path], some_reads: Path, tmp_path: Path, form: str
) -> None:
    """Pairs of two libraries and reads without mates, each as a run of its own maps them on the CPU: the device maps
    the reads whose insert sizes are looked at, all reads, and writes."""
    short = tuple(tmp_path / f"short_{end}.fq" for end in (1, 2))
    for path, source in zip(short, mates, strict=True):  # the first 60 bases: other insert sizes
        lines = source.read_text().splitlines()
        path.write_text("".join(f"{line[:60]}\n" for line in lines))
    inputs = {"long": [*map(str, mates)], "short": [*map(str, short)], "single": [str(some_reads), ""]}
    sheet = tmp_path / "sheet.csv"
    rows = [",".join([name, *paths, f"{tmp_path}/{name}.{form}"]) for name, paths in inputs.items()]
    sheet.write_text("\n".join(["sample,fastq_1,fastq_2,output", *rows]) + "\n")
    groups = {name: ("-R", f"@RG\\tID:{name}\\tSM:{name}") for name in inputs}
    expected = {name: sam_of(cli, *filter(None, paths), *groups[name]) for name, paths in inputs.items()}
    use(FakeDriver())
    report = tmp_path / "report.json"
    code, _, error = cli("map", GENOMES, "--samples", sheet, "--device", "cuda", "-t", 2, "--json", report)
    assert code == 0, error
    written = {name: pysam.view("-h", "--no-PG", f"{tmp_path}/{name}.{form}").encode() for name in inputs}
    assert {name: without_program(sam) for name, sam in written.items()} == expected
    facts = json.loads(report.read_text())
    assert (facts["reads"], facts["device"]) == (4600, "cuda:0")
    assert facts["gpu_items"] > 3500
    assert facts["gpu_batches"] == 2 + 3 + 3


def test_two_devices(cli: Cli, use, some_reads: Path, tmp_path: Path) -> None:
    expected = sam_of(cli, some_reads, "--device", "cpu")
    use(FakeDriver(devices=(("Fake A", (9, 0)), ("Fake B", (8, 0)))))
    report = tmp_path / "report.json"
    assert sam_of(cli, some_reads, "--device", "cuda", "--batch-size", "64K", "--json", report) == expected
    facts = json.loads(report.read_text())
    assert facts["gpu_items"] + facts["cpu_items"] == facts["reads"] == 3000
    assert [device["name"] for device in facts["devices"]] == ["Fake A", "Fake B"]


def test_mapper_of_the_python_api(use, mates: tuple[Path, Path]) -> None:
    expected = gpualign.Mapper(str(GENOMES), device="cpu").map(*map(str, mates))
    driver = use(FakeDriver())
    mapper = gpualign.Mapper(str(GENOMES), device="cuda")
    found = mapper.map(*map(str, mates))
    assert len(driver.contexts) == 1
    del mapper  # nobody closes it
    gc.collect()
    assert driver.contexts == []
    assert len(found) == 800
    assert found.tolist() == expected.tolist()


def test_an_index_larger_than_the_device(cli: Cli, use, tmp_path: Path) -> None:
    """What does not fit is read from the host's memory."""
    rng = np.random.default_rng(6)
    genome = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 2_000_000)].tobytes()
    reference, reads, report = (tmp_path / name for name in ("ref.fa", "reads.fa", "report.json"))
    reference.write_bytes(b">g\n" + genome + b"\n")
    reads.write_bytes(b"".join(b">r%d\n%b\n" % (at, genome[at : at + 100]) for at in range(0, 1_900_000, 5000)))
    outputs = []
    for options in (("--device", "cpu"), ("--device", "cuda", "--max-gpu-mem", "6M", "--json", report)):
        if "cuda" in options:
            use(FakeDriver())
        status, out, _ = cli("map", reference, reads, *options, "--batch-size", "8K", "-q")
        assert status == 0
        outputs.append([line for line in out.splitlines() if not line.startswith(b"@PG")])
    assert outputs[0] == outputs[1]
    device = json.loads(report.read_text())["devices"][0]
    assert device["mapped_host_mb"] > 0
    assert 0 < device["peak_vram_mb"] <= 6


@pytest.mark.parametrize("options", [(), ("-N", 3), ("--batch-size", "64K")])
@pytest.mark.parametrize("preset", ["ont", "hifi"])
def test_long_reads_give_the_same_bytes(
    cli: Cli, use, some_reads: Path, tmp_path: Path, preset: str, options: tuple[object, ...]
) -> None:
    report = tmp_path / "run.json"
    expected = sam_of(cli, some_reads, "-x", preset, *options, "--device", "cpu")
    use(FakeDriver())
    assert sam_of(cli, some_reads, "-x", preset, *options, "--device", "cuda", "--json", report) == expected
    fields = json.loads(report.read_text())
    assert fields["cpu_items"] == 0
    assert fields["gpu_items"] == expected.count(b"\n") - expected.count(b"\n@") - 1 or options


@pytest.mark.parametrize(("preset", "form", "by_device"), [("ont", "sam", 0), ("ont", "bam", 1), ("sr", "sam", 1)])
def test_long_reads_go_back_to_the_device_only_where_it_compresses_them(
    cli: Cli, use, some_reads: Path, monkeypatch: pytest.MonkeyPatch, preset: str, form: str, by_device: int
) -> None:
    written: list[TextBatch] = []
    launch = TextKernel.launch
    monkeypatch.setattr(TextKernel, "launch", lambda self, slot, item: written.append(item) or launch(self, slot, item))
    use(FakeDriver())
    sam_of(cli, some_reads, "-x", preset, "--output-format", form, "--device", "cuda")
    assert len(written) == by_device


def test_a_small_input_of_long_reads_comes_in_many_batches(cli: Cli, use, some_reads: Path, tmp_path: Path) -> None:
    """A large one in those of eight times the size."""
    report, bases = tmp_path / "run.json", 0.45 * some_reads.stat().st_size
    use(FakeDriver())
    batches = []
    for parts in (20, 400):
        size = int(bases / parts)
        sam_of(cli, some_reads, "-x", "ont", "--device", "cuda", "--batch-size", size, "--json", report)
        batches.append(json.loads(report.read_text())["gpu_batches"])
    assert batches[0] == pytest.approx(20, abs=3)
    assert batches[1] == pytest.approx(400 / 8, abs=10)


@pytest.mark.slow
def test_arenas_that_are_too_small_grow(cli: Cli, use, some_reads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other: what overflows later is not known before."""
    expected = sam_of(cli, some_reads, "-x", "ont", "--device", "cpu")
    monkeypatch.setattr(chains, "_ARENA_ITEMS", dict.fromkeys(chains._ARENA_ITEMS, ((0.0001, 0), (0.0001, 0))))
    use(FakeDriver())
    assert sam_of(cli, some_reads, "-x", "ont", "--device", "cuda", "--batch-size", "64K") == expected


def test_long_reads_on_a_small_device_are_mapped_in_parts(cli: Cli, use, some_reads: Path) -> None:
    expected = sam_of(cli, some_reads, "-x", "ont", "--device", "cpu")
    driver = use(FakeDriver(memory=200 << 20))
    assert sam_of(cli, some_reads, "-x", "ont", "--device", "cuda") == expected
    assert driver.contexts == []


def test_a_device_too_small(cli: Cli, use, fifty: Path) -> None:
    use(FakeDriver(memory=1 << 18))
    status, _, err = cli("map", GENOMES, fifty, "--device", "cuda")
    assert status == 5
    assert "too little memory" in err


def test_an_output_that_breaks_off(use, some_reads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Host threads that wait for the device end with the run."""
    driver = use(FakeDriver())

    def refuse(self: MapOutputs, *written: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(MapOutputs, "write", refuse)
    before = threading.active_count()
    files, options = (
        MapFiles(str(GENOMES), (str(some_reads),)),
        RunOptions(device="cuda", batch_size=1 << 13, threads=3),
    )
    sample = Sample(files, MapParams(), RecordOptions(), AlignmentLayout("sam"), options)
    with pytest.raises(BrokenPipeError):
        run_map(sample)
    assert driver.contexts == []
    assert threading.active_count() == before


def outcome(cli: Cli, use, driver: FaultyDriver, reads: Path, path: Path) -> str:
    """ "right", or the kind of the error; a file appears only with the former."""
    path.unlink(missing_ok=True)
    use(driver)
    status, _, err = cli("map", GENOMES, reads, "-o", path, "--device", "cuda", "--batch-size", "4K", "-t", 1, "-q")
    assert driver.contexts == [], (driver.first, status, err)
    assert path.exists() == (status == 0)
    return "right" if status == 0 else f"{status}: {err}"


def numbers(cli: Cli, use, sites: tuple[str, ...], reads: Path, path: Path) -> Iterator[int]:
    driver = FaultyDriver(sites)
    assert outcome(cli, use, driver, reads, path) == "right"
    assert driver.calls > 8
    yield from range(1, driver.calls + 1)


def test_allocations_that_fail(cli: Cli, use, fifty: Path, tmp_path: Path) -> None:
    """Once: another try makes it good, for the index and the reference too. From then on: exit 5."""
    path = tmp_path / "out.sam"
    expected = None
    for number in numbers(cli, use, ALLOCATIONS, fifty, path):
        expected = expected or path.read_bytes()
        found = outcome(cli, use, FaultyDriver(ALLOCATIONS, number, number), fifty, path)
        assert found == "right", number
        assert path.read_bytes() == expected
        if number % 3:
            continue
        found = outcome(cli, use, FaultyDriver(ALLOCATIONS, number, 10**9), fifty, path)
        assert found == "right" or (found.startswith("5: ") and "too little memory" in found), (number, found)


def test_copies_that_fail(cli: Cli, use, fifty: Path, tmp_path: Path) -> None:
    """One of what is loaded ahead is made good by another try."""
    path = tmp_path / "out.sam"
    expected, made_good = None, 0
    for number in numbers(cli, use, COPIES, fifty, path):
        expected = expected or path.read_bytes()
        found = outcome(cli, use, FaultyDriver(COPIES, number, number), fifty, path)
        if found == "right":
            assert path.read_bytes() == expected
            made_good += 1
        else:
            assert found.startswith("1: "), number
            assert "failed: memcpy_" in found, number
        if number % 3 == 0:
            assert outcome(cli, use, FaultyDriver(COPIES, number, 10**9), fifty, path).startswith("1: ")
    assert 0 < made_good < number


def test_small_samples_on_a_device(
    cli: Cli, use, mates: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread drives it, for all of them; each output is what the CPU writes."""
    driver, begun = use(FakeDriver()), []
    launch = MapKernel.launch

    def watched(self: MapKernel, slot: Slot, item: MapBatch) -> Any:
        begun.append(threading.get_ident())
        return launch(self, slot, item)

    monkeypatch.setattr(MapKernel, "launch", watched)
    sheet, report = tmp_path / "sheet.csv", tmp_path / "report.json"
    rows = [f"s{i},{mates[0]},{mates[1]},{tmp_path}/s{i}.sam" for i in range(12)]
    sheet.write_text("\n".join(["sample,fastq_1,fastq_2,output", *rows]) + "\n")
    code, _, error = cli("map", GENOMES, "--samples", sheet, "--device", "cuda", "-t", 4, "--json", report)
    assert code == 0, error
    assert driver.contexts == []
    expected = sam_of(cli, *mates, "-R", "@RG\\tID:s\\tSM:s", "--device", "cpu").replace(b"ID:s\tSM:s", b"RG")
    for i in range(12):
        sam = without_program((tmp_path / f"s{i}.sam").read_bytes())
        assert sam.replace(f"ID:s{i}\tSM:s{i}".encode(), b"RG").replace(f"RG:Z:s{i}".encode(), b"RG:Z:s") == expected
    facts = json.loads(report.read_text())
    assert len(set(begun)) == 1
    assert facts["device"] == "cuda:0"
    assert [(each["device"], each["batches"]) for each in facts["devices"]] == [("cuda:0", 36)]
    assert facts["gpu_batches"] == 36
    assert facts["timeline"]["devices"]["map"]["seconds"] > 0
