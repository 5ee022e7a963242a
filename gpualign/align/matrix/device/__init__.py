"""The device side of `distances` and `scores`."""
