"""Checkpoints of `map --samples --resume`: a file for each finished sample."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpualign.errors import GpualignError
from gpualign.map.inputs import Sample
from gpualign.run.tiles import digest
from gpualign.text.files import os_reason, stamp_of
from gpualign.text.output_file import open_output
from gpualign.version import __version__


class FinishedSamples:
    """The reports of finished samples. One is valid while parameters, inputs, the output and its index are unchanged.

    Args:
        folder: created if missing; None: save nothing.

    Raises:
        GpualignError: the folder cannot be created.
    """

    def __init__(self, folder: str | None, reference: str) -> None:
        self._folder = None if folder is None else Path(folder)
        self._run = (__version__, _stamp(reference))
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise GpualignError(f"cannot keep reports in {folder}: {os_reason(error)}") from error

    def load(self, name: str, sample: Sample) -> dict[str, Any] | None:
        """The report's fields of a finished sample, or None."""
        if self._folder is None:
            return None
        try:
            saved = json.loads(self._path(name).read_bytes())
            if saved["run"] == self._digest(sample) and saved["output"] == _outputs(sample):
                fields: dict[str, Any] = saved["fields"]
                return fields
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def save(self, name: str, sample: Sample, fields: dict[str, Any]) -> None:
        """Save the report of a finished sample."""
        if self._folder is None:
            return
        saved = {"run": self._digest(sample), "output": _outputs(sample), "fields": fields}
        with open_output(str(self._path(name))) as out:
            out.write(json.dumps(saved, indent=1).encode() + b"\n")

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{digest(name)[:32]}.json"

    def _digest(self, sample: Sample) -> str:
        """Digest of everything that determines the output, except the command line in its header."""
        records = replace(sample.records, command_line="")
        inputs = [str(_stamp(path)) for path in (*sample.files.files, sample.files.junctions)]
        layout = replace(sample.layout, sort_memory=1 << 30)
        asked = sample.files, sample.params, records, layout, sample.options.output
        return digest(*map(str, (*self._run, *asked, inputs)))


def _outputs(sample: Sample) -> list[list[int] | None]:
    """Stamps of the output, of its possible indexes and of counts."""
    output = sample.options.output
    return [_stamp(path) for path in (output, *sample.layout.indexes(output), *filter(None, sample.files.written))]


def _stamp(path: str | None) -> list[int] | None:
    try:
        return list(stamp_of(os.stat(str(path))))
    except OSError:
        return None
