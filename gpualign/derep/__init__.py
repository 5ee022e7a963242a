"""``gpualign derep``: equal sequences once, with their abundance."""
