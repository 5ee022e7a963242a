"""The stage of `search`: a batch of targets in, its hits out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpualign.engine.gpu.pinned_pool import pinned_copy
from gpualign.engine.stage import Run, Stage
from gpualign.search.cpu import Patterns, SearchHits, search_on_cpu
from gpualign.search.device import DeviceSearch, SearchKernel
from gpualign.search.targets import Targets
from gpualign.sequences.reference import Reference

#: batches in flight on a device
_SLOTS = 3


def search_stage(
    patterns: Patterns, read: Callable[[Any], Targets], finish: Callable[[Targets, SearchHits], Any]
) -> Stage[Any, Any]:
    """The stage over items of which ``read`` makes targets, and ``finish`` results of the hits.

    A device finds where patterns may lie, and the CPU settles it; where it finds more than there is room for, or
    patterns are not for devices, the CPU does all.
    """

    def on_cpu(item: Any) -> Any:
        targets = read(item)
        return finish(targets, search_on_cpu(patterns, targets.text))

    def on_device(item: Any, run: Run) -> Any:
        targets = read(item)
        text = targets.text
        reference, events = text.text, None
        if isinstance(reference, Reference) and patterns.native.fits_device and text.offsets[-1]:
            bases = int(text.offsets[-1])
            events = run(lambda allocate: DeviceSearch(patterns, pinned_copy(reference.words, allocate), bases))
        return finish(targets, search_on_cpu(patterns, text, events))

    return Stage(on_cpu, SearchKernel, on_device, slots=_SLOTS)
