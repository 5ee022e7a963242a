"""`map`: reads to alignments."""
