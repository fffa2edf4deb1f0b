# cython: language_level=3
"""Export the words of words.pxd to Python."""
