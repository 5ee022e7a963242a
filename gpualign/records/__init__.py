"""What several commands do with records: duplicates, coverage, and options of these."""
