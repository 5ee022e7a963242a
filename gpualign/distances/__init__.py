"""`distances` and `scores`: numbers of all pairs of two sets of sequences, or of one."""
