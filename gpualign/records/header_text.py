"""The text of a SAM header. Its bytes need not be UTF-8, and do not change: surrogates represent all others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpualign.errors import InputError

_TAG = re.compile(r"[A-Za-z][A-Za-z0-9]")
_END_OF_LINE, _END_OF_CONTIGS, _CARRIAGE_RETURNS = map(re.compile, ("\n", "\n(?!@SQ)", r"\r+(?=\n|\Z)"))
_NO_UTF_8 = re.compile("[\udc80-\udcff]")
#: characters of a header that a message shows
_SHOWN = 40


def lines_of(header: bytes) -> list[str]:
    """Not by str.splitlines, which ends lines at other characters, too. @SQ lines that follow each other are one, with
    line ends within: there may be millions.
    """
    text, lines, at = text_of(header), list[str](), 0
    if "\r" in text:
        text = _CARRIAGE_RETURNS.sub("", text)
    while at < len(text):
        found = (_END_OF_CONTIGS if text.startswith("@SQ", at) else _END_OF_LINE).search(text, at)
        end = len(text) if found is None else found.start()
        if end > at:
            lines.append(text[at:end])
        at = end + 1
    return lines


def text_of(data: bytes) -> str:
    """Bytes of a header as text."""
    return data.decode(errors="surrogateescape")


def bytes_of(text: str) -> bytes:
    """The bytes of such text."""
    return text.encode(errors="surrogateescape")


def in_utf8(text: str) -> str:
    """Such text for other outputs and for messages: what is not UTF-8 is Latin-1."""
    return _NO_UTF_8.sub(lambda found: chr(ord(found[0]) - 0xDC00), text)


def header_fields(line: str) -> dict[str, str]:
    """Fields of a line of a SAM header. A command line (CL) may hold tabs; what else is no field is left out."""
    fields: dict[str, str] = {}
    for field in line.rstrip("\n").split("\t")[1:]:
        tag, colon, value = field.partition(":")
        if "CL" in fields and not (colon and _TAG.fullmatch(tag) and tag not in fields):
            fields["CL"] += f"\t{field}"
        elif colon:
            fields[tag] = value
    return fields


def checked_lines(lines: Sequence[str], kind: str, needed: Sequence[str], path: str) -> list[dict[str, str]]:
    """The fields of a header's lines of one kind, such as "@RG".

    Raises:
        InputError: one has something that is no field, or lacks a field that is needed.
    """
    found = []
    each = (line for lines_of_kind in lines for line in lines_of_kind.split("\n"))
    for number, line in enumerate(each, 1):
        if line.partition("\t")[0] != kind:
            continue
        fields = header_fields(line)
        bad = next((field for field in line.split("\t")[1:] if ":" not in field), None)
        if bad is not None and "CL" not in fields:
            raise header_error(f"has {bad[:_SHOWN]!r}, which is not a field (TAG:VALUE)", kind, number, path)
        if missing := [tag for tag in needed if tag not in fields]:
            raise header_error(f"has no {missing[0]}", kind, number, path)
        found.append(fields)
    return found


def header_error(what: str, kind: str, number: int, path: str) -> InputError:
    """What is wrong with a line of a header."""
    return InputError(f"line {number} of its header ({kind}) {in_utf8(what)}", path)
