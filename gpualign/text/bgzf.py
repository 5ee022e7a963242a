"""BGZF, the gzip blocks of BAM files (SAM specification, section 4.1), with ISA-L and several threads.

htslib compresses with zlib unless it was built with libdeflate, and zlib takes longer for a BAM file than the mapper.
ISA-L is 20 times as fast as zlib's default and makes files 10 to 20 % larger. zlib-ng makes smaller ones, if a level
is asked for.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.pinned import Allocate
from gpualign.streaming.timeline import STEPS
from gpualign.streaming.worker_pool import WorkerPool
from gpualign.text import tuning
from gpualign.text.deflate_packages import isal, zlib_ng
from gpualign.text.ordered_writer import PartWriter, part_writer
from gpualign.text.streams import GZIP_MAGIC, Damaged, OtherBytes, Pieces, PrefixedStream, may_be_member, read_at

#: bytes of a block, and of its content
LARGEST_BLOCK = 1 << 16
#: content of every block but the last, as htslib cuts it: it fits a block even if it cannot be compressed
BLOCK_CONTENT = 0xFF00
#: the empty block that marks the end of a file
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
#: the first bytes of BAM, inflated
BAM_MAGIC = b"BAM\x01"
#: one extra field, BC, whose value, two bytes after this, is the block's size less one; htslib writes the same
_HEADER = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0"

#: bytes before a text in its memory, for a record that begins in the piece before it
HEADROOM = 1 << 16
#: content that a thread compresses at a time
_GROUP_CONTENT = 16 * BLOCK_CONTENT


def is_bgzf(head: bytes) -> bool:
    """Whether a file with this beginning is BGZF."""
    return head[:4] == _HEADER[:4] and head[len(_HEADER) - 6 : len(_HEADER)] == _HEADER[-6:]


class Inflated(NamedTuple):
    """A piece of text.

    Attributes:
        text: uint8.
        newlines: in it, counted by the thread that inflated it; 0: not counted.
        memory: :data:`HEADROOM` bytes for what comes before the text, and the text; None: it has no headroom.
    """

    text: NDArray[np.uint8]
    newlines: int
    memory: NDArray[np.uint8] | None = None

    def after(self, texts: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
        """The text with others before it, which are moved into the headroom."""
        assert self.memory is not None
        begin = HEADROOM - sum(map(len, texts))
        if texts:
            np.concatenate(texts, out=self.memory[begin:HEADROOM])
        return self.memory[begin : HEADROOM + len(self.text)]


class BgzfCodec:
    """Inflates and deflates in place of the CPU's threads. This one does nothing; ``gpualign.run.gpu.compression``
    has the codec of devices. Methods may be called from any thread.

    Attributes:
        group_bytes: about how many bytes of blocks are inflated at a time.
        waiting: number of threads that may wait for it to deflate.
    """

    group_bytes = tuning.GROUP_BYTES
    waiting = 0

    def inflate(self, blocks: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        """The text of whole blocks; None: the CPU must inflate them."""
        return None

    def deflate(self, content: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        """Blocks of a content; None: the CPU must deflate it."""
        return None

    def deflates_at(self, before: int) -> bool:
        """Whether to deflate the content that follows ``before`` bytes of a text; depends on the offset alone."""
        return False

    def alone(self) -> contextlib.AbstractContextManager[None]:
        """A context in which a file is written while no stage runs."""
        return contextlib.nullcontext()


CPU_CODEC = BgzfCodec()


class BgzfReader(io.RawIOBase):
    """The text of a BGZF file, inflated by threads; gzip members of another kind may follow the blocks.

    Args:
        stream: the file from its first byte.
        open_rest: opens what follows the blocks, given a stream of it.

    Attributes:
        codec: inflates groups of blocks from now on, if it can.

    Reading raises EOFError if the file is truncated, and :class:`Damaged`.
    """

    def __init__(self, stream: IO[bytes], threads: int, open_rest: Callable[[Any], IO[bytes]]) -> None:
        self._stream, self._open_rest = stream, open_rest
        self._rest: IO[bytes] | None = None
        self.codec = CPU_CODEC
        self._count_lines = False
        self._inflated = run_ordered(self._groups(), self._pieces_of, min(threads, tuning.MAX_BGZF_THREADS))
        self._texts = chain.from_iterable(self._inflated)
        self._text = Pieces(inflated.text for inflated in self._texts)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not (count := self._text.readinto(buffer)) and self._rest is not None:
            count = self._rest.readinto(buffer)  # type: ignore[attr-defined]
        return count

    def pieces(self, count_lines: bool) -> Iterator[Inflated]:
        """The whole text in inflated pieces; use this or :meth:`readinto`."""
        self._count_lines = count_lines
        yield from self._texts
        while self._rest is not None and (text := self._rest.read(tuning.GROUP_BYTES)):
            yield self._counted(np.frombuffer(text, np.uint8))

    def close(self) -> None:
        self._inflated.close()  # type: ignore[attr-defined]
        super().close()

    def _after_zeros(self, rest: bytes) -> bytes:
        """``rest`` without leading zeros, which may follow gzip members."""
        while rest and not (begin := rest.lstrip(b"\0")):
            rest = self._stream.read(tuning.GROUP_BYTES)
        return begin if rest else b""

    def _groups(self) -> Iterator[NDArray[np.uint8]]:
        rest = yield from block_groups(self._stream, lambda: self.codec.group_bytes)
        if rest is not None and (begin := self._after_zeros(rest.tobytes())):
            self._rest = self._open_rest(PrefixedStream(begin, self._stream))

    def _pieces_of(self, group: NDArray[np.uint8]) -> list[Inflated]:
        """The text of whole blocks; a device leaves it in pinned memory, from which it can copy it again."""
        if (text := self.codec.inflate(group)) is None:
            memories = (_inflated(part, HEADROOM) for part in _parts_of(group))
            return [self._counted(memory[HEADROOM:], memory) for memory in memories]
        starts = range(0, len(text), tuning.PIECE_BYTES)
        return [self._counted(text[start : start + tuning.PIECE_BYTES]) for start in starts]

    def _counted(self, text: NDArray[np.uint8], memory: NDArray[np.uint8] | None = None) -> Inflated:
        if not self._count_lines:
            return Inflated(text, 0, memory)
        with STEPS.at("parse"):
            return Inflated(text, _native.count_newlines(text), memory)


def block_groups(
    stream: Any, group_bytes: Callable[[], int]
) -> Generator[NDArray[np.uint8], None, NDArray[np.uint8] | None]:
    """Yield groups of whole blocks, up to the end or to the first gzip member that is not a block.

    Args:
        group_bytes: about the bytes of the next group.

    Returns:
        what has been read of other members; None: there are none.

    Raises:
        EOFError: a block is cut short.
        OtherBytes: fewer bytes than a block has follow the last one.
    """
    rest: NDArray[np.uint8] = np.zeros(0, np.uint8)
    while len(data := _read_on(stream, rest, group_bytes())) > len(rest):
        end, other = _native.whole_bgzf_blocks(data)
        rest = data[end:].copy()
        if end:
            yield data[:end]
        if other:
            return rest
    if rest.any():
        if not may_be_member(rest[np.flatnonzero(rest)[0] :], [GZIP_MAGIC]):
            raise OtherBytes("other bytes follow it")
        raise EOFError("a block is cut short")
    return None


@STEPS.at("read")
def _read_on(stream: Any, rest: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """``rest`` and up to ``size`` bytes that follow it, read in place: a copy of bytes would hold the GIL."""
    data = np.empty(len(rest) + size, np.uint8)
    data[: len(rest)] = rest
    return data[: len(rest) + stream.readinto(data[len(rest) :].data)]


def _parts_of(group: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """A device's group in parts of the CPU's size: a piece of text is held until all of it has been used."""
    while len(group) > 2 * tuning.GROUP_BYTES:
        end = _native.whole_bgzf_blocks(group[: max(tuning.GROUP_BYTES, LARGEST_BLOCK)])[0]
        yield group[:end]
        group = group[end:]
    yield group


@STEPS.at("inflate")
def _inflated(group: NDArray[np.uint8] | bytes, headroom: int = 0) -> NDArray[np.uint8]:
    try:
        return isal().inflate(np.frombuffer(group, np.uint8), headroom)
    except ValueError as error:
        raise Damaged(str(error)) from None


def inflated_in(allocate: Allocate, blocks: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
    """The text of whole blocks, inflated by the CPU into allocated memory; None if none is available.

    Raises:
        ValueError: the blocks are damaged.
    """
    nbytes = int(_native.bgzf_block_sizes(blocks)[1].sum())
    if (memory := allocate(nbytes + 1)) is not None:
        with STEPS.at("inflate"):
            isal().inflate_into(blocks, memory)
        memory = memory[:nbytes]
    return memory


def packed(contents: NDArray[np.uint8], sizes: NDArray[np.uint64], codec: BgzfCodec = CPU_CODEC) -> bytes | memoryview:
    """Deflate contents of these sizes to whole blocks. A device's blocks may span two contents."""
    if len(contents) and (made := codec.deflate(contents)) is not None:
        with STEPS.at("copy"):  # out of the device's pinned memory
            return made.copy().data
    with STEPS.at("deflate"):
        return isal().compress_all(contents, sizes).data


def unpacked(places: Sequence[tuple[int, int, int]], codec: BgzfCodec = CPU_CODEC) -> NDArray[np.uint8]:
    """The joined content of whole blocks in files.

    Args:
        places: (descriptor, offset, bytes) of each.

    Raises:
        OSError: they cannot be read.
        Damaged: they are.
    """
    blocks, at = np.empty(sum(size for _, _, size in places), np.uint8), 0
    with STEPS.at("read"):
        for descriptor, offset, size in places:
            if read_at(descriptor, blocks[at : at + size].data, offset) < size:
                raise Damaged("a file is cut short")
            at += size
    content = codec.inflate(blocks) if len(blocks) else None
    return _inflated(blocks) if content is None else content


class CutBlocks(NamedTuple):
    """A piece of a text: its whole blocks, compressed, and the bytes before and after them."""

    head: bytes
    blocks: bytes | memoryview
    tail: bytes

    @classmethod
    def of(
        cls, content: NDArray[np.uint8], before: int, level: int | None = None, codec: BgzfCodec = CPU_CODEC
    ) -> CutBlocks:
        """Cut and compress ``content``, which may change afterwards; from any thread.

        Args:
            before: bytes of the text before it.
            level: see :func:`bgzf_writer`.
            codec: deflates a share of the contents, if there is no level.
        """
        begin = min(len(content), -before % BLOCK_CONTENT)
        end = len(content) - (len(content) - begin) % BLOCK_CONTENT
        whole, made = content[begin:end], None
        if level is None and len(whole) and codec.deflates_at(before):
            made = codec.deflate(whole)
        blocks = _blocks(whole, level) if made is None else made.data
        return cls(content[:begin].tobytes(), blocks, content[end:].tobytes())


class BgzfWriter:
    """Writes BGZF, compressed by threads. Blocks are cut by length, so they depend neither on the pieces that are
    written nor on the threads. Use :func:`bgzf_writer`.

    Args:
        out: writes the blocks.
        pool: compresses them; None: the calling thread does.
        level: see :func:`bgzf_writer`.
    """

    def __init__(self, out: PartWriter, pool: WorkerPool | None, level: int | None) -> None:
        self._out, self._pool, self._level = out, pool, level
        self._rest = b""

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        if self._rest:
            missing = _GROUP_CONTENT - len(self._rest)
            self._rest += view[:missing]
            view = view[missing:]
            if len(self._rest) < _GROUP_CONTENT:
                return len(data)
            self._submit(self._rest)
        end = len(view) - len(view) % _GROUP_CONTENT
        for at in range(0, end, _GROUP_CONTENT):
            self._submit(view[at : at + _GROUP_CONTENT])
        self._rest = bytes(view[end:])
        return len(data)

    def write_cut(self, cut: CutBlocks) -> None:
        """Write a piece whose ``before`` is the number of bytes written so far."""
        self._rest += cut.head
        if whole := len(self._rest) - len(self._rest) % BLOCK_CONTENT:
            self._submit(self._rest[:whole])  # seldom more than one
            self._rest = self._rest[whole:]
        if len(cut.blocks):
            self._out.write(cut.blocks)
        self._rest += cut.tail

    def write_blocks(self, blocks: bytes | memoryview) -> None:
        """Write whole blocks unchanged."""
        if self._rest:
            self._submit(self._rest)
            self._rest = b""
        self._out.write(blocks)

    def finish(self) -> None:
        """Write the rest, and the empty block that marks the end."""
        self._submit(self._rest)
        self._out.write(BGZF_END)

    def _submit(self, content: bytes | memoryview) -> None:
        made = partial(_blocks, content, self._level)
        self._out.write(made() if self._pool is None else self._pool.submit(made))


@contextlib.contextmanager
def bgzf_writer(
    write: Callable[[bytes | memoryview], object], threads: int, in_thread: bool = False, level: int | None = None
) -> Iterator[BgzfWriter]:
    """Open a BGZF writer that passes its output to ``write``. It is finished unless the context ends with an exception.

    Args:
        threads: limit of the threads that compress; 1: the calling one.
        in_thread: see :func:`part_writer`.
        level: zlib-ng's, from 0 (not compressed) to 9; None: ISA-L or a device, which are faster.
    """
    threads = min(threads, tuning.MAX_BGZF_THREADS)
    pool = None if threads == 1 else WorkerPool(threads, "gpualign-bgzf")
    try:
        with part_writer(write, 0 if pool is None else 2 * threads, in_thread and pool is not None) as out:
            writer = BgzfWriter(out, pool, level)
            yield writer
            writer.finish()
    finally:
        if pool is not None:
            pool.close()


@STEPS.at("deflate")
def _blocks(content: bytes | memoryview | NDArray[np.uint8], level: int | None = None) -> memoryview:
    """The BGZF blocks of some content; compression releases the GIL."""
    text = np.frombuffer(content, np.uint8)
    return (isal().compress(text) if level is None else zlib_ng().compress(text, level)).data
