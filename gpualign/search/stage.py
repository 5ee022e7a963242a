"""The stage of `search`: a batch of targets and patterns in, hits out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.patterns.cpu import Patterns, SearchHits, search_on_cpu
from gpualign.align.patterns.device import DeviceSearch, SearchKernel
from gpualign.run.gpu.pinned_pool import pinned_copy
from gpualign.run.stage import Run, Stage
from gpualign.search.targets import Item, Targets
from gpualign.sequences.reference import Reference

#: batches in flight on a device
_SLOTS = 3


@dataclass(frozen=True, eq=False)
class Share:
    """A batch of targets, and the patterns to be looked for in it: all, or a group of them."""

    patterns: Patterns
    item: Item | Targets


def search_stage(
    read: Callable[[Item | Targets], Targets], finish: Callable[[Patterns, Targets, SearchHits], Any]
) -> Stage[Share, Any]:
    """The stage over shares of whose items ``read`` makes targets, and ``finish`` results of the hits.

    A device finds where patterns may lie, and the CPU settles it and looks for what devices leave out. Where a device
    finds too much, or no pattern is for devices, the CPU does all. Where there are too many hits to be held, the result
    is a list of smaller batches, :class:`Targets`.
    """

    def settled(patterns: Patterns, targets: Targets, events: NDArray[np.uint64] | None = None) -> Any:
        try:
            hits = search_on_cpu(patterns, targets.text, events, patterns.max_hits)
        except OverflowError:
            if len(pieces := targets.pieces(patterns.context)) > 1:
                return pieces
            hits = search_on_cpu(patterns, targets.text, events)
        return finish(patterns, targets, hits)

    def on_cpu(share: Share) -> Any:
        return settled(share.patterns, read(share.item))

    def on_device(share: Share, run: Run) -> Any:
        patterns, targets = share.patterns, read(share.item)
        text = targets.text
        reference, events = text.text, None
        if isinstance(reference, Reference) and patterns.native.fits_device and text.offsets[-1]:
            bases = int(text.offsets[-1])
            events = run(lambda allocate: DeviceSearch(patterns, pinned_copy(reference.words, allocate), bases))
        return settled(patterns, targets, events)

    return Stage(on_cpu, SearchKernel, on_device, slots=_SLOTS)
