"""One ``run_<command>(params, options)`` per command: joins io, stream and backend. The command line only translates."""
