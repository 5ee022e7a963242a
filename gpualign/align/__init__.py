"""Primitives of alignment: edit distance, scores, bounded gaps, LCS, patterns, matrices of all pairs."""
