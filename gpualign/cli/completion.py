"""``gpualign completion``: shell scripts that complete commands, options and file names."""

from __future__ import annotations

import click

#: the variable through which the shell's script asks for words
VARIABLE = "_GPUALIGN_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes commands, options and file names on the Tab key.

    \b
    Examples:
      eval "$(gpualign completion bash)"    # in ~/.bashrc; zsh: the same with zsh in ~/.zshrc
      gpualign completion fish > ~/.config/fish/completions/gpualign.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    # the script alone: source() would also run bash to look at its version
    script = kind(click.get_current_context().find_root().command, {}, "gpualign", VARIABLE)
    click.echo(script.source_template % script.source_vars())


def answer(cli: click.Command, request: str) -> int:
    """Print the words that the shell's script asks for; returns the exit code."""
    from click.shell_completion import shell_complete

    return shell_complete(cli, {}, "gpualign", VARIABLE, request)
