"""The cards and moves of Kuhn and Leduc poker, in a module for each language."""
