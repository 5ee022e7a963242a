"""The minimizer index: definition, window guarantee, file format."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign import _native
from gpualign.errors import InputError, UsageError
from gpualign.seeds.index.file import is_index, load_index, load_reference, save_index
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from gpualign.text.references import read_reference
from tests.helpers import native as native_tests
from tests.helpers.commands import program
from tests.helpers.environment import SANITIZED
from tests.helpers.paths import GENOMES
from tests.helpers.sequences import make_reference, reverse_complement
from tests.reference.minimizers import minimizer_positions, mix, packed


def packed_by_hand(text: bytes) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Words of 32 bases, and runs of one character that is no base."""
    words, runs = [0] * (len(text) // 32 + 2), []
    for i, byte in enumerate(text):
        code = "ACGT".find(chr(byte).upper().replace("U", "T"))
        if code >= 0:
            words[i // 32] |= code << (2 * (i % 32))
        elif runs and runs[-1][1:] == (i, byte):
            runs[-1] = (runs[-1][0], i + 1, byte)
        else:
            runs.append((i, i + 1, byte))
    return words, runs


@pytest.mark.parametrize("symbols", [b"ACGT", b"acgtACGT", b"ACGTN", bytes(set(range(256)) - {0})])
def test_bases_are_packed_as_by_hand(symbols: bytes) -> None:
    """Of every byte, at every offset in a word, whatever the parts in which they come."""
    rng = np.random.default_rng(1)
    text = np.concatenate([rng.choice(np.frombuffer(symbols, np.uint8), 3000), np.frombuffer(symbols, np.uint8)])
    packer, at = _native.ReferencePacker(), 0
    while at < len(text):
        size = int(rng.integers(1, 100))
        packer.append(text[at : at + size])
        at += size
    words, starts, ends, characters = packer.finish()
    runs = list(zip(starts.tolist(), ends.tolist(), characters.tolist(), strict=True))
    assert (words.tolist(), runs) == packed_by_hand(text.tobytes())


def scan(text: str, k: int, w: int) -> tuple[list[int], list[int]]:
    hashes, positions, _ = native_tests.scan_minimizers(np.frombuffer(text.encode(), np.uint8), k, w)
    return hashes.tolist(), positions.tolist()


def misaligned(values: np.ndarray) -> np.ndarray:
    """As arrays lie in the middle of a message: the same values at an odd address."""
    return np.frombuffer(b"?" + values.tobytes(), np.uint8)[1:].view(values.dtype)


def test_arrays_at_odd_addresses() -> None:
    """Native code is given aligned copies; make sanitize would see a load that is not."""
    reference = make_reference("ACGTNNACGTTGCA", "TTTT")
    arrays = [
        reference.words,
        reference.contig_offsets,
        reference.run_starts,
        reference.run_ends,
        reference.run_bases,
    ]
    moved = _native.ReferenceArrays(*map(misaligned, arrays))
    assert _native.reference_sequence(moved, 0, 18) == b"ACGTNNACGTTGCATTTT"


@pytest.mark.parametrize("k", [1, 3, 5, 7])
def test_hash_is_a_bijection(k: int) -> None:
    values = [mix(k, value) for value in range(4**k)]
    assert sorted(values) == list(range(4**k))


@settings(max_examples=300, deadline=None)
@given(
    st.text("ACGTN", max_size=60) | st.text("AC", max_size=60),
    st.sampled_from([1, 3, 5, 7, 11]),
    st.integers(1, 9),
)
def test_minimizers_match_their_definition(text: str, k: int, w: int) -> None:
    expected = minimizer_positions(text, k, w, lambda kmer: mix(k, packed(kmer)))
    hashes, positions = scan(text, k, w)
    assert positions == expected
    for value, position in zip(hashes, positions, strict=True):
        kmer = text[position : position + k]
        assert value == mix(k, min(packed(kmer), packed(reverse_complement(kmer))))


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from([3, 5, 7]), st.integers(1, 8), st.booleans())
def test_window_guarantee(data: st.DataObject, k: int, w: int, reverse: bool) -> None:
    """Two texts that share w + k - 1 bases, on either strand, share a minimizer inside them."""
    bases = st.text("ACGT", max_size=30) | st.text("A", max_size=30)
    shared = data.draw(st.text("ACGT", min_size=w + k - 1, max_size=w + k - 1) | st.just("A" * (w + k - 1)))
    left, right = data.draw(bases), data.draw(bases)
    text = left + shared + right
    other_left = data.draw(bases)
    other = other_left + (reverse_complement(shared) if reverse else shared) + data.draw(bases)
    mine = {(h, p - len(left)) for h, p in zip(*scan(text, k, w), strict=True)}
    theirs = {(h, p - len(other_left)) for h, p in zip(*scan(other, k, w), strict=True)}
    if reverse:
        theirs = {(h, len(shared) - k - p) for h, p in theirs}
    assert {(h, p) for h, p in mine & theirs if 0 <= p <= w - 1}


def test_blocks_of_the_scanner_meet_without_a_seam() -> None:
    rng = np.random.default_rng(7)
    text = "".join(rng.choice(list("ACGT"), 5000))
    expected = minimizer_positions(text, 9, 6, lambda kmer: mix(9, packed(kmer)))
    assert scan(text, 9, 6)[1] == expected


def lookup(index: MinimizerIndex, value: int) -> list[int]:
    """Positions whose entry has the hash, read straight from the documented layout."""
    rest = 2 * index.params.k - index.bucket_bits
    bucket, low = value >> rest, value & (1 << rest) - 1
    fingerprint = low >> max(0, rest - 31)
    entries = index.entries[index.offsets[bucket] : index.offsets[bucket + 1]].tolist()
    return [e >> 1 & 0xFFFFFFFF for e in entries if e >> 33 == fingerprint]


@pytest.mark.parametrize(("k", "w"), [(1, 1), (3, 2), (9, 4), (15, 10), (19, 2), (21, 2), (31, 5)])
def test_every_minimizer_is_in_the_index_at_its_positions(k: int, w: int) -> None:
    rng = np.random.default_rng(k * 100 + w)
    contigs = ["".join(rng.choice(list("ACGTN"), n, p=[0.24, 0.25, 0.25, 0.25, 0.01])) for n in (700, 40, 5, 300)]
    index = build_index(make_reference(*contigs), IndexParams(k, w))
    expected: dict[int, list[int]] = {}
    start = 0
    for contig in contigs:
        for value, position in zip(*scan(contig, k, w), strict=True):
            expected.setdefault(value, []).append(start + position)
        start += len(contig)
    assert len(index.entries) == sum(map(len, expected.values()))
    for value, positions in expected.items():
        assert set(positions) <= set(lookup(index, value))


@pytest.mark.parametrize("k", [15, 21])
def test_index_does_not_depend_on_threads(k: int) -> None:
    rng = np.random.default_rng(3)
    text = "".join(rng.choice(list("ACGT"), 3_000_000))
    reference = make_reference(text, text[:1000])
    one, three = (build_index(reference, IndexParams(k, 5), threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.entries, three.entries)
    np.testing.assert_array_equal(one.offsets, three.offsets)


_PEAK_OF_A_BUILD = """
import numpy as np
from gpualign import _native
from gpualign.seeds.index.minimizers import IndexParams, build_index
from gpualign.sequences.reference import Reference

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) << 10

packer = _native.ReferencePacker()
packer.append(np.random.default_rng(1).choice(np.frombuffer(b"ACGT", np.uint8), 4_000_000))
reference = Reference(["r"], np.array([0, 4_000_000]), *packer.finish())
del packer
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
before = peak()
index = build_index(reference, IndexParams(13, 2), 2)
print((peak() - before) / (index.entries.nbytes + index.offsets.nbytes))
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="reads the peak from Linux")
@pytest.mark.skipif(SANITIZED, reason="a sanitizer takes memory of its own")
def test_a_build_needs_little_more_memory_than_its_index(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PEAK_OF_A_BUILD]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
    assert float(done.stdout) < 1.3


@pytest.mark.parametrize(("k", "w"), [(0, 5), (2, 5), (33, 5), (15, 0)])
def test_impossible_parameters_are_refused(k: int, w: int) -> None:
    with pytest.raises(UsageError):
        IndexParams(k, w)


def test_saved_index_comes_back(saved) -> None:
    index, path = saved
    again = load_index(path)
    assert is_index(path)
    assert (again.reference.names, again.params) == (index.reference.names, index.params)
    np.testing.assert_array_equal(again.entries, index.entries)
    np.testing.assert_array_equal(again.offsets, index.offsets)
    assert again.reference.sequence(0, 2200) == index.reference.sequence(0, 2200)


@pytest.mark.parametrize("keep", [0, 4, 15, 40, 300, 0.5, 0.999])
def test_cut_index_is_refused(saved, tmp_path, keep) -> None:
    data = Path(saved[1]).read_bytes()
    cut = tmp_path / "cut.gpi"
    cut.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.raises(InputError, match="index"):
        load_index(str(cut))


def test_index_of_another_version_is_refused(saved, tmp_path) -> None:
    data = bytearray(Path(saved[1]).read_bytes())
    data[8] = 99
    other = tmp_path / "v.gpi"
    other.write_bytes(data)
    with pytest.raises(InputError, match="version 99"):
        load_index(str(other))


def test_any_changed_byte_is_noticed(saved, tmp_path) -> None:
    """Of every section, and of the zeros between them."""
    data = Path(saved[1]).read_bytes()
    for at in [*range(0, 1024, 3), *range(1024, len(data), 61), len(data) - 1]:
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        (tmp_path / "x.gpi").write_bytes(changed)
        with pytest.raises(InputError, match="index"):
            load_index(str(tmp_path / "x.gpi"))


@pytest.mark.parametrize("more", [b"\0\0", b"x" * 100])
def test_bytes_after_the_end_are_noticed(saved, tmp_path, more: bytes) -> None:
    (tmp_path / "x.gpi").write_bytes(Path(saved[1]).read_bytes() + more)
    with pytest.raises(InputError, match="bytes after the header instead of"):
        load_index(str(tmp_path / "x.gpi"))


def test_a_late_piece_has_its_own_checksum(tmp_path, monkeypatch) -> None:
    """As many pieces as a large file has, by several threads."""
    monkeypatch.setattr("gpualign.seeds.index.file._PIECE", 1000)
    index = build_index(make_reference("ACGTTGCAAC" * 999), IndexParams(11, 4))
    path = tmp_path / "x.gpi"
    save_index(index, str(path))
    np.testing.assert_array_equal(load_index(str(path), threads=3).entries, index.entries)
    data = bytearray(path.read_bytes())
    data[-3000] ^= 16
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"checksum of the bytes from [\d,]+ on"):
        load_index(str(path), threads=3)


@pytest.mark.parametrize("change", ["cut", "overwritten"])
def test_an_index_in_use_may_change(saved, change: str) -> None:
    """What was checked is what is used; a mapped file would end the process here (SIGBUS)."""
    index, path = saved
    again = load_index(path)
    with open(path, "r+b") as file:
        if change == "cut":
            file.truncate(0)
        else:
            file.write(b"\xff" * os.path.getsize(path))
    np.testing.assert_array_equal(again.entries, index.entries)
    assert again.reference.sequence(0, 2200) == index.reference.sequence(0, 2200)


def write(path, text: bytes) -> str:
    path.write_bytes(text)
    return str(path)


def test_reference_bases_survive_packing(tmp_path) -> None:
    path = write(tmp_path / "r.fa", b">a one\r\nACGTNNRYacgtnu\r\nACG\r\n>b\r\nTTTT")
    reference = read_reference(path)
    assert reference.names == ["a", "b"]
    assert reference.lengths.tolist() == [17, 4]
    assert reference.sequence(0, 21) == b"ACGTNNRYACGTNTACGTTTT"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"hello\n", "neither FASTA nor FASTQ"),
        (b"@r\nACGT\n+\nIIII\n", "FASTQ file where the reference"),
        (b">a\nAC\n>b\nAC\n>a x\nGG\n", "lines 1 and 5"),
        (b">a\nAC\n>b\n", "'b' has no sequence"),
        (b">\nAC\n", "no name"),
        (b">a\nAC-GT\n", "'-' is not a nucleotide"),
    ],
)
def test_bad_references_are_refused(tmp_path, text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_reference(write(tmp_path / "r.fa", text))


def test_genbank_reference(tmp_path) -> None:
    from Bio import SeqIO
    from Bio.Seq import Seq
    from Bio.SeqRecord import SeqRecord

    record = SeqRecord(Seq("ACGTTNGCA"), id="X1.1", name="X1", annotations={"molecule_type": "DNA"})
    path = str(tmp_path / "r.gb")
    SeqIO.write(record, path, "genbank")
    reference = read_reference(path)
    assert reference.names == ["X1.1"]
    assert reference.sequence(0, 9) == b"ACGTTNGCA"


@pytest.mark.parametrize(("k", "w"), [(11, 1), (15, 5), (31, 19)])
def test_progress_counts_every_base_twice(k: int, w: int) -> None:
    """Once while the reference is scanned, once while seeds are sorted, whatever contigs and partitions there are."""
    reference = read_reference(str(GENOMES))
    done = np.zeros(1, np.uint64)
    build_index(reference, IndexParams(k, w), 2, done)
    assert done[0] == 2 * reference.bases


def test_a_terminal_shows_progress(tmp_path: Path) -> None:
    """A bar each for reading and for indexing, on a terminal alone."""
    command = program("index", GENOMES, "-d", tmp_path / "index.gpi")
    ours, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 120, 0, 0))
    with subprocess.Popen(command, stderr=terminal, stdout=subprocess.DEVNULL) as process:
        os.close(terminal)
        shown = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    assert process.returncode == 0
    assert b" bases read" in shown
    assert b" bases scanned and sorted" in shown
    silent = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert b"bases read" not in silent.stderr


@pytest.mark.parametrize("largest", [1, 3, 8, 9, 40])
def test_looking_up(largest: int) -> None:
    """Buckets of all sizes, k-mers that are there once, often, or not at all: what a search of all entries finds."""
    rng = np.random.default_rng(largest)
    k, bits = 5, 4  # 6 bits of a hash are an entry's own
    sizes = rng.integers(0, largest + 1, 2**bits)
    parts = [(b << 6) + rng.integers(0, 2 + largest // 4, n) for b, n in enumerate(sizes)]
    hashes = np.concatenate(parts).astype(np.uint64)
    position = rng.integers(0, 2**32 - 1, len(hashes), dtype=np.uint64)
    own = hashes & np.uint64(63)
    order = np.lexsort((position, own, hashes >> np.uint64(6)))
    entries = ((own << np.uint64(33)) | (position << np.uint64(1)))[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    wanted = np.arange(2**10, dtype=np.uint64)
    tags = ((own << np.uint64(1)) | (position & np.uint64(1)))[order].astype(np.uint16)
    for first, last in (
        native_tests.look_up(offsets, entries, k=k, bucket_bits=bits, hashes=wanted),
        native_tests.look_up_tags(offsets, tags, k=k, bucket_bits=bits, hashes=wanted),
    ):
        for hash_, begin, end in zip(wanted.tolist(), first.tolist(), last.tolist(), strict=True):
            places = np.flatnonzero(hashes[order] == hash_).tolist()
            assert list(range(begin, end)) == places


def test_looking_up_the_largest_tags() -> None:
    """Fingerprints of 15 bits, up to the largest, in two buckets."""
    k, bits = 9, 3
    own = np.array([0, 32766, 32767, 32767, *range(12), *[32767] * 20])
    tags = (own << 1 | np.arange(len(own)) % 2).astype(np.uint16)
    offsets = np.array([0, 0, 4, 4, 4, 4, 4, 4, len(tags)], np.uint32)
    hashes = np.array([1 << 15, (1 << 15) + 32766, (1 << 15) + 32767, 32767, (7 << 15) + 32766, (7 << 15) + 32767])
    first, last = native_tests.look_up_tags(offsets, tags, k=k, bucket_bits=bits, hashes=hashes.astype(np.uint64))
    assert (last - first).tolist() == [1, 1, 2, 0, 0, 20]
    assert first[[0, 1, 2, 5]].tolist() == [0, 1, 2, 16]


def test_the_reference_alone_is_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "x.gpi"
    index = build_index(make_reference("ACGTTGCA" * 900, "ACGTNNNACGT"), IndexParams(15, 3))
    save_index(index, str(path))
    whole = load_reference(str(path))
    assert whole.names == ["c0", "c1"]
    assert whole.sequence(0, whole.bases) == index.reference.sequence(0, index.reference.bases)
    assert whole.contig_offsets.tolist() == index.reference.contig_offsets.tolist()
    stored = bytearray(path.read_bytes())
    at = stored.index(index.reference.words.tobytes()[:64])
    stored[at] ^= 1
    path.write_bytes(stored)
    with pytest.raises(InputError, match="checksum"):
        load_reference(str(path))
