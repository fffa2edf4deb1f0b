"""Names of the seats and of chance: numbers in programs, letters in text."""

SEATS = "ABCDE"
CHANCE = -1  # `to_act` when chance decides
CHANCE_SEAT = "*"  # chance in text
