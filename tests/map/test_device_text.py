"""Records written by the device's code: the CPU's bytes, in scalar code, through a device that is none, and on a
GPU."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pysam
import pytest

from gpualign import _native
from gpualign._native import Nvcomp, NvcompError
from gpualign.errors import DeviceError
from gpualign.map.alignments import Alignments, Found
from gpualign.map.device import self_test
from gpualign.map.device import text as device_text
from gpualign.map.device.text import TextBatch, TextKernel
from gpualign.map.inputs import RecordOptions, TagOptions
from gpualign.run.gpu import nvcomp
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device, DeviceInfo, DeviceMemoryExceeded
from gpualign.run.gpu.self_test import run_self_tests
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.paths import GENOMES
from tests.helpers.scalar_kernels import text_in_scalar_code
from tests.helpers.soak import some_of

Cli = Callable[..., tuple[int, bytes, str]]
MATES, SECONDARY, SUPPLEMENTARY = 0x1, 0x100, 0x800


def random_reference(rng: random.Random) -> Reference:
    lengths = [rng.randrange(1, 400) for _ in range(rng.randrange(1, 4))]
    changed = "".join(rng.choices("ACGT", k=sum(lengths)))
    for _ in range(rng.randrange(6)):
        at, size = rng.randrange(len(changed)), rng.randrange(1, 40)
        changed = changed[:at] + (rng.choice("NRYKM") * size)[: len(changed) - at] + changed[at + size :]
    names = [f"c{i}{'é' * rng.randrange(3)}" for i in range(len(lengths))]
    return Reference(names, np.cumsum([0, *lengths]).astype(np.int64), *packed(changed))


def random_reads(rng: random.Random, count: int, longest_name: int) -> SequenceBatch:
    lengths = [rng.choice((0, 1, 2, 33, 97, 150)) for _ in range(count)]
    bases = "".join(rng.choices("ACGT" * 8 + "NRYKM", k=sum(lengths))).encode()
    names = [
        "".join(chr(rng.randrange(33, 256)) for _ in range(rng.choice((0, 1, 7, 40, longest_name)))) for _ in lengths
    ]
    tagged = ["", "BC:Z:1", "BC:Z:2\tMM:Z:C+m,0;\tMX:i:1\tML:B:C,7", "MM:Z:;\tMN:i:1"]
    comments = rng.choice((None, [tagged[i % 4] for i in range(count)]))

    def joined(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        encoded = [text.encode("latin-1") for text in texts]
        offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
        return np.frombuffer(b"".join(encoded), np.uint8), offsets

    qualities = bytes(rng.randrange(33, 127) for _ in bases)
    tags = (None, None) if comments is None else joined(comments)
    return SequenceBatch(
        *joined(names),
        np.frombuffer(bases, np.uint8),
        np.cumsum([0, *lengths]).astype(np.int64),
        rng.choice((None, np.frombuffer(qualities, np.uint8))),
        *tags,
        rng.choice((None, np.tile(np.array([1, 2], np.uint8), count // 2))),
    )


def random_cigar(rng: random.Random, length: int, capacity: int) -> list[tuple[int, int]]:
    """Operations (number, length) for a read's bases, and for at most so many of the reference's."""
    operations: list[tuple[int, int]] = []
    clip = rng.choice((0, 0, rng.randrange(length)))
    operations += [(4, clip)] if clip else []
    left = length - clip
    while left and capacity:
        matched = min(left, capacity, rng.randrange(1, 60))
        operations.append((0, matched))
        left, capacity = left - matched, capacity - matched
        if left > 1 and capacity > 1 and rng.random() < 0.6:
            gap, kind = rng.randrange(1, 4), rng.choice((1, 2))
            gap = min(gap, left - 1 if kind == 1 else capacity - 1)
            operations.append((kind, gap))
            left, capacity = left - (gap if kind == 1 else 0), capacity - (gap if kind == 2 else 0)
        elif rng.random() < 0.5:
            break
    if left:
        operations.append((4, left))
    return operations


def random_records(rng: random.Random, reference: Reference, batch: SequenceBatch) -> Alignments:
    columns: dict[str, list[int]] = {name: [] for name in ("flag", "contig", "position", "mapq", "score", "distance")}
    cigar: list[int] = []
    cigar_offsets, record_offsets = [0], [0]
    for length in batch.lengths.tolist():
        mapped = length > 0 and rng.random() < 0.8
        for r in range(rng.choice((1, 1, 2, 4)) if mapped else 1):
            contig = rng.randrange(len(reference.names)) if mapped else -1
            size = int(reference.lengths[contig]) if mapped else 1
            position = rng.randrange(size) if mapped else 0
            flag = (0 if mapped else 4) | (rng.choice((0, 16)) if mapped else 0)
            flag |= (MATES if batch.mates is not None else 0) | (rng.choice((SECONDARY, SUPPLEMENTARY)) if r else 0)
            values = (flag, contig, position, rng.randrange(256), rng.randrange(-300, 70000), rng.randrange(-1, 400))
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value if mapped or name == "flag" else {"contig": -1, "distance": -1}.get(name, 0))
            if mapped:
                cigar += [n << 4 | kind for kind, n in random_cigar(rng, length, size - position)]
            cigar_offsets.append(len(cigar))
        record_offsets.append(len(cigar_offsets) - 1)
    kinds = {
        "flag": np.uint16,
        "contig": np.int32,
        "position": np.int64,
        "mapq": np.uint8,
        "score": np.int32,
        "distance": np.int32,
    }
    arrays = {name: np.array(values, kinds[name]) for name, values in columns.items()}
    offsets = {"cigar_offsets": np.array(cigar_offsets, np.int64), "record_offsets": np.array(record_offsets, np.int64)}
    return Alignments(**arrays, cigar=np.array(cigar, np.uint32), **offsets)


def random_options(rng: random.Random) -> RecordOptions:
    def flip() -> bool:
        return rng.random() < 0.5

    tags = TagOptions(
        xa=rng.choice((0, 2, 9)),
        secondary_records=flip(),
        xa_share=rng.choice((0.01, 0.8)),
        scored=flip(),
        extra=tuple(name for name in ("XS", "HN", "ms") if flip()),
        cs=rng.choice((None, "short", "long")),
    )
    return RecordOptions(
        eqx=flip(), soft_supplementary=flip(), secondary_sequence=flip(), split_as_secondary=flip(), tags=tags
    )


@pytest.mark.parametrize("seed", range(150))
def test_random_records(seed: int) -> None:
    """The lanes' text is the CPU's; BAM's bytes are those of the text, line by line."""
    rng = random.Random(seed)
    reference = random_reference(rng)
    batch = random_reads(rng, 2 * rng.randrange(1, 12), longest_name=rng.choice((254, 10_000)))
    alignments = random_records(rng, reference, batch)
    options = random_options(rng).native(rng.choice(("", "group-7")))
    wanted = rng.choice((None, np.array([rng.random() < 0.7 for _ in range(len(batch))], np.uint8)))
    names = reference.shown_name_bytes
    found = replace(Found(batch, alignments), wanted=wanted, options=options)
    arguments = (reference.native, *names, batch.native, alignments.native, wanted, *found.native_options)
    expected, count = _native.format_records(*arguments, False)
    item = TextBatch.of(found, bam=False, deflate=False)
    assert text_in_scalar_code(reference, item) == (expected.tobytes(), count)
    if batch.comments is None and (not len(batch) or np.diff(batch.name_offsets).max() <= 254):
        of_lines, _ = _native.bam_records(expected, *names)
        direct, of_direct = _native.format_records(*arguments, True)
        assert direct.tobytes() == of_lines.tobytes()
        assert of_direct == count
        item = TextBatch.of(found, bam=True, deflate=False)
        assert text_in_scalar_code(reference, item) == (of_lines.tobytes(), count)


@pytest.mark.parametrize("size", [0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 253, 254, 255, 256, 1000, 10_000])
def test_records_of_names_of_any_length(size: int) -> None:
    """Next to a read without bases, lower-case ones and N; the expected lines are written by hand."""
    reference = Reference(["c"], np.array([0, 20], np.int64), *packed("ACGTACGTACGTACGTACGT"))
    name = ("name" * size)[:size]
    reads = [(name, "ACGTN", "IIII!"), ("empty", "", ""), (name, "CGTA", "!~I+")]
    batch = SequenceBatch.from_records(reads)
    alignments = Alignments(
        np.array([4, 4, 0], np.uint16),
        np.array([-1, -1, 0], np.int32),
        np.array([0, 0, 1], np.int64),
        np.array([0, 0, 60], np.uint8),
        np.array([0, 0, 4], np.int32),
        np.array([-1, -1, 0], np.int32),
        np.array([4 << 4], np.uint32),
        np.array([0, 0, 0, 1], np.int64),
        np.array([0, 1, 2, 3], np.int64),
    )
    found = replace(Found(batch, alignments), options=RecordOptions().native(""))
    text, count = text_in_scalar_code(reference, TextBatch.of(found, bam=False, deflate=False))
    unmapped, shown = "4\t*\t0\t0\t*\t*\t0\t0", name or "*"
    assert text.decode() == (
        f"{shown}\t{unmapped}\tACGTN\tIIII!\nempty\t{unmapped}\t*\t*\n"
        f"{shown}\t0\tc\t2\t60\t4M\t*\t0\t0\tCGTA\t!~I+\tNM:i:0\tMD:Z:4\tAS:i:4\ted:i:0\n"
    )
    assert count == 3


def packed(bases: str) -> tuple[np.ndarray, ...]:
    packer = _native.ReferencePacker()
    packer.append(np.frombuffer(bases.encode(), np.uint8))
    return packer.finish()


def test_parts_of_a_batch() -> None:
    """Halves, pairs whole, have the records of the whole."""
    rng = random.Random(3)
    reference = random_reference(rng)
    batch = random_reads(rng, 14, 40)
    found = replace(Found(batch, random_records(rng, reference, batch)), options=RecordOptions().native(""))
    item = TextBatch.of(found, bam=False, deflate=False)
    whole, _ = text_in_scalar_code(reference, item)
    for _ in range(4):
        parts = item.halves()
        assert b"".join(text_in_scalar_code(reference, part)[0] for part in parts) == whole
        item = parts[0]
        whole, _ = text_in_scalar_code(reference, item)


def records_of(path: Path) -> list[str]:
    """The records of a SAM, BAM or CRAM file."""
    with pysam.AlignmentFile(str(path), reference_filename=str(GENOMES)) as file:
        return [str(record) for record in file]


def written(cli: Cli, reads: Path, folder: Path, form: str, *options: object) -> list[Path]:
    """What the CPU writes of a run, and what a device does."""
    paths = [folder / f"{device}.{form}" for device in ("cpu", "cuda")]
    for path in paths:
        assert cli("map", GENOMES, reads, "-q", *options, "--device", path.stem, "-o", path)[0] == 0
    return paths


@pytest.mark.parametrize(
    ("form", "options"),
    some_of(
        product(("sam", "bam", "cram"), ((), ("-N", 3), ("--eqx", "--cs", "long"), ("--sam-hit-only",))),
        lambda form, options: form == "bam" or not options,
    ),
)
def test_a_run_gives_the_same_records(
    cli: Cli, use, some_reads: Path, tmp_path: Path, options: tuple[object, ...], form: str
) -> None:
    use(FakeDriver())
    bodies = [records_of(path) for path in written(cli, some_reads, tmp_path, form, "--batch-size", "64K", *options)]
    assert bodies[0] == bodies[1]
    assert len(bodies[0]) > 100


def test_blocks_made_on_the_device(
    cli: Cli, use, some_reads: Path, tmp_path: Path, fake_nvcomp: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that could not be deflated are stored; the whole is BGZF, and its text the CPU's."""
    use(FakeDriver())
    monkeypatch.setattr(device_text, "load_nvcomp", lambda: Nvcomp(fake_nvcomp()))
    of_cpu, of_device = written(cli, some_reads, tmp_path, "bam", "--batch-size", "1M")
    pysam.quickcheck("-v", str(of_device))
    assert records_of(of_device) == records_of(of_cpu)


def test_other_versions_and_broken_libraries(fake_nvcomp: Callable[..., str], tmp_path: Path) -> None:
    with pytest.raises(NvcompError, match="nvCOMP 5 is there"):
        Nvcomp(fake_nvcomp(VERSION=5002))
    broken = tmp_path / "libnvcomp.so.6"
    broken.write_bytes(b"no library")
    with pytest.raises(NvcompError, match="cannot be loaded"):
        Nvcomp(str(broken))
    with pytest.raises(NvcompError, match="cannot be loaded"):
        Nvcomp(str(tmp_path / "absent.so"))


def test_the_first_library_that_can_be_used(
    fake_nvcomp: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Absent, broken and other ones are passed by; without any the CPU compresses."""
    broken = tmp_path / "libnvcomp.so.6"
    broken.write_bytes(b"no library")
    useless = [str(tmp_path / "absent.so"), str(broken), fake_nvcomp(VERSION=7000)]
    sizes = (3 * 16, 10 + 9)  # by the library in nvCOMP's place
    for paths, found in ((useless, None), ([*useless, fake_nvcomp()], sizes), ([], None)):
        monkeypatch.setattr(nvcomp, "library_paths", lambda paths=paths: paths)
        library = nvcomp.load_nvcomp.__wrapped__()
        assert (None if library is None else library.deflate_sizes(3, 10)) == found


def test_a_library_that_fails(
    cli: Cli, use, some_reads: Path, tmp_path: Path, fake_nvcomp: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CPU compresses then."""
    use(FakeDriver())
    monkeypatch.setattr(device_text, "load_nvcomp", lambda: Nvcomp(fake_nvcomp(RESULT=10)))
    of_cpu, of_device = written(cli, some_reads, tmp_path, "bam", "--batch-size", "64K")
    assert records_of(of_device) == records_of(of_cpu)
    assert of_device.stat().st_size < 1.01 * of_cpu.stat().st_size


@pytest.mark.gpu
@pytest.mark.parametrize("options", [(), ("-N", 3), ("--eqx", "--cs", "long"), ("-x", "ont"), ("--sam-hit-only",)])
@pytest.mark.parametrize("form", ["sam", "bam"])
def test_a_gpu_writes_the_same(
    cli: Cli, some_reads: Path, tmp_path: Path, options: tuple[object, ...], form: str
) -> None:
    of_cpu, of_device = written(cli, some_reads, tmp_path, form, *options)
    assert records_of(of_cpu) == records_of(of_device)


def test_self_test(use, fake_nvcomp: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    use(FakeDriver())
    for load in (lambda: None, lambda: Nvcomp(fake_nvcomp())):
        monkeypatch.setattr(device_text, "load_nvcomp", load)
        with Device(DeviceInfo(0, "Fake A", (9, 0), 1 << 30, "13.0")) as device:
            run_self_tests(device, self_test.self_tests_of_records())
            with monkeypatch.context() as patch:
                patch.setattr(self_test, "text_on_cpu", lambda *_: (b"", 0))
                with pytest.raises(DeviceError, match="records as SAM differ"):
                    run_self_tests(device, self_test.self_tests_of_records())


def test_little_memory_and_little_room(
    cli: Cli, use, some_reads: Path, tmp_path: Path, fake_nvcomp: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few blocks at a time, a text that is longer than was thought, and a batch that is written in parts."""
    use(FakeDriver())
    monkeypatch.setattr(device_text, "load_nvcomp", lambda: Nvcomp(fake_nvcomp()))
    monkeypatch.setattr("gpualign.run.tuning.DEFLATE_SCRATCH_SHARE", 1e-6)
    monkeypatch.setattr(device_text, "_USUAL_FIELDS", 1)
    monkeypatch.setattr(device_text, "_MIN_BYTES", 16)
    launch = TextKernel.launch

    def scarce(self: TextKernel, slot: Slot, item: TextBatch) -> Any:
        if len(item.found) > 500:
            raise DeviceMemoryExceeded("a test")
        return launch(self, slot, item)

    monkeypatch.setattr(TextKernel, "launch", scarce)
    of_cpu, of_device = written(cli, some_reads, tmp_path, "bam", "--batch-size", "1M")
    assert records_of(of_device) == records_of(of_cpu)
