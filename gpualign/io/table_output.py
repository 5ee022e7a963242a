"""Where the rows of a table go: text as it is, or Parquet and Arrow files that hold just what the text holds."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol

from gpualign.io.output_file import OutputFile, open_output
from gpualign.params import RunOptions

#: of a column: text, whole numbers, or other numbers; ``*`` among numbers is "none"
Kind = Literal["text", "integer", "number"]
#: bytes of text that become one row group, however they come: the output must not depend on batches
GROUP_BYTES = 1 << 25
_NONE = ("*", "")


class TableSink(Protocol):
    """What takes the lines of a table."""

    @property
    def bytes_written(self) -> int: ...

    def write(self, lines: bytes | memoryview, /) -> object:
        """Whole lines.

        Raises:
            GpualignError: they cannot be written.
        """


@contextlib.contextmanager
def open_table(options: RunOptions, columns: Mapping[str, Kind], header: bool = True) -> Iterator[TableSink]:
    """A table in the form that ``options.output_format`` says, whole or absent at the end like every output.

    Args:
        columns: names, in order, and what they hold.
        header: begin with a line of names, where it is text.

    Raises:
        GpualignError: as :func:`gpualign.io.output_file.open_output`.
    """
    with open_output(options.output, options.threads) as out:
        if options.output_format == "tsv":
            if header:
                out.write("\t".join(columns).encode() + b"\n")
            yield out
            return
        with _memory_errors():
            writer = _ArrowWriter(out, columns, options.output_format)
        try:
            yield writer
            writer.finish()
        finally:
            writer.abandon()


@contextlib.contextmanager
def _memory_errors() -> Iterator[None]:
    """Lack of memory in Arrow's C++ as what it is."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        if "bad_alloc" in str(error):
            raise MemoryError from error
        raise


class _ArrowWriter:
    """Collects lines into row groups."""

    def __init__(self, out: OutputFile, columns: Mapping[str, Kind], form: str) -> None:
        self._arrow: Any = importlib.import_module("pyarrow")  # optional, and slow to import
        self._csv: Any = importlib.import_module("pyarrow.csv")
        self._arrow.enable_signal_handlers(False)  # those of the command stay
        kinds = {"text": self._arrow.string(), "integer": self._arrow.int64(), "number": self._arrow.float64()}
        self._schema = self._arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
        self._sink = _Sink(out)
        if form == "parquet":
            parquet: Any = importlib.import_module("pyarrow.parquet")
            self._writer = parquet.ParquetWriter(self._sink, self._schema, compression="zstd")
        else:
            self._writer = self._arrow.ipc.new_file(self._arrow.PythonFile(self._sink, "w"), self._schema)
        self._held = bytearray()

    @property
    def bytes_written(self) -> int:
        return self._sink.written

    def write(self, lines: bytes | memoryview) -> None:
        self._held += lines
        while (cut := self._held.find(b"\n", GROUP_BYTES - 1) + 1) > 0:
            self._write_group(bytes(self._held[:cut]))
            del self._held[:cut]

    @_memory_errors()
    def _write_group(self, lines: bytes) -> None:
        csv = self._csv
        table = csv.read_csv(
            self._arrow.py_buffer(_as_utf8(lines)),
            csv.ReadOptions(column_names=self._schema.names, block_size=len(lines) + 1, use_threads=False),
            csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=self._schema, null_values=list(_NONE), strings_can_be_null=False),
        )
        self._writer.write_table(table, table.num_rows)

    @_memory_errors()
    def finish(self) -> None:
        """Write what is left, and the end of the file."""
        if self._held:
            self._write_group(bytes(self._held))
        self._writer.close()

    def abandon(self) -> None:
        """From now on nothing is written, whatever pyarrow's objects do when they go."""
        self._sink.open = False


class _Sink:
    """An output as pyarrow wants it."""

    closed = False

    def __init__(self, out: OutputFile) -> None:
        self._out, self.open, self.written = out, True, 0

    def write(self, data: Any) -> int:
        if self.open:
            self._out.write(memoryview(data))
            self.written += len(data)
        return len(data)

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.written

    def flush(self) -> None:
        """Done by the output."""

    def close(self) -> None:
        """Done by the output."""


def _as_utf8(lines: bytes) -> bytes:
    r"""Bytes of a name that are no UTF-8 become ``\xe9`` and the like, as Arrow's texts are UTF-8."""
    try:
        lines.decode()
    except UnicodeDecodeError:
        return lines.decode(errors="backslashreplace").encode()
    return lines
