"""Typed errors. The command line turns each into one sentence and an exit code (docs/formats.md)."""

from __future__ import annotations


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
        place = "" if path is None else shown_input(path)
        if place and line is not None:
            place += f":{line}"
        super().__init__(f"{place}: {what}" if place else what)


def shown_input(path: str) -> str:
    """An input's path as messages name it."""
    return "standard input" if path == "-" else path


def check_count(what: str, read: int, written: int) -> None:
    """The look at the writer, before output leaves: nothing that was read may be missing, nothing may be there twice.

    Raises:
        AssertionError: a defect of gpualign; the run ends without output.
    """
    if read != written:
        raise AssertionError(f"{read} {what} read, but {written} written")


class DeviceError(GpualignError):
    """No usable GPU where one was asked for: exit code 4."""

    exit_code = 4


class OutOfMemoryError(GpualignError):
    """Host or device memory exhausted after backing off: exit code 5."""

    exit_code = 5
