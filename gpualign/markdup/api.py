"""``gpualign.sort`` and ``gpualign.mark_duplicates``."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from gpualign.errors import UsageError
from gpualign.fields import takes_keywords
from gpualign.markdup.params import Marking, RecordFiles
from gpualign.markdup.run import run_markdup, run_sort
from gpualign.params import RunOptions
from gpualign.records.alignment_output import AlignmentLayout
from gpualign.records.duplicates import DuplicateMarking
from gpualign.records.record_sorter import RECORD_ORDERS, RecordOrder

Path = str | os.PathLike[str]
_LAYOUT = [field.name for field in dataclasses.fields(AlignmentLayout)]


@takes_keywords(AlignmentLayout, without=["hold"])
def sort(
    records: Path,
    output: Path,
    *,
    order: RecordOrder = "coordinate",
    reference: Path | None = None,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    **layout: Any,
) -> dict[str, Any]:
    """Sort the records of a SAM, BAM or CRAM file, as ``gpualign sort`` does.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> lines = ["@SQ SN:c LN:9", *(f"{name} 0 c {at} 60 1M * 0 0 A I" for name, at in (("b", 2), ("a", 1)))]
    >>> _ = (folder / "in.sam").write_text("".join(line.replace(" ", "\\t") + "\\n" for line in lines))
    >>> sort(folder / "in.sam", folder / "out.sam")["records"]
    2
    >>> [line.split()[0] for line in (folder / "out.sam").read_text().splitlines() if line[0] != "@"]
    ['a', 'b']

    Args:
        order: "coordinate", "template", "template-coordinate", or by name: "natural", "lexicographic" or "picard".
        reference: FASTA of CRAM files.
        layout: of :class:`gpualign.records.alignment_output.AlignmentLayout`.

    Returns:
        The fields of the command's JSON report.

    Raises:
        UsageError, InputError, DeviceError, GpualignError: as the command.
    """
    if order == "input" or order not in RECORD_ORDERS:
        raise UsageError(f"order must be one of {', '.join(RECORD_ORDERS[1:])}, not {order!r}")
    files = RecordFiles(os.fspath(records), _path(reference))
    return run_sort(files, _options(output, device, threads), AlignmentLayout(order=order, **layout))


@takes_keywords(DuplicateMarking, AlignmentLayout, without=["hold"])
def mark_duplicates(
    records: Path,
    output: Path,
    *,
    order: RecordOrder = "input",
    mate_tags: bool | None = None,
    read_group: str | None = None,
    reference: Path | None = None,
    metrics: Path | None = None,
    coverage: Path | None = None,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    **parameters: Any,
) -> dict[str, Any]:
    """Mark duplicates in a SAM, BAM or CRAM file, as ``gpualign markdup`` does.

    Args:
        order: of the output, as for :func:`sort`, or "input".
        mate_tags: add MC, MQ and ms to mates that lack them; None: unless the input is sorted by coordinate.
        read_group: an @RG line, such as ``"@RG\\tID:x\\tSM:y"``, in place of the records' own.
        metrics, coverage: files, as for the command.
        parameters: of :class:`gpualign.records.duplicates.DuplicateMarking` and
            :class:`gpualign.records.alignment_output.AlignmentLayout`. ``tag_kind`` is False here.

    Returns:
        The fields of the command's JSON report, with ``duplicates``.

    Raises:
        UsageError, InputError, DeviceError, GpualignError: as the command.
    """
    if order not in RECORD_ORDERS:
        raise UsageError(f"order must be one of {', '.join(RECORD_ORDERS)}, not {order!r}")
    files = RecordFiles(
        os.fspath(records), _path(reference), duplicate_metrics=_path(metrics), coverage=_path(coverage)
    )
    layout = {name: parameters.pop(name) for name in _LAYOUT if name in parameters}
    wanted = Marking(DuplicateMarking(**{"tag_kind": False, **parameters}), mate_tags, read_group)

    def layout_of(order: RecordOrder) -> AlignmentLayout:
        return AlignmentLayout(order=order, hold=True, **layout)

    return run_markdup(files, wanted, _options(output, device, threads), order, layout_of)


def _path(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)


def _options(output: Path, device: str, threads: int) -> RunOptions:
    return RunOptions(os.fspath(output), threads, device, progress=False, quiet=True)
