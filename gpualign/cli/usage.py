"""What a command's help says of its options, and the message for a command without arguments."""

from __future__ import annotations

import click

from gpualign.options import sections


def short_usage(name: str, command: click.Command) -> str:
    """Purpose, usage and the first example of a command's help, and how to get more."""
    text = command.help or ""
    purpose = " ".join(text.split("\n\n")[0].split())
    with click.Context(command, info_name=f"gpualign {name}") as context:
        usage = " ".join(command.collect_usage_pieces(context))
    lines = [purpose, "", f"Usage:   gpualign {name} {usage}"]
    _, found, examples = text.partition("Examples:\n")
    if found:
        lines.append(f"Example: {examples.splitlines()[0].strip()}")
    return "\n".join([*lines, "", f"gpualign {name} --help explains every option."])


def write_options(command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of a command's help, each group under its heading."""
    for heading, options in sections(command, context).items():
        with formatter.section(heading):
            formatter.write_dl([row for option in options if (row := option.get_help_record(context)) is not None])
