"""The self-test of `mems` for ``gpualign devices --check``."""

from __future__ import annotations

from functools import partial

import numpy as np

from gpualign.errors import DeviceError
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.runner import run_alone
from gpualign.seeds.matches.cpu import Piece, Search
from gpualign.seeds.matches.device_unique import kernel_for
from gpualign.seeds.matches.index import index_for
from gpualign.seeds.matches.params import MemsParams, choose_index
from gpualign.seeds.matches.tuning import choose_mems_shape
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference

_TESTED_BASES, _TESTED_MATCH = 20_000, 12
#: kernels of :func:`self_test`, which ``devices --check`` compiles in parallel
SELF_TEST_MODULES: tuple[Variant, ...] = (
    ("mems", choose_mems_shape(choose_index(_TESTED_MATCH, _TESTED_BASES).w).defines),
    ("mems_text", {}),
)


def self_test(device: Device) -> None:
    """Compare a small search with the CPU backend.

    Raises:
        DeviceError: the matches differ.
    """
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
        found = run_alone(device, partial(kernel_for, search=search), piece).columns
        expected = search.find(piece).columns
        assert found is not None
        assert expected is not None
        if not all(np.array_equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True)):
            raise DeviceError("maximal exact matches differ from the CPU's")
        printed = run_alone(device, partial(kernel_for, search=search, printing=True), piece).printed
        if printed is None or not np.array_equal(printed.text, search.report(piece, expected).text):
            raise DeviceError("maximal exact matches are printed differently from the CPU's")
