"""The minimizer index: build, file format."""
