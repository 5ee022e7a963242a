"""Results as tables: columns, rows, other libraries, notebooks."""
