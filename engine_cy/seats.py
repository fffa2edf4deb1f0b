"""How seats, and chance beside them, are named: by number in programs, by letter in text."""

SEATS = "ABCDE"
CHANCE = -1  # what `to_act` says when chance decides
CHANCE_SEAT = "*"  # how text says so
