"""`pairwise --max-gaps`: alignment with a bounded number of gaps (GapsMis)."""
