"""Duplicates as Picard marks and counts them, where it is installed; benchmarks/duplicates.py compares much more."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pysam
import pytest

from gpualign.map.duplicates import DuplicateMarking, Libraries
from tests.map.test_duplicates import CONTIGS, HEADER, found, joined, random_lines

_TYPES = {"LB": 1, "SQ": 2}


def picard(folder: Path, lines: list[str], barcodes: bool) -> tuple[dict[str, set[int]], str]:
    """The marks of the records of each template, and the metrics."""
    header = [HEADER[0], *(f"@SQ\tSN:{name}\tLN:1000" for name in CONTIGS), *HEADER[1:]]
    (folder / "in.sam").write_text("".join(line + "\n" for line in [*header, *lines]))
    names = {key: str(folder / key) for key in ("in.sam", "fixed.bam", "out.bam", "metrics.txt")}
    pysam.samtools.fixmate("-m", names["in.sam"], names["fixed.bam"], catch_stdout=False)
    command = ["PicardCommandLine", "MarkDuplicates", f"I={names['fixed.bam']}", f"O={names['out.bam']}"]
    command += [f"M={names['metrics.txt']}", "TAGGING_POLICY=All", "ASSUME_SORT_ORDER=queryname"]
    command += ["VALIDATION_STRINGENCY=SILENT", *(["BARCODE_TAG=RX"] if barcodes else [])]
    subprocess.run(command, check=True, capture_output=True)
    marks: dict[str, set[int]] = {}
    with pysam.AlignmentFile(names["out.bam"]) as file:
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
