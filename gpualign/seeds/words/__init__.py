"""Which of many sequences have which words of 8 bases."""
