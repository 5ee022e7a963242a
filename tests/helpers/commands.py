"""The command line as tests run it: on the CPU unless they say otherwise."""

from __future__ import annotations

import sys
from importlib import import_module

from gpualign.cli import COMMANDS


def on_device(*words: object, device: str | None = "cpu") -> list[str]:
    """With --device appended, where the command has it and they do not say themselves where it runs.

    ``device=None`` leaves the choice to the command.
    """
    given = [str(word) for word in words]
    if (
        device is None
        or given[:1] == []
        or given[0] not in COMMANDS
        or {"--device", "--dask", "--cluster", "--help"} & set(given)
    ):
        return given
    options = {option for parameter in import_module(COMMANDS[given[0]][0]).command.params for option in parameter.opts}
    return [*given, "--device", device] if "--device" in options else given


def program(*words: object, device: str | None = "cpu") -> list[str]:
    """For a process of its own."""
    return [sys.executable, "-m", "gpualign", *on_device(*words, device=device)]
