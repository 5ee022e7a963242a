"""The command line: a lazy click group and the error boundary.

This module imports nothing heavier than click, so that ``--help`` and ``--version`` are instant. A command's module is
imported when the command is used.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
from typing import NoReturn

import click

from gpualign.cli.messages import complain, lose_messages_rather_than_results
from gpualign.cli.signals import Terminated, end_soon_after_signals, handle_signals, say_why
from gpualign.cli.usage import arrange_help, meant, short_usage
from gpualign.errors import GpualignError
from gpualign.version import __version__

#: command name -> (module, one-line help), so that listing the commands imports none of them
COMMANDS: dict[str, tuple[str, str]] = {
    "map": ("gpualign.map.command", "Map reads (FASTA, FASTQ, BAM) to a reference and write SAM, BAM, CRAM or PAF."),
    "mem": ("gpualign.map.mem_command", "Map reads with the options and tags of bwa mem: a drop-in."),
    "sort": ("gpualign.markdup.sort_command", "Sort records of SAM, BAM or CRAM by coordinate, name or template."),
    "markdup": ("gpualign.markdup.command", "Mark duplicates in SAM, BAM or CRAM of any aligner."),
    "index": ("gpualign.index.command", "Build and save the minimizer index of a reference."),
    "pairwise": (
        "gpualign.pairwise.command",
        "Align all against all: global, semi-global, local, or with bounded gaps.",
    ),
    "cluster": ("gpualign.cluster.command", "Cluster sequences by exact identity: OTUs, non-redundant sets."),
    "derep": ("gpualign.derep.command", "Write equal sequences once, with their abundance."),
    "sintax": ("gpualign.sintax.command", "Classify sequences by taxonomy with the SINTAX algorithm."),
    "chimeras": ("gpualign.chimeras.command", "Find chimeric sequences with the UCHIME algorithm."),
    "makedb": ("gpualign.pairwise.database.makedb_command", "Prepare sequences as a database for pairwise --top."),
    "lcs-filter": (
        "gpualign.lcs.command",
        "Rank subjects by their longest common subsequence (not substring) with a query.",
    ),
    "mems": ("gpualign.mems.command", "Find maximal exact matches: a drop-in for mummer."),
    "search": ("gpualign.search.command", "Find all hits of patterns with at most k errors."),
    "align": (
        "gpualign.genomes.command",
        "Align genome to genome: nucmer, delta-filter, show-coords, show-snps.",
    ),
    "verify": ("gpualign.verify.command", "Compute edit distances of queries to candidate regions, within a limit."),
    "devices": ("gpualign.cli.devices", "Show and check the GPUs."),
    "completion": ("gpualign.cli.completion", "Print a completion script for bash, zsh or fish."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        for parameter in command.params:
            if parameter.type is click.STRING and _names_file(parameter):
                parameter.type = click.Path(readable=False)  # for completion only; commands check files themselves
        arrange_help(cmd_name, command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if (word := args[0]) not in COMMANDS and not word.startswith("-"):
            from difflib import get_close_matches  # nothing else needs it

            near = [name for name in COMMANDS if name.startswith(word)] or get_close_matches(word, COMMANDS)
            ctx.fail(f"No such command '{word}'." + (f" Did you mean {' or '.join(map(repr, near))}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _names_file(parameter: click.Parameter) -> bool:
    """Positional arguments are files, and so are options with FILE or DIR in their metavariable."""
    metavar = getattr(parameter, "metavar", None) or ""
    return isinstance(parameter, click.Argument) or "FILE" in metavar or "DIR" in metavar


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="gpualign %(version)s")
def cli() -> None:
    """Read mapping and sequence alignment on GPUs and CPUs, with the same output from both.

    Results go to standard output or -o FILE, everything else to standard error. `gpualign help COMMAND` explains a
    command.
    """


def _open_closed_streams() -> None:
    """Replace standard streams that the calling process closed by ones that fail, else the next opened file would get
    their descriptor."""
    for name, flags, mode in (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: the one place where an exception becomes a sentence and an exit code."""
    own_process = arguments is None
    arguments = _without_dashes((sys.argv[1:] if arguments is None else arguments) or ["--help"])
    if wanted := os.environ.get("_GPUALIGN_COMPLETE"):
        sys.exit(importlib.import_module("gpualign.cli.completion").answer(cli, wanted))
    command = next((word for word in arguments if word in COMMANDS), None)
    prefix = f"gpualign {command}" if command else "gpualign"
    _open_closed_streams()
    lose_messages_rather_than_results()
    if own_process:
        end_soon_after_signals(prefix)
    handle_signals()
    try:
        # not cli.main(): click would exit with code 1 when a pipe is closed
        with cli.make_context("gpualign", arguments) as context:
            cli.invoke(context)
        sys.stdout.flush()
        sys.exit(0)
    except click.exceptions.Exit as request:  # --help, --version
        sys.stdout.flush()
        sys.exit(request.exit_code)
    except click.ClickException as error:
        if command and arguments == [command] and isinstance(error, click.MissingParameter) and error.ctx:
            print(short_usage(command, error.ctx.command), file=sys.stderr)
        elif isinstance(error, click.NoSuchOption) and error.ctx and (known := meant(error, error.ctx.command)):
            complain(prefix, f"No such option '{error.option_name}'. Did you mean '{known}'? (see {prefix} --help)")
        elif isinstance(error, click.UsageError):
            complain(prefix, f"{error.format_message()} (see {prefix} --help)")
        else:
            complain(prefix, error.format_message())
        _exit(2)
    except GpualignError as error:
        if "--debug" in arguments:
            raise
        complain(prefix, str(error))
        _exit(5 if _ran_out_of_memory(error) else error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        say_why(prefix, signal.SIGINT)
        _exit_at_once(130)
    except Terminated as error:
        say_why(prefix, error.number)
        _exit_at_once(128 + error.number)
    except BrokenPipeError:
        _exit_at_once(141)
    except Exception as error:
        if "--debug" in arguments:
            raise
        _exit(_explain(prefix, error))


def _explain(prefix: str, error: Exception) -> int:
    """Explain an unexpected exception; returns the exit code."""
    if _ran_out_of_memory(error):
        complain(prefix, "out of memory (use fewer threads or a smaller --batch-size)")
        return 5
    if isinstance(error, OSError):
        complain(prefix, f"{error.filename or 'input/output'}: {error.strerror or error}")
    else:
        complain(prefix, f"internal error: {type(error).__name__}: {error} (run again with --debug and report it)")
    return 1


def _without_dashes(arguments: list[str]) -> list[str]:
    """Turn `help`, `help COMMAND` and `version`, commands of other programs, into options."""
    first, rest = arguments[0], arguments[1:]
    return {"help": [*rest, "--help"], "version": ["--version", *rest]}.get(first, arguments)


def _ran_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error or one of its causes is a lack of memory, also as a system call's error."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        error = error.__cause__ or error.__context__
    return False


def _exit(code: int) -> NoReturn:
    """Exit after an error. If standard output cannot be flushed, Python must not try again: it would print a traceback
    and set its own exit code."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _exit_at_once(code)
    sys.exit(code)


def _exit_at_once(code: int) -> NoReturn:
    """Exit without flushing standard output, whose reader may be gone."""
    with contextlib.suppress(OSError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
    sys.exit(code)
