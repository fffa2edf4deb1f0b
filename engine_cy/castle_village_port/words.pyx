# cython: language_level=3
"""Makes the words of words.pxd known to Python."""
