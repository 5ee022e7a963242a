"""`pairwise`: all against all."""
