"""Edit distances of queries in windows."""
