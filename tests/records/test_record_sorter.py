"""Sorting of records: the order of `samtools sort` and of a plain sort, whatever the batches, memory and threads."""

from __future__ import annotations

import os
import random
from itertools import chain
from pathlib import Path

import numpy as np
import pysam
import pytest

from gpualign import params
from gpualign.errors import GpualignError
from gpualign.records import record_sorter
from gpualign.records.record_sorter import Marks, RecordBatch, RecordOrder, RecordSorter
from tests.helpers.bam import bam_records, coordinate_of, random_templates, sam_lines

LENGTHS = (300, 100_000, 40)
MEMORY = (1 << 30, 1 << 16, 2000)  # all in it; several runs; a run for nearly each batch


def cut(rng: random.Random, templates: list[list[str]]) -> list[list[list[str]]]:
    cuts = sorted(rng.randint(0, len(templates)) for _ in range(12))
    return [templates[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(templates)], strict=True)]


def sort(
    folder: Path,
    parts: list[list[list[str]]],
    memory: int,
    threads: int = 2,
    by_coordinate: bool = True,
    marks: Marks | None = None,
) -> list[str]:
    order: RecordOrder = "coordinate" if by_coordinate else "input"
    with RecordSorter(str(folder), memory, threads, order) as sorter:
        for part in parts:
            sorter.add(RecordBatch.of(bam_records(list(chain(*part)), len(LENGTHS)), order))
        assert list(folder.iterdir()) == [], "a temporary file has a name"
        return list(
            chain(*(sam_lines(records, len(LENGTHS)) for records in sorter.merged(lambda r, _: r.copy(), marks)))
        )


def samtools_sort(folder: Path, lines: list[str]) -> list[str]:
    header = "".join(f"@SQ\tSN:c{i}\tLN:{length}\n" for i, length in enumerate(LENGTHS))
    (folder / "in.sam").write_text(header + "".join(lines))
    pysam.samtools.sort("--no-PG", "-O", "sam", "-o", str(folder / "out.sam"), str(folder / "in.sam"))
    return [line for line in (folder / "out.sam").read_text().splitlines(keepends=True) if line[0] != "@"]


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("threads", [1, 3])
def test_order_is_that_of_samtools(tmp_path: Path, seed: int, memory: int, threads: int) -> None:
    rng = random.Random(seed)
    templates = random_templates(rng, 2000, LENGTHS)
    (tmp_path / "spill").mkdir()
    found = sort(tmp_path / "spill", cut(rng, templates), memory, threads)
    lines = list(chain(*templates))
    assert found == sorted(lines, key=coordinate_of)
    assert found == samtools_sort(tmp_path, lines)


@pytest.mark.parametrize("memory", MEMORY)
def test_without_coordinates_the_order_stays(tmp_path: Path, seed: int, memory: int) -> None:
    rng = random.Random(seed)
    templates = random_templates(rng, 1000, LENGTHS)
    assert sort(tmp_path, cut(rng, templates), memory, by_coordinate=False) == list(chain(*templates))


def marked(line: str, mark: int) -> str:
    """By hand."""
    if mark == 0:
        return line
    name, flag, rest = line.rstrip("\n").split("\t", 2)
    return f"{name}\t{int(flag) | 0x400}\t{rest}\tDT:Z:{('LB', 'SQ')[mark - 1]}\n"


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("by_coordinate", [True, False])
def test_duplicates_are_flagged_and_tagged_or_left_out(
    tmp_path: Path, seed: int, memory: int, by_coordinate: bool
) -> None:
    rng = random.Random(seed)
    templates = random_templates(rng, 1000, LENGTHS)
    marks = [rng.choice((0, 0, 1, 2)) for _ in templates]
    given = np.array(marks, np.uint8)
    parts = cut(rng, templates)
    lines = [marked(line, mark) for lines, mark in zip(templates, marks, strict=True) for line in lines]
    expected = sorted(lines, key=coordinate_of) if by_coordinate else lines
    assert sort(tmp_path, parts, memory, 2, by_coordinate, Marks(given)) == expected
    kept = [line for line in expected if not int(line.split("\t")[1]) & 0x400]
    assert sort(tmp_path, parts, memory, 2, by_coordinate, Marks(given, remove=True)) == kept


def test_templates_begin_where_flags_say(tmp_path: Path) -> None:
    """R2 without its R1, two single reads, R1 twice: marks go by template."""
    flags = [129, 65, 129, 0, 0, 65, 65, 129, 2113 | 64]
    numbers = [0, 1, 1, 2, 3, 4, 5, 5, 5]
    lines = [f"r\t{flag}\tc0\t{i + 1}\t60\t1M\t*\t0\t0\tA\tI\n" for i, flag in enumerate(flags)]
    marks = Marks(np.array([1, 0, 1, 0, 1, 0], np.uint8))
    found = sort(tmp_path, [[lines]], 1 << 20, marks=marks)
    assert found == [marked(line, int(n % 2 == 0)) for line, n in zip(lines, numbers, strict=True)]


def test_no_records(tmp_path: Path) -> None:
    assert sort(tmp_path, [], 1 << 20) == []
    assert sort(tmp_path, [[], []], 1 << 20) == []


def test_a_temporary_file_that_cannot_be(tmp_path: Path) -> None:
    records = bam_records(list(chain(*random_templates(random.Random(1), 100, LENGTHS))), len(LENGTHS))
    with RecordSorter(str(tmp_path / "nowhere"), 1000, 1) as sorter:
        sorter.add(RecordBatch.of(records, "coordinate"))
        with pytest.raises(GpualignError, match=r"cannot write a temporary file in .*nowhere: No such file or dir"):
            sorter.add(RecordBatch.of(records, "coordinate"))


def test_fewer_marks_than_templates_are_refused(tmp_path: Path) -> None:
    lines = [[f"r{i}\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n"] for i in range(3)]
    with pytest.raises(ValueError, match="fewer marks than templates"):
        sort(tmp_path, [lines], 1 << 20, marks=Marks(np.zeros(2, np.uint8)))


@pytest.mark.parametrize(
    "records", [b"\1\0\0\0", b"\xff\xff\xff\xff" + bytes(40), bytes(40), b"\x20\0\0\0" + bytes(32)]
)
def test_damaged_records_are_refused(records: bytes) -> None:
    array = np.frombuffer(records, np.uint8)
    with pytest.raises(ValueError, match="cut short"):
        RecordBatch.of(array, "coordinate")
    with pytest.raises(ValueError, match="cut short"):
        sam_lines(array, 1)


@pytest.mark.parametrize(
    ("threads", "cores", "free", "expected"),
    [
        (2, 2, 100 << 30, 2 << 30),  # records in three quarters of it, as many as samtools sort holds
        (16, 16, 20 << 30, 5 << 30),  # a quarter of what is free
        (1, 16, 32 << 30, 512 << 20),  # and of that the thread's share
        (8, 2, 8 << 30, 2 << 30),
        (1, 64, 1 << 30, 256 << 20),
    ],
)
def test_memory_that_nobody_asked_for(
    monkeypatch: pytest.MonkeyPatch, threads: int, cores: int, free: int, expected: int
) -> None:
    monkeypatch.setattr(record_sorter, "available_memory", lambda: free)
    monkeypatch.setattr(record_sorter, "available_cores", lambda: cores)
    assert record_sorter.usual_memory(threads) == expected


@pytest.mark.parametrize(
    ("limit", "expected"), [("1073741824", (1 << 30) - (300 << 20)), ("314572800", 0), ("max", None)]
)
def test_memory_of_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, expected: int | None
) -> None:
    (tmp_path / "memory.max").write_text(limit + "\n")
    (tmp_path / "memory.current").write_text(f"{300 << 20}\n")
    monkeypatch.setattr(params, "_CONTAINER", str(tmp_path))
    found = params.available_memory()
    if expected is not None:
        assert found == expected
    else:
        assert found > 128 << 20, "what the system has"


@pytest.mark.parametrize(("damage", "reason"), [("flipped", "checksum"), ("cut", "cut short|truncated")])
def test_damaged_runs(tmp_path: Path, seed: int, damage: str, reason: str) -> None:
    rng = random.Random(seed)
    parts = cut(rng, random_templates(rng, 400, LENGTHS))
    with RecordSorter(str(tmp_path), 1 << 16, 2) as sorter:
        for part in parts:
            sorter.add(RecordBatch.of(bam_records(list(chain(*part)), len(LENGTHS)), "coordinate"))
        sorter._await_run()
        run = sorter._runs[0]
        if damage == "cut":
            run.file.truncate(run.end - 5)
        else:
            content = run.file.fileno(), run.end - 8
            os.pwrite(content[0], bytes([os.pread(content[0], 1, content[1])[0] ^ 1]), content[1])
        with pytest.raises(GpualignError, match=f"cannot read a temporary file in .*: .*({reason})"):
            list(sorter.merged(lambda records, _: len(records)))


@pytest.mark.parametrize("threads", [1, 3])
def test_space_of_temporary_files_is_given_back_while_they_are_merged(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(record_sorter, "_RELEASED_BYTES", 1 << 12)
    rng = random.Random(seed)
    templates = random_templates(rng, 4000, LENGTHS)
    with RecordSorter(str(tmp_path), 1 << 18, threads) as sorter:
        for part in cut(rng, templates):
            sorter.add(RecordBatch.of(bam_records(list(chain(*part)), len(LENGTHS)), "coordinate"))
        sorter._await_run()
        assert len(sorter._runs) > 2
        file = os.dup(sorter._runs[0].file.fileno())
        size = os.fstat(file).st_size
        merged = sorter.merged(lambda records, _: records.copy())
        found = list(chain(*(sam_lines(records, len(LENGTHS)) for records in merged)))
        sorter._spiller.submit(list).result()  # after what it was told before
    kept = np.count_nonzero(np.frombuffer(os.pread(file, size, 0), np.uint8))
    os.close(file)
    assert found == sorted(chain(*templates), key=coordinate_of)
    assert kept < size / 2, "most of it reads as zeros"


def test_many_small_runs(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    templates = random_templates(rng, 500, LENGTHS)
    assert sort(tmp_path, cut(rng, templates), 2000) == sorted(chain(*templates), key=coordinate_of)


@pytest.mark.parametrize("order", ["coordinate", "template", "natural"])
def test_runs_are_merged_in_levels(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, order: RecordOrder
) -> None:
    """Each range of the last merge needs some of every run; equal records stay in the order of the input."""
    monkeypatch.setattr(record_sorter, "_LEAST_MERGED", 3)
    monkeypatch.setattr(record_sorter, "_LEAST_RANGE", 1 << 12)
    monkeypatch.setattr(record_sorter, "_LEAST_BLOCK", 1 << 11)
    rng = random.Random(seed)
    lines = [line for template in random_templates(rng, 600, LENGTHS) for line in template]
    lines = [line for line in lines for _ in range(rng.choice((1, 1, 3)))]
    lines = [f"{line.rstrip()}\tXI:i:{number}\n" for number, line in enumerate(lines)]
    found = dict[int, list[str]]()
    for memory in (1 << 30, 1 << 14):
        with RecordSorter(str(tmp_path), memory, 2, order) as sorter:
            for begin in range(0, len(lines), 20):
                records = bam_records(lines[begin : begin + 20], len(LENGTHS))
                sorter.add(RecordBatch.of(records, order, templates="none"))
            sorter._await_run()
            levels = [run.level for run in sorter._runs]
            assert levels == sorted(levels, reverse=True)
            assert all(levels.count(level) < 3 for level in levels)
            assert memory > 1 << 14 or max(levels) > 1, "no run was merged twice"
            merged = sorter.merged(lambda records, _: sam_lines(records, len(LENGTHS)))
            found[memory] = list(chain(*merged))
    assert found[1 << 14] == found[1 << 30]
    assert sorted(found[1 << 14]) == sorted(lines)
    if order == "coordinate":
        assert found[1 << 14] == sorted(lines, key=coordinate_of)


def test_runs_share_one_file(tmp_path: Path, seed: int) -> None:
    """There may be more runs than files that may be open."""
    rng = random.Random(seed)
    with RecordSorter(str(tmp_path), 1 << 10, 1) as sorter:
        before = len(os.listdir("/proc/self/fd"))
        for part in cut(rng, random_templates(rng, 300, LENGTHS)):
            sorter.add(RecordBatch.of(bam_records(list(chain(*part)), len(LENGTHS)), "coordinate"))
        sorter._await_run()
        assert len(sorter._runs) > 10
        assert len(os.listdir("/proc/self/fd")) <= before + 2
