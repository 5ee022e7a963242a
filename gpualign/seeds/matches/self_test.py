"""The self-test of `mems` for ``gpualign devices --check``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.runner import run_alone
from gpualign.run.gpu.self_test import SelfTest
from gpualign.seeds.matches.cpu import MemColumns, Piece, Search
from gpualign.seeds.matches.device_unique import kernel_for
from gpualign.seeds.matches.index import index_for
from gpualign.seeds.matches.params import MemsParams, choose_index
from gpualign.seeds.matches.tuning import choose_mems_shape
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference

_TESTED_BASES, _TESTED_MATCH = 20_000, 12
#: kernels of :func:`self_tests`, which ``devices --check`` compiles in parallel
SELF_TEST_MODULES: tuple[Variant, ...] = (
    ("mems", choose_mems_shape(choose_index(_TESTED_MATCH, _TESTED_BASES).w).defines),
    ("mems_text", {}),
)


def self_tests() -> Iterator[SelfTest]:
    """Matches of a small search, as numbers and as text."""
    generator = np.random.default_rng(0)
    text = np.frombuffer(b"ACGT", np.uint8)[generator.integers(0, 4, _TESTED_BASES)]
    reference = Reference.packed(["self-test"], np.array([0, len(text)], np.int64), (text,))
    changed = text.copy()
    changed[::97] = ord("A")
    query = changed.tobytes().decode()
    queries = SequenceBatch.from_records([("long", query), *(("", query[i : i + 99]) for i in range(50))])
    for kind in ("maxmatch", "mumreference"):
        params = MemsParams(min_length=_TESTED_MATCH, kind=kind, strands="both")
        search = Search(index_for(reference, params), params)
        source = search.prepare(queries, deferred=True)
        piece = Piece(source, 0, source.text.length)

        def found(device: Device, search: Search = search, piece: Piece = piece) -> MemColumns | None:
            return run_alone(device, partial(kernel_for, search=search), piece).columns

        def printed(device: Device, search: Search = search, piece: Piece = piece) -> NDArray[np.uint8] | None:
            lines = run_alone(device, partial(kernel_for, search=search, printing=True), piece).printed
            return None if lines is None else lines.text

        def lines_on_cpu(search: Search = search, piece: Piece = piece) -> NDArray[np.uint8]:
            columns = search.find(piece).columns
            assert columns is not None
            return search.report(piece, columns).text

        yield SelfTest(f"exact matches ({kind})", found, lambda search=search, piece=piece: search.find(piece).columns)  # type: ignore[misc]
        yield SelfTest(f"printed matches ({kind})", printed, lines_on_cpu)
