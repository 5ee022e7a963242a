"""Reads of any format: files, lanes, mates, and sequences in memory."""
