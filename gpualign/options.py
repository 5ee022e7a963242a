"""Options that several commands share, and the types they use. Nothing here computes."""

from __future__ import annotations

import dataclasses
import importlib.util
import shlex
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from gpualign.errors import UsageError
from gpualign.fields import REQUIRED, option_of, take, types_of
from gpualign.params import RunOptions, TableFormat

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes or bases with an optional suffix K, M, G or T (powers of 1024)."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = str(value).strip().upper().removesuffix("B").removesuffix("I")
        number, unit = (text[:-1], text[-1]) if text[-1:] in "KMGT" and text else (text, "")
        try:
            size = int(float(number) * _UNITS[unit])
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a size (expected a number with K, M, G or T, like 512M)", param, ctx)
        return size


SIZE = Size()


class _NumberOr(click.ParamType):  # type: ignore[type-arg]
    """A whole number, or a word."""

    name = "number"

    def __init__(self, *words: str) -> None:
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value in self._words or isinstance(value, int):
            return value  # type: ignore[no-any-return]
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor {' or '.join(self._words)}.", param, ctx)


class _Words(click.ParamType):  # type: ignore[type-arg]
    """Words separated by commas, one at least."""

    name = "words"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        words = value if isinstance(value, tuple) else tuple(word.strip() for word in value.split(",") if word.strip())
        return words or self.fail("no word is given", param, ctx)


def shown_size(size: int) -> str:
    """A size in the notation of :class:`Size`."""
    unit = next(unit for unit in reversed(_UNITS) if size % _UNITS[unit] == 0)
    return f"{size // _UNITS[unit]}{unit}"


def options_of(kind: type[Any], *names: str) -> Callable[[F], F]:
    """The options of a dataclass's fields, see :class:`gpualign.fields.Option`. Their values are None where they are
    not given; :func:`gpualign.fields.take` makes the dataclass of them.

    Args:
        names: of fields, in the order of --help; none: all that are options.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    chosen = names or [name for name, field in fields.items() if option_of(field) is not None]
    return together(*(_option(kind, fields[name]) for name in chosen))


def _option(kind: type[Any], field: dataclasses.Field[Any]) -> Callable[[F], F]:
    found = option_of(field)
    assert found is not None
    (words, others), given = types_of(kind)[field.name], dict(found.more)  # type: ignore[arg-type]
    unit, limits, show_default = given.pop("unit", None), given.pop("limits", None), given.pop("show_default", True)
    more: dict[str, Any] = {"required": True} if field.default is REQUIRED else {"default": None}
    if bool in others:
        more |= {"is_flag": True, **({"flag_value": False} if field.default is True else {})}
    elif unit is not None:
        more |= {"type": SIZE, "metavar": "SIZE"}
    elif words:
        more["type"] = _NumberOr(*words) if int in others else click.Choice(words)
    elif tuple in others:
        more["type"] = _Words()
    elif (number := next((each for each in (float, int) if each in others), None)) is not None:
        more |= {"type": click.IntRange(*limits) if limits else number, "metavar": "INT" if number is int else "FLOAT"}
    text = found.help
    if show_default and bool not in others and field.default not in (None, REQUIRED) and "[default:" not in text:
        text += f"  [default: {field.default if unit is None else shown_size(field.default)}]"
    return headed(found.heading, click.option(*found.names, field.name, help=text, **{**more, **given}))


def headed(heading: str, *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Options under a heading of --help."""

    def add(command: F) -> F:
        before = len(getattr(command, "__click_params__", ()))
        together(*options)(command)
        for option in vars(command)["__click_params__"][before:]:
            vars(option)["heading"] = heading
        return command

    return add


def sections(command: click.Command, context: click.Context) -> dict[str, list[click.Option]]:
    """The options of --help under their headings, in order; how a command runs stands last, with --help itself."""
    found: dict[str, list[click.Option]] = {}
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            found.setdefault(vars(option).get("heading", "Options"), []).append(option)
    ordered = {heading: found[heading] for heading in sorted(found, key="Running".__eq__)}
    last = next(reversed(ordered), "Options")
    of_help = command.get_help_option(context)
    return ordered | {last: [*ordered.get(last, ()), *([] if of_help is None else [of_help])]}


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


debug_option = headed("Running", click.option("--debug", is_flag=True, help="Show a Python traceback on errors."))
_running = options_of(RunOptions, "threads", "device", "max_gpu_mem", "batch_size")
_messages = together(options_of(RunOptions, "progress", "quiet", "json"), debug_option)
#: add the options of :class:`RunOptions`, but for the output, to a command that runs on this machine alone
local_run_options = together(_running, _messages)
#: add all of them; collect them with :func:`take_run_options`
run_options = together(
    _running,
    options_of(RunOptions, "dask"),
    click.option("--cluster", metavar="WHERE", hidden=True, help="The former name of --dask."),
    _messages,
)
#: add the output and, of a table, its format
output_option = options_of(RunOptions, "output")
table_options = options_of(RunOptions, "output", "output_format")


def take_run_options(values: dict[str, Any]) -> RunOptions:
    """Remove the shared options from a command's keyword arguments and make them a :class:`RunOptions`."""
    values.pop("debug")
    former = values.pop("cluster", None)
    if values.get("dask") is None:
        values["dask"] = former
    if "output_format" in values:
        values["output_format"] = _table_format(values["output_format"], values["output"])
    values["command_line"] = command_line()
    return take(RunOptions, values)


def command_line() -> str:
    """The command as it was called, for headers and reports."""
    return shlex.join(["gpualign", *sys.argv[1:]])


_TABLE_NAMES: dict[str, TableFormat] = {"tsv": "tsv", "parquet": "parquet", "arrow": "arrow", "feather": "arrow"}


def _table_format(given: TableFormat | None, output: str | None) -> TableFormat:
    """The table format by the option, else by the output's name.

    Raises:
        UsageError: they contradict each other, or pyarrow is missing.
    """
    parts = (output or "").lower().split(".")[1:]
    named = _TABLE_NAMES.get(parts[-1]) if parts else None
    form = given or named or "tsv"
    if named not in (None, form):
        raise UsageError(f"{output} is named as {named}, not as {form}")
    if parts[-1:] in (["gz"], ["bgz"]) and (form != "tsv" or _TABLE_NAMES.get(parts[-2:][0], "tsv") != "tsv"):
        raise UsageError(f"Parquet and Arrow are compressed already: {output}")
    if form != "tsv" and importlib.util.find_spec("pyarrow") is None:
        raise UsageError(f"{form} needs pyarrow (pip install 'gpualign[tables]')")
    return form
