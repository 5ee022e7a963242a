"""Every end of a pattern in targets with at most k errors."""
