"""Fit the learned knowledge of games: priors, evaluations, beliefs.

The wheel does not contain this package. It needs numpy and scipy, of the group `dev`.
"""
