"""The kernels of `map` in scalar code on one CPU thread: their algorithms without a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map.alignments import Alignments
from gpualign.map.device.batch import MapBatch, MappedBatch
from gpualign.map.device.chains import COUNTERS, ArenaSizes, chain_batch_of, chain_launch, used_items
from gpualign.map.device.kernel import Workspace, batch_of, edit_limits
from gpualign.map.device.slow_path import SlowPath, all_templates
from gpualign.map.device.target import index_arrays, is_packed, target_of
from gpualign.map.device.text import TextBatch, text_arrays, text_target
from gpualign.map.meth import conversions_of
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.map.rules import chain_rules, map_rules
from gpualign.run.abi import changed, struct
from gpualign.run.gpu.device_arrays import Computed
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference
from tests.helpers import native


def _padded_mask(reference: Reference) -> NDArray[np.uint32]:
    """The ACGT mask, padded with the words that kernels read beyond it."""
    return np.append(reference.acgt_mask(), np.zeros(2, np.uint32))


def host_target(index: MinimizerIndex) -> tuple[np.void, tuple[NDArray[Any], ...]]:
    """``MapTarget`` in host memory, and the arrays that must outlive it."""
    reference, of_index = index.reference, index_arrays(index, is_packed(index, 0))
    held = [
        array.whole() if isinstance(array, Computed) else np.ascontiguousarray(array) for array in of_index.values()
    ]
    text = (reference.words, _padded_mask(reference), reference.contig_offsets)
    return target_of(index, dict(zip(of_index, _addresses(*held), strict=True)), *_addresses(*text)), (*held, *text)


def map_scalar(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None = None
) -> MappedBatch:
    """A batch with its records."""
    conversions, model = conversions_of(params.meth, batch.mates, len(batch)), pairs or PairModel()
    item = MapBatch.of(batch, pairs is not None, conversions=conversions)
    workspace, slow_path = Workspace.of(params, item.longest[0]), SlowPath(index, params, 1)
    limits = edit_limits(params, item.longest[2])
    memory = np.zeros(workspace.nbytes // 8 + 1, np.uint64)
    target, _held = host_target(index)
    penalties, edits = _addresses(model.penalties, limits)
    rules = map_rules(index.params.k, index.params.w, index.reference.bases, params, model)
    rules = changed(rules, penalties=penalties, limits=edits)
    further = workspace.overflow_records(params, len(batch))
    while True:
        item = MapBatch.of(batch, pairs is not None, conversions=conversions)
        arrays: dict[str, NDArray[np.uint8]] = {}

        def array(name: str, nbytes: int, arrays: dict[str, NDArray[np.uint8]] = arrays) -> int:
            return arrays.setdefault(name, np.zeros(nbytes + 64, np.uint8)).ctypes.data

        records = np.zeros((len(batch) + further) * int(_native.MAP_RECORD_BYTES), np.uint8)
        given = slow_path.capacity(item, np.inf)
        counters = np.zeros(given.counters, np.uint32)
        at = _addresses(item.block, records, memory, counters)
        state = int(_native.map_state_bytes(workspace.words, len(batch)))
        packed = batch_of(
            item,
            at[0],
            workspace,
            len(records),
            target=target,
            rules=rules,
            records=at[1],
            next_overflow=at[3] + 4 * given.overflow,
            workspace=at[2],
            state=array("reads", state),
            slow_templates=array("slow_templates", 4 * item.templates),
            conversions=0 if item.conversions is None else _addresses(item.conversions)[0],
        )
        everything = all_templates(item)
        if params.seeding.full:
            packed["slow_count"], packed["slow_templates"] = _addresses(everything, everything[1:])
        else:
            native.map_scalar(packed.tobytes(), workspace.words)
        group, of = array("group", given.sizes.group), (item, packed, array, at[3])
        if slow_path.any_long(item):
            native.map_chains_scalar(slow_path.long_launch(*of, given).tobytes())
        for launch in slow_path.launches(*of, group, array("statuses", 4 * given.templates), given):
            native.map_thoroughly_scalar(launch.tobytes())
        if int(counters[given.overflow]) > further:
            further *= 2
        elif not slow_path.lacking(item, counters, given):
            return item.mapped(records, len(batch))


def map_chains_scalar(index: MinimizerIndex, item: MapBatch, params: MapParams) -> Alignments:
    """The records of a batch of reads that are chained."""
    arrays: dict[str, NDArray[np.uint8]] = {}

    def array(name: str, nbytes: int) -> int:
        arrays[name] = np.zeros(nbytes + 8, np.uint8)
        return int(arrays[name].ctypes.data)

    arena_sizes, (target, _held) = ArenaSizes(), host_target(index)
    while True:
        capacity, counters = arena_sizes.items(len(item.batch.bases), len(item.batch)), np.zeros(COUNTERS, np.uint32)
        k, w, max_hits = index.params.k, index.params.w, params.seeding.max_hits
        rules = chain_rules(k, w, params.scoring, params.chaining, max_hits)
        secondary, at = params.reporting.secondary, int(counters.ctypes.data)
        addresses = {**item.addresses(int(item.block.ctypes.data)), "conversions": 0}
        batch = chain_batch_of(item, addresses, rules, secondary, capacity, array, at)
        native.map_chains_scalar(chain_launch(target, batch, at).tobytes())
        used = used_items(counters)
        if not arena_sizes.lacking(used, capacity):
            break
    of_item = _native.chain_item_bytes()
    outputs = arrays["outputs"][: used["outputs"] * of_item["outputs"]]
    cigars = arrays["output_cigars"][: used["output_cigars"] * 4].view(np.uint32)
    state = arrays["state"][: len(item.batch) * struct("ChainRead").itemsize]
    return Alignments(*_native.chain_alignments(state, outputs, cigars))


def text_in_scalar_code(reference: Reference, item: TextBatch) -> tuple[bytes, int]:
    """What the kernels write, and the number of records."""
    arrays = (reference.words, _padded_mask(reference), *text_arrays(reference))
    held = tuple(np.ascontiguousarray(array) for array in arrays)
    reads = len(item.found)
    edits, sizes = np.zeros(len(item.found.alignments.flag), np.int32), np.zeros(reads + 1, np.uint64)
    totals, out = np.zeros(3, np.uint64), np.zeros(0, np.uint8)
    while True:
        batch = item.native(
            int(item.block.ctypes.data),
            target=text_target(reference, *(int(array.ctypes.data) for array in held)),
            edits=int(edits.ctypes.data),
            sizes=int(sizes.ctypes.data),
            totals=int(totals.ctypes.data),
            out=int(out.ctypes.data),
            capacity=len(out),
        )
        native.write_records(batch.tobytes(), item.bam)
        if int(totals[0]) <= len(out):
            return out[: int(totals[0])].tobytes(), int(totals[1])
        out = np.zeros(int(totals[0]), np.uint8)


def _addresses(*arrays: NDArray[Any]) -> tuple[int, ...]:
    return tuple(int(array.ctypes.data) for array in arrays)


def same_records(found: MappedBatch, expected: MappedBatch) -> bool:
    """The same, wherever the further records lie."""

    def of(records: MappedBatch) -> list[bytes]:
        return [
            array.tobytes()
            for array in _native.finish_records(
                outputs=list(records.outputs), mates=None, conversions=None, of_host=None
            )
        ]

    return of(found) == of(expected)
