"""The words of the command line for players, in a module for each language: play, suggest and rules.

Those of reviews are in `server/report/words`. Help, errors and JSON are in English only.
"""
