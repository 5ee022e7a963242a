"""Maximal exact matches."""
