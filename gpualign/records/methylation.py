"""Methylation of a sorted run of bisulfite reads: counts of each cytosine, as MethylDackel or Bismark writes them.

Counts like MethylDackel's default: primary records that are no duplicates and did not fail, of proper pairs or single
reads, with a mapping quality of 10 and bases of quality 5; where both mates cover a base, the better one counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpualign import _native
from gpualign.checks import set_whole_numbers
from gpualign.errors import check_range
from gpualign.fields import parameter
from gpualign.sequences.reference import Reference
from gpualign.text.output_file import OutputFile, open_output

CONTEXTS = ("CpG", "CHG", "CHH")
_BEDGRAPH, _BISMARK = (".bedgraph", ".bdg", ".bg"), ".cov"

_meth = partial(parameter, under="Methylation")


@dataclass(frozen=True)
class MethylationRules:
    """Which bases of bisulfite reads count."""

    min_mapq: int = _meth(10, "--min-mapq", "With --meth: minimum mapping quality of records whose bases count.")
    min_quality: int = _meth(5, "--min-quality", "With --meth: minimum quality of bases that count.")
    rrbs: bool = _meth(False, "--rrbs", "With --meth: do not count bases that were filled in at MspI sites.")
    max_unconverted: int | None = _meth(
        None,
        "--max-unconverted",
        "With --meth: flag a template (0x200) if one of its reads has more than INT methylated bases outside CpG.",
    )

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_range("minimum mapping quality", self.min_mapq, 0, 255)
        check_range("minimum base quality", self.min_quality, 0, 93)
        check_range("the number of unconverted cytosines", self.max_unconverted or 0, 0)


def methylation_paths(path: str) -> tuple[str, ...]:
    """Files of ``--methylation path``: bedGraph or Bismark's coverage (.cov) of CpG by its extension, else three files
    of bedGraph with this prefix, as MethylDackel names them."""
    name = path.lower().removesuffix(".gz").removesuffix(".bgz")
    if name.endswith((*_BEDGRAPH, _BISMARK)):
        return (path,)
    return tuple(f"{path}_{context}.bedGraph" for context in CONTEXTS)


class MethylationWriter:
    """Writes the methylation of sorted records. Use :func:`open_methylation`."""

    def __init__(self, counter: _native.MethylationCounter, outputs: Sequence[OutputFile]) -> None:
        self._counter, self._outputs = counter, outputs

    def measure(self, records: Any) -> Any:
        """What :meth:`add` takes of BAM records; from any thread.

        Raises:
            ValueError: they are not sorted by coordinate, or damaged.
        """
        return self._counter.calls(records)

    def add(self, calls: Any) -> None:
        """Count the cytosines of the next records."""
        self._write(self._counter.add(calls))

    def finish(self) -> None:
        """Write the rest."""
        self._write(self._counter.finish())

    def report(self) -> dict[str, dict[str, int]]:
        """Fields of the JSON report: methylated and converted bases of all sites."""
        totals = self._counter.totals()
        return {
            context: {"methylated": totals[2 * i], "converted": totals[2 * i + 1]}
            for i, context in enumerate(CONTEXTS[: len(self._outputs)])
        }

    def _write(self, lines: Sequence[Any]) -> None:
        for output, text in zip(self._outputs, lines, strict=False):
            if len(text):
                output.write(text.data)


@contextlib.contextmanager
def open_methylation(
    path: str, reference: Reference, rules: MethylationRules, threads: int = 1
) -> Iterator[MethylationWriter]:
    """Open the methylation files of a run; they are whole, or absent if the context ends with an exception.

    Args:
        threads: threads that compress.

    Raises:
        GpualignError: a file cannot be written.
    """
    paths = methylation_paths(path)
    bismark = path.lower().removesuffix(".gz").removesuffix(".bgz").endswith(_BISMARK)
    counter = _native.MethylationCounter(
        reference.native,
        list(reference.shown_names),
        rules.min_mapq,
        rules.min_quality,
        rules.rrbs,
        len(paths) > 1,
        bismark,
    )
    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(open_output(name, threads)) for name in paths]
        for name, output, context in zip(paths, outputs, CONTEXTS, strict=False):
            # compressed files are indexed by tabix, which takes no track lines
            if not bismark and not name.lower().endswith((".gz", ".bgz")):
                output.write(f'track type="bedGraph" description="{context} methylation levels"\n'.encode())
        writer = MethylationWriter(counter, outputs)
        yield writer
        writer.finish()
