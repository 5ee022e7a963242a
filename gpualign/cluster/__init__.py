"""``gpualign cluster``: greedy clustering by exact identity."""
