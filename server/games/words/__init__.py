"""Messages that the games share."""
