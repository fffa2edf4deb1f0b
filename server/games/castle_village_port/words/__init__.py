"""The cards, moves and prompts of Castle, Village, Port, in a module for each language.

The game was printed in French only: its English and German names are ours.
"""
