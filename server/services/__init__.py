"""The services of the contract."""
