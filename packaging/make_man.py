"""Write the manual pages of gpualign and its commands: python packaging/make_man.py FOLDER.

A page has the sections of `--help-all`: the description, the options under their headings, and the exit codes.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import click

from gpualign import __version__
from gpualign.cli import COMMANDS, cli
from gpualign.options import sections

_EXIT = """0: done, also if nothing was found. 1: failure at run time. 2: wrong command line. 3: input that cannot be
read or is invalid. 4: a GPU was asked for, but none can be used. 5: out of memory."""


def quoted(text: str) -> str:
    """Text for troff: no escapes, no requests at the beginnings of lines, and ASCII."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    lines = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text).splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def page_of(name: str, purpose: str, usage: str, text: str, options: dict[str, list[tuple[str, str]]]) -> str:
    """A page as troff.

    Args:
        name: with a dash between program and command.
        text: paragraphs; those after a line of \\b keep their lines.
        options: (spellings, help) by heading.
    """
    lines = [f'.TH "{name.upper()}" "1" "" "gpualign {__version__}" "gpualign"', ".SH NAME"]
    lines += [f"{quoted(name)} \\- {quoted(purpose)}", ".SH SYNOPSIS", f".B {quoted(name.replace('-', ' ', 1))}"]
    lines += [quoted(usage), ".SH DESCRIPTION"]
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        kept = paragraph.removeprefix("\b\n")
        lines += [".PP", quoted(kept)] if kept == paragraph else [".PP", ".nf", quoted(kept), ".fi"]
    if options:
        lines.append(".SH OPTIONS")
    for heading, rows in options.items():
        lines.append(f".SS {quoted(heading)}")
        for spellings, help in rows:
            lines += [".TP", f".B {quoted(spellings)}", quoted(" ".join(help.split()))]
    others = ["gpualign", *(f"gpualign-{command}" for command in COMMANDS)]
    also = ", ".join(f"\\fB{quoted(other)}\\fP(1)" for other in others if other != name)
    return "\n".join([*lines, ".SH EXIT STATUS", quoted(_EXIT), ".SH SEE ALSO", also, ""])


def write_pages(folder: Path) -> list[str]:
    """Returns the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    group = click.Context(cli, info_name="gpualign")
    listed = "\n".join(f"  {name:<12}{text}" for name, (_, text) in COMMANDS.items())
    pages = {
        "gpualign": page_of(
            "gpualign",
            "read mapping and sequence alignment on GPUs and CPUs",
            "COMMAND [OPTIONS] ...",
            f"{inspect.cleandoc(cli.help or '')}\n\n\b\nCommands:\n{listed}",
            {},
        )
    }
    for name, (_, purpose) in COMMANDS.items():
        command = cli.get_command(group, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=group, **command.context_settings)
        rows = {
            heading: [row for option in options if (row := option.get_help_record(context)) is not None]
            for heading, options in sections(command, context).items()
        }
        usage = " ".join(command.collect_usage_pieces(context))
        pages[f"gpualign-{name}"] = page_of(f"gpualign-{name}", purpose, usage, command.help or "", rows)
    for page, text in pages.items():
        (folder / f"{page}.1").write_text(text)
    return sorted(f"{page}.1" for page in pages)


if __name__ == "__main__":
    print(*write_pages(Path(sys.argv[1])))
