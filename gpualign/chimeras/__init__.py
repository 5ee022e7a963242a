"""``gpualign chimeras``: sequences that were joined from two others."""
