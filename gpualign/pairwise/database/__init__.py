"""``pairwise --top``: the best targets of each query in a database."""
