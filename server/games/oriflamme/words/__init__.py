"""The cards, moves and prompts of Oriflamme and its prototype, in a module for each language.

The names of Oriflamme's cards are those of the printed rules. Its prototype was printed in French only: its English and
German names are ours.
"""
