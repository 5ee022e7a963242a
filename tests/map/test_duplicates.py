"""Which templates are duplicates, from SAM lines: by hand, and as a naive oracle says."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from gpualign import _native
from gpualign.errors import UsageError
from gpualign.records.duplicates import DuplicateMarking, Libraries, estimated_library_size
from gpualign.sequences.batch import join_bytes
from tests.helpers.duplicate_cases import (
    CONTIGS,
    HEADER,
    NO_GROUPS,
    found,
    joined,
    orphan,
    pair,
    random_lines,
    record,
    single,
)
from tests.reference import duplicates as oracle


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([pair("a", 100, 300), pair("b", 100, 300)], [0, 1], id="the first of equals is kept"),
        pytest.param([pair("a", 100, 300, "H"), pair("b", 100, 300)], [1, 0], id="the best is kept"),
        pytest.param([pair("a", 100, 300, "/"), pair("b", 100, 300, "!")], [0, 1], id="low qualities do not count"),
        pytest.param([pair("a", 100, 300), pair("b", 100, 301)], [0, 0], id="another right end"),
        pytest.param([pair("a", 100, 300), pair("b", 100, 300, swapped=True)], [0, 1], id="R1 and R2 exchanged"),
        pytest.param([single("a", 100), single("b", 103, cigar="3S7M")], [0, 1], id="soft clip"),
        pytest.param([single("a", 100), single("b", 105, cigar="2H3S7M")], [0, 1], id="hard and soft clip"),
        pytest.param([single("a", 100), single("b", 100, cigar="7M3S")], [0, 1], id="the far end does not matter"),
        pytest.param(
            [
                single("a", 100, flag=16),
                single("b", 98, flag=16, cigar="5M2D2M2S1H"),
                single("c", 100, flag=16, cigar="9M1I"),
            ],
            [0, 1, 0],
            id="reverse strand: deletions and clips count, insertions do not",
        ),
        pytest.param([single("a", 100), single("b", 91, flag=16)], [0, 0], id="strands differ"),
        pytest.param(
            [single("a", 3, cigar="2M8S"), single("b", 1, cigar="1S9M"), single("c", 1, cigar="1S9M")],
            [0, 0, 1],
            id="before the first base",
        ),
        pytest.param([single("a", 100), pair("b", 100, 300, "!")], [1, 0], id="a single read next to a pair"),
        pytest.param([pair("b", 100, 300), single("a", 300, flag=16)], [0, 1], id="next to the right end of a pair"),
        pytest.param(
            [orphan("a", 100), pair("b", 100, 300), orphan("c", 101)], [1, 0, 0], id="an unmapped mate next to a pair"
        ),
        pytest.param([orphan("a", 100, "H"), single("b", 100)], [1, 0], id="an unmapped mate next to a single read"),
        pytest.param([[record("a", 4, "*", 0, "*")], [record("b", 4, "*", 0, "*")]], [0, 0], id="unmapped"),
        pytest.param(
            [[*single("a", 100), record("a", 0x800, "c1", 500)], [*single("b", 200), record("b", 0x900, "c1", 500)]],
            [0, 0],
            id="secondary and supplementary records do not decide",
        ),
        pytest.param([single("a", 100, flag=0x200), single("b", 100, "0")], [1, 0], id="not passing filters is worse"),
        pytest.param([[record("a", 0, "c1", 100)], [record("b", 0, "c2", 100)]], [0, 0], id="contigs"),
        pytest.param(
            [
                [record("a", 0x41, "c1", 100), record("a", 0x81, "c1", 300)],
                [record("b", 0x41, "c1", 300), record("b", 0x81, "c1", 100)],
                [record("c", 0x51, "c1", 300), record("c", 0x91, "c1", 100)],
            ],
            [0, 1, 0],
            id="mates on one strand",
        ),
        pytest.param(
            [
                [record("a", 0x61, "c1", 100), record("a", 0x91, "c2", 50)],
                [record("b", 0x51, "c2", 50), record("b", 0xA1, "c1", 100)],
                [record("c", 0x71, "c1", 91), record("c", 0x91, "c2", 50)],
            ],
            [0, 1, 0],
            id="mates on two contigs",
        ),
    ],
)  # fmt: skip
def test_sets(lines: list[list[str]], expected: list[int]) -> None:
    flat = joined(lines)
    assert found(flat)[0] == expected
    assert oracle.duplicates(oracle.templates(flat, CONTIGS)) == expected


def test_long_cigar() -> None:
    """One that does not fit its field lies in a tag."""
    long = single("a", 100, cigar="5S" + "1M1I" * 40000) + single("b", 95) + single("c", 100)
    assert found(long)[0] == [0, 1, 0]


def test_no_qualities() -> None:
    lines = [f"{name}\t0\tc1\t100\t60\t10M\t*\t0\t0\tAAAAAAAAAA\t*" for name in "ab"] + single("c", 100, "0")
    assert found(lines)[0] == [1, 1, 0]


@pytest.mark.parametrize(
    ("names", "distance", "expected"),
    [
        (["m:1:f:1:1101:1000:2000", "m:1:f:1:1101:1100:1900"], 100, [0, 2]),
        (["m:1:f:1:1101:1000:2000", "m:1:f:1:1101:1101:2000"], 100, [0, 1]),
        (["m:1:f:1:1101:1000:2000", "m:1:f:1:1101:1000:2101"], 100, [0, 1]),
        (["m:1:f:1:1101:1000:2000", "m:1:f:1:1101:1101:2000"], 2500, [0, 2]),
        (["m:1:f:1:1101:1000:2000", "m:1:f:1:1101:1000:2000:ACGT"], 0, [0, 1]),
        (["m:1:f:1:1101:1000:2000:AC", "m:1:f:1:1101:1001:2001:GT"], 100, [0, 2]),
        (["m:1:1101:1000:2000#0", "m:1:1101:1099:2000#0"], 100, [0, 2]),
        (["m:1:f:1:1101:1000:2000", "m:1:f:1:1102:1000:2000"], 100, [0, 1]),
        (["m:1:f:1:1101:1000:2000", "m:1:f:2:1101:1000:2000"], 100, [0, 1]),
        (["read1", "read2"], 100, [0, 1]),
        (["m:1:f:1:1101:x:y", "m:1:f:1:1101:x:z"], 100, [0, 1]),
        (["m:1:f:1:1101:1000:99999999999", "m:1:f:1:1101:1000:99999999998"], 100, [0, 1]),
        # a chain, whose ends are too far from each other
        (["m:1:f:1:1101:1000:0", "m:1:f:1:1101:1180:0", "m:1:f:1:1101:1090:0"], 100, [0, 2, 2]),
        # two clusters: that of the best, and another, of which the leftmost is not an optical duplicate
        (["m:1:f:1:1:1:1", "m:1:f:1:1:7050:5", "m:1:f:1:1:7000:5", "m:1:f:1:1:9:9"], 100, [0, 2, 1, 2]),
    ],
)
def test_optical(names: list[str], distance: int, expected: list[int]) -> None:
    lines = joined(pair(name, 100, 300) for name in names)
    status, metrics = found(lines, DuplicateMarking(optical_distance=distance))
    assert status == expected
    assert oracle.duplicates(oracle.templates(lines, CONTIGS), distance) == expected
    assert metrics.libraries[0].optical_pair_duplicates == expected.count(2)


def test_optical_duplicates_are_read_in_one_direction() -> None:
    lines = pair("m:1:f:1:1:1:1", 100, 300) + pair("m:1:f:1:1:2:2", 100, 300, swapped=True)
    assert found(lines)[0] == [0, 1]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (["g1", "g2"], [0, 0]),
        (["g1", "g3"], [0, 1]),
        (["g4", "other"], [0, 1]),
        (["g1", "g1"], [0, 2]),
    ],
)
def test_libraries(groups: list[str], expected: list[int]) -> None:
    lines = joined(pair(f"m:1:f:1:1:1:{i}", 100, 300, tags=f"RG:Z:{group}") for i, group in enumerate(groups))
    assert found(lines, libraries=Libraries.of(HEADER))[0] == expected


def test_libraries_of_headers() -> None:
    assert Libraries.of(HEADER) == (("x", "y", "Unknown Library"), ("g1", "g2", "g3", "g4"), (0, 1, 0, 2))
    assert Libraries.of(["@RG\tID:g\tLB:x"]) == (("x", "Unknown Library"), ("g",), (0,))
    assert Libraries.of(["@RG\tID:g"]) == (("Unknown Library",), ("g",), (0,))


@pytest.mark.parametrize(
    ("marking", "names", "tags", "expected"),
    [
        (DuplicateMarking(barcode_tags=("RX",)), "abc", ["RX:Z:AC", "RX:Z:AG", "RX:Z:AC"], [0, 0, 1]),
        (DuplicateMarking(barcode_tags=("RX",)), "abc", ["", "RX:Z:AG", ""], [0, 0, 1]),
        (DuplicateMarking(barcode_tags=("CB", "UB")), "ab", ["CB:Z:A\tUB:Z:C", "CB:Z:A\tUB:Z:G"], [0, 0]),
        (DuplicateMarking(barcode_tags=("CB", "UB")), "ab", ["CB:Z:A\tUB:Z:C", "UB:Z:C\tCB:Z:A"], [0, 1]),
        (DuplicateMarking(barcode_tags=("CB", "UB")), "ab", ["CB:Z:A", "UB:Z:A"], [0, 0]),
        (DuplicateMarking(barcode_in_name=True), ["r1_AC", "r2_AG", "r3_AC"], [""] * 3, [0, 0, 1]),
        (DuplicateMarking(barcode_in_name=True), ["m:1:f:1:1:1:1:AC+T", "m:1:f:1:1:1:2:AG+T"], [""] * 2, [0, 0]),
        (DuplicateMarking(barcode_in_name=True), ["m:1:f:1:1:1:1", "m:1:f:1:1:1:2"], [""] * 2, [0, 2]),
    ],
)
def test_barcodes(marking: DuplicateMarking, names: Sequence[str], tags: list[str], expected: list[int]) -> None:
    many = "XA:B:c,1,2\tXB:i:70000\tXC:A:x\tXD:f:1.5\tXE:H:1A\tXF:B:f,1\tXG:i:-3\t"
    lines = joined(pair(name, 100, 300, tags=(many + tag).rstrip("\t")) for name, tag in zip(names, tags, strict=True))
    assert found(lines, marking)[0] == expected


BY_NAME = DuplicateMarking(barcode_in_name=True)
ILLUMINA = "m:1:f:1:1101:1000"
#: names that end in one barcode, and in another
SPELLINGS = [
    (ILLUMINA + ":7:AAAA-2", ILLUMINA + ":8:AAAA-3"),
    (ILLUMINA + ":7:rAGT+rGCA", ILLUMINA + ":8:rAGT+rGCC"),
    (ILLUMINA + ":7:AAAA_TTTT", ILLUMINA + ":8:CCCC_TTTT"),
    (ILLUMINA + ":7:UMI_01_02", ILLUMINA + ":8:UMI_02_02"),
    (ILLUMINA + ":7:12", ILLUMINA + ":8:13"),
    (ILLUMINA + ":7_AAAA_TTTT", ILLUMINA + ":8_CCCC_TTTT"),
    (ILLUMINA + ":7_b1_TTTT", ILLUMINA + ":8_b2_TTTT"),
    ("m:1:1101:1000:7#AAAA", "m:1:1101:1000:8#AAAC"),
    ("m:1:1101:1000:AARA", "m:1:1101:1000:AAGA"),
    ("SRR1.1_AAACCTGA-1", "SRR1.2_AAACCTGA-2"),
    ("SRR1.1_AAACCTGA-1_AAAA", "SRR1.2_AAACCTGA-2_AAAA"),
    ("SRR1.1_AAAC_TTTT", "SRR1.2_AAAG_TTTT"),
    ("SRR1.1:AAAC_TTTT", "SRR1.2:AAAG_TTTT"),
    ("r1:AARA", "r2:AAYA"),
    ("r1:AAAA.TTTT", "r2:AAAC.TTTT"),
    ("r1#AAAA", "r2#AAAC"),
    ("r1:UMI=AAAA", "r2:UMI=AAAC"),
    ("a:ACGT", "c:ACGA"),
]


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
def test_barcodes_in_names(one: str, other: str) -> None:
    """A third read, with the barcode of the first, is its duplicate alone."""
    again = one.replace("1101:1000", "1101:5000", 1).replace("r1", "r9").replace("SRR1.1", "SRR1.9").replace("a:", "g:")
    assert again != one
    status, metrics = found(joined(pair(name, 100, 300) for name in (one, other, again)), BY_NAME)
    assert [bool(mark) for mark in status] == [False, False, True]
    assert metrics.without_barcode == 0


@pytest.mark.parametrize(
    "names",
    [
        (ILLUMINA + ":7", ILLUMINA + ":8"),
        ("m:1:1101:1000:7", "m:1:1101:1000:8"),
        ("m:1:1101:1000:7#0", "m:1:1101:1000:8#0"),
        (ILLUMINA + ":7:", ILLUMINA + ":8:"),
        ("r1", "ACGT"),
        ("run_17", "run_18"),
        ("m64011_190830_2/101/ccs", "m64011_190830_2/102/ccs"),
    ],
)
def test_names_without_a_barcode(names: tuple[str, str]) -> None:
    unmapped = [record("u", flag, "*", 0, "*") for flag in (0x4D, 0x8D)]
    lines = joined(pair(name, 100, 300) for name in names) + pair(ILLUMINA + ":3:AAAA", 100, 300) + unmapped
    status, metrics = found(lines, BY_NAME)
    assert [bool(mark) for mark in status] == [False, True, False, False]
    assert metrics.without_barcode == metrics.report()["without_barcode"] == 2


def test_templates_without_a_tag_are_counted() -> None:
    """One that either mate has counts; of several tags all must be there."""
    lines = pair("a", 100, 300, tags="CB:Z:A") + pair("b", 100, 300, tags="UB:Z:A") + pair("c", 100, 300)
    lines += pair("d", 100, 300, tags="CB:Z:A\tUB:Z:A")
    lines += [pair("e", 1, 3)[0], pair("e", 1, 3, tags="CB:Z:A")[1]]
    assert found(lines, DuplicateMarking(barcode_tags=("CB",)))[1].without_barcode == 2
    assert found(lines, DuplicateMarking(barcode_tags=("CB", "UB")))[1].without_barcode == 4
    assert found(lines)[1].without_barcode is None
    assert "without_barcode" not in found(lines)[1].report()


@pytest.mark.parametrize(("by_read_group", "expected"), [(False, [0, 1, 1, 0, 1]), (True, [0, 0, 1, 0, 0])])
def test_read_groups(by_read_group: bool, expected: list[int]) -> None:
    """g1 and g3 are of one library; a group that the header lacks, and none."""
    groups = ["RG:Z:g1", "RG:Z:g3", "RG:Z:g1"]
    lines = joined(pair(f"r{i}", 100, 300, tags=tags) for i, tags in enumerate(groups))
    lines += joined(pair(name, 500, 700, tags=tags) for name, tags in (("x", "RG:Z:g9"), ("y", "")))
    status, _ = found(lines, DuplicateMarking(by_read_group=by_read_group), Libraries.of(HEADER))
    assert status == expected


def test_damaged_records() -> None:
    names, offsets = join_bytes([b"c1"])
    text = np.frombuffer((single("a", 100, tags="RX:Z:AC")[0] + "\n").encode(), np.uint8)
    records = np.array(_native.bam_records(text, names, offsets)[0])
    marking = DuplicateMarking(barcode_tags=("RX",))
    with pytest.raises(ValueError, match="cut short"):
        marking.ends(records[:-1], NO_GROUPS)
    records[-1] = ord("C")
    with pytest.raises(ValueError, match="tags are damaged"):
        marking.ends(records, NO_GROUPS)


def test_wrong_options() -> None:
    for wrong in (
        {"optical_distance": -1},
        {"barcode_tags": ("R",)},
        {"barcode_tags": ("RX",), "barcode_in_name": True},
    ):
        with pytest.raises(UsageError):
            DuplicateMarking(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("barcodes", [(), ("RX",)])
def test_random_sets_are_the_oracles(seed: int, soaking: bool, barcodes: tuple[str, ...]) -> None:
    libraries = {"g1": "x", "g2": "y", "g3": "x", "g4": ""}
    for run in range(200 if soaking else 4):
        rng = random.Random(f"{seed} {run} {barcodes}")
        templates = random_lines(rng, rng.choice([3, 50, 600]))
        lines = joined(templates)
        expected = oracle.duplicates(
            oracle.templates(lines, CONTIGS),
            100,
            lambda template: libraries[template.tags["RG"]],
            lambda template: template.tags["RX"] if barcodes else "",
        )
        starts = np.cumsum([len(template) for template in templates])[:-1].tolist()
        batches = sorted(rng.sample(starts, rng.randrange(min(5, len(starts)))))
        marking = DuplicateMarking(barcode_tags=barcodes)
        status, metrics = found(lines, marking, Libraries.of(HEADER), batches, rng.choice([1, 3]))
        assert status == expected
        pairs = sum(library.pair_duplicates for library in metrics.libraries)
        assert pairs + sum(library.unpaired_duplicates for library in metrics.libraries) == np.count_nonzero(status)


def test_many_copies_on_a_tile() -> None:
    """A set that is too large to compare all with all."""
    names = [f"m:1:f:1:1:{i % 2000 * 3}:{i // 2000 * 150}" for i in range(40_000)]
    status, _ = found(joined(single(name, 100) for name in names), DuplicateMarking(optical_distance=100))
    assert status.count(2) == 20 * (2000 - 1)


METRICS = """## htsjdk.samtools.metrics.StringHeader
# gpualign map x

## METRICS CLASS\tpicard.sam.DuplicationMetrics
LIBRARY\tUNPAIRED_READS_EXAMINED\tREAD_PAIRS_EXAMINED\tSECONDARY_OR_SUPPLEMENTARY_RDS\tUNMAPPED_READS\t\
UNPAIRED_READ_DUPLICATES\tREAD_PAIR_DUPLICATES\tREAD_PAIR_OPTICAL_DUPLICATES\tPERCENT_DUPLICATION\tESTIMATED_LIBRARY_SIZE
x\t2\t4\t1\t1\t1\t3\t1\t0.7\t1
y\t0\t0\t0\t0\t0\t0\t0\t0\t
Unknown Library\t1\t0\t0\t2\t0\t0\t0\t0\t

## HISTOGRAM\tjava.lang.Double
set_size\tall_sets\toptical_sets\tnon_optical_sets
2.0\t0\t1\t0
3.0\t0\t0\t1
4.0\t1\t0\t0

"""


def test_metrics_by_hand() -> None:
    """Pairs: one kept, one optical copy, two others: of three molecules' worth one is new."""
    names = ["m:1:f:1:1:1:1", "m:1:f:1:1:2:2", "r1", "r2"]
    lines = joined(pair(name, 100, 300, tags="RG:Z:g1") for name in names)
    lines += [*single("s1", 100, tags="RG:Z:g3"), record("s1", 0x800, "c1", 7, tags="RG:Z:g3")]
    lines += [record("o", 0x49, "c2", 1, tags="RG:Z:g1"), record("o", 0x85, "c2", 1, "*", tags="RG:Z:g1")]
    lines += [record("u", flag, "*", 0, "*") for flag in (0x4D, 0x8D)] + single("n", 100)
    status, metrics = found(lines, libraries=Libraries.of(HEADER))
    assert status == [0, 2, 1, 1, 1, 0, 0, 0]
    assert metrics.text("gpualign  map x\n") == METRICS
    report = metrics.report()
    assert report["set_sizes"] == {"4": 1}
    assert report["libraries"][0]["pair_duplicates"] == 3
    assert report["libraries"][0]["duplication"] == 0.7


def test_metrics_of_nothing() -> None:
    assert found([])[1].text("x").splitlines()[3:] == [*METRICS.splitlines()[3:5], ""]


@pytest.mark.parametrize(
    ("pairs", "unique", "expected"),
    [(0, 0, None), (10, 10, None), (1_000_000, 950_000, 9_660_000), (2, 1, 1)],
)
def test_library_size(pairs: int, unique: int, expected: int | None) -> None:
    """By the equation C / X = 1 - exp(-N / X) itself."""
    size = estimated_library_size(pairs, unique)
    if expected is None or expected == 1:
        assert size == expected
    else:
        assert size == pytest.approx(expected, rel=0.01)
        assert size * (1 - math.exp(-pairs / size)) == pytest.approx(unique, rel=1e-6)
