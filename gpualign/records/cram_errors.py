"""What is wrong with CRAM or its reference, in gpualign's words: htslib's are looked at, never shown."""

from __future__ import annotations

import os
import re

from gpualign.errors import GpualignError, InputError

#: what htslib says of a contig without a reference, of one with another, and of a FASTA file that it cannot use
_ABSENT = re.compile(r"Unable to fetch reference (.+):\d+-\d+")
_OTHER = re.compile(r"MD5 checksum reference mismatch at (.+):\d+-\d+|M5 tag discrepancy for reference '(.+)'")
_UNUSABLE = re.compile(r"\[E::refs_load_fai\] Failed to open reference file '(.*)'")
_ELSEWHERE = "sort, markdup and search have --reference; samtools view -b -T FASTA makes BAM of it for any command"


class SamtoolsFailed(GpualignError):
    """A samtools command failed.

    Attributes:
        said: its messages.
        status: exit status; negative: the signal that ended it.
    """

    def __init__(self, said: str, status: int) -> None:
        self.said, self.status = said, status
        super().__init__(f"samtools ended with status {status}: {said}")

    def explained(self, what: str) -> GpualignError:
        """For a run that is not to blame: what could not be done, and why, if that is known."""
        if self.status < 0:
            return GpualignError(f"{what}: its process was ended by signal {-self.status} (is there enough memory?)")
        if "Traceback" in self.said:
            return GpualignError(f"{what}: pysam does not work (install it again: pip install --force-reinstall pysam)")
        return GpualignError(f"{what} (--debug shows why)")


class CramReferenceError(InputError):
    """The reference of CRAM is missing, is another one, or cannot be read."""


def reference_error(said: str, path: str | None, fasta: str | None) -> CramReferenceError | None:
    """What is wrong with the reference; None: it is something else.

    Args:
        said: htslib's messages.
        path: the CRAM file that is read; None: one is written.
        fasta: the file of the reference that was given, if one was.
    """
    unusable = [os.path.abspath(name) for name in _UNUSABLE.findall(said)]
    if fasta is not None and os.path.abspath(fasta) in unusable:
        return CramReferenceError("cannot be the reference of CRAM (give FASTA, not compressed or by bgzip)", fasta)
    if contig := _contig(_OTHER, said):
        other = fasta or "that the header names"
        if path is None:
            return CramReferenceError(
                f"the reference {other} is not the one in the header (M5): contig '{contig}' has other bases"
            )
        return CramReferenceError(
            f"the reference {other} is not the one that it was made with: contig '{contig}' has other bases", path
        )
    if contig := _contig(_ABSENT, said):
        if fasta is not None:
            return CramReferenceError(
                f"the reference {fasta} lacks the contig '{contig}', which it was made with", path
            )
        named = f", nor {unusable[0]}, which its header names" if unusable else ""
        return CramReferenceError(f"no reference was found for its contig '{contig}'{named} ({_ELSEWHERE})", path)
    return None


def _contig(pattern: re.Pattern[str], said: str) -> str | None:
    found = pattern.search(said)
    return found and next(name for name in found.groups() if name)
