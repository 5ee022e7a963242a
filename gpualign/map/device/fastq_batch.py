"""FASTQ text to alignments on a GPU, which parses and maps the reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpualign.map import tuning
from gpualign.map.device.batch import KernelReads, MapBatch, MappedBatch, ReadsKernel
from gpualign.map.device.fastq import READS, ParsedReads, StagedText, parsed_reads
from gpualign.map.meth import conversions_of
from gpualign.reads.reads import Reads
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.kernel import AGAIN, Again
from gpualign.streaming.pinned import Allocate, no_pinned
from gpualign.streaming.timeline import STEPS


@dataclass(frozen=True, kw_only=True)
class TextMapBatch(KernelReads):
    """Reads as text, which a device parses.

    Attributes:
        text: the FASTQ text.
    """

    text: StagedText

    @classmethod
    @STEPS.at("copy")
    def of_text(
        cls, reads: Reads, together: bool, allocate: Allocate = no_pinned, library: str | None = None
    ) -> TextMapBatch:
        """
        Args:
            together: mates form one template.
            allocate: allocates memory for the text.
            library: of bisulfite reads.
        """
        text = StagedText.of(reads, allocate)
        templates = text.records if together else text.count
        return cls(
            reads=text.count,
            bases=text.text_bytes // 2,
            templates=templates,
            longest=(1, 1, 1),
            conversions=conversions_of(library, text.mates, text.count),
            text=text,
        )

    def on_device(self, slot: Slot) -> int:
        reads = self.text.run(slot, self.reads // self.templates, self.longest[-1])
        layout = self.text.layout
        # of bisulfite reads the host counts the cytosines
        nbytes = layout.facts_bytes if self.conversions is None else layout.sequence_bytes
        slot.download_into(slot.pinned("facts", nbytes, np.uint8), READS)
        return reads + layout.block

    def qualities(self, block: int) -> int:
        layout = self.text.layout
        return block - layout.block + layout.fastq["qualities"]

    def halves(self) -> list[MapBatch]:
        """The host parses the text."""
        return MapBatch.of(self.text.reads.columns(), self.mates == 2, conversions=self.conversions).halves()


class TextMapKernel(ReadsKernel):
    """Parses batches of text and maps them with ``mapper``; None if the host must parse the text.

    The longest read is known only after parsing. A batch is launched for the longest read of earlier batches, and again
    if it has a longer one.
    """

    def __init__(self, mapper: ReadsKernel) -> None:
        super().__init__(mapper.device)
        self._mapper = mapper
        self._longest = _longest_of(1)

    def launch(self, slot: Slot, item: TextMapBatch) -> tuple[TextMapBatch, Any]:
        """Returns the batch for the longest read so far, and what the mapper returns."""
        item = replace(item, longest=(self._longest,) * 3)
        return item, self._mapper.launch(slot, item)

    def result(self, slot: Slot, item: TextMapBatch, launched: tuple[TextMapBatch, Any]) -> MappedBatch | Again | None:
        submitted, of_mapper = launched
        irregular, longest, other_symbols, _ = slot.pinned("facts", 4, np.uint32).tolist()
        if irregular or other_symbols or longest > tuning.MAP_LONGEST:
            return None
        if longest > submitted.longest[-1]:
            self._longest = max(self._longest, _longest_of(longest))
            return AGAIN
        mapped: MappedBatch | Again = self._mapper.result(slot, submitted, of_mapper)
        if isinstance(mapped, Again):
            return AGAIN
        facts = slot.detach_pinned("facts")
        assert facts is not None
        parsed_reads(slot).detach(item.text.number, slot)
        layout = item.text.layout
        offsets = facts[layout.block : layout.facts_bytes].view(np.int64)
        parsed = ParsedReads(item.text, slot.device, offsets)
        if item.conversions is not None:
            bases, qualities = (facts[layout.fastq[name] :][: offsets[-1]] for name in ("bases", "qualities"))
            parsed = replace(parsed, bases=bases, qualities=qualities)
        return replace(mapped, parsed=parsed)


def _longest_of(bases: int) -> int:
    """Longest read of the smallest kernel shape for reads of ``bases`` bases."""
    return 32 * tuning.map_shape(bases).words
