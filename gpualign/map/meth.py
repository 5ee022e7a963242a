"""What `map --meth` changes in a run: bisulfite and EM-seq reads are mapped on the CPU."""

from __future__ import annotations

from dataclasses import replace

from gpualign.engine.select import parse_device
from gpualign.errors import UsageError
from gpualign.map.inputs import METH_TAGS, MapFiles, RecordOptions
from gpualign.map.params import MapParams
from gpualign.params import RunOptions
from gpualign.report import warn


def check_meth(params: MapParams, files: MapFiles, records: RecordOptions) -> None:
    """
    Raises:
        UsageError: options that only bisulfite reads have, or that they do not have.
    """
    if params.meth is not None and files.alt is not None:
        raise UsageError("bisulfite reads are not mapped with ALT contigs (leave out --alt, or --meth)")
    if params.meth is None and (tags := set(METH_TAGS) & set(records.tags.extra)):
        raise UsageError(f"{min(tags)} is a tag of bisulfite reads (add --meth)")


def on_cpu_if_meth(params: MapParams, options: RunOptions, command: str = "map") -> RunOptions:
    """The options of the run, on the CPU for bisulfite reads; says so where a GPU was asked for."""
    if params.meth is None:
        return options
    request = parse_device(options.device)
    if request.cuda and not request.automatic and not options.quiet:
        warn(command, "bisulfite reads are mapped on the CPU")
    return replace(options, device="cpu")


def for_meth(params: MapParams, records: RecordOptions) -> RecordOptions:
    """Duplicates of bisulfite reads are of one strand of the original."""
    if params.meth is None or records.duplicates is None:
        return records
    return replace(records, duplicates=replace(records.duplicates, by_strand=True))
