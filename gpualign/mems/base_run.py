"""What the runs of `mems` on processors, devices and a cluster have in common, and what they count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpualign.engine.gpu.device import Device
from gpualign.engine.stage import Backend
from gpualign.errors import check_count
from gpualign.mems.device import MemsKernel
from gpualign.mems.device_unique import kernel_for
from gpualign.mems.dotplot import DotPlot
from gpualign.mems.queries import Batch, QueryText
from gpualign.mems.search import Dots, Piece, Printed, Search
from gpualign.params import RunOptions
from gpualign.report import Progress, warn


class Counts:
    """What has been searched, for the report, the progress bar and the picture."""

    def __init__(self, search: Search, progress: Progress, quiet: bool = False) -> None:
        self.records = self.bases = 0
        self._searched = 0  # positions of the batch under way
        params = search.params
        self.plot = DotPlot(search.index.reference, params.min_length) if params.dotplot is not None else None
        self._progress = progress
        self._quiet = quiet or params.only_acgt or len(search.index.reference.run_starts) == 0

    def finished(self, piece: Piece) -> None:
        """A piece is done, of a batch the one behind the last; the last one of a batch counts the batch."""
        source = piece.source
        check_count("positions", piece.start, self._searched)
        self._searched = piece.stop
        if piece.stop == source.text.length:
            self._searched = 0
            if self.plot is not None:
                self.plot.add_records(source)
            self.add(source.records, source.bases, source.text.other_letters)

    def draw(self, dots: Dots | None, bases_before: int) -> None:
        """Matches of a batch that has so many bases before it are to be seen in the picture."""
        if self.plot is not None and dots is not None:
            self.plot.add(dots, bases_before)

    def add(self, records: int, bases: int, other_letters: bool) -> None:
        """A batch is done."""
        self.records += records
        self.bases += bases
        self._progress.update(bases)
        if not self._quiet and other_letters:
            self._quiet = True
            warn("mems", "letters other than A, C, G and T match nothing, as with MUMmer's -n (-n silences this)")


class Run:
    """Queries in, text out; the kinds of runs say how."""

    def __init__(self, search: Search, backend: Backend, options: RunOptions, counts: Counts) -> None:
        self.search, self.backend, self.options, self.counts = search, backend, options, counts

    @staticmethod
    def batch_bases(options: RunOptions) -> int:
        """Bases of a batch of queries, about."""
        raise NotImplementedError

    @property
    def most_positions(self) -> int:
        """Positions of the next piece."""
        raise NotImplementedError

    def pieces(self, source: QueryText) -> Iterator[Piece]:
        start, length = 0, source.text.length
        while start < length:
            stop = min(length, start + self.most_positions)
            yield Piece(source, start, stop)
            start = stop

    def printed(self, batches: Iterable[Batch]) -> Iterator[Printed]:
        """The output in order."""
        raise NotImplementedError

    def make_kernel(self, device: Device) -> MemsKernel:
        return kernel_for(device, self.search)
