"""Launch numbers of `verify` and what its work costs a core. Swept by the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

from gpualign.run.gpu.compiler import Variant
from gpualign.run.select import Kernels


@dataclass(frozen=True)
class VerifyShape:
    """Shape of ``cuda/verify.cu``: threads that share a pair, and 32-row words that each of them holds.

    Attributes:
        lanes: threads a pair, 1 to 32.
        words: words a thread; each takes three registers and 16 bytes of shared memory.
        blocks: blocks that must fit on a multiprocessor, which bounds the registers.
    """

    lanes: int
    words: int
    blocks: int = 1

    @property
    def rows(self) -> int:
        """Pattern rows of one strip."""
        return 32 * self.lanes * self.words

    def defines(self, verify_pass: str, runs: bool = False) -> dict[str, str]:
        """Macros of one of :data:`VERIFY_PASSES`; ``runs``: windows touch bases other than A, C, G and T."""
        numbers = {"LANES": self.lanes, "WORDS": self.words, "BLOCKS": self.blocks, "RUNS": int(runs)}
        numbers |= {"INFIX": int(verify_pass == "infix"), "BACKWARD": int(verify_pass == "starts")}
        return {name: str(number) for name, number in numbers.items()}


#: distances in infix mode, where those hits start, and distances in the other modes
VERIFY_PASSES = ("infix", "starts", "anchored")
#: One thread a pair up to 1024 rows: nothing crosses lanes, and 32 words still leave three warps a scheduler. Words in
#: steps that waste at most a fifth of the rows. Then few lanes with many words each, until 32 lanes hold a pair. There
#: are no more of them, as each is prebuilt six times for every architecture.
VERIFY_SHAPES = (
    *(VerifyShape(1, words) for words in (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 24, 32)),
    *(VerifyShape(4, words) for words in (16, 24, 32)),
    *(VerifyShape(32, words) for words in (6, 8, 12, 16, 24, 32)),
)
#: instructions a column for each word, and besides for one lane a pair and for several
VERIFY_WORD_COST, VERIFY_COLUMN_COST, VERIFY_LANES_COST = 6.5, 10.0, 18.0
#: cells of one launch: a tenth of a second on a large device, under a second on a small one
VERIFY_LAUNCH_CELLS = 2e12
#: blocks of a launch with several lanes a pair; each group then takes pair after pair
VERIFY_MAX_BLOCKS = 4096


def verify_shape(length: int) -> VerifyShape:
    """The shape with the least work for queries of ``length`` bases; it never shows in the results."""

    def cost(shape: VerifyShape) -> float:
        strips = -(-length // shape.rows)
        if shape.lanes == 1 and strips > 1:
            return float("inf")
        columns = 1.2 * length + 16 * (shape.lanes - 1)
        extra = VERIFY_COLUMN_COST if shape.lanes == 1 else VERIFY_LANES_COST
        return strips * shape.lanes * columns * (VERIFY_WORD_COST * shape.words + extra)

    return min(VERIFY_SHAPES, key=cost)


#: words of a band's window, and the columns for which it stands still (cuda/verify_band.cu)
VERIFY_BANDS, VERIFY_BAND_COLUMNS = (1, 2, 4), 16
#: a band is worth its profile where its window has at most this share of the pattern's words
VERIFY_BAND_SHARE = 0.55

#: the edit filter before scores
FILTER_MODULE = "edit_filter"

VARIANTS: tuple[Variant, ...] = (
    *(("verify_band", {"WORDS": str(words)}) for words in VERIFY_BANDS),
    *(
        ("verify", shape.defines(verify_pass, runs))
        for shape in VERIFY_SHAPES
        for verify_pass in VERIFY_PASSES
        for runs in (False, True)
    ),
)

#: a core's rate is of cells of edit distances
KERNELS = Kernels("verify", core_rate=1e11, compile_s=1.5, variants=VARIANTS)
