"""The words of the command line for players, in a module for each language: play, suggest, review and its report.

Help, errors and JSON are in English only.
"""
