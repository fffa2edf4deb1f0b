"""Messages of the contract <-> what the engine knows. `read_...` may refuse and names the field, `write_...` cannot."""
