"""Writes tables as text, or as Parquet and Arrow files with the same content."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from gpualign.params import RunOptions
from gpualign.text.output_file import OutputFile, open_output

#: type of a column: text, integers, or other numbers; ``*`` among numbers is null
Kind = Literal["text", "integer", "number"]
#: bytes of text in a row group; fixed, as the output must not depend on batches
GROUP_BYTES = 1 << 25
_NONE = ("*", "")


@contextlib.contextmanager
def open_table(options: RunOptions, columns: Mapping[str, Kind], header: bool = True) -> Iterator[TableSink]:
    """Open a table in the format ``options.output_format``; whole or absent like every output.

    Args:
        columns: names and types, in order.
        header: begin text with a line of names.

    Raises:
        GpualignError: as :func:`gpualign.text.output_file.open_output`.
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
    """Turn Arrow's bad_alloc into MemoryError."""
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
        self._arrow.enable_signal_handlers(False)  # keep the command's own
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
        """Write whole lines.

        Raises:
            GpualignError: they cannot be written.
        """
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
        """Write the last rows and the end of the file."""
        if self._held:
            self._write_group(bytes(self._held))
        self._writer.close()

    def abandon(self) -> None:
        """Ignore further writes, which pyarrow's finalizers may make."""
        self._sink.open = False


class _Sink:
    """A file object for pyarrow."""

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
        """Left to the output."""

    def close(self) -> None:
        """Left to the output."""


def _as_utf8(lines: bytes) -> bytes:
    r"""Escape bytes that are not UTF-8, like ``\xe9``, as Arrow's text is UTF-8."""
    try:
        lines.decode()
    except UnicodeDecodeError:
        return lines.decode(errors="backslashreplace").encode()
    return lines


#: takes the lines of a table
TableSink = OutputFile | _ArrowWriter
