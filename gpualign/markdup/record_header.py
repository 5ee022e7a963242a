"""The header of records that are put into another order or changed: an input's, line by line as it is, but for @HD and
one more @PG."""

from __future__ import annotations

from collections.abc import Sequence

from gpualign.records.contigs import HeaderContigs
from gpualign.records.header_text import bytes_of, header_fields
from gpualign.records.record_sorter import RecordOrder
from gpualign.records.sam_header import program_line

_VERSION = "VN:1.6"
#: what @HD says of an order: SO and GO, and which order by name it is
_ORDERS: dict[RecordOrder, tuple[str, ...]] = {
    "coordinate": ("SO:coordinate",),
    "template": ("SO:unsorted", "GO:query"),
    "natural": ("SO:queryname", "SS:queryname:natural"),
    "lexicographic": ("SO:queryname", "SS:queryname:lexicographical"),
    "picard": ("SO:queryname", "SS:queryname:lexicographical"),
    "template-coordinate": ("SO:unsorted", "GO:query", "SS:unsorted:template-coordinate"),
}


def ranked_libraries(lines: Sequence[str]) -> bytes:
    """A line for each read group that has a library, with a tab and the library's rank, from 1 on."""
    groups = [header_fields(line) for line in lines if line.startswith("@RG\t")]
    named = {group["ID"]: group["LB"] for group in groups if "ID" in group and group.get("LB")}
    ranks = {library: 1 + at for at, library in enumerate(sorted(set(named.values()), key=bytes_of))}
    return bytes_of("".join(f"{group}\t{ranks[library]}\n" for group, library in named.items()))


def record_header(lines: Sequence[str], contigs: HeaderContigs, order: RecordOrder, command_line: str) -> bytes:
    """The header of an output, as SAM text.

    Args:
        lines: of the input's header.
        order: "input": what is said of it stays.
    """
    version, old = _VERSION, [field for line in lines if line.startswith("@HD\t") for field in line.split("\t")[1:]]
    for field in old:
        version = field if field.startswith("VN:") else version
    others = [field for field in old if not field.startswith("VN:")]
    if order != "input":
        others = [*_ORDERS[order], *(field for field in others if not field.startswith(("SO:", "GO:", "SS:")))]
    head = ["\t".join(["@HD", version, *others])] if others or old else []
    rest = [line for line in lines if not line.startswith("@HD")]
    if not any(line.startswith("@SQ\t") for line in rest):  # BAM may have them in its own form alone
        named = zip(contigs.names, contigs.lengths.tolist(), strict=True)
        rest = [*(f"@SQ\tSN:{name}\tLN:{length}" for name, length in named), *rest]
    programs = [header_fields(line) for line in rest if line.startswith("@PG\t")]
    programs = [program for program in programs if "ID" in program]
    return bytes_of("\n".join([*head, *rest, program_line(programs, command_line)]) + "\n")
