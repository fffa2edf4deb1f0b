# cython: language_level=3
"""Makes the words of vocab.pxd known to Python."""
