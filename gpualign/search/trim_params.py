"""Parameters of ``search --trim``: which ends of reads are cut, and which reads are written where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Literal

from gpualign.checks import set_whole_numbers
from gpualign.errors import UsageError, check_range
from gpualign.fields import check_choices, parameter

#: errors a base of an adapter, unless -e or -k are given
ADAPTER_ERROR_RATE = 0.1
_SEGMENT = re.compile(r"(\d{1,4})([MS])")
_reads, _demultiplexing = partial(parameter, under="Trimming of reads"), partial(parameter, under="Demultiplexing")


@dataclass(frozen=True)
class TrimParams:
    """What is cut off reads, and which of them are written."""

    trim: Literal["3", "5", "any", "both"] | None = _reads(
        None,
        "--trim",
        "Write the reads without PATTERNS, which are adapters: 3: cut off each and what follows, 5: and what precedes "
        "it, any: 5 where it begins with the read, else 3; both: at the 5' end, and its reverse complement at the 3' "
        "end. As in cutadapt ^SEQ and SEQ$ are anchored, XSEQ and SEQX not internal, FIRST...SECOND linked.  "
        f"[-e is {ADAPTER_ERROR_RATE} unless given, and a share of the aligned bases]",
    )
    min_overlap: int = _reads(3, "--min-overlap", "Bases of an adapter that must be in a read.")
    times: int = _reads(1, "--times", "Adapters to remove from a read, one after the other.")
    action: Literal["trim", "mask", "none"] = _reads(
        "trim", "--action", "What is done with adapters: trim, mask with N, or none (only --discard and --split)."
    )
    quality_cutoff: str | None = _reads(
        None,
        "--quality-cutoff",
        "Before adapters are looked for, cut bases of lower quality off the 3' end, or with two numbers off both ends "
        "(bwa's rule).",
        metavar="[Q5,]Q3",
    )
    poly_a: bool = _reads(False, "--poly-a", "After that, cut poly-A off the 3' end, of R2 poly-T off the 5' end.")
    min_length: int = _reads(0, "--min-length", "Write no reads shorter than that, and no pairs with such a mate.")
    discard: Literal["trimmed", "untrimmed"] | None = _reads(
        None,
        "--discard",
        "Write no reads with an adapter, or without one. A pair is left out if one of its mates is.",
    )
    umi: str | None = _reads(
        None,
        "--umi",
        "Cut a UMI off the 5' end first, of R1 or of R1,R2: 8M is eight bases, 8M4S with four more that are skipped.",
        metavar="PARTS[,PARTS]",
    )
    umi_to: Literal["name", "RX"] = _reads(
        "name", "--umi-to", "Where UMIs go: to the end of the name after '_', or to the tag RX."
    )
    unique_dual: bool = _demultiplexing(
        False, "--unique-dual", "An adapter of R1 counts only with the one of the same number in R2."
    )
    barcode_tag: bool = _demultiplexing(
        False, "--barcode-tag", "PATTERNS are barcodes: write the one that was found as BC (those of a pair with '-')."
    )

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        check_choices(self)
        check_range("the overlap", self.min_overlap, 1)
        check_range("the number of adapters of a read", self.times, 1, 1000)
        check_range("the minimum length", self.min_length, 0)
        _ = self.cutoffs, self.umi_parts
        if self.poly_a and self.action != "trim":
            raise UsageError(f"--poly-a cuts what adapters leave: it cannot be used with --action {self.action}")
        if self.trim is None:
            given = {"--discard": self.discard, "--unique-dual": self.unique_dual, "--barcode-tag": self.barcode_tag}
            given["--action"] = self.action != TrimParams.action
            if wanting := next((name for name, value in given.items() if value), None):
                raise UsageError(f"{wanting} is for reads with adapters: it needs --trim")

    @property
    def wanted(self) -> bool:
        """Whether reads are to be written, not a table of hits."""
        return bool(self.trim or self.quality_cutoff or self.poly_a or self.min_length or self.umi)

    @property
    def cutoffs(self) -> tuple[int, int]:
        """Qualities at the 5' and the 3' end; 0: none."""
        if self.quality_cutoff is None:
            return 0, 0
        numbers = self.quality_cutoff.split(",")
        if not 1 <= len(numbers) <= 2 or not all(number.strip().isdigit() for number in numbers):
            raise UsageError(f"a quality cutoff is a number, or one for each end (15,20), not {self.quality_cutoff!r}")
        front, back = ("0", *numbers)[-2:]
        check_range("a quality cutoff", max(int(front), int(back)), 0, 93)
        return int(front), int(back)

    @property
    def umi_parts(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Intervals of the UMI in R1 and in R2, and what is cut off as the last one, (start, end) with start = end."""
        parts = [] if self.umi is None else self.umi.upper().split(",")
        well_formed = all(re.fullmatch(r"(?:\d{1,4}[MS])*", part) for part in parts)
        if len(parts) > 2 or not well_formed or (parts and not any("M" in part for part in parts)):
            raise UsageError(f"a UMI is bases (M) and skipped bases (S), such as 8M or 8M4S,8M, not {self.umi!r}")
        found: list[list[tuple[int, int]]] = []
        for part in (*parts, "", "")[:2]:
            at, intervals = 0, []
            for size, kind in _SEGMENT.findall(part):
                if kind == "M":
                    intervals.append((at, at + int(size)))
                at += int(size)
            found.append([*intervals, (at, at)])
        return found[0], found[1]


@dataclass(frozen=True)
class TrimFiles:
    """Files of mates."""

    patterns2: str | None = _demultiplexing(
        None, "--patterns2", "Adapters of R2 (a file); those before the targets are then of R1 only.", metavar="FILE"
    )
    given2: str | None = _demultiplexing(None, "--pattern2", "The same on the command line.", metavar="SEQ[,SEQ]")
    mates: Literal["1", "2", "both"] = _demultiplexing(
        "both", "--in-mates", "Mates in which PATTERNS are looked for, without --patterns2."
    )
    paired_output: str | None = _reads(
        None, "--paired-output", "R2, for R1 in -o; without it mates are written next to each other.", metavar="FILE"
    )
    interleaved: bool = _reads(False, "--interleaved", "The reads are pairs, mates next to each other.")

    def __post_init__(self) -> None:
        check_choices(self)
        if self.patterns2 is not None and self.given2 is not None:
            raise UsageError("give adapters of R2 in a file or with --pattern2, not both")
        if self.mates != TrimFiles.mates and self.other_patterns:
            raise UsageError("--in-mates is for one set of adapters: it cannot be used with adapters of R2")

    @property
    def other_patterns(self) -> bool:
        """Whether R2 has patterns of its own."""
        return self.patterns2 is not None or self.given2 is not None
