"""One ``run_<command>(params, options)`` per command: joins io, stream and backend; the command line only translates."""
