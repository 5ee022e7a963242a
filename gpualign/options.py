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
from gpualign.params import TABLE_FORMATS, RunOptions

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


def shown_size(size: int) -> str:
    """A size in the notation of :class:`Size`."""
    unit = next(unit for unit in reversed(_UNITS) if size % _UNITS[unit] == 0)
    return f"{size // _UNITS[unit]}{unit}"


def option_of(params: type[Any], *names: str, field: str = "", **more: Any) -> Callable[[F], F]:
    """An option whose default is that of a params class's ``field``, or else of the field with the option's name."""
    given = [name for name in names if name.isidentifier()]
    named = given[0] if given else max(names, key=len).lstrip("-").replace("-", "_")
    default = default_of(params, field or named)
    if isinstance(default, int | float) and "type" not in more:
        more = {"type": type(default), "metavar": "INT" if isinstance(default, int) else "FLOAT", **more}
    return click.option(*names, default=default, show_default=True, **more)


def size_option(params: type[Any], *names: str, help: str) -> Callable[[F], F]:
    """An option like :func:`option_of` for a number of bytes or bases with K, M or G."""
    default = default_of(params, max(names, key=len).lstrip("-").replace("-", "_"))
    text = f"{help}  [default: {shown_size(default)}]"
    return click.option(*names, type=SIZE, default=default, metavar="SIZE", help=text)


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


#: add -k and -w, the minimizers of an index
seed_options = together(
    click.option(
        "-k", type=int, metavar="INT", help="Seed length, odd, at most 31.  [default: from the reference's size]"
    ),
    click.option(
        "-w",
        type=int,
        metavar="INT",
        help="Window: the smallest of w neighbouring k-mers is kept, about one in (w + 1) / 2.  "
        "[default: from the reference's size]",
    ),
)


def default_of(params: type[Any], name: str) -> Any:
    """The default of a dataclass field."""
    for field in dataclasses.fields(params):
        if field.name == name:
            return field.default
    raise AttributeError(f"{params.__name__} has no field {name}")


threads_option = click.option(
    "-t",
    "--threads",
    type=click.IntRange(min=1),
    metavar="INT",
    help="CPU threads; the output does not depend on them.  [default: all cores]",
)
tmp_dir_option = click.option(
    "--tmp-dir", metavar="DIR", help="Folder for temporary files.  [default: TMPDIR, else that of the output]"
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print no summary and no warnings.")
debug_option = click.option("--debug", is_flag=True, help="Show a Python traceback on errors.")
#: add the options of :class:`RunOptions` to a command that runs on this machine alone
local_run_options = together(
    click.option(
        "-o", "--output", metavar="FILE", help="Output file; '-' is standard output.  [default: standard output]"
    ),
    threads_option,
    option_of(
        RunOptions,
        "--device",
        metavar="DEV",
        help="auto, cpu, cuda or cuda:0,1. auto: a GPU if there is one and enough work for it.",
    ),
    click.option(
        "--max-gpu-mem",
        type=SIZE,
        metavar="SIZE",
        help="GPU memory to use at most, with K, M or G.  [default: the free memory]",
    ),
    size_option(
        RunOptions,
        "--batch-size",
        help="Bases per batch; larger batches take more memory, and the output is the same.",
    ),
    click.option("--no-progress", is_flag=True, help="Hide the progress bar (shown only on a terminal)."),
    quiet_option,
    click.option("--json", metavar="FILE", help="Write a run report as JSON."),
    debug_option,
)
#: add all options of :class:`RunOptions` to a command; collect them with :func:`take_run_options`
run_options = together(
    local_run_options,
    click.option(
        "--dask",
        metavar="WHERE",
        help="Run on a Dask cluster: local:N, tcp://host:port or scheduler.json (docs/guides/dask.md).",
    ),
    click.option("--cluster", metavar="WHERE", hidden=True, help="The former name of --dask."),
)


#: adds the format of a command's table
table_option = click.option(
    "--output-format",
    "table_format",
    type=click.Choice(TABLE_FORMATS),
    help="Format of the table; Parquet and Arrow have the content of TSV.  [default: by the output's name: .parquet or "
    ".arrow, else tsv]",
)


def take_run_options(values: dict[str, Any]) -> RunOptions:
    """Remove the shared options from a command's keyword arguments and make them a :class:`RunOptions`."""
    values.pop("debug")
    output, dask, former = values.pop("output"), values.pop("dask", None), values.pop("cluster", None)
    return RunOptions(
        output=output,
        threads=values.pop("threads") or 0,
        device=values.pop("device"),
        max_gpu_mem=values.pop("max_gpu_mem"),
        batch_size=values.pop("batch_size"),
        progress=not values.pop("no_progress"),
        quiet=values.pop("quiet"),
        json=values.pop("json"),
        dask=former if dask is None else dask,
        output_format=_table_format(values.pop("table_format"), output) if "table_format" in values else "tsv",
        command_line=command_line(),
    )


def command_line() -> str:
    """The command as it was called, for headers and reports."""
    return shlex.join(["gpualign", *sys.argv[1:]])


_TABLE_NAMES = {**{name: name for name in TABLE_FORMATS}, "feather": "arrow"}


def _table_format(given: str | None, output: str | None) -> str:
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
