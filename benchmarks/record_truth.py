"""Do `gpualign sort` and `gpualign markdup` do with the files of other programs' tests what samtools does, count depth
as mosdepth and group UMIs as UMI-tools?

    python benchmarks/record_truth.py [--umi-tools umi_tools] [--records SORTED.bam] [--molecules 5000]
        [--htslib-tests DIR] [--samtools-tests DIR]

Every SAM, BAM and CRAM file of the tests of htslib and samtools is sorted by both, which must give the same records in
the same order, and is marked, which must change 0x400 alone, and the tags of an earlier marking. The tests are those of
Debian's htslib-test and samtools-test, or folders `test` of clones of github samtools/htslib and samtools/samtools,
which have more. samtools' tests of fixmate are compared field by field; htslib's files of template lengths (test/tlen)
must keep them, from SAM and CRAM, sorted and marked, to SAM and CRAM. Depth is that of --records after marking
(mosdepth's bedGraph, summary and distribution), molecules those of `umi_tools group` on simulated UMIs with errors.
What differs is counted by the rule that explains it. Result: benchmarks/results/record-truth-<machine>.json. Needs
Debian's samtools, samtools-test, htslib-test and mosdepth, and umi_tools (PyPI).
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import harness
import pysam
import sort_markdup

import gpualign
from gpualign.errors import GpualignError

_HTSLIB_TESTS, _SAMTOOLS_TESTS = Path("/usr/share/htslib-test/test"), Path("/usr/share/samtools/test")
_ENDINGS = (".sam", ".bam", ".cram")
_HTSLIB = Path("/usr/lib/x86_64-linux-gnu/libhts.so.3")
_EARLIER_MARKING = ("DT", "dt", "do")
#: what our messages say -> why a file is refused that samtools reads
_REFUSED = {
    "not a number from 0 to 2,147,483,647": "a position that BAM cannot hold",
    "no end-of-file marker": "the end is missing, of which samtools warns",
    "no @SQ line": "a contig that the header lacks, of which samtools warns",
    "is not a tag": "a tag that is none in SAM",
    "tags are damaged": "MD that htslib makes of a reference with zeros in it",
    "which is none": "a CIGAR that is none in SAM",
}
_UNEXPLAINED = "unexplained"
_AS_PYSAM = "as pysam's samtools decodes CRAM, which is later than the samtools beside it"
#: tags -> the option with which fixmate adds them
_ON_REQUEST = {"ms": "m", "ct": "c"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--umi-tools", default="umi_tools")
    parser.add_argument("--records", type=Path)
    parser.add_argument("--molecules", type=int, default=5000)
    parser.add_argument("--htslib-tests", type=Path, default=_HTSLIB_TESTS)
    parser.add_argument("--samtools-tests", type=Path, default=_SAMTOOLS_TESTS)
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for package, tests in (("htslib", arguments.htslib_tests), ("samtools", arguments.samtools_tests)):
            paths = sorted(path for path in tests.rglob("*") if path.suffix in _ENDINGS)
            for what, work in (("sorted", sorted_alike), ("marked", kept_by_marking)):
                why = {path: work(path, folder) for path in paths}
                found[f"files of the tests of {package}, {what}"] = dict(Counter(why.values()).most_common())
                print(*(path for path in paths if why[path] == _UNEXPLAINED), flush=True)
        found["samtools' tests of fixmate"] = dict(fixmate(arguments.samtools_tests / "fixmate", folder))
        found["htslib's files of template lengths"] = dict(template_lengths(arguments.htslib_tests / "tlen", folder))
        if arguments.records is not None:
            found["files of depth that are mosdepth's"] = depth(arguments.records, folder)
        found["molecules, next to UMI-tools"] = groups(arguments.molecules, folder, arguments.umi_tools)
    counts = {what: {outcome: {"count": int(n)} for outcome, n in of.items()} for what, of in found.items()}
    harness.save("record-truth", harness.machine(["samtools", "mosdepth"], []), {"found": counts})


def sorted_alike(path: Path, folder: Path) -> str:
    ours, theirs = folder / "ours.sam", folder / "theirs.sam"
    refused = _ours(lambda: gpualign.sort(path, ours, device="cpu", threads=1))
    failed = subprocess.run(["samtools", "sort", "-O", "sam", "-o", theirs, path], capture_output=True).returncode
    if refused is not None or failed:
        return "refused by both" if refused is not None and failed else refused or "refused by samtools alone"
    before, after = _records(theirs), _records(ours)
    if before is None or after is None:
        return "samtools cannot read its own text of it" if before is after else _UNEXPLAINED
    if before != after and (decoded := _decoded_by_pysam(path, folder)) is not None:
        subprocess.run(["samtools", "sort", "-O", "sam", "-o", theirs, decoded], check=True, capture_output=True)
        return _AS_PYSAM if _records(theirs) == after else _UNEXPLAINED
    return "equal" if before == after else _UNEXPLAINED


def kept_by_marking(path: Path, folder: Path) -> str:
    ours = folder / "ours.sam"
    refused = _ours(lambda: gpualign.mark_duplicates(path, ours, device="cpu", threads=1, mate_tags=False))
    before = _records(path)
    if refused is not None or before is None:
        return "refused by both" if refused is not None and before is None else refused or "refused by samtools alone"
    after = _records(ours)
    if after is None:
        return "samtools cannot read its own text of it" if _records(path, "-h") is None else _UNEXPLAINED
    before, after = _unmarked(before), _unmarked(after)
    if before == after:
        return "equal"
    if (decoded := _decoded_by_pysam(path, folder)) is not None:
        before = _unmarked(_records(decoded) or ())
        if before == after:
            return _AS_PYSAM
    again = "sorted: of one position forward before reverse strand"
    return again if sorted(before) == sorted(after) and _header_says_sorted(path) else _UNEXPLAINED


def _decoded_by_pysam(path: Path, folder: Path) -> Path | None:
    """A CRAM file as SAM, by the samtools that pysam has; None: another file."""
    if path.suffix != ".cram":
        return None
    decoded = folder / "decoded.sam"
    pysam.samtools.view("-h", "-o", str(decoded), str(path), catch_stdout=False)
    return decoded


def _ours(work: Any) -> str | None:
    """Why it is refused; None: it is not."""
    try:
        work()
    except GpualignError as error:
        return next((rule for text, rule in _REFUSED.items() if text in str(error)), _UNEXPLAINED)
    return None


def _records(path: Path, *options: str) -> list[str] | None:
    view = subprocess.run(["samtools", "view", *options, path], capture_output=True)
    if options and not view.returncode:  # whether it can be read again
        return _records_of_text(view.stdout)
    return None if view.returncode else view.stdout.decode(errors="replace").splitlines()


def _records_of_text(text: bytes) -> list[str] | None:
    view = subprocess.run(["samtools", "view", "-"], input=text, capture_output=True)
    return None if view.returncode else view.stdout.decode(errors="replace").splitlines()


def _unmarked(lines: Iterable[str]) -> list[str]:
    found = []
    for line in lines:
        name, flag, *fields = line.split("\t")
        kept = [tag for tag in fields[9:] if tag[:2] not in _EARLIER_MARKING]
        found.append("\t".join([name, str(int(flag) & ~0x400), *fields[:9], *kept]))
    return found


def _header_says_sorted(path: Path) -> bool:
    head = subprocess.run(["samtools", "view", "-H", path], capture_output=True).stdout
    return b"SO:coordinate" in head.split(b"\n")[0]


def fixmate(tests: Path, folder: Path) -> Counter[str]:
    """Fields of records of samtools' tests, and by which rule they differ."""
    fields = ("name", "flag", "contig", "position", "quality", "cigar", "RNEXT", "PNEXT", "TLEN", "bases", "qualities")
    of_mates = {"flag", "RNEXT", "PNEXT", "TLEN"}
    found: Counter[str] = Counter()
    for expected_path in sorted(tests.glob("*.sam.expected")):
        path, ours = expected_path.with_suffix(""), folder / "ours.sam"
        if refused := _ours(lambda path=path, ours=ours: gpualign.mark_duplicates(path, ours, device="cpu", threads=1)):
            found[f"files: {refused}"] += 1
            continue
        expected = [line.split("\t") for line in expected_path.read_text().splitlines()]
        expected = [row for row in expected if row[0][:1] != "@"]
        if not expected:
            found["files: fixmate wants them grouped by name"] += 1
            continue
        for row, theirs in zip((line.split("\t") for line in _records(ours) or ()), expected, strict=True):
            for name, a, b in zip(fields, row, theirs, strict=False):
                cleaned = path.stem == "sanitize"
                rule = "of mates, as in the input" if name in of_mates else _UNEXPLAINED
                rule = "which fixmate cleans up (-z)" if cleaned else rule
                found["fields: equal" if a == b else f"fields: {rule}"] += 1
            for tag in {*row[11:], *theirs[11:]}:
                found[_tag_rule(tag, row, theirs)] += 1
    return found


def _tag_rule(tag: str, row: list[str], theirs: list[str]) -> str:
    if tag in row and tag in theirs:
        return "tags: equal"
    if tag[:2].upper() in ("MM", "ML", "MN"):
        return "tags: base modifications, which fixmate mends on request (-M)"
    if tag[:2] in _ON_REQUEST:
        return f"tags: {tag[:2]}, which fixmate adds on request (-{_ON_REQUEST[tag[:2]]})"
    if tag == "MC:Z:*":
        return "tags: no MC:Z:* of an unmapped mate"
    return "tags: reads that no flag calls R1 or R2" if not int(row[1]) & 0xC0 else f"tags: {_UNEXPLAINED}"


def template_lengths(tests: Path, folder: Path) -> Counter[str]:
    """Files of `tests`, and whether each record keeps its TLEN."""
    found: Counter[str] = Counter()
    for path in sorted(path for path in tests.glob("*.*") if path.suffix in _ENDINGS):
        expected = _lengths(path.with_suffix(".sam"))
        for ending in ("sam", "cram"):
            ours = folder / f"ours.{ending}"
            gpualign.sort(path, ours, device="cpu", threads=1)
            same = _lengths(ours) == expected
            gpualign.mark_duplicates(path, ours, device="cpu", threads=1)
            found["kept" if same and _lengths(ours) == expected else _UNEXPLAINED] += 1
    return found


def _lengths(path: Path) -> list[tuple[str, ...]]:
    """FLAG without 0x400, POS and TLEN of all records, in order."""
    rows = (line.split("\t") for line in _records(path) or ())
    return sorted((str(int(row[1]) & ~0x400), row[3], row[8]) for row in rows)


def depth(path: Path, folder: Path) -> dict[str, int]:
    """Which of our files are mosdepth's (1), and intervals of equal depth."""
    marked, whole = folder / "marked.bam", folder / "whole.bed"
    (folder / "lib").mkdir()
    (folder / "lib/libhts.so").symlink_to(_HTSLIB)  # Debian's mosdepth looks for it without its number
    gpualign.mark_duplicates(path, marked, order="coordinate", write_index=True, coverage=folder / "ours.bedgraph")
    gpualign.mark_duplicates(path, folder / "again.bam", order="coordinate", coverage=folder / "ours")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder / "lib")}
    head = subprocess.run(["samtools", "view", "-H", marked], check=True, capture_output=True, text=True).stdout
    contigs = [line.split("\t")[1:3] for line in head.splitlines() if line.startswith("@SQ")]
    whole.write_text("".join(f"{name[3:]}\t0\t{length[3:]}\n" for name, length in contigs))
    command: list[str | Path] = ["mosdepth", "-T", "1,5,10,20,30,50,100", "--by", whole, folder / "theirs", marked]
    subprocess.run(command, check=True, env=environment)
    with gzip.open(folder / "theirs.per-base.bed.gz", "rt") as file:
        theirs = [line for line in file if not line.endswith("\t0\n")]
    ours = [line for line in (folder / "ours.bedgraph").read_text().splitlines(True) if not line.endswith("\t0\n")]
    same: dict[str, int] = {"bedGraph": ours == theirs}
    for ending in ("mosdepth.global.dist.txt", "thresholds.bed.gz"):
        read = gzip.decompress if ending.endswith(".gz") else bytes
        ours_there, theirs_there = (read((folder / f"{whose}.{ending}").read_bytes()) for whose in ("ours", "theirs"))
        same[ending] = ours_there == theirs_there
    summary = (folder / "theirs.mosdepth.summary.txt").read_text().splitlines()
    summary = [line for line in summary if "_region\t" not in line]
    same["mosdepth.summary.txt"] = (folder / "ours.mosdepth.summary.txt").read_text().splitlines() == summary
    return {**same, "intervals": len(ours)}


def groups(molecules: int, folder: Path, umi_tools: str) -> dict[str, int]:
    """Molecules of `umi_tools group` and of --group, and how many have the same reads."""
    umis, ours, theirs = folder / "umis.bam", folder / "ours.bam", folder / "theirs.bam"
    sort_markdup.make_umis(molecules, umis)
    gpualign.mark_duplicates(umis, ours, barcode_tags=("RX",), umi_distance=1, group=True, device="cpu")
    command = f"{umi_tools} group --paired --extract-umi-method=tag --umi-tag=RX --method=directional --output-bam"
    subprocess.run([*command.split(), "-I", umis, "-S", theirs, "-L", os.devnull], check=True)
    sets = [_sets(ours, "MI:Z:"), _sets(theirs, "UG:i:")]
    return {"ours": len(sets[0]), "UMI-tools": len(sets[1]), "with the same reads": len(sets[0] & sets[1])}


def _sets(path: Path, tag: str) -> set[frozenset[str]]:
    """The names of each molecule's reads."""
    found: dict[str, set[str]] = {}
    for line in _records(path) or ():
        for value in line.split("\t")[11:]:
            if value.startswith(tag):
                found.setdefault(value, set()).add(line.split("\t", 1)[0])
    return {frozenset(names) for names in found.values()}


if __name__ == "__main__":
    main()
