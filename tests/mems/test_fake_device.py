"""`mems --device cuda` without a GPU: the host's part, with a driver whose device is this process's memory and kernels
that do what those of ``cuda/mems.cu`` promise. The bytes are the CPU's."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpualign.mems import loop
from gpualign.mems.run import run_mems
from gpualign.params import RunOptions
from gpualign.run.abi import struct
from gpualign.seeds.matches import device as mems
from gpualign.seeds.matches.cpu import Matches, Piece, Search
from gpualign.seeds.matches.device import MemsKernel
from gpualign.seeds.matches.device_unique import UniqueMemsKernel
from gpualign.seeds.matches.index import index_for
from gpualign.seeds.matches.params import MemsParams
from gpualign.sequences.batch import SequenceBatch
from gpualign.text.references import read_reference
from tests.helpers import native as native_tests
from tests.helpers.emulated import Emulated, emulated_library
from tests.helpers.fake_cuda import Allocation, install_kernels
from tests.helpers.files import write_fasta
from tests.helpers.sequences import random_text, reverse_complement, substitute
from tests.helpers.soak import some_of
from tests.reference import mems as by_definition

#: matches of a tile that its own warp finds, and of each further part
OWN, OF_PART = 5, 3
LEFT_OVER, LEFT_OVER_HEAD = struct("LeftOver"), struct("LeftOverHead")
#: that are left over at most
PARTS = LEFT_OVER["parts"].shape[0]
#: FoundMem, its fields side by side
FOUND = np.dtype([("start", "u4"), ("reference", "u4"), ("length", "u4"), ("unit", "u4"), ("number", "u4")])


def view(memory: Allocation, dtype: Any, count: int) -> np.ndarray:
    return memory.data[: np.dtype(dtype).itemsize * count].view(dtype)


def unpacked(memory: Allocation, count: int, bits: int) -> list[int]:
    """Numbers of so many bits each, the first in the lowest."""
    number = int.from_bytes(memory.data[: count * bits // 8 + 1].tobytes(), "little")
    return [number >> bits * i & ((1 << bits) - 1) for i in range(count)]


def columns_in(memory: Allocation, count: int) -> np.ndarray:
    return view(memory, "u4", 3 * count).reshape(3, count)


class Kernels:
    """The kernels of a :class:`MemsKernel`; they find the matches of the piece that was handed in last on the CPU."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(3)
        self.filled = self.placed = self.parts = self.unique = self.turned = 0
        self.text: dict[str, Emulated] = {}
        self.kernel: MemsKernel
        self.piece: Piece

    def units(self, first: int, tiles: int) -> Iterator[tuple[int, int, np.ndarray]]:
        """(tile, part, matches), those of one tile after one another, in an order as seeds give them: mixed, but those
        of one start by reference position.
        """
        tile_size, text = self.kernel.shape.tile, self.piece.source.text
        stop = min((first + tiles) * tile_size, text.length)
        found = self.kernel.search.find(Piece(self.piece.source, first * tile_size, stop), 0, 1 << 62).columns
        assert found is not None
        matches = np.stack(found, axis=1)
        tile_of = matches[:, 0] // tile_size - first
        for tile in np.unique(tile_of):
            mine = matches[tile_of == tile]
            order = np.random.default_rng(int(first + tile)).permutation(mine[:, 0].max() + 1)
            mine = mine[np.argsort(order[mine[:, 0]], kind="stable")]
            yield int(tile), 0, mine[:OWN]
            for part, begin in enumerate(range(OWN, len(mine), OF_PART), 1):
                yield int(tile), part, mine[begin : begin + OF_PART]

    def strands(self, *arguments: Any, **launch: Any) -> None:
        words, breaks, begins, records, strands, blocks, *made = arguments
        ends = view(begins, "u4", int(records) + 1).tolist()
        codes, broken = (unpacked(memory, ends[-1], bits) for memory, bits in ((words, 2), (breaks, 1)))
        text, gaps = [0], [1]
        for begin, end in pairwise(ends):
            sequence, others = codes[begin : end - 1], broken[begin : end - 1]
            if strands & 1:
                text, gaps = [*text, *sequence, 0], [*gaps, *others, 1]
            if strands & 2:
                text, gaps = [*text, *(3 - code for code in reversed(sequence)), 0], [*gaps, *reversed(others), 1]
        assert launch["grid"][0] * launch["block"][0] >= blocks
        assert int(blocks) * 64 >= len(text) + 64
        for memory, values, bits in zip(made, (text, gaps), (2, 1), strict=True):
            number = sum(value << bits * i for i, value in enumerate(values))
            view(memory, "u1", 8 * bits * int(blocks))[:] = np.frombuffer(
                number.to_bytes(8 * bits * int(blocks), "little"), "u1"
            )
        self.turned += 1

    def count(self, *arguments: Any, **_: Any) -> None:
        first, tiles, counts, totals, capacity, found, left_over = arguments[-7:]
        first, tiles = int(first), int(tiles)
        counts, totals = view(counts, "u4", tiles + PARTS), view(totals, "u4", tiles + PARTS)
        state = view(left_over, LEFT_OVER, 1)[0]
        assert state.tobytes() == bytes(LEFT_OVER.itemsize)
        counts[:tiles] = totals[:tiles] = 0
        rows = []
        for tile, part, matches in self.units(first, tiles):
            unit = tile
            if part:
                unit = tiles + int(state["part_count"])
                state["parts"][state["part_count"]] = (tile, part)
                state["part_count"] += 1
                counts[unit] = len(matches)
                self.parts += 1
            else:
                counts[unit] = totals[unit] = len(matches)
            rows += [(*match, unit, number) for number, match in enumerate(matches)]
        state["found"] = len(rows)
        kept = self.generator.permutation(len(rows))[: int(capacity)]
        view(found, FOUND, len(kept))[:] = np.array(rows, FOUND)[kept]

    def count_unique(self, *arguments: Any, **launch: Any) -> None:
        first, tiles, counts, totals, found, left_over = arguments[-6:]
        first, tiles = int(first), int(tiles)
        assert launch["grid"][0] * self.kernel.shape.warps > tiles
        tile_size, source = self.kernel.shape.tile, self.piece.source
        stop = min((first + tiles) * tile_size, source.text.length)
        search = self.kernel.search
        columns = native_tests.find_mems_by_start(
            search.native, source.text, first * tile_size, stop, min_length=search.params.min_length
        )
        matches = np.stack(columns, axis=1)
        unit = matches[:, 0] // tile_size - first
        sizes = np.bincount(unit, minlength=tiles + 1)
        number = np.arange(len(unit)) - (np.cumsum(sizes) - sizes)[unit]
        rows = [(*match, *locus) for match, locus in zip(matches, zip(unit, number, strict=True), strict=True)]
        view(found, FOUND, len(rows))[:] = np.array(rows, FOUND)[self.generator.permutation(len(rows))]
        view(counts, "u4", tiles + 1)[:] = view(totals, "u4", tiles + 1)[:] = sizes
        view(left_over, LEFT_OVER, 1)["found"] = len(rows)
        self.unique += len(rows)

    def count_parts(self, *arguments: Any, **_: Any) -> None:
        _, tiles, counts, totals, _, _, left_over = arguments[-7:]
        tiles = int(tiles)
        counts, totals = view(counts, "u4", tiles + PARTS), view(totals, "u4", tiles + PARTS)
        parts = view(left_over, LEFT_OVER, 1)[0]["parts"]
        counts[tiles:][parts["part"] == 0] = 0
        totals[tiles:] = counts[tiles:]
        np.add.at(totals, parts["tile"], counts[tiles:])

    def sum(self, values: Allocation, count: np.uint32, sums: Allocation, **launch: Any) -> None:
        assert launch["grid"][0] * 2048 >= count
        view(sums, "u8", launch["grid"][0])[:] = 1

    def number(
        self,
        values: Allocation,
        count: np.uint32,
        sums: Allocation,
        tiles: np.uint32,
        offsets: Allocation,
        left: Any,
        **_: Any,
    ) -> None:
        totals = view(values, "u4", int(count))
        view(offsets, "u8", int(count))[:] = np.cumsum(totals, dtype="u8") - totals
        view(left, LEFT_OVER_HEAD, 1)["total"] = totals[: int(tiles)].sum()

    @staticmethod
    def first_match(unit: int, tiles: int, parts: np.ndarray, counts: np.ndarray, offsets: np.ndarray) -> int:
        if unit < tiles:
            return int(offsets[unit])
        tile, part = parts[unit - tiles].tolist()
        return int(offsets[tile] + counts[tile] + offsets[unit] - offsets[unit - part + 1])

    def scatter(self, *arguments: Any, **_: Any) -> None:
        found, left_over, tiles, counts, offsets, capacity, page_begin, filled = arguments
        state, tiles = view(left_over, LEFT_OVER, 1)[0], int(tiles)
        total = int(state["total"])
        if total > capacity:
            return
        self.placed += total > 0
        numbers = (state["parts"], counts.data.view("u4"), offsets.data.view("u8"))
        for row in view(found, FOUND, total):
            at = self.first_match(int(row["unit"]), tiles, *numbers) + int(row["number"])
            columns_in(filled, total)[:, at] = row["start"], page_begin + row["reference"], row["length"]

    def fill(self, *arguments: Any, **_: Any) -> None:
        first, tiles, left_over, counts, offsets, begin, end, start, stop, page_begin, filled = arguments[-11:]
        tiles, start, stop = int(tiles), int(start), int(stop)
        parts = view(left_over, LEFT_OVER, 1)[0]["parts"]
        numbers = (parts, view(counts, "u4", tiles + PARTS), view(offsets, "u8", tiles + PARTS))
        unit_of = {(int(tile), int(part)): tiles + i for i, (tile, part) in enumerate(parts) if part}
        self.filled += 1
        for tile, part, matches in self.units(int(first), tiles):
            unit = unit_of[tile, part] if part else tile
            if not begin <= unit < end:
                continue
            for at, match in enumerate(matches, self.first_match(unit, tiles, *numbers)):
                if start <= at < stop:
                    columns_in(filled, stop - start)[:, at - start] = match + np.array([0, page_begin, 0], "u4")

    def order(self, *arguments: Any, **_: Any) -> None:
        _, begin, end, offsets, left_over, maximum, start, stop, filled, ordered = arguments
        total = int(view(left_over, LEFT_OVER, 1)[0]["total"])
        if total > maximum:
            return
        start, stop = int(start), min(int(stop), total)
        offsets = view(offsets, "u8", int(end) + 1)
        for tile in range(int(begin), int(end)):
            part = slice(max(start, int(offsets[tile])) - start, min(stop, int(offsets[tile + 1])) - start)
            if part.start < part.stop:
                mine = columns_in(filled, stop - start)[:, part]
                columns_in(ordered, stop - start)[:, part] = mine[:, np.argsort(mine[0], kind="stable")]


@pytest.fixture(scope="module")
def text_kernels(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Those of ``cuda/mems_text.cu`` themselves."""
    return emulated_library(tmp_path_factory, "mems_text", {})


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch, text_kernels: ctypes.CDLL) -> Kernels:
    """Installed, with a device of their own."""
    made = Kernels()
    made.text = {name: Emulated(text_kernels, name, blocks=1 << 20) for name in ("measure_lines", "write_lines")}
    names = ("strands", "count", "count_parts", "count_unique", "sum", "number", "scatter", "fill", "order")
    install_kernels(monkeypatch, {f"mems_{name}": getattr(made, name) for name in names} | made.text, 1 << 31)
    launch = MemsKernel._launch

    def noting(kernel: MemsKernel, slot: Any, item: Piece, arrays: Any) -> None:
        made.kernel, made.piece = kernel, item
        launch(kernel, slot, item, arrays)

    monkeypatch.setattr(MemsKernel, "_launch", noting)
    submit = UniqueMemsKernel.submit

    def noting_too(kernel: UniqueMemsKernel, slot: Any, item: Piece) -> None:
        made.kernel, made.piece = kernel, item
        submit(kernel, slot, item)

    monkeypatch.setattr(UniqueMemsKernel, "submit", noting_too)
    return made


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    generator = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("genome")
    text = random_text(generator, 3000)
    contigs = [text + "AC" * 60 + "NNN" + text[500:900], random_text(generator, 500), "A" * 60]
    queries = [substitute(generator, text, 0.02), "A" * 70, "", reverse_complement(text)[:1500], "AC" * 30]
    return (str(write_fasta(folder / "ref.fa", contigs)), str(write_fasta(folder / "long.fa", queries)))


def run(files: tuple[str, ...], folder: Path, device: str, params: MemsParams, **options: Any) -> bytes:
    path = folder / "out"
    run_mems(files[0], files[1:], params, RunOptions(output=str(path), device=device, quiet=True, threads=2, **options))
    return path.read_bytes()


@pytest.mark.parametrize(
    ("kind", "min_length"), [("maxmatch", 12), ("mumreference", 12), ("mum", 12), ("mumreference", 40), ("mum", 40)]
)
@pytest.mark.parametrize(
    ("slice_matches", "max_matches"), [(1 << 20, 1 << 20), (200, 1 << 20), (41, 1 << 20), (41, 50), (41, 200)]
)
def test_same_bytes_as_the_cpu(
    files: tuple[str, ...],
    tmp_path: Path,
    kernels: Kernels,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    min_length: int,
    slice_matches: int,
    max_matches: int,
) -> None:
    params = MemsParams(min_length=min_length, kind=kind, strands="both", lengths=True, only_acgt=True)
    expected = run(files, tmp_path, "cpu", params)
    assert expected.count(b"\n") > 20
    monkeypatch.setattr(Search, "slice_matches", slice_matches)
    monkeypatch.setattr(Search, "max_matches", max_matches)
    assert run(files, tmp_path, "cuda:0", params) == expected
    for sizes in ("DEVICE_PIECES", "SUFFIX_PIECES"):
        monkeypatch.setattr(loop, sizes, getattr(loop, sizes)._replace(first=1 << 12))
    monkeypatch.setattr(loop, "_REPORTED", 100)
    assert run(files, tmp_path, "cuda:0", params, batch_size=1 << 10) == expected
    assert kernels.turned > 1
    if params.by_suffix_array:
        assert kernels.unique > 20
        return
    assert kernels.parts > 0
    many = kind == "maxmatch" and slice_matches < 1 << 20
    assert (kernels.filled if many else kernels.filled + kernels.placed) > 0


@pytest.mark.parametrize("kind", ["mumreference", "mum"])
def test_a_device_without_space_for_the_suffix_array_leaves_the_search_to_the_cpu(
    files: tuple[str, ...], tmp_path: Path, kernels: Kernels, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    params = MemsParams(min_length=12, kind=kind, strands="both", only_acgt=True)
    expected = run(files, tmp_path, "cpu", params)
    monkeypatch.setattr(mems, "RESIDENT_SHARE", 0.0)
    assert run(files, tmp_path, "cuda:0", params) == expected
    assert kernels.unique == 0


def printed(contigs: dict[str, str], queries: dict[str, str], params: MemsParams) -> bytes:
    """What the definition of a match and MUMmer's manual say, or the table of docs/commands/mems.md."""
    strands = {"forward": "+", "reverse": "-", "both": "+-"}[params.strands]
    found = by_definition.matches(
        list(contigs.values()), list(queries.values()), params.min_length, strands, params.kind
    )
    targets, width = list(contigs), max(map(len, contigs))
    lines = ["query\tqlen\tstrand\tqstart\tqend\tref\trstart\trend\tlength"] if params.table else []
    for number, (name, query) in enumerate(queries.items()):
        for strand in strands:
            if not params.table:
                lines.append(f"> {name}{' Reverse' * (strand == '-')}{f'  Len = {len(query)}' * params.lengths}")
            for match in found:
                if (match.query, match.strand) != (number, strand):
                    continue
                start, target = match.start + 1, targets[match.contig]
                if params.table:
                    begin = start if strand == "+" else len(query) - match.start - match.length + 1
                    span = (begin, begin + match.length - 1, target, match.position + 1, match.position + match.length)
                    lines.append("\t".join(map(str, (name, len(query), strand, *span, match.length))))
                    continue
                column = f"  {target:<{width}}  " * (params.four_columns or len(contigs) > 1)
                if params.forward_coordinates and strand == "-":
                    start = len(query) - match.start
                lines.append(f"{column}{match.position + 1:>8}  {start:>8}  {match.length:>8}")
    return "".join(f"{line}\n" for line in lines).encode()


STYLES: list[dict[str, bool]] = [
    {},
    {"lengths": True, "four_columns": True},
    {"forward_coordinates": True},
    {"table": True},
]


@pytest.mark.parametrize(
    ("kind", "style", "strands", "one_contig"),  # what is printed does not depend on the kind of match
    some_of(
        product(["mumreference", "maxmatch"], STYLES, ["forward", "reverse", "both"], [True, False]),
        lambda kind, style, strands, one_contig: kind == "mumreference" or (strands == "both" and not one_contig),
    ),
)
def test_a_device_prints(
    tmp_path: Path,
    kernels: Kernels,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    style: Any,
    strands: str,
    one_contig: bool,
) -> None:
    if style.get("forward_coordinates") and strands == "forward":
        style = {"lengths": True}
    generator = np.random.default_rng(8)
    text = random_text(generator, 2000)
    contigs = {"a": text + text[300:420]} | (
        {} if one_contig else {"of_a_long_name": random_text(generator, 300), "b": "A" * 40}
    )
    queries = {f"none{i}": "GATTACA"[:i] for i in range(6)}
    queries |= {"q" * 9999: substitute(generator, text, 0.03), "r": reverse_complement(text)[700:1500], "s": "ACGT"}
    queries |= {f"short{i}": text[7 * i : 7 * i + 30] for i in range(60)} | {"last": ""}
    files = (str(write_fasta(tmp_path / "ref.fa", **contigs)), str(write_fasta(tmp_path / "q.fa", **queries)))
    params = MemsParams(min_length=14, kind=kind, strands=strands, only_acgt=True, **style)
    expected = printed(contigs, queries, params)
    assert run(files, tmp_path, "cuda:0", params) == expected
    assert kernels.text["write_lines"].calls == kernels.text["measure_lines"].calls > 0
    for sizes in ("DEVICE_PIECES", "SUFFIX_PIECES"):
        monkeypatch.setattr(loop, sizes, getattr(loop, sizes)._replace(first=1 << 10, maximum=1 << 10))
    monkeypatch.setattr(loop, "_STEP", 1 << 10)
    before = kernels.text["write_lines"].calls
    assert run(files, tmp_path, "cuda:0", params, batch_size=1 << 9) == expected
    assert kernels.text["write_lines"].calls > before


def test_what_a_device_cannot_print_the_host_does(files: tuple[str, ...], tmp_path: Path, kernels: Kernels) -> None:
    for params in (
        MemsParams(min_length=12, kind="mum", only_acgt=True),
        MemsParams(min_length=12, kind="maxmatch", strings=True, only_acgt=True),
        MemsParams(min_length=12, kind="maxmatch", max_occ=3, only_acgt=True),
    ):
        assert run(files, tmp_path, "cuda:0", params) == run(files, tmp_path, "cpu", params)
    assert kernels.text["write_lines"].calls == 0


def test_halves_of_a_piece_that_did_not_fit(files: tuple[str, ...], kernels: Kernels) -> None:
    """One of them printed, the other one not."""
    params = MemsParams(min_length=12, kind="maxmatch", strands="both", only_acgt=True)
    search = Search(index_for(read_reference(files[0]), params), params)
    source = search.prepare(SequenceBatch.from_records([("a", "ACGT" * 40), ("b", "GATTACA" * 30)]))
    whole, middle = Piece(source, 0, source.text.length), 200
    first, last = Piece(source, 0, middle), Piece(source, middle, source.text.length)
    kernel = MemsKernel.__new__(MemsKernel)
    kernel.search = search
    halves = [Matches(first, middle, printed=search.report(first, search.find(first).columns)), search.find(last)]
    joined = kernel.join(halves).printed
    expected = search.report(whole, search.find(whole).columns)
    assert joined is not None
    assert joined.text.tobytes() == expected.text.tobytes()
    assert joined.headers == expected.headers == 4
