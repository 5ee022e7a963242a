"""CRAM output, written by samtools."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO

from gpualign.ending import undone_at_the_end
from gpualign.errors import GpualignError
from gpualign.records.contigs import Contigs
from gpualign.records.cram_errors import SamtoolsFailed, reference_error
from gpualign.sequences.reference import Reference
from gpualign.text.output_file import Sink, open_output
from gpualign.text.paths import temporary_folder

_COPY_BYTES = 1 << 20
_BASES_AT_ONCE = 1 << 24
#: no @PG line of its own; one thread, as with more the result of htslib's compression trials depends on timing;
#: CRAM 3.0, as some programs cannot read 3.1 (Picard 2)
_ARGUMENTS = ("view", "--no-PG", "-@", "0", "-O", "cram,version=3.0")
_INDEX = "index.crai"


class CramIndex:
    """A .crai, which samtools writes with the file.

    Attributes:
        content: of it; empty until it is known.
    """

    content = b""

    def save(self, path: str) -> str:
        """Write the index of the file ``path`` next to it, and return the index's path.

        Raises:
            GpualignError: as :func:`open_output`.
        """
        with open_output(path + ".crai") as out:
            out.write(self.content)
        return out.path


@contextlib.contextmanager
def cram_writer(
    write: Callable[[bytes | memoryview], object],
    path: str | None,
    contigs: Contigs,
    index: CramIndex | None,
    level: int | None = None,
    thin: bool = False,
) -> Iterator[Sink]:
    """Open a sink for BAM that passes CRAM to ``write``.

    Args:
        path: of the output; the reference's copy for samtools lies next to it.
        contigs: a :class:`Reference`, or the contigs of a header.
        index: what is indexed, of records by coordinate; None: nothing is.
        level: of compression; None: htslib's default.
        thin: there are fewer bases of records than of the reference. Without a reference htslib would make and store
            one, base by base from the first record to the last: seconds for a few reads of a chromosome.

    Raises:
        InputError: the reference is not the one in the header, or cannot be read.
        GpualignError: samtools failed, the reference cannot be copied, or samtools' index cannot be read.
    """
    from gpualign.records.samtools import run_samtools

    def drain(stream: IO[bytes]) -> None:
        while data := stream.read(_COPY_BYTES):
            write(data)

    with _private_folder(path) as folder:
        environment: dict[str, str] = {}
        named: tuple[str, ...] = ()
        if isinstance(contigs, Reference):
            _write_reference(contigs, folder)
            environment = {"REF_PATH": "./%s", "REF_CACHE": ""}
        elif contigs.fasta is not None:
            named = ("-T", os.path.abspath(contigs.fasta))
        elif not contigs.named and thin:
            named = ("--output-fmt-option", "no_ref=1")
        output: tuple[str, ...] = ("-o", "-") if index is None else ("--write-index", "-o", f"-##idx##{_INDEX}")
        if level is not None:
            output = ("--output-fmt-option", f"level={level}", *output)
        try:
            with run_samtools((*_ARGUMENTS, *named, *output, "-"), drain, folder, environment) as samtools:
                yield samtools
        except SamtoolsFailed as failed:
            problem = reference_error(failed.said, None, None if isinstance(contigs, Reference) else contigs.fasta)
            raise problem or failed.explained("CRAM cannot be written") from failed
        if index is not None:
            try:
                index.content = Path(folder, _INDEX).read_bytes()
            except OSError as error:
                raise GpualignError(f"cannot read samtools' index in {folder}: {error.strerror}") from error


def sequence_tags(reference: Reference, path: str) -> list[str]:
    """Further fields of a CRAM file's @SQ lines: M5, and UR if ``path`` is a FASTA file that readers can use."""
    uri = ""
    if os.path.isfile(path):  # a pipe cannot be read again
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if file.read(1) == b">":
                named = os.path.abspath(path)
                uri = f"\tUR:{named}" if named.isprintable() else ""  # a header holds neither tabs nor invalid UTF-8
    return [f"\tM5:{digest}{uri}" for digest in _digests(reference)]


@contextlib.contextmanager
def _private_folder(path: str | None) -> Iterator[str]:
    """A folder for temporary files, removed at the end."""
    # named before it exists, so that an interrupt right after its creation finds what to remove
    folder = os.path.join(temporary_folder(path), f".gpualign.{os.urandom(8).hex()}.tmp")
    with undone_at_the_end(lambda: _remove(folder)):
        try:
            try:
                os.mkdir(folder, 0o700)
            except OSError as error:
                raise GpualignError(f"cannot make a folder for temporary files: {error.strerror}") from error
            yield folder
        finally:
            _remove(folder)


def _remove(folder: str) -> None:
    """Remove the folder, renamed first so that threads that still write put no more files into it."""
    renamed = f"{folder}.old"
    with contextlib.suppress(OSError):
        os.rename(folder, renamed)
    shutil.rmtree(renamed, ignore_errors=True)


def _digests(reference: Reference) -> list[str]:
    """MD5 of every contig's upper-case bases, by which readers of CRAM identify the reference."""
    digests = []
    for parts in _contigs(reference):
        state = hashlib.md5(usedforsecurity=False)
        for bases in parts:
            state.update(bases)
        digests.append(state.hexdigest())
    return digests


def _write_reference(reference: Reference, folder: str) -> None:
    """The reference as htslib looks it up: a file of bases for each contig, named by their MD5.

    The reference itself may be in any format that we read; htslib would need FASTA with an index next to it.
    """
    try:
        for digest, parts in zip(_digests(reference), _contigs(reference), strict=True):
            with open(os.path.join(folder, digest), "wb") as file:
                file.writelines(parts)
    except OSError as error:
        raise GpualignError(f"cannot keep the reference in {folder}: {error.strerror}") from error


def _contigs(reference: Reference) -> Iterator[Iterator[bytes]]:
    for begin, end in pairwise(reference.contig_offsets.tolist()):
        yield (reference.sequence(at, min(end, at + _BASES_AT_ONCE)) for at in range(begin, end, _BASES_AT_ONCE))
