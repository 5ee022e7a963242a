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
from gpualign.seeds.matches.cpu import Matches, MemColumns, Piece, Search
from gpualign.seeds.matches.device_unique import kernel_for
from gpualign.seeds.matches.index import index_for
from gpualign.seeds.matches.params import Kind, MemsParams, choose_index
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
    kinds: tuple[Kind, ...] = ("maxmatch", "mumreference")
    for kind in kinds:
        yield from _of_kind(kind, reference, queries)


def _of_kind(kind: Kind, reference: Reference, queries: SequenceBatch) -> Iterator[SelfTest]:
    params = MemsParams(min_length=_TESTED_MATCH, kind=kind, strands="both")
    search = Search(index_for(reference, params), params)
    source = search.prepare(queries, deferred=True)
    piece = Piece(source, 0, source.text.length)

    def on_device(device: Device, printing: bool = False) -> Matches:
        return run_alone(device, partial(kernel_for, search=search, printing=printing), piece)

    def printed(device: Device) -> NDArray[np.uint8] | None:
        lines = on_device(device, printing=True).printed
        return None if lines is None else lines.text

    def columns_on_cpu() -> MemColumns:
        columns = search.find(piece).columns
        assert columns is not None
        return columns

    yield SelfTest(f"exact matches ({kind})", lambda device: on_device(device).columns, columns_on_cpu)
    yield SelfTest(f"printed matches ({kind})", printed, lambda: search.report(piece, columns_on_cpu()).text)
