"""Do we mark the duplicates that Picard and samtools mark, and if not, why?

    python benchmarks/duplicates.py [--fasta FILE] [--molecules 20000] [--seed 1]

Libraries with duplicates of all kinds are simulated from a FASTA file (simulate_duplicates.py), and their pairs are
mapped, too. Ours, `samtools fixmate -m | sort | markdup -S -d` and Picard's MarkDuplicates mark them, with and without
UMIs. Every record whose flag or type of duplicate differs is put down to a tie or to a rule of
docs/commands/markdup.md, or counted as unexplained; Picard's metrics are compared field by field, and its
ValidateSamFile looks at the output of `map --mark-duplicates --sort`. Result:
benchmarks/results/duplicates-<machine>.json. Needs Debian's samtools; Picard (picard-tools) is left out where it is
missing.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import harness
import numpy as np
import pysam
import simulate_duplicates as simulate
from duplicate_differences import (
    DISTANCE,
    RecordKey,
    Truth,
    differences,
    explain_picard,
    explain_samtools,
    outer_ends,
)

from gpualign import _native
from gpualign.records.duplicates import DuplicateMarking, DuplicateMetrics, Duplicates, Libraries
from gpualign.sequences.batch import join_bytes

sys.path.insert(0, str(harness.FOLDER.parent))
from tests.reference import duplicates as rules

_BATCH = 5000
_TYPES = {"LB": 1, "SQ": 2}


@dataclass(frozen=True)
class Case:
    """Templates, each a list of SAM lines, and how duplicates among them are found."""

    header: str
    lines: list[list[str]]
    barcodes: bool

    def fields(self, kind: str, tag: str) -> list[str]:
        """Those of the header's lines of a kind."""
        return re.findall(rf"^@{kind}\t.*\b{tag}:(\S+)", self.header, re.MULTILINE)

    @property
    def libraries(self) -> dict[str, str]:
        return dict(zip(self.fields("RG", "ID"), self.fields("RG", "LB"), strict=True))

    @property
    def marking(self) -> DuplicateMarking:
        return DuplicateMarking(barcode_tags=("RX",) if self.barcodes else (), optical_distance=DISTANCE)

    def truth(self) -> Truth:
        contigs = self.fields("SQ", "SN")
        flat = [line for template in self.lines for line in template]
        templates = {template.name: template for template in rules.templates(flat, contigs)}
        libraries = self.libraries
        outer = {lines[0].split("\t")[0]: outer_ends(lines, contigs) for lines in self.lines}
        return Truth(templates, lambda t: (libraries[t.tags["RG"]], t.tags["RX"] if self.barcodes else ""), outer)

    def write(self, folder: Path) -> Path:
        """A BAM file, mates told of each other."""
        text = self.header + "".join(line + "\n" for template in self.lines for line in template)
        path = folder / "fixed.bam"
        subprocess.run(["samtools", "fixmate", "-m", "-", str(path)], input=text.encode(), check=True)
        return path


def ours(case: Case) -> tuple[np.ndarray, DuplicateMetrics, dict]:
    """Status of each template, metrics, and nanoseconds for a template of each step."""
    names, offsets = join_bytes([name.encode() for name in case.fields("SQ", "SN")])
    libraries, marking, lines = Libraries.of(case.header.splitlines()), case.marking, case.lines
    duplicates = Duplicates(marking, libraries)
    spent = collections.Counter()

    def timed(step: str, call: Callable, *arguments: object) -> object:
        start = time.thread_time()
        value = call(*arguments)
        spent[step] += time.thread_time() - start
        return value

    for at in range(0, len(lines), _BATCH):
        text = "".join(line + "\n" for template in lines[at : at + _BATCH] for line in template).encode()
        records, _ = _native.bam_records(np.frombuffer(text, np.uint8), names, offsets)
        timed("add", duplicates.add, timed("ends", marking.ends, records, libraries))
    status = timed("finish", duplicates.finish, 1)
    return status, duplicates.metrics(), {step: round(1e9 * s / len(lines), 1) for step, s in spent.items()}


def read_marks(path: Path) -> dict[RecordKey, int]:
    """Of each record: 0: no duplicate, 1: a duplicate, 2: an optical one."""
    marks = {}
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        for record in file:
            kind = dict(record.get_tags()).get("DT") or dict(record.get_tags()).get("dt") or "LB"
            marks[record.query_name, record.flag & 0x9C4, record.reference_start] = (
                _TYPES[kind] if record.is_duplicate else 0
            )
    return marks


def samtools(case: Case, fixed: Path, folder: Path) -> dict[RecordKey, int]:
    """Marks of `samtools markdup -m t -S`, each library by itself, as it knows none."""
    marks = {}
    for library in set(case.libraries.values()):
        out = folder / f"samtools.{library}.bam"
        barcode = "--barcode-tag RX" if case.barcodes else ""
        command = (
            f"samtools view -u -l {library} {fixed} | samtools sort -u -T {folder}/sort - | "
            f"samtools markdup -m t -S -d {DISTANCE} {barcode} -T {folder}/markdup - {out}"
        )
        subprocess.run(["bash", "-o", "pipefail", "-c", command], check=True, capture_output=True)
        marks |= read_marks(out)
    return marks


def picard(case: Case, fixed: Path, folder: Path) -> tuple[dict[RecordKey, int], str]:
    """Marks of Picard's MarkDuplicates on records grouped by name, and its metrics."""
    out, metrics = folder / "picard.bam", folder / "picard.txt"
    command = ["PicardCommandLine", "MarkDuplicates", f"I={fixed}", f"O={out}", f"M={metrics}", "TAGGING_POLICY=All"]
    command += [
        "ASSUME_SORT_ORDER=queryname",
        f"OPTICAL_DUPLICATE_PIXEL_DISTANCE={DISTANCE}",
        "VALIDATION_STRINGENCY=SILENT",
    ]
    subprocess.run(command + (["BARCODE_TAG=RX"] if case.barcodes else []), check=True, capture_output=True)
    return read_marks(out), metrics.read_text()


def compare_metrics(own: str, other: str) -> dict[str, object]:
    """Cells of Picard's tables that are ours, and those that are not."""

    def cells(text: str) -> dict[tuple[str, str], str]:
        found, head = {}, None
        for line in text.splitlines():
            if line.startswith("##"):
                head = None
            elif line.startswith(("LIBRARY\t", "BIN\t", "set_size\t")):
                head = line.split("\t")
            elif head and line:
                values = line.split("\t")
                found |= {(values[0], column): value for column, value in zip(head[1:], values[1:], strict=True)}
        return found

    mine, theirs = cells(own), cells(other)
    wrong = {
        " ".join(key): [mine.get(key), theirs.get(key)]
        for key in mine.keys() | theirs.keys()
        if mine.get(key) != theirs.get(key)
    }
    return {"same": len(mine) - len(wrong), "different": wrong}


def compare(case: Case, folder: Path) -> tuple[dict[str, object], dict[str, object]]:
    """The peers' differences, and what else there is to tell of a case."""
    truth = case.truth()
    status, metrics, spent = ours(case)
    mine = dict(zip(truth.templates, status.tolist(), strict=True))
    expected = rules.duplicates(
        list(truth.templates.values()), DISTANCE, lambda t: truth.group_of(t)[0], lambda t: truth.group_of(t)[1]
    )
    fixed = case.write(folder)
    peers = {"samtools": differences(truth, mine, samtools(case, fixed, folder), explain_samtools)}
    told: dict[str, object] = {
        "templates": len(mine),
        "duplicates": int(np.count_nonzero(status)),
        "optical": int(np.count_nonzero(status == 2)),
        "nanoseconds_a_template": spent,
        "other_than_the_naive_oracle": sum(a != b for a, b in zip(mine.values(), expected, strict=True)),
    }
    if shutil.which("PicardCommandLine"):
        marks, text = picard(case, fixed, folder)
        peers["Picard"] = differences(truth, mine, marks, explain_picard)
        told["picard_metrics"] = compare_metrics(metrics.text("gpualign"), text)
    return peers, told


def mapped(case: Case, fasta: Path, folder: Path) -> tuple[Case, dict[str, object]]:
    """The pairs of a case as `map` aligns them, and whether `map --mark-duplicates --sort` marks the right ones."""
    reads = [folder / f"{mate}.fq" for mate in (1, 2)]
    write_pairs(case.lines, reads)
    group = r"@RG\tID:g\tSM:s\tPL:ILLUMINA\tLB:l"
    command = [sys.executable, "-m", "gpualign", "map", str(fasta), *map(str, reads), "-C", "-R", group, "-q"]
    plain, marked = folder / "plain.bam", folder / "marked.bam"
    subprocess.run([*command, "-o", str(plain)], check=True)
    options = ["--mark-duplicates", "--sort", "--duplicate-metrics", str(folder / "ours.txt")]
    options += ["--optical-distance", str(DISTANCE), *(["--barcode-tag", "RX"] if case.barcodes else [])]
    subprocess.run([*command, *options, "-o", str(marked)], check=True)
    text = subprocess.run(["samtools", "view", "-h", str(plain)], check=True, capture_output=True, text=True).stdout
    header = "".join(line for line in text.splitlines(keepends=True) if line.startswith("@"))
    lines = (line for line in text.splitlines() if not line.startswith("@"))
    templates = [list(lines) for _, lines in itertools.groupby(lines, lambda line: line.split("\t", 1)[0])]
    aligned = Case(header, templates, case.barcodes)
    status, metrics, _ = ours(aligned)
    mine = dict(zip(aligned.truth().templates, status.tolist(), strict=True))
    marks = read_marks(marked)
    said = {"records_marked_otherwise": sum(mark != mine[name] for (name, _, _), mark in marks.items())}
    said["metrics"] = compare_metrics((folder / "ours.txt").read_text(), metrics.text("gpualign"))
    if shutil.which("PicardCommandLine"):
        check = ["PicardCommandLine", "ValidateSamFile", f"I={marked}", f"R={fasta}", "IGNORE=INVALID_TAG_NM"]
        done = subprocess.run(check, capture_output=True, text=True)
        said["ValidateSamFile"] = done.stdout.splitlines()[-1]
    return aligned, said


def write_pairs(templates: list[list[str]], paths: list[Path]) -> None:
    """FASTQ of both mates, with the UMI in the comment."""
    complement = str.maketrans("ACGTN", "TGCAN")
    with paths[0].open("w") as first, paths[1].open("w") as second:
        for template in templates:
            for line in template:
                name, flag, *_, bases, qualities, _, umi = line.split("\t")[:13]
                if int(flag) & 0x901 != 0x1:
                    continue
                if int(flag) & 0x10:
                    bases, qualities = bases.translate(complement)[::-1], qualities[::-1]
                file = second if int(flag) & 0x80 else first
                file.write(f"@{name} {umi}\n{bases}\n+\n{qualities}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fasta", type=Path, default=harness.FOLDER.parent / "examples" / "data" / "genomes.fa")
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    contigs = simulate.genome(arguments.fasta)
    header = simulate.header(contigs)
    lines = list(simulate.records(contigs, arguments.molecules, arguments.seed))
    table, told = {}, {}
    with tempfile.TemporaryDirectory(prefix="duplicates.") as name:
        folder = Path(name)
        fasta = folder / "reference.fa"
        fasta.write_text("".join(f">{name}\n{text}\n" for name, text in contigs.items()))
        for barcodes in (False, True):
            case = Case(header, lines, barcodes)
            title = "by ends and UMI" if barcodes else "by ends"
            table[f"simulated, {title}"], told[f"simulated, {title}"] = compare(case, folder)
            aligned, said = mapped(case, fasta, folder)
            table[f"mapped, {title}"], more = compare(aligned, folder)
            told[f"mapped, {title}"] = {"map": said, **more}
    print(json.dumps([table, told], indent=1))
    machine = harness.machine(["samtools", "picard"], ["pysam"])
    for row in (row for peers in table.values() for row in peers.values()):
        del row["reasons"]
    harness.save("duplicates", machine, {"duplicates": table})


if __name__ == "__main__":
    main()
