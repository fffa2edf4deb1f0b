"""Messages of the contract, read into questions and written from answers."""
