"""`mems`: maximal exact matches."""
