"""Alignment with a bounded number of gaps (GapsMis)."""
