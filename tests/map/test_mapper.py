"""``gpualign.Mapper``: single reads, streams, pairs, records of other libraries; threads, processes, devices."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import random
import re
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pysam
import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

import gpualign
from gpualign.cli import main
from gpualign.map.hits import Hit
from gpualign.map.pairs import PairModel
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.paths import GENOMES
from tests.helpers.sequences import reverse_complement


def our_threads() -> set[threading.Thread]:
    """Those of other tests may end later."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("gpualign")}


@pytest.fixture(scope="module")
def contig() -> str:
    return gpualign.read_sequences(GENOMES).sequence(0).decode()


@pytest.fixture(scope="module")
def mapper() -> gpualign.Mapper:
    return gpualign.Mapper(GENOMES, device="cpu", threads=2)


@pytest.fixture(scope="module")
def reads(contig: str) -> list[tuple[str, str, str]]:
    """Of both strands, with edits, clipped ones, and some of nowhere."""
    rng = random.Random(5)
    made = []
    for number in range(500):
        start = rng.randrange(len(contig) - 120)
        bases = list(contig[start : start + 120])
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(bases))
            bases[at : at + 1] = rng.choice(["A", "C", "", "GT"])
        text = "".join(bases)
        if number % 7 == 0:
            text = "".join(rng.choices("ACGT", k=30)) + text
        if number % 11 == 0:
            text = "".join(rng.choices("ACGT", k=100))
        made.append((f"r{number}", text if number % 2 else reverse_complement(text), "I" * len(text)))
    return made


@pytest.fixture(scope="module")
def sam(reads: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory) -> list[pysam.AlignedSegment]:
    """What the command writes of them."""
    folder = tmp_path_factory.mktemp("sam")
    (folder / "r.fq").write_text("".join(f"@{name}\n{text}\n+\n{quality}\n" for name, text, quality in reads))
    with pytest.raises(SystemExit):
        main(["map", "-q", "--device", "cpu", str(GENOMES), str(folder / "r.fq"), "-o", str(folder / "r.sam")])
    with pysam.AlignmentFile(str(folder / "r.sam")) as file:
        return list(file)


def test_fields_with_mappys_names(mapper: gpualign.Mapper, contig: str) -> None:
    start = next(at for at in range(1000, 9000) if "N" not in contig[at - 20 : at + 150])
    bases = contig[start : start + 150]
    bases = bases[:50] + ("A" if bases[50] != "A" else "C") + bases[51:80] + bases[81:]
    others = contig[start - 20 : start].translate(str.maketrans("ACGT", "CATG"))
    (hit,) = mapper.map(reverse_complement(others + bases))
    assert (hit.ctg, hit.ctg_len, hit.r_st, hit.r_en) == (mapper.names[0], len(contig), start, start + 150)
    assert (hit.q_st, hit.q_en, hit.strand) == (0, 149, -1)
    assert (hit.mlen, hit.blen, hit.NM) == (148, 150, 2)
    assert hit.cigar.startswith("20S")
    assert hit.cigar_str == hit.cigar.removeprefix("20S")
    assert hit.operations[0] == [int(hit.cigar_str.partition("M")[0]), 0]
    assert (hit.is_primary, hit.is_supplementary, hit.read_num, hit.is_mapped) == (True, False, 1, True)
    assert hit.mapq == 60


def test_single_reads(mapper: gpualign.Mapper, contig: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = contig[200:280]
    for given in (text, text.lower(), text.encode(), bytearray(text.encode())):
        assert [hit.position for hit in mapper.map(given)] == [200]
    assert list(mapper.map("ACACACACGTGTGT" * 4)) == []
    assert list(mapper.map("")) == []
    pair = mapper.map(text, reverse_complement(contig[400:480]))
    assert [(hit.read_num, hit.position) for hit in pair] == [(1, 200), (2, 400)]
    with pytest.raises(gpualign.InputError, match=r"no\.such\.file"):
        mapper.map("no.such.file")
    monkeypatch.chdir(tmp_path)
    Path("tat").write_text(f">a\n{text}\n>b\n{text}\n")
    assert len(mapper.map("tat")) == 2


def test_stream_gives_what_the_command_writes(
    mapper: gpualign.Mapper, reads: list[tuple[str, str, str]], sam: list[pysam.AlignedSegment]
) -> None:
    found = list(mapper.stream(iter(reads)))
    assert [read for read, _ in found] == reads
    by_name = {name: list(records) for name, records in itertools.groupby(sam, lambda record: record.query_name)}
    mapped = 0
    for (name, text, _), hits in found:
        records = [record for record in by_name[name] if not record.is_unmapped]
        assert len(hits) == len(records)
        for hit, record in zip(hits, records, strict=True):
            mapped += 1
            assert (hit.ctg, hit.position, hit.r_en) == (
                record.reference_name,
                record.reference_start,
                record.reference_end,
            )
            assert (hit.cigar, hit.mapq, hit.flag) == (record.cigarstring, record.mapping_quality, record.flag)
            assert record.get_tag("NM") == hit.NM
            first, last = record.query_alignment_start, record.query_alignment_end
            hard = record.cigartuples[0][1] if record.cigartuples[0][0] == 5 else 0
            if record.is_reverse:
                first, last = len(text) - hard - last, len(text) - hard - first
            else:
                first, last = first + hard, last + hard
            assert (hit.q_st, hit.q_en) == (first, last)
    assert mapped > 400


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_batches_change_nothing(reads: list[tuple[str, str, str]], threads: int) -> None:
    expected = gpualign.Mapper(GENOMES, device="cpu", threads=1).map(reads).tolist()
    mapper = gpualign.Mapper(GENOMES, device="cpu", threads=threads)
    texts = [text for _, text, _ in reads]
    assert mapper.map(texts).tolist() == gpualign.Mapper(GENOMES, device="cpu", threads=1).map(texts).tolist()
    assert [row for part in mapper.iter_map(iter(reads)) for row in part.tolist()] == expected
    streamed = [tuple(hit) for _, hits in mapper.stream(reads) for hit in hits]
    assert streamed == [row for row in expected if row[2] is not None]


def test_results_come_as_reads_come(mapper: gpualign.Mapper, contig: str) -> None:
    before = our_threads()
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield contig[100:200]

    results = mapper.stream(endless())
    _, (hit,) = next(results)
    assert hit.position == 100
    assert taken < 2000
    results.close()  # type: ignore[attr-defined]
    assert our_threads() <= before


def test_pairs_are_streamed(mapper: gpualign.Mapper, contig: str) -> None:
    starts = range(100, 8000, 40)
    first = [contig[start : start + 80] for start in starts]
    second = [("m", reverse_complement(contig[start + 220 : start + 300])) for start in starts]
    table = mapper.map(first, second)
    found = list(mapper.stream(iter(first), iter(second)))
    assert [pair for pair, _ in found] == list(zip(first, second, strict=True))
    # or at the other genome that has the same bases
    assert all(
        hits[0].position == start or not hits[0].mapq for start, (_, (hits, _)) in zip(starts, found, strict=True)
    )
    assert [tuple(hit) for _, ends in found for hits in ends for hit in hits] == table.tolist()
    assert all(hit.flag & 2 for _, ends in found for hits in ends for hit in hits)
    for wrong in (second[:-1], [*second, "ACGT"]):
        with pytest.raises(gpualign.UsageError, match=r"reads but \d+ mates"):
            list(mapper.stream(iter(first), iter(wrong)))


def test_records_of_other_libraries(mapper: gpualign.Mapper, contig: str) -> None:
    text = contig[300:400]
    segment = pysam.AlignedSegment()
    segment.query_name, segment.flag = "x", 16
    segment.query_sequence = reverse_complement(text)
    dnaio = namedtuple("dnaio", ["name", "sequence", "qualities"])  # a tuple with three fields, too

    class Fastx:
        name, sequence, quality = "x", text, None

    given: list[Any] = [text, ("x", text), ("x", text, "I" * 100), ("x", text.encode(), None), Fastx()]
    given += [SeqRecord(Seq(text), id="x"), segment, dnaio("x", text, "I" * 100), bytearray(text.encode())]
    found = list(mapper.stream(given))
    assert [read is one for (read, _), one in zip(found, given, strict=True)] == [True] * len(given)
    assert [[hit.position for hit in hits] for _, hits in found] == [[300]] * len(given)
    assert mapper.map(given)["position"].tolist() == [300] * len(given)


@pytest.mark.parametrize(
    ("given", "error", "what"),
    [
        ([None], gpualign.UsageError, "sequence 0 is NoneType, not str or bytes"),
        (["ACGT", 5], gpualign.UsageError, "sequence 1 is int, not str or bytes"),
        (("ACGT", ["ACGT"]), gpualign.UsageError, "sequence 1 is list, not str or bytes"),
        ([("a", 7, None)], gpualign.UsageError, "sequence 0 is int, not str or bytes"),
        (7, gpualign.UsageError, "sequences are a path, a batch or a list of str or bytes, not int"),
        (["ACGT"] * 70 + ["AC!T"], gpualign.InputError, "sequence 70: '!' is not a nucleotide"),
        (["ACGT", "AC酵"], gpualign.InputError, "sequence 1: '酵' is not a nucleotide"),
    ],
)
def test_what_is_no_read(mapper: gpualign.Mapper, given: Any, error: type[Exception], what: str) -> None:
    for call in (mapper.map, lambda reads: list(mapper.stream(reads)), lambda reads: list(mapper.iter_map(reads))):
        with pytest.raises(error, match=re.escape(what)):
            call(given)


def test_a_contig_without_bases(contig: str) -> None:
    with pytest.raises(gpualign.UsageError, match="contig 1 of the reference has no bases"):
        gpualign.Mapper([contig, ""])


def test_stream_takes_no_files(mapper: gpualign.Mapper) -> None:
    with pytest.raises(gpualign.UsageError, match="stream takes reads one by one"):
        next(mapper.stream(str(GENOMES)))


def test_segments_are_the_commands_records(
    mapper: gpualign.Mapper, reads: list[tuple[str, str, str]], sam: list[pysam.AlignedSegment], tmp_path: Path
) -> None:
    found = list(mapper.segments(reads))
    assert [segment.to_string() for segment in found] == [record.to_string() for record in sam]
    with pysam.AlignmentFile(str(tmp_path / "r.bam"), "wb", header=mapper.header) as out:
        for segment in found:
            out.write(segment)
    with pysam.AlignmentFile(str(tmp_path / "r.bam")) as written:
        assert [record.to_string() for record in written] == [record.to_string() for record in sam]


def test_quality_of_another_length(mapper: gpualign.Mapper) -> None:
    with pytest.raises(gpualign.InputError, match="sequence 0: quality and sequence differ in length"):
        list(mapper.segments([("a", "ACGT", "III")]))


@pytest.mark.parametrize("preset", ["hifi", "ont"])
def test_long_reads(contig: str, preset: str) -> None:
    rng = random.Random(3)
    bases = [rng.choice("ACGT") if rng.random() < 0.02 else base for base in contig[500:6000]]
    mapper = gpualign.Mapper([contig], preset, threads=2)
    read = reverse_complement("".join(bases))
    ((_, (hit,)),) = mapper.stream([("long", read, None)])
    (segment,) = mapper.segments([read])
    assert abs(hit.r_st - 500) < 20
    assert abs(hit.r_en - 6000) < 20
    assert (hit.strand, hit.NM) == (-1, segment.get_tag("NM"))


def test_tables_draw_their_alignments(mapper: gpualign.Mapper, contig: str) -> None:
    reads = [contig[100:160], reverse_complement(contig[700:750] + contig[753:800])]
    table = mapper.map(reads)
    assert table.alignment(0).lines() == (reads[0], "|" * 60, reads[0])
    query, marks, target = table.alignment(1).lines()
    assert target == contig[700:800]
    assert marks.count("-") == query.count("-") == 3
    assert "<table>" in table._repr_html_()
    with pytest.raises(gpualign.UsageError, match="no alignment to draw"):
        mapper.map(iter(reads)).alignment(0)


def test_seq(mapper: gpualign.Mapper, contig: str) -> None:
    name = mapper.names[0]
    assert mapper.seq(name) == contig
    assert mapper.seq(name, 10, 20) == contig[10:20]
    assert mapper.seq(name, 10**9) == ""
    assert mapper.seq("none") is None


def test_progress(mapper: gpualign.Mapper, reads: list[tuple[str, str, str]]) -> None:
    seen: list[tuple[int, int | None]] = []
    mapper.map(reads, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (500, None)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert len(list(mapper.stream(reads, progress=lambda done, total: seen.append((done, total))))) == 500
    assert seen[-1] == (500, None)


def test_threads_share_a_mapper(mapper: gpualign.Mapper, reads: list[tuple[str, str, str]]) -> None:
    texts = [text for _, text, _ in reads]
    expected = [mapper.map(text).tolist() for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: mapper.map(text).tolist(), texts)) == expected
        parts = [texts[i::4] for i in range(4)]
        found = list(pool.map(lambda part: [[h[3] for h in hits] for _, hits in mapper.stream(part)], parts))
    assert found == [[[row[3] for row in rows] for rows in expected[i::4]] for i in range(4)]


def loci(mapper: gpualign.Mapper, texts: list[str]) -> list[list[tuple[str, int, int]]]:
    return [[(hit.ctg, hit.position, hit.mapq) for hit in hits] for _, hits in mapper.stream(texts)]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes(mapper: gpualign.Mapper, contig: str, start: str) -> None:
    texts = [contig[at : at + 70] for at in range(0, 4000, 200)]
    with multiprocessing.get_context(start).Pool(2) as pool:
        found = pool.starmap(loci, [(mapper, texts[:10]), (mapper, texts[10:])])
        pool.close()  # SIGTERM would reach the whole process by what handlers of tests before left to a fork
        pool.join()
    assert [*found[0], *found[1]] == loci(mapper, texts)
    for at, [(_, position, mapq)] in zip(range(0, 4000, 200), [*found[0], *found[1]], strict=True):
        assert position == at or not mapq  # the other genome has the same bases


def test_pickles(mapper: gpualign.Mapper, contig: str) -> None:
    again = pickle.loads(pickle.dumps(mapper))
    (hit,) = again.map(contig[100:200])
    assert hit == mapper.map(contig[100:200])[0]
    copied = pickle.loads(pickle.dumps(hit))
    assert isinstance(copied, Hit)
    assert (copied.ctg, copied.NM) == (hit.ctg, hit.NM)


def test_a_closed_mapper(contig: str) -> None:
    with gpualign.Mapper([contig], device="cpu") as mapper:
        assert len(mapper.map(contig[:100])) == 1
    for call in (mapper.map, lambda reads: list(mapper.stream([reads])), lambda reads: mapper.map([reads])):
        with pytest.raises(gpualign.UsageError, match="the mapper is closed"):
            call(contig[:100])


def test_the_device_is_kept_and_closed(use: Callable[[FakeDriver], None], contig: str) -> None:
    before = our_threads()
    driver = FakeDriver()
    use(driver)
    texts = [contig[at : at + 70] for at in range(0, 8000, 50)]
    expected = gpualign.Mapper([contig], device="cpu").map(texts).tolist()
    with gpualign.Mapper([contig], device="cuda") as mapper:
        assert mapper.map(texts).tolist() == expected
        kept = list(mapper._idle)
        assert len(kept) == 1
        assert mapper.map(texts).tolist() == expected
        assert mapper._idle == kept
        results = mapper.stream(texts)
        next(results)
        assert mapper._idle == []
        second = mapper.map(texts)  # along with the stream, on a device of its own
        assert second.tolist() == expected
        results.close()  # type: ignore[attr-defined]
    assert mapper._idle == []
    assert our_threads() <= before


def test_a_fork_does_not_use_its_parents_device(use: Callable[[FakeDriver], None], contig: str) -> None:
    use(FakeDriver())
    mapper = gpualign.Mapper([contig], device="cuda")
    mapper.map([contig[:100]])
    (kept,) = mapper._idle
    mapper._process = os.getpid() + 1  # as in a child
    with pytest.raises(gpualign.DeviceError, match="CUDA does not survive a fork"):
        mapper.map([contig[:100]])
    mapper._options = replace(mapper._options, device="auto")
    assert mapper.map([contig[:100]])["position"].tolist() == [0]
    assert mapper._idle == []
    kept.close()


def test_interrupted(reads: list[tuple[str, str, str]]) -> None:
    before = our_threads()

    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    mapper = gpualign.Mapper(GENOMES, device="cpu", threads=2)
    with pytest.raises(KeyboardInterrupt):
        mapper.map(reads, progress=stop)
    assert len(mapper.map(reads[:1])) == 1
    assert our_threads() <= before


def test_batches_keep_their_names(mapper: gpualign.Mapper, contig: str, tmp_path: Path) -> None:
    (tmp_path / "r.fa").write_text(f">first one\n{contig[:80]}\n>second\n{contig[90:170]}\n")
    batch, pair = gpualign.read_sequences(tmp_path / "r.fa"), [("third x", contig[:80]), contig[:80]]
    given = {"batch": batch, "file": tmp_path / "r.fa", "pair": pair}
    names = {kind: [one.query_name for one in mapper.segments(reads)] for kind, reads in given.items()}
    assert names == {"batch": ["first", "second"], "file": ["first", "second"], "pair": ["third", "1"]}
    assert np.asarray(mapper.map(batch)).dtype.names == mapper.map([]).names


def test_a_device_keeps_its_kernel_for_the_next_call(mapper: gpualign.Mapper, monkeypatch: pytest.MonkeyPatch) -> None:
    class Device:
        def __init__(self) -> None:
            self.kept: dict[object, Any] = {}

        def resident(self, *key: Any) -> Any:
            return self.kept.setdefault((key[0], *map(id, key[2:])), key[1]())

    monkeypatch.setattr("gpualign.map.api.map_kernel", lambda *_: object())
    device, model = Device(), PairModel()
    kernels = [mapper._stage(pairs).make_kernel(device) for pairs in (None, None, model, model, PairModel(), None)]
    assert kernels[0] is kernels[1] is kernels[5]
    assert kernels[2] is kernels[3]
    assert len({id(kernel) for kernel in kernels}) == 3


@pytest.mark.parametrize(("together", "flags"), [(True, [99, 147]), (False, [97, 145])])
def test_mates_may_be_mapped_one_by_one(contig: str, together: bool, flags: list[int]) -> None:
    """The flags of SAM: 1 paired, 2 proper, 16 and 32 reverse strand of the read and its mate, 64 R1, 128 R2."""
    pair = contig[1000:1100], reverse_complement(contig[1200:1300])
    with gpualign.Mapper([contig], device="cpu", insert_size="300,30", together=together) as mapper:
        rows = mapper.map([pair[0]], [pair[1]])
    assert rows["flag"].tolist() == flags
    assert rows["position"].tolist() == [1000, 1200]
