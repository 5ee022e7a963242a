"""One ``run_<command>(params, options)`` per command: joins io, stream and backend (no command-line code)."""
