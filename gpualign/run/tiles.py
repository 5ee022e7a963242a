"""Checkpoints: the finished tiles of a long run, kept as files so that an interrupted run can resume.

A folder holds the tiles of one run. ``run.json`` identifies the run by a digest of everything that determines a tile's
content. Each tile is a file with a checksum, written whole or not at all.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from gpualign.errors import GpualignError, UsageError
from gpualign.report import warn
from gpualign.text.output_file import open_output
from gpualign.version import __version__

Item = TypeVar("Item")
Result = TypeVar("Result")

_MAGIC = b"gpualign tile 1 "


def digest(*parts: Any) -> str:
    """A hexadecimal digest of dataclasses, arrays, sequences and plain values, by content."""
    state = hashlib.sha256()
    _feed(state, parts)
    return state.hexdigest()


class Tiles(Generic[Result]):
    """A folder of tiles.

    Args:
        folder: created if missing.
        run: digest of what is computed and how it is divided into tiles.
        make: the results' type, a dataclass whose fields are arrays or None.

    Raises:
        UsageError: the folder holds another run's tiles, or other files.
        GpualignError: the folder cannot be created.
    """

    def __init__(self, folder: str, run: str, make: Callable[..., Result], command: str) -> None:
        self._folder, self._make, self._command = Path(folder), make, command
        self._run = digest(__version__, run)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            names = os.listdir(self._folder)
        except OSError as error:
            raise GpualignError(f"cannot keep tiles in {folder}: {error.strerror}") from error
        if "run.json" in names:
            self._check_run()
        elif names:
            raise UsageError(f"{folder} has files but no tiles of a run (--resume needs a folder of its own)")
        else:
            with open_output(str(self._folder / "run.json")) as out:
                out.write(json.dumps({"run": self._run, "version": __version__}).encode() + b"\n")

    def run(self, items: Iterable[Item], compute: Callable[[Iterator[Item]], Iterator[Result]]) -> Iterator[Result]:
        """Yield the result of every item in order: loaded, or computed and saved.

        Args:
            compute: items -> their results in order.
        """
        numbered = enumerate(items)
        for first in numbered:
            kept = self.load(first[0])
            if kept is None:
                break
            yield kept
        else:
            return
        # tiles are saved in order; there are more after the first missing one only if that one was damaged
        order: deque[tuple[int, Result | None]] = deque([(first[0], None)])

        def missing() -> Iterator[Item]:
            yield first[1]
            for later, other in numbered:
                order.append((later, self.load(later)))
                if order[-1][1] is None:
                    yield other

        for result in compute(missing()):
            yield from _leading(order)
            number, _ = order.popleft()
            self.keep(number, result)
            yield result
        yield from _leading(order)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:09d}-{self._run[:16]}.tile"

    def _check_run(self) -> None:
        try:
            known = json.loads((self._folder / "run.json").read_bytes())["run"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{self._folder} holds no tiles that can be used (remove it)") from error
        if known != self._run:
            raise UsageError(
                f"{self._folder} holds tiles of another run: other input, scoring, --batch-size or version "
                "(name another folder, or remove it)"
            )

    def load(self, number: int) -> Result | None:
        """A tile that is kept whole, or None."""
        path = self._path(number)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise GpualignError(f"cannot read {path}: {error.strerror}") from error
        head, _, payload = data.partition(b"\n")
        if head == _MAGIC + hashlib.sha256(payload).hexdigest().encode():
            try:
                with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
                    return self._make(**{name: arrays.get(name) for name in self._fields})
            except (ValueError, KeyError, OSError, zipfile.BadZipFile):
                pass
        warn(self._command, f"{path} is damaged: computing it again")
        return None

    def keep(self, number: int, result: Result) -> None:
        """Save a tile."""
        arrays = {name: getattr(result, name) for name in self._fields}
        payload = io.BytesIO()
        np.savez(payload, **{name: array for name, array in arrays.items() if array is not None})
        data = payload.getvalue()
        with open_output(str(self._path(number))) as out:
            out.write(_MAGIC + hashlib.sha256(data).hexdigest().encode() + b"\n" + data)

    @property
    def _fields(self) -> list[str]:
        return [field.name for field in dataclasses.fields(self._make)]  # type: ignore[arg-type]


def _leading(order: deque[tuple[int, Result | None]]) -> Iterator[Result]:
    """Pop and yield the loaded results at the front."""
    while order and order[0][1] is not None:
        result = order.popleft()[1]
        assert result is not None
        yield result


def _feed(state: Any, value: Any) -> None:
    """Lengths and types are hashed as well, so that different values never feed the same bytes."""
    if isinstance(value, np.ndarray):
        state.update(f"array {value.dtype.str} {value.shape} ".encode())
        state.update(np.ascontiguousarray(value).data)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        _feed(state, (type(value).__name__, *(getattr(value, field.name) for field in dataclasses.fields(value))))
    elif isinstance(value, dict):
        _feed(state, list(value.items()))
    elif isinstance(value, (tuple, list)):
        state.update(f"sequence {len(value)} ".encode())
        for part in value:
            _feed(state, part)
    else:
        text = repr(value).encode()
        state.update(f"value {len(text)} ".encode() + text)
