"""What is fuzzed in Python: each target reads the file at a path.

Whatever the bytes, a reader gives records or raises InputError (UsageError where a matrix cannot score). Anything else
is a finding. tests/test_fuzz_corpus.py runs the targets on all inputs that are kept in fuzz/corpus and fuzz/findings.
"""

from __future__ import annotations

import contextlib
import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from gpualign import _native
from gpualign.align.pair_lists import read_pairs
from gpualign.align.score.matrices import load_matrix
from gpualign.errors import InputError, UsageError
from gpualign.reads.lanes import interleaved_reads
from gpualign.reads.reads import ReadSource
from gpualign.records.sam_header import sam_header
from gpualign.seeds.index.file import load_index
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.reference import Reference
from gpualign.text.files import InputFile
from gpualign.text.lines import parse_lines, read_line_chunks
from gpualign.text.references import read_reference
from gpualign.verify.batches import Texts, prepare_chunk
from gpualign.verify.candidates import read_candidates
from gpualign.verify.params import VerifyParams

_REFERENCE = Reference(
    ["a"], np.array([0, 4], np.int64), *(np.zeros(n, t) for n, t in ((2, "u8"), (0, "u4"), (0, "u4"), (0, "u1")))
)
_NAMES = _native.NameIndex(*join_bytes([b"a", b"b", b"chr"]))
_VERIFY = VerifyParams()
_TEXTS = Texts.of_reference(
    _VERIFY,
    SequenceBatch(*join_bytes([b"a", b"b", b"chr"]), *join_bytes([b"ACGT"] * 3)),
    replace(_REFERENCE, names=["a", "b", "chr"], contig_offsets=np.array([0, 4, 8, 12], np.int64)),
)


def reads(path: str) -> None:
    """Twice, in small and in large batches: the same records or the same refusal. A header is rewritten as ours."""
    found = []
    for bases in (1, 1 << 20):
        try:
            with ReadSource(path) as source:
                sam_header(_REFERENCE, "", source=source.header)
                batches = [item.columns() for item in source.records(bases)]
            found.append([(b.name(i), b.sequence(i), b.quality(i)) for b in batches for i in range(len(b))])
        except InputError:
            found.append(None)
    assert found[0] == found[1], found


def pairs(path: str) -> None:
    with ReadSource(path) as source:
        for batch in (reads.columns() for reads in interleaved_reads(source, 100)):
            assert batch.mates is not None
            assert len(batch.mates) == len(batch)


def reference(path: str) -> None:
    packed = read_reference(path)
    assert len(packed.sequence(0, packed.bases)) == packed.bases
    assert packed.native


def places(path: str) -> None:
    for grouped in (False, True):
        for step in read_candidates(path, 64, grouped):
            made = prepare_chunk(_VERIFY, _TEXTS, step, _NAMES, _NAMES)
            assert len(made.query) == len(made.target)


def pair_list(path: str) -> None:
    first, second = read_pairs(path, ["a", "b", "b"], ["a", "c"])
    assert len(first) == len(second)


def matrix(path: str) -> None:
    scoring = load_matrix(path)
    assert scoring.scores.shape == (len(scoring), len(scoring))


def index(path: str) -> None:
    """With checksums made right first, where there is a header to hold them: what follows them shall be met too."""
    with contextlib.suppress(ValueError, TypeError, RecursionError, struct.error):
        Path(path).write_bytes(_summed(Path(path).read_bytes()))
    load_index(path)


def _summed(data: bytes) -> bytes:
    prefix = struct.Struct("<8sIII")
    magic, _, length, _ = prefix.unpack(data[: prefix.size])
    end = prefix.size + length
    arrays = data[end + -end % 64 :]
    sums = [zlib.crc32(arrays[at : at + (1 << 23)]) for at in range(0, len(arrays), 1 << 23)]
    header = json.dumps({**json.loads(data[prefix.size : end]), "bytes": len(arrays), "checksums": sums}).encode()
    start = prefix.pack(magic, 2, len(header), zlib.crc32(header)) + header
    return start + bytes(-len(start) % 64) + arrays


def lines(path: str) -> None:
    with InputFile(path) as file:
        for chunk in read_line_chunks(file, 16):
            assert len(parse_lines(chunk)) >= 1


TARGETS: dict[str, Callable[[str], None]] = {
    target.__name__: target for target in (reads, pairs, reference, places, pair_list, matrix, index, lines)
}


def run(name: str, path: str) -> None:
    """A target on a file; anything but a refusal is raised."""
    with contextlib.suppress(InputError, UsageError):
        TARGETS[name](path)
