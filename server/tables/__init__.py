"""Tables of people and engines: the game itself, and the file that keeps it. No message is built here."""
