"""``gpualign sintax``: the taxonomy of sequences by their words."""
