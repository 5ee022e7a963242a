"""`gpualign index`."""
