"""The message for a command without arguments: usage and an example."""

from __future__ import annotations

import click


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
