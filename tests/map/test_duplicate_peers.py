"""Duplicates as samtools marks them, and as Picard marks and counts them where it is installed.

benchmarks/duplicates.py compares much more, and explains each difference.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pysam
import pytest

from gpualign.records.duplicates import DuplicateMarking, Libraries
from tests.helpers.duplicate_cases import CONTIGS, HEADER, found, joined, random_lines
from tests.helpers.samtools_tests import CASES, MARKDUP, sam_lines

_TYPES = {"LB": 1, "SQ": 2}


def write_fixed(folder: Path, lines: list[str]) -> str:
    """A BAM file with the fields of mates, and its path."""
    header = [HEADER[0], *(f"@SQ\tSN:{name}\tLN:1000" for name in CONTIGS), *HEADER[1:]]
    (folder / "in.sam").write_text("".join(line + "\n" for line in [*header, *lines]))
    fixed = str(folder / "fixed.bam")
    pysam.samtools.fixmate("-m", str(folder / "in.sam"), fixed, catch_stdout=False)
    return fixed


def picard(folder: Path, lines: list[str], barcodes: bool) -> tuple[dict[str, set[int]], str]:
    """The marks of the records of each template, and the metrics."""
    fixed, out = write_fixed(folder, lines), str(folder / "out.bam")
    command = ["PicardCommandLine", "MarkDuplicates", f"I={fixed}", f"O={out}"]
    command += [f"M={folder / 'metrics.txt'}", "TAGGING_POLICY=All", "ASSUME_SORT_ORDER=queryname"]
    command += ["VALIDATION_STRINGENCY=SILENT", *(["BARCODE_TAG=RX"] if barcodes else [])]
    subprocess.run(command, check=True, capture_output=True)
    marks: dict[str, set[int]] = {}
    with pysam.AlignmentFile(out) as file:
        for record in file:
            mark = _TYPES[record.get_tag("DT")] if record.is_duplicate else 0
            marks.setdefault(record.query_name, set()).add(mark)
    return marks, (folder / "metrics.txt").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("PicardCommandLine"), reason="Picard is not installed")
@pytest.mark.parametrize("barcodes", [False, True])
def test_marks_and_metrics_are_picards(tmp_path: Path, seed: int, barcodes: bool) -> None:
    templates = random_lines(random.Random(seed), 600, ties=False)
    lines = joined(templates)
    marks, text = picard(tmp_path, lines, barcodes)
    marking = DuplicateMarking(barcode_tags=("RX",) if barcodes else ())
    status, metrics = found(lines, marking, Libraries.of(HEADER))
    kinds = [len([line for line in template if not int(line.split("\t")[1]) & 0x904]) for template in templates]
    shown = [min(mark, kind) for mark, kind in zip(status, kinds, strict=True)]  # single reads are never SQ there
    assert dict(zip(marks, shown, strict=True)) == {name: next(iter(mark)) for name, mark in marks.items()}
    assert all(len(mark) == 1 for mark in marks.values())
    own, theirs = (set(part.split("## METRICS", 1)[1].splitlines()) for part in (metrics.text("x"), text))
    assert own == theirs


def alike(template: list[str]) -> bool:
    """Whether our rules and samtools' agree: it leaves out what fails the filters, and compares outer ends."""
    flags = [int(line.split("\t")[1]) for line in template[:2]]
    one_strand = len(flags) == 2 and not flags[0] & 0xC and not (flags[0] ^ flags[1]) & 0x10
    return not flags[0] & 0x200 and not one_strand


def test_marks_are_samtools(tmp_path: Path, seed: int) -> None:
    templates = [t for t in random_lines(random.Random(seed), 600, ties=False) if "RG:Z:g1" in t[0] and alike(t)]
    fixed = write_fixed(tmp_path, joined(templates))
    in_order, out = str(tmp_path / "sorted.bam"), str(tmp_path / "marked.bam")
    pysam.samtools.sort("-o", in_order, fixed, catch_stdout=False)
    pysam.samtools.markdup("-m", "t", in_order, out, catch_stdout=False)
    with pysam.AlignmentFile(out) as file:
        marks = {record.query_name: record.is_duplicate for record in file if not record.flag & 0x904}
    status, _ = found(joined(templates))
    names = [template[0].split("\t")[0] for template in templates]
    assert {name: mark > 0 for name, mark in zip(names, status, strict=True) if name in marks} == marks
    assert 20 < sum(marks.values()) < len(marks) - 20


@pytest.mark.skipif(not MARKDUP.is_dir(), reason="samtools-test is not installed")
@pytest.mark.parametrize(("stem", "marking", "pattern", "name"), CASES)
def test_marks_are_those_of_samtools_tests(stem: str, marking: DuplicateMarking, pattern: str, name: str) -> None:
    """All but tests 1 to 4, which are of input that samtools refuses. Where names are taken apart by regular
    expressions, ``name`` puts the parts in Illumina's order. Unmapped mates are marked as their template is.
    """
    given, expected = (sam_lines(MARKDUP / f"{stem}{kind}.sam", pattern, name) for kind in ("", ".expected"))
    in_order = sorted(given, key=lambda line: int(line[1]) & 0x980)
    templates = {line[0]: [other for other in in_order if other[0] == line[0]] for line in given}
    status, _ = found(["\t".join(line) for line in joined(templates.values())], marking)
    marks = dict(zip(templates, status, strict=True))
    kinds = {line[0]: 2 if "dt:Z:SQ" in line else 1 for line in expected if int(line[1]) & 0x400}
    if stem == "6_remove_dups":
        kinds = dict.fromkeys(set(templates) - {line[0] for line in expected if not int(line[1]) & 4}, 1)
    assert marks == {template: kinds.get(template, 0) for template in templates}
