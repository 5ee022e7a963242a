"""The ordered loop of every command, and what its threads do while they wait."""
