"""How fast it all is, as ratios measured side by side in one run, and the signature of fixed games. Not shipped."""
