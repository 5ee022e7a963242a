"""`lcs-filter`: ranking by longest common subsequences."""
