"""Reading and writing files. Everything that touches a path goes through :mod:`gpualign.io.files`."""
