"""Naive oracles: slow, obvious, and independent of the code under test."""
