# cython: language_level=3
"""The enumerations of words.pxd as Python classes."""
