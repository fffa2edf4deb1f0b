"""Measure speed as ratios of sides that alternate in one run, and print the signature of fixed games. Not shipped."""
