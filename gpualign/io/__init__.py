"""Reading and writing files: :mod:`gpualign.io.files` opens inputs, :mod:`gpualign.io.output_file` outputs."""
