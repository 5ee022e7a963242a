"""Files next to the records of a run."""

from __future__ import annotations

from dataclasses import dataclass

from gpualign.errors import UsageError
from gpualign.fields import parameter
from gpualign.records.coverage import coverage_paths


@dataclass(frozen=True, kw_only=True)
class SideFiles:
    """What is written next to the records; None: it is not."""

    duplicate_metrics: str | None = parameter(
        None,
        "--duplicate-metrics",
        "Write counts of duplicates as Picard's MarkDuplicates does.",
        under="Duplicates",
        metavar="FILE",
    )
    coverage: str | None = parameter(
        None,
        "--coverage",
        "With --sort: write the depth of coverage, as bedGraph (FILE.bedgraph, .bg or .bed, or with .gz), or as "
        "mosdepth does, to FILE.mosdepth.summary.txt and others.",
        under="Sorting and coverage",
        metavar="FILE",
    )

    def __post_init__(self) -> None:
        if self.coverage == "-":
            raise UsageError("coverage goes to files: give a name that ends in .bedgraph, or mosdepth's prefix")

    @property
    def written(self) -> tuple[str | None, ...]:
        """Their paths."""
        return (self.duplicate_metrics, *(() if self.coverage is None else coverage_paths(self.coverage)))
