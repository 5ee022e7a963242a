"""``pairwise``: all-against-all alignment with an identity filter."""

from __future__ import annotations

from gpualign.errors import GpualignError
from gpualign.params import RunOptions
from gpualign.workflows.pairwise_params import PairwiseParams


def run_pairwise(params: PairwiseParams, options: RunOptions) -> None:
    """Align and write."""
    raise GpualignError("not there yet")
