"""The conversion between messages of the contract and the engine's values.

`read_...` may refuse a message and names the field. `write_...` cannot fail.
"""
