"""gpualign: read mapping and sequence alignment on GPUs and CPUs, with the same bytes from both."""

from __future__ import annotations

__version__ = "0.1.0"
