"""The streaming loop: items in, results out, in order, in bounded memory."""
