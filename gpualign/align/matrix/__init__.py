"""Numbers of all pairs of two sets of sequences."""
