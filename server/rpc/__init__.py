"""How calls come in and end: statuses, deadlines, admission."""
