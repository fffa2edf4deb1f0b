"""Fit what games know of themselves: priors, evaluations, beliefs.

The wheel has none of it. It needs numpy and scipy, of the group `dev`.
"""
