"""Typed errors. The command line turns each into one sentence and an exit code (docs/formats.md)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator

#: a complaint about a character that stands for a residue but for no nucleotide
_RESIDUE = re.compile(r"'[EFILPQZJOXefilpqzjox*]' is not a nucleotide")


class GpualignError(Exception):
    """A failure at run time that is nobody's input: exit code 1."""

    exit_code = 1


class UsageError(GpualignError):
    """A parameter that breaks a rule; the message names the rule: exit code 2."""

    exit_code = 2


class InputError(GpualignError):
    """Input that cannot be read or is invalid: exit code 3.

    Args:
        what: what is wrong and, in brackets, what to do about it.
        path: the file, "-" for standard input.
        line: 1-based line number where it is known.
    """

    exit_code = 3

    def __init__(self, what: str, path: str | None = None, line: int | None = None) -> None:
        self.what, self.path, self.line = what, path, line
        location = "" if path is None else shown_input(path)
        if location and line is not None:
            location += f":{line}"
        super().__init__(f"{location}: {what}" if location else what)


class RecordError(InputError):
    """A record that cannot be used; ``with_symbol_lines`` adds the line to the message.

    Args:
        record: its name.
        symbol: of its sequence, if that is what is wrong.
    """

    def __init__(self, what: str, path: str | None, record: str, symbol: str | None = None) -> None:
        self.record, self.symbol = record, symbol
        super().__init__(what, path)


class UnknownSymbolError(RecordError):
    """A symbol of a sequence that cannot be used.

    Args:
        record: the sequence's name.
    """

    def __init__(self, record: str, symbol: str, why: str, path: str | None) -> None:
        super().__init__(f"record '{record}': symbol {symbol!r} {why}", path, record, symbol)


def shown_input(path: str) -> str:
    """An input's path as messages name it."""
    return "standard input" if path == "-" else path


def shown_inputs(paths: Iterable[str]) -> str:
    """Several of them."""
    return " and ".join(map(shown_input, paths))


@contextlib.contextmanager
def proteins_want(what: str) -> Iterator[None]:
    """Where residues are refused as nucleotides, say what option reads proteins."""
    try:
        yield
    except InputError as error:
        if not _RESIDUE.search(error.what):
            raise
        raise InputError(f"{error.what} (proteins need {what})", error.path, error.line) from None


def check_count(what: str, read: int, written: int) -> None:
    """The look at the writer, before output leaves: nothing that was read may be missing, nothing may be there twice.

    Raises:
        AssertionError: a defect of gpualign; the run ends without output.
    """
    if read != written:
        raise AssertionError(f"{read} {what} read, but {written} written")


def check_range(what: str, value: int, minimum: int, maximum: int = 2**31 - 1) -> None:
    """Whole numbers have bounds; the largest is what native code counts with.

    Raises:
        UsageError: ``value`` is not from ``minimum`` to ``maximum``.
    """
    if not minimum <= value <= maximum:
        raise UsageError(f"{what} must be from {minimum:,} to {maximum:,}, not {value:,}")


def counted(number: int, what: str, plural: str | None = None) -> str:
    """A number with what is counted: "1 read", "2,000 reads"."""
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


class DeviceError(GpualignError):
    """No usable GPU where one was asked for: exit code 4."""

    exit_code = 4


class OutOfMemoryError(GpualignError):
    """Host or device memory exhausted after backing off: exit code 5."""

    exit_code = 5
