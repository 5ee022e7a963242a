"""Files of the reads that `map` did or did not align, as FASTQ or FASTA."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

from gpualign.io.output_file import Sink, open_output


@contextlib.contextmanager
def open_reads_output(path: str | None, threads: int) -> Iterator[Sink]:
    """Open ``path`` for FASTQ text; whole or absent like every output.

    Args:
        path: None: discard what is written.
        threads: threads that compress; they do not change the output.

    Raises:
        GpualignError: as :func:`open_output`.
    """
    if path is None:
        yield io.BytesIO()
        return
    with open_output(path, threads) as out:
        yield out
