"""Reading and writing files: :mod:`gpualign.text.files` opens inputs, :mod:`gpualign.text.output_file` outputs."""
