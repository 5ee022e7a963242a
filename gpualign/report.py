"""What a run says of itself: the progress bar, warnings, the summary line and the JSON report."""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.params import RunOptions
from gpualign.streaming.timeline import Span
from gpualign.text.output_file import open_output
from gpualign.version import __version__

#: called now and then with what is done so far, and of how much (None: nobody knows yet)
OnProgress = Callable[[int, "int | None"], object]

#: of runs whose standard error is no terminal
LINE_SECONDS = 60.0


def print_line(command: str, message: str) -> None:
    """One line on standard error."""
    print(f"gpualign {command}: {' '.join(message.split())}", file=sys.stderr, flush=True)


def warn(command: str, message: str) -> None:
    """One warning line on standard error."""
    print_line(command, f"warning: {message}")


class Report:
    """Counts of one run; printed and written once at its end.

    Attributes:
        fields: the JSON report's keys in order; a command adds its own.
    """

    def __init__(self, command: str, options: RunOptions) -> None:
        self.command, self.options = command, options
        self.fields: dict[str, Any] = {"tool": "gpualign", "version": __version__, "command": command}
        self.fields["command_line"] = options.command_line
        self.fields["date"] = datetime.now().astimezone().isoformat(timespec="seconds")
        self._span = self._stage = Span()
        self._stages: dict[str, float] = {}

    def stage(self, name: str) -> None:
        """What ran since the start, or since the last such call, was stage ``name``: its seconds go into the report."""
        self._stages[name] = round(self._stage.wall_s, 3)
        self._stage = Span()

    def __setitem__(self, key: str, value: Any) -> None:
        self.fields[key] = value

    def __ior__(self, fields: dict[str, Any]) -> Report:
        self.fields |= fields
        return self

    def finish(self, summary: str) -> None:
        """Print ``summary`` with time and memory (unless quiet) and write the JSON report where one is asked for."""
        wall = self._span.wall_s
        # Linux counts in KiB, macOS in bytes
        scale = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
        self.fields |= {"threads": self.options.threads, "wall_s": round(wall, 3), "peak_rss_mb": peak >> 20}
        if self._stages:
            self.fields["seconds"] = self._stages
        if not self.options.quiet:
            print(f"gpualign {self.command}: {summary}; {wall:.2f} s, peak {peak / 2**20:.0f} MiB", file=sys.stderr)
        if self.options.json:
            with open_output(self.options.json) as out:
                out.write(json.dumps(self.fields, indent=1).encode() + b"\n")


class Progress:
    """What a long run shows: a tqdm bar on a terminal, and elsewhere a line a minute; for the Python functions a call.

    Args:
        unit: what is counted.
        total: of them; None: unknown.
        call: of a Python function.
        share: the share of the input that has been read; None: unknown. It is asked for where there is no total.
    """

    def __init__(
        self,
        options: RunOptions,
        unit: str,
        total: int | None = None,
        call: OnProgress | None = None,
        share: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._unit, self._call, self._done, self._total, self._share = unit.strip(), call, 0, total, share
        self._bar = None
        self._lines = options.progress and not options.quiet and not sys.stderr.isatty()
        self._command = " ".join((options.command_line or "gpualign").split()[:2])
        self._begin = self._last = time.monotonic()
        self._done_at_last, self._share_at_begin = 0, 0.0
        if self._lines:
            self._share_at_begin = (share() if total is None else None) or 0.0
        elif options.progress and not options.quiet:
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit=unit, unit_scale=True, file=sys.stderr, leave=False)

    def update(self, n: int, found: str = "") -> None:
        """Count more as done; ``found`` is shown next to the bar."""
        self._done += n
        if self._call is not None:
            self._call(self._done, self._total)
        if self._bar is not None:
            if found:
                self._bar.set_postfix_str(found, refresh=False)
            if self._total is None and (share := self._share()):  # a bar has a percentage and the time left if it ends
                self._bar.total = max(self._done, round(self._done / share))
            self._bar.update(n)
        elif self._lines and time.monotonic() - self._last >= LINE_SECONDS:
            self._print_line(found)

    def _print_line(self, found: str) -> None:
        now = time.monotonic()
        share = self._share() if self._total is None else self._done / max(1, self._total)
        rate = (self._done - self._done_at_last) / (now - self._last)
        unit = self._unit if " " in self._unit or self._unit.endswith("s") else f"{self._unit}s"
        parts = [f"{self._done:,} {unit}", f"{rate:,.{0 if rate >= 10 else 2}f} a second"]
        if share is not None:
            parts[0] += f" ({min(share, 1):.0%}{' of the input read' if self._total is None else ''})".replace(
                "%", " %"
            )
            if self._share_at_begin < share < 1:
                left = (now - self._begin) * (1 - share) / (share - self._share_at_begin)
                parts.append(f"{_lasting(left)} left")
        print(f"{self._command}: {', '.join([*parts, *filter(None, [found])])}", file=sys.stderr, flush=True)
        self._last, self._done_at_last = now, self._done

    @contextlib.contextmanager
    def watching(self, done: NDArray[np.uint64]) -> Iterator[None]:
        """Follow a number that native code counts up while the block runs."""
        if self._bar is None and not self._lines:
            yield
            return
        ended = threading.Event()

        def follow() -> None:
            shown = 0
            while not ended.wait(0.1):
                now = int(done[0])
                self.update(now - shown)
                shown = now

        thread = threading.Thread(target=follow, name="gpualign-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _lasting(seconds: float) -> str:
    """A duration in its largest unit."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
