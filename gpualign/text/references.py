"""Reads references from FASTA, GenBank or EMBL."""

from __future__ import annotations

import io
import itertools
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.reference import Reference
from gpualign.streaming.ordered import run_ordered
from gpualign.text import tuning
from gpualign.text.chunks import read_chunks
from gpualign.text.fastx import LongRecord, parse
from gpualign.text.files import InputFile
from gpualign.text.text import Streamed, source_of

#: special values of RNAME and RNEXT
_NO_NAMES = {"*": "no contig", "=": "the mate's contig"}
#: the SAM specification's limit on LN
_LONGEST_CONTIG = 2**31 - 1
_FORMATS = {"genbank": "GenBank", "embl": "EMBL"}
#: Biopython's warning
_OTHER_LENGTH = re.compile(r"Expected sequence length (\d+), found (\d+)")
_UNREADABLE = "a record is malformed (give FASTA)"


def read_reference(path: str, shown: Callable[[int], object] = lambda bases: None) -> Reference:
    """Read and pack a reference.

    Args:
        shown: called with the number of bases read since the last call.

    Raises:
        InputError: no record, an empty or duplicate one, a name with a special meaning in SAM, a character that is
            not a nucleotide code, damaged input.
    """
    packer = _native.ReferencePacker()
    names: list[str] = []
    lengths: list[int] = []
    seen: set[str] = set()
    for name, parts in _records(path):
        if not name:
            raise InputError(f"record {len(names) + 1} has no name (put one after the '>')", path)
        if name in _NO_NAMES:
            raise InputError(f"a record is named '{name}', which means {_NO_NAMES[name]} in SAM (rename it)", path)
        if name in seen:
            raise InputError(_duplicate(path, name), path)
        length = 0
        for sequence in parts:
            length += len(sequence)
            shown(len(sequence))
            if length > _LONGEST_CONTIG:
                raise InputError(f"record '{name}' is longer than SAM allows, 2,147,483,647 bases", path)
            try:
                packer.append(sequence)
            except ValueError as error:
                raise InputError(str(error), path) from None
        if length == 0:
            raise InputError(f"record '{name}' has no sequence (remove it or fill it)", path)
        seen.add(name)
        names.append(name)
        lengths.append(length)
    if not names:
        raise InputError("the reference is empty (no FASTA record)", path)
    return Reference(names, offsets_of(lengths), *packer.finish())


def _records(path: str) -> Iterator[tuple[str, Iterable[NDArray[np.uint8]]]]:
    """Names, and the bases of each record in parts, to be read before the next record."""
    with InputFile(path) as file:
        head = file.read(1 << 16)
        flat_file = _flat_file_format(head)
        if flat_file:
            for name, sequence in _flat_file_records(file, head, flat_file):
                yield name, (sequence,)
            return
        for chunk in read_chunks(source_of(file, head), tuning.REFERENCE_CHUNK, long_records=True):
            if isinstance(chunk, LongRecord):
                parts = run_ordered(chunk.chunks(tuning.REFERENCE_CHUNK), parse, tuning.REFERENCE_PARSERS)
                first = next(parts)
                yield first.name(0), (part.bases for part in itertools.chain((first,), parts))
                continue
            if chunk.kind == "fastq":
                raise InputError("a FASTQ file where the reference should be (is it the first argument?)", path, 1)
            batch = parse(chunk)
            for i in range(len(batch)):
                yield batch.name(i), (batch.bases[batch.base_offsets[i] : batch.base_offsets[i + 1]],)


def _flat_file_format(head: bytes) -> str | None:
    if head.startswith(b"LOCUS "):
        return "genbank"
    if head.startswith(b"ID   "):
        return "embl"
    return None


def _flat_file_records(file: InputFile, head: bytes, kind: str) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    rest = [head]
    while block := file.read(tuning.REFERENCE_CHUNK):
        rest.append(block)
    whole = b"".join(rest).decode("utf-8", "replace")
    if not whole.rstrip().endswith("\n//"):
        raise InputError("is cut short: its last record does not end in a line //", file.path)
    try:
        for record in _parsed_by_biopython(whole, kind):
            text = str(record.seq).upper().replace("U", "T")
            if unknown := set(text) - set("ACGTNRYSWKMBDHV"):
                raise InputError(f"record '{record.id}': {min(unknown)!r} is not a nucleotide", file.path)
            yield str(record.id), np.frombuffer(text.encode(), np.uint8)
    except InputError:
        raise
    except Exception as error:  # Biopython raises many kinds
        found = _OTHER_LENGTH.search(str(error))
        what = f"a record says that it has {found[1]} bases, and has {found[2]}" if found else _UNREADABLE
        raise InputError(f"cannot be read as {_FORMATS[kind]}: {what}", file.path) from error


def _parsed_by_biopython(text: str, kind: str) -> list[Any]:
    """Parse with Biopython; only its warning that the sequence is too short becomes an error."""
    from Bio import BiopythonParserWarning, SeqIO

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiopythonParserWarning)
        warnings.filterwarnings("error", "Expected sequence length", BiopythonParserWarning)
        return list(SeqIO.parse(io.StringIO(text), kind))


def _duplicate(path: str, name: str) -> str:
    """The message for a duplicate name, with both line numbers if the file can be read again."""
    lines: list[int] = []
    if os.path.isfile(path):  # a pipe cannot be read again
        with InputFile(path) as file:
            for chunk in read_chunks(Streamed(file), tuning.REFERENCE_CHUNK):
                for i, line in enumerate(bytes(chunk.text()).split(b"\n")):
                    if line.startswith(b">") and line[1:].split(maxsplit=1)[:1] == [name.encode()]:
                        lines.append(chunk.first_line() + i)
    where = f" (lines {lines[0]} and {lines[1]}; rename one)" if len(lines) > 1 else " (rename one)"
    return f"two records are named '{name}'{where}"
