"""`verify`: edit distances of queries to candidate regions."""
