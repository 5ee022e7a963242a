"""Pairs of sequences that reach an identity: what cannot reach it is left out before it is aligned."""
