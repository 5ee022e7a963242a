"""`search`: every place in targets where a pattern fits with at most k errors."""
