"""Seeds: minimizers, the index, exact matches."""
