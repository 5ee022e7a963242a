"""Alignment by scores: global, semi-global and local."""
