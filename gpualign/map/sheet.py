"""The sample sheet of `map --samples`: CSV or TSV with a header, and a row for each lane of a sample."""

from __future__ import annotations

import csv
import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpualign.errors import InputError, UsageError
from gpualign.records.sam_header import parse_read_group
from gpualign.text.files import InputFile
from gpualign.text.paths import are_same

#: other pipelines' names of columns: sarek's alignments, units of Snakemake's workflows (nf-core's names are ours)
_SYNONYMS = {
    "sample_name": "sample",
    "unit": "lane",
    "unit_name": "lane",
    "fq1": "fastq_1",
    "fq2": "fastq_2",
    "bam": "fastq_1",
    "cram": "fastq_1",
    "library": "lb",
    "platform": "pl",
    "platform_unit": "pu",
    "center": "cn",
    "rg_id": "id",
}
#: fields of @RG that a column may hold, by their names in lower case
_FIELDS = ("id", "sm", "lb", "pl", "pu", "pm", "cn", "ds", "dt", "pi")
_COLUMNS = ("sample", "lane", "fastq_1", "fastq_2", "read_group", "output", *_FIELDS)
#: extensions of input that may have read groups
_ALIGNMENTS = (".bam", ".cram", ".sam")
_MAX_BYTES = 1 << 28
_WANTED = "the first line names the columns: sample, fastq_1 and, for pairs, fastq_2"


@dataclass(frozen=True)
class SheetSample:
    """A sample's rows.

    Attributes:
        line: line number of its first row, 1-based.
        reads, mates: files of R1 and R2 by lane; no mates: single reads.
        read_groups: an @RG line for each lane; none: keep those of BAM or CRAM.
        output: path, or None.
    """

    name: str
    line: int
    reads: tuple[str, ...]
    mates: tuple[str, ...]
    read_groups: tuple[str, ...]
    output: str | None


@dataclass(frozen=True)
class _Row:
    line: int
    values: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.values.get(column, "")


def read_sheet(path: str) -> tuple[list[SheetSample], list[str]]:
    """The samples in the order of their first rows, and the names of unused columns.

    Spaces around fields, empty lines, a byte order mark and the case of column names are ignored.

    Raises:
        InputError: the table cannot be read, or contradicts itself.
    """
    rows = _rows(path)
    header, unused = _header(next(rows, None), path)
    samples: dict[str, list[_Row]] = {}
    for line, fields in rows:
        if len(fields) > len(header):
            raise InputError(f"{len(fields)} fields, and the header has {len(header)}", path, line)
        row = _Row(line, {name: field for name, field in zip(header, fields, strict=False) if name and field})
        _check(row, path)
        samples.setdefault(row["sample"], []).append(row)
    if not samples:
        raise InputError("the sample sheet has no sample", path)
    made = [_sample(name, rows, path) for name, rows in samples.items()]
    _check_outputs(made, path)
    return made, unused


def _rows(path: str) -> Iterator[tuple[int, list[str]]]:
    """Non-empty lines, with their numbers."""
    with InputFile(path) as file:
        data = file.read(_MAX_BYTES)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError("the sample sheet is not UTF-8 text (save it as CSV)", path) from None
    if "\0" in text:
        raise InputError("the sample sheet is not text (save it as CSV)", path)
    lines = text.splitlines()
    delimiter = "\t" if "\t" in next((line for line in lines if line.strip()), "") else ","
    table = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for fields in table:
            fields = [field.strip() for field in fields]
            if any(fields):
                yield table.line_num, fields
    except csv.Error as error:
        what = "not a line of a table: a quotation mark is not closed, or stands within a field, or a field is too long"
        raise InputError(what, path, table.line_num) from error


def _header(row: tuple[int, list[str]] | None, path: str) -> tuple[list[str], list[str]]:
    """The columns, "" for unused ones, and the names of the unused ones.

    Raises:
        InputError: a column is missing, is there twice, or seems to be misspelt.
    """
    if row is None:
        raise InputError(f"the sample sheet is empty ({_WANTED})", path)
    line, names = row
    given = [re.sub(r"[\s-]+", "_", name.lstrip("#").strip().lower()) for name in names]
    header = [_SYNONYMS.get(name, name) for name in given]
    for name in ("sample", "fastq_1"):
        if name not in header:
            raise InputError(f"the sample sheet has no column '{name}' ({_WANTED})", path, line)
    twice = next((name for name in header if name in _COLUMNS and header.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"the column '{twice}' is there twice", path, line)
    unused = [name for name in header if name and name not in _COLUMNS]
    for name in unused:
        meant = difflib.get_close_matches(name, [*_COLUMNS[:6], *_SYNONYMS], 1, 0.8)
        if meant:
            raise InputError(f"unknown column '{name}' (did you mean '{meant[0]}'?)", path, line)
    return [name if name in _COLUMNS else "" for name in header], unused


def _check(row: _Row, path: str) -> None:
    """Raise InputError if a row is incomplete."""
    for column in ("sample", "fastq_1"):
        if not row[column]:
            raise InputError(f"no {column}", path, row.line)
    if "-" in (row["fastq_1"], row["fastq_2"]):
        raise InputError("standard input cannot be a sample's file", path, row.line)
    if row["fastq_2"] and are_same(row["fastq_1"], row["fastq_2"]):
        raise InputError("fastq_1 and fastq_2 are one file", path, row.line)


def _sample(name: str, rows: list[_Row], path: str) -> SheetSample:
    """Make a sample of its rows; raises InputError if they contradict each other."""
    seen: set[str] = set()
    for row in rows:
        for file in filter(None, (row["fastq_1"], row["fastq_2"])):
            if file in seen:
                raise InputError(f"sample '{name}' has {file} twice", path, row.line)
            seen.add(file)
        if bool(row["fastq_2"]) != bool(rows[0]["fastq_2"]):
            raise InputError(f"sample '{name}' has lanes with pairs and without (give them two names)", path, row.line)
    outputs = dict.fromkeys(row["output"] for row in rows if row["output"])
    if len(outputs) > 1:
        line = next(row.line for row in rows if row["output"] not in ("", rows[0]["output"]))
        raise InputError(f"sample '{name}' has two outputs, {' and '.join(outputs)}", path, line)
    if not outputs and (os.path.basename(name) != name or name in (".", "..")):
        raise InputError(
            f"the output of sample '{name}' cannot have its name (give it in a column 'output')", path, rows[0].line
        )
    return SheetSample(
        name,
        rows[0].line,
        tuple(row["fastq_1"] for row in rows),
        tuple(row["fastq_2"] for row in rows if row["fastq_2"]),
        tuple(_read_groups(name, rows, path)),
        next(iter(outputs), None),
    )


def _read_groups(name: str, rows: list[_Row], path: str) -> Iterator[str]:
    """The @RG line of each lane; none if BAM and CRAM files keep theirs."""
    named = any(row["read_group"] or any(row[field] for field in _FIELDS) for row in rows)
    if not named and all(row["fastq_1"].lower().endswith(_ALIGNMENTS) for row in rows):
        return
    lanes = [row["lane"] for row in rows]
    if len(set(lanes)) < len(lanes):
        lanes = [""] * len(rows)
    lines: dict[str, str] = {}
    for number, (row, lane) in enumerate(zip(rows, lanes, strict=True), 1):
        identifier = name if len(rows) == 1 else f"{name}.{lane or number}"
        fields = {"id": identifier, "sm": name} | {field: row[field] for field in _FIELDS if row[field]}
        line = row["read_group"] or "\t".join(["@RG", *(f"{key.upper()}:{value}" for key, value in fields.items())])
        try:
            line, identifier = parse_read_group(line)
        except UsageError as error:
            raise InputError(str(error), path, row.line) from None
        if lines.setdefault(identifier, line) != line:
            raise InputError(f"sample '{name}' has two read groups '{identifier}'", path, row.line)
        yield line


def _check_outputs(samples: list[SheetSample], path: str) -> None:
    """Raise InputError if two samples have one output."""
    taken: dict[str, str] = {}
    for sample in samples:
        if sample.output is not None:
            other = taken.setdefault(os.path.realpath(sample.output), sample.name)
            if other != sample.name:
                raise InputError(f"samples '{other}' and '{sample.name}' have one output", path, sample.line)
